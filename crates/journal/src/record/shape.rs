//! The shape of records: required members, their types and enums. Nothing is built, so that checking a journal
//! costs little more than scanning it.

use hence_canon::scan::Proved;
use hence_state::{Profile, ProfileName, StepStatus, Timestamp, Typing, Version};

use super::fields::{self, Fields};
use super::{CANONICALIZATION, ClockSource, HASH_ALGORITHM, JOURNAL_MAJOR_VERSION, LoopAction};
use crate::verify::Reason;

/// The kind of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordKind {
    Header,
    Step,
    Control,
    Unknown,
}

impl RecordKind {
    pub(crate) fn of(fields: Fields<'_, '_>) -> Self {
        match fields.get("type").map(Proved::bytes) {
            Some(b"\"header\"") => Self::Header,
            Some(b"\"step\"") => Self::Step,
            Some(b"\"control\"") => Self::Control,
            _ => Self::Unknown,
        }
    }
}

/// Reads the profile that a header names; a header without one is compat.
pub(crate) fn profile_of(header: Fields<'_, '_>) -> Option<ProfileName> {
    match header.get("profile") {
        None => Some(ProfileName::Compat),
        Some(_) => header.text("profile")?.parse().ok(),
    }
}

/// Checks the shape of a record and adds its defects to `reasons`.
pub(crate) fn check(fields: Fields<'_, '_>, profile: &Profile, reasons: &mut Vec<Reason>) {
    let kind = RecordKind::of(fields);
    let mut shape = Shape { profile, reasons };
    match kind {
        RecordKind::Header => shape.header(fields),
        RecordKind::Step => shape.step(fields),
        RecordKind::Control => shape.control(fields),
        RecordKind::Unknown => {
            shape.present(fields, "type", "type", |_| false);
        }
    }
    shape.present(fields, "record_hash", "record_hash", |_| fields.digest("record_hash").is_some());
}

struct Shape<'a> {
    profile: &'a Profile,
    reasons: &'a mut Vec<Reason>,
}

