//! Decoding a line into a typed record.

use std::sync::Arc;

use hence_canon::scan::Proved;
use hence_canon::{Canonical, Object, Value, parse};
use hence_state::{Outcome, Profile, StepError, StepIndex, StepResult, StepStatus, Timestamp, Typing};

use super::fields::Fields;
use super::layout::StepLayout;
use super::line::{LINE_BYTES_MAX, Line, LineError};
use super::shape::{self, RecordKind};
use super::{
    Chained, CheckpointControl, ClockSource, Control, Header, LoopAction, LoopControl, Record,
    RollbackControl, StepRecord,
};
use crate::RecordIndex;
use crate::verify::Reason;

/// A line that is not a record of its profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The line holds no JSON object.
    #[error("{0}")]
    Line(#[from] LineError),
    /// The object has the wrong shape.
    #[error("not a record: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Shape(Vec<Reason>),
}

/// The members of a step result that this version knows.
const RESULT_MEMBERS: [&str; 9] = [
    "version",
    "step",
    "status",
    "input_hash",
    "output_hash",
    "started_at",
    "finished_at",
    "output",
    "errors",
];

impl Chained {
    /// Reads a header line, which names the profile of its journal.
    ///
    /// # Errors
    /// [`DecodeError`] when the line holds no header.
    pub fn decode_header(line: &[u8]) -> Result<(Self, Profile), DecodeError> {
        let mut members = Vec::new();
        let read = Line::read(line, &mut members)?;
        read.with_fields(&members, |fields, _| {
            let name = shape::profile_of(fields).ok_or_else(|| shape_error(Reason::bad_value("profile")))?;
            if RecordKind::of(fields) != RecordKind::Header {
                return Err(shape_error(Reason::first_not_header()));
            }
            let profile = Profile::named(name);
            decode(fields, &profile).map(|header| (header, profile))
        })
    }

    /// Reads a line of a journal that follows `profile`.
    ///
    /// # Errors
    /// [`DecodeError`] when the line holds no record of that profile.
    pub fn decode(line: &[u8], profile: &Profile) -> Result<Self, DecodeError> {
        if line.len() <= LINE_BYTES_MAX
            && let Some(step) = StepLayout::read(line, profile).and_then(|step| step.decode(profile.typing))
        {
            return Ok(step);
        }
        Self::decode_any(line, profile)
    }

    /// Reads any record: any member, any order, any kind.
    pub(crate) fn decode_any(line: &[u8], profile: &Profile) -> Result<Self, DecodeError> {
        let mut members = Vec::new();
        let read = Line::read(line, &mut members)?;
        read.with_fields(&members, |fields, _| decode(fields, profile))
    }
}

fn shape_error(reason: Reason) -> DecodeError {
    DecodeError::Shape(vec![reason])
}

fn decode(fields: Fields<'_, '_>, profile: &Profile) -> Result<Chained, DecodeError> {
    let mut reasons = Vec::new();
    shape::check(fields, profile, &mut reasons);
    if !reasons.is_empty() {
        return Err(DecodeError::Shape(reasons));
    }
    // The shape was checked, so each of these members exists.
    let chained = || {
        let record = match RecordKind::of(fields) {
            RecordKind::Header => Record::Header(header(fields, profile)?),
            RecordKind::Step => Record::Step(step(fields, profile.typing)?),
            RecordKind::Control => Record::Control(control(fields, profile.typing)?),
            RecordKind::Unknown => return None,
        };
        let index = match record {
            Record::Header(_) => fields.number("index").unwrap_or(0),
            _ => fields.number("index")?,
        };
        Some(Chained {
            record,
            index: RecordIndex::new(index),
            hash: fields.digest("record_hash")?,
            prev_hash: fields.digest("prev_hash"),
        })
    };
    chained().ok_or_else(|| shape_error(Reason::bad_value("record")))
}

fn arc(fields: Fields<'_, '_>, key: &str) -> Option<Arc<str>> {
    fields.text(key).map(Arc::from)
}

fn time(fields: Fields<'_, '_>, key: &str, typing: Typing) -> Option<Timestamp> {
    Timestamp::parse_as(&fields.text(key)?, typing).ok()
}

fn header(fields: Fields<'_, '_>, profile: &Profile) -> Option<Header> {
    Some(Header {
        version: arc(fields, "version")?,
        trace_id: arc(fields, "trace_id")?,
        created_at: time(fields, "created_at", profile.typing)?,
        engine_version: arc(fields, "engine_version")?,
        problem_spec_hash: fields.digest("problem_spec_hash")?,
        initial_state_hash: fields.digest("initial_state_hash")?,
        profile: profile.name,
        clock: fields.text("clock").and_then(|word| ClockSource::from_word(&word)),
    })
}

fn step(fields: Fields<'_, '_>, typing: Typing) -> Option<StepRecord> {
    let result = fields.inside("result")?;
    let outcome = match StepStatus::from_word(&result.text("status")?)? {
        StepStatus::Success => Outcome::Success(Canonical::from_proved(result.get("output")?)),
        StepStatus::Failed => Outcome::Failed(errors(result.get("errors")?)?),
        StepStatus::Skipped => Outcome::Skipped,
    };
    let others: Option<Object> = result
        .iter()
        .filter(|member| !RESULT_MEMBERS.iter().any(|known| known.as_bytes() == member.raw_key))
        .map(|member| {
            let key = parse(&[b"\"", member.raw_key, b"\""].concat()).ok()?;
            Some((key.as_str()?.to_owned(), parse(member.value.bytes()).ok()?))
        })
        .collect();
    Some(StepRecord {
        step_index: StepIndex::new(fields.number("step_index")?),
        result: StepResult::restore(
            arc(result, "version")?,
            arc(result, "step")?,
            result.digest("input_hash")?,
            result.digest("output_hash")?,
            time(result, "started_at", typing)?,
            time(result, "finished_at", typing)?,
            outcome,
            others?,
        ),
        state_before_hash: fields.digest("state_before_hash")?,
        state_after_hash: fields.digest("state_after_hash")?,
    })
}

fn errors(value: Proved<'_>) -> Option<Vec<StepError>> {
    parse(value.bytes()).ok()?.as_array()?.iter().map(StepError::decode).collect()
}

fn control(fields: Fields<'_, '_>, typing: Typing) -> Option<Control> {
    let state_hash = fields.digest("state_hash")?;
    if fields.text("control_type")? == "run" {
        return Some(Control::Complete { state_hash, at: time(fields, "at", typing)? });
    }
    match &*fields.text("control_type")? {
        "checkpoint" => {
            let position = RecordIndex::new(fields.number("position")?);
            let control = CheckpointControl { name: arc(fields, "name")?, position, state_hash };
            return Some(Control::Checkpoint(control));
        }
        "rollback" => {
            let (name, at) = (arc(fields, "name")?, time(fields, "at", typing)?);
            let to = RecordIndex::new(fields.number("to")?);
            return Some(Control::Rollback(RollbackControl { name, to, state_hash, at }));
        }
        _ => {}
    }
    let condition: Value = parse(fields.get("stop_condition")?.bytes()).ok()?;
    Some(Control::Loop(LoopControl {
        action: LoopAction::from_word(&fields.text("action")?)?,
        loop_iteration: fields.number("loop_iteration")?,
        start_step: arc(fields, "start_step")?,
        end_step: arc(fields, "end_step")?,
        stop_condition: condition,
        state_hash,
        at: time(fields, "at", typing),
    }))
}