impl Shape<'_> {
    fn header(&mut self, fields: Fields<'_, '_>) {
        let typing = self.profile.typing;
        self.text(fields, "version", "version", |text| is_known_version(text, typing));
        self.text(fields, "trace_id", "trace_id", |_| true);
        self.text(fields, "created_at", "created_at", |text| Timestamp::is_valid(text, typing));
        self.text(fields, "engine_version", "engine_version", |text| Version::is_valid(text, typing));
        self.text(fields, "hash_algorithm", "hash_algorithm", |text| text == HASH_ALGORITHM);
        self.text(fields, "canonicalization", "canonicalization", |text| text == CANONICALIZATION);
        self.digest(fields, "problem_spec_hash");
        self.digest(fields, "initial_state_hash");
        if fields.get("profile").is_some() {
            self.present(fields, "profile", "profile", |_| profile_of(fields).is_some());
        }
        if self.profile.name.is_strict() {
            self.number(fields, "index", "index", 0);
            self.text(fields, "clock", "clock", |word| ClockSource::from_word(word).is_some());
        }
    }

    fn step(&mut self, fields: Fields<'_, '_>) {
        self.number(fields, "index", "index", 1);
        self.number(fields, "step_index", "step_index", 0);
        for key in ["state_before_hash", "state_after_hash", "prev_hash"] {
            self.digest(fields, key);
        }
        if self.present(fields, "result", "result", |_| fields.inside("result").is_some())
            && let Some(result) = fields.inside("result")
        {
            self.result(result);
        }
    }

    fn result(&mut self, result: Fields<'_, '_>) {
        let typing = self.profile.typing;
        self.text(result, "version", "result.version", |text| Version::is_valid(text, typing));
        self.text(result, "step", "result.step", |text| !text.is_empty());
        for (key, name) in [("input_hash", "result.input_hash"), ("output_hash", "result.output_hash")] {
            self.present(result, key, name, |_| result.digest(key).is_some());
        }
        self.text(result, "started_at", "result.started_at", |text| Timestamp::is_valid(text, typing));
        self.text(result, "finished_at", "result.finished_at", |text| {
            let reversed =
                result.text("started_at").is_some_and(|started| Timestamp::spells_after(&started, text));
            Timestamp::is_valid(text, typing) && !reversed
        });
        self.text(result, "status", "result.status", |text| StepStatus::from_word(text).is_some());
        if let Some(status) = result.text("status").and_then(|word| StepStatus::from_word(&word)) {
            self.outcome(result, status);
        }
    }

    /// Success has an output and no errors, failure errors and no output, a skip neither.
    fn outcome(&mut self, result: Fields<'_, '_>, status: StepStatus) {
        let is_container = |value: Proved<'_>| matches!(value.bytes().first(), Some(b'{' | b'['));
        match status {
            StepStatus::Success => {
                self.present(result, "output", "result.output", is_container);
            }
            StepStatus::Failed => {
                self.present(result, "errors", "result.errors", are_errors);
            }
            StepStatus::Skipped => {}
        }
        if status != StepStatus::Success && result.get("output").is_some() {
            self.reasons.push(Reason::bad_value("result.output"));
        }
        if status != StepStatus::Failed && result.get("errors").is_some() {
            self.reasons.push(Reason::bad_value("result.errors"));
        }
    }

    fn control(&mut self, fields: Fields<'_, '_>) {
        self.number(fields, "index", "index", 1);
        self.digest(fields, "state_hash");
        self.digest(fields, "prev_hash");
        let strict = self.profile.name.is_strict();
        if strict && fields.text("control_type").as_deref() == Some("run") {
            self.text(fields, "action", "action", |word| word == "complete");
            return self.time(fields, "at");
        }
        if strict && let Some(kind @ ("checkpoint" | "rollback")) = fields.text("control_type").as_deref() {
            return self.position(fields, kind);
        }
        self.text(fields, "control_type", "control_type", |word| word == "loop");
        self.text(fields, "action", "action", |word| LoopAction::from_word(word).is_some());
        if strict && fields.text("action").as_deref() == Some(LoopAction::MaxIterationsReached.as_str()) {
            self.time(fields, "at");
        }
        self.number(fields, "loop_iteration", "loop_iteration", 1);
        self.text(fields, "start_step", "start_step", |_| true);
        self.text(fields, "end_step", "end_step", |_| true);
        if self.present(fields, "stop_condition", "stop_condition", |_| {
            fields.inside("stop_condition").is_some()
        }) && let Some(condition) = fields.inside("stop_condition")
        {
            self.text(condition, "path", "stop_condition.path", |_| true);
            self.text(condition, "operator", "stop_condition.operator", |_| true);
            self.present(condition, "value", "stop_condition.value", is_constant);
        }
    }

    /// A checkpoint names a position, a rollback returns to one.
    fn position(&mut self, fields: Fields<'_, '_>, kind: &str) {
        self.text(fields, "name", "name", |name| !name.is_empty());
        if kind == "checkpoint" {
            self.text(fields, "action", "action", |word| word == "take");
            return self.number(fields, "position", "position", 0);
        }
        self.text(fields, "action", "action", |word| word == "return");
        self.number(fields, "to", "to", 0);
        self.time(fields, "at");
    }

    fn time(&mut self, fields: Fields<'_, '_>, key: &'static str) {
        let typing = self.profile.typing;
        self.text(fields, key, key, |text| Timestamp::is_valid(text, typing));
    }

    fn digest(&mut self, fields: Fields<'_, '_>, key: &'static str) {
        self.present(fields, key, key, |_| fields.digest(key).is_some());
    }

    fn number(&mut self, fields: Fields<'_, '_>, key: &str, name: &'static str, from: u64) {
        self.present(fields, key, name, |_| fields.number(key).is_some_and(|number| number >= from));
    }

    fn text(&mut self, fields: Fields<'_, '_>, key: &str, name: &'static str, accept: impl Fn(&str) -> bool) {
        self.present(fields, key, name, |value| fields::text(value).is_some_and(|text| accept(&text)));
    }

    fn present(
        &mut self,
        fields: Fields<'_, '_>,
        key: &str,
        name: &'static str,
        accept: impl Fn(Proved<'_>) -> bool,
    ) -> bool {
        match fields.get(key) {
            None => self.reasons.push(Reason::missing_field(name)),
            Some(value) if !accept(value) => self.reasons.push(Reason::bad_value(name)),
            Some(_) => return true,
        }
        false
    }
}

/// Returns whether a version is 1.x.y: this reader refuses versions it cannot know.
fn is_known_version(text: &str, typing: Typing) -> bool {
    let version = match typing {
        Typing::Strict => Version::parse(text),
        Typing::Lax => Version::parse_lax(text),
    };
    version.is_ok_and(|version| version.major() == Some(JOURNAL_MAJOR_VERSION))
}

/// A stop condition compares with a string, an integer or a boolean.
fn is_constant(value: Proved<'_>) -> bool {
    match value.bytes() {
        b"true" | b"false" | [b'"', ..] => true,
        number => number.strip_prefix(b"-").unwrap_or(number).iter().all(u8::is_ascii_digit),
    }
}

fn are_errors(value: Proved<'_>) -> bool {
    let errors = hence_canon::parse(value.bytes()).ok();
    let items = errors.as_ref().and_then(hence_canon::Value::as_array);
    items.is_some_and(|items| {
        !items.is_empty() && items.iter().all(|item| hence_state::StepError::decode(item).is_some())
    })
}
