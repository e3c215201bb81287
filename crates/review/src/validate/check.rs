//! The parts that all checks share: the trace, the known ids, places, and the list of findings.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use hence_canon::{JsonPointer, Object, Value};

use crate::interner::Interner;
use crate::lineage::Flow;
use crate::version::Version;
use crate::vocabulary::{ArtifactType, Word};
use crate::wire::{Entry, Trace};

use super::rule::{Finding, Report, Rule, Severity};

/// Whether a member is required.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
}

/// Ids that references may name.
pub(super) struct Known<'a> {
    pub(super) references: BTreeSet<&'a str>,
    pub(super) policies: BTreeSet<&'a str>,
    pub(super) residuals: BTreeSet<&'a str>,
    pub(super) metas: BTreeSet<&'a str>,
    pub(super) environments: BTreeSet<&'a str>,
    pub(super) comments: BTreeSet<&'a str>,
    /// The policies that were evaluated: evaluations are named by them.
    pub(super) evaluations: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn of(trace: &'a Trace) -> Self {
        let ids = |list: &str, keys: &[&str]| -> BTreeSet<&'a str> {
            let items = trace.source().get(list).and_then(Value::as_array).unwrap_or(&[]);
            items.iter().filter_map(|item| keys.iter().find_map(|key| item.get(key)?.as_str())).collect()
        };
        let mut references = ids("reference_artifacts", &["reference_artifact_id"]);
        references.extend(ids("reference_models", &["reference_model_id", "reference_artifact_id"]));
        Self {
            references,
            policies: ids("policies", &["policy_id", "id"]),
            residuals: ids("residuals", &["residual_id"]),
            metas: ids("meta_actions", &["id"]),
            environments: ids("execution_environments", &["environment_id"]),
            comments: ids("comments", &["comment_id"]),
            evaluations: ids("policy_evaluations", &["policy_id"]),
        }
    }
}

/// A validation in progress.
pub(super) struct Check<'a> {
    pub(super) trace: &'a Trace,
    pub(super) flow: &'a Flow,
    pub(super) version: Version,
    pub(super) known: Known<'a>,
    /// The files that actions changed.
    pub(super) files: Interner,
    /// The files that actions renamed, under both names. They may be declared as modified, and need not be.
    pub(super) renamed_files: Interner,
    /// The place of the finding about them among all findings.
    pub(super) files_place: usize,
    /// The unit each action names.
    pub(super) named_units: Vec<Option<&'a Value>>,
    /// The facts about each artifact that later rules need.
    pub(super) artifact_facts: Vec<ArtifactFacts<'a>>,
    report: Report,
}

/// The facts about an artifact that later rules need.
#[derive(Clone, Copy)]
pub(super) struct ArtifactFacts<'a> {
    pub(super) artifact_type: Option<ArtifactType>,
    /// The length of its list of sources.
    pub(super) sources: usize,
    pub(super) supersedes: Option<&'a Value>,
    pub(super) producer: Option<&'a Value>,
}

impl<'a> Check<'a> {
    pub(super) fn new(trace: &'a Trace, flow: &'a Flow) -> Self {
        let version = Version::of(trace);
        Self {
            trace,
            flow,
            version,
            known: Known::of(trace),
            files: Interner::default(),
            renamed_files: Interner::default(),
            files_place: 0,
            named_units: Vec::with_capacity(trace.actions().len()),
            artifact_facts: Vec::with_capacity(trace.artifacts().len()),
            report: Report::default(),
        }
    }

    pub(super) fn finish(self) -> Report {
        self.report
    }

    /// Reports a broken rule with its usual severity.
    pub(super) fn find(&mut self, rule: Rule, at: Place<'_>, subject: impl Display, message: impl Display) {
        self.find_as(rule.severity(), rule, at, subject, message);
    }

    /// Reports a broken rule with a severity that differs by case.
    pub(super) fn find_as(
        &mut self,
        severity: Severity,
        rule: Rule,
        at: Place<'_>,
        subject: impl Display,
        message: impl Display,
    ) {
        let (subject, message) = (subject.to_string(), message.to_string());
        self.report.findings.push(Finding { rule, severity, pointer: at.into(), subject, message });
    }

    /// Returns how many findings there are so far.
    pub(super) fn findings_count(&self) -> usize {
        self.report.findings.len()
    }

    /// Reports a broken rule of the whole trace at a place among the findings.
    pub(super) fn find_at(&mut self, place: usize, rule: Rule, at: Place<'_>, message: String) {
        let finding =
            Finding { rule, severity: rule.severity(), pointer: at.into(), subject: String::new(), message };
        self.report.findings.insert(place.min(self.report.findings.len()), finding);
    }

    /// Returns whether an id names an artifact or a reference artifact.
    pub(super) fn is_artifact_or_reference(&self, id: &str) -> bool {
        self.trace.artifact_by_id(id).is_some() || self.known.references.contains(id)
    }

    /// Checks that a member is there and a word of its list.
    pub(super) fn required_word<W: Word>(
        &mut self,
        object: &Object,
        at: &Place<'_>,
        key: &'static str,
        rule: Rule,
        subject: &(impl Display + ?Sized),
    ) {
        let found = match object.get(key) {
            None | Some(Value::Null) => "nothing".to_owned(),
            Some(Value::String(word)) if W::parse_word(word).is_ok() => return,
            Some(other) => shown(other),
        };
        let message = format!("{key} is one of {}; found {found}", W::WORDS.join(", "));
        self.find(rule, at.child(key), subject, message);
    }

    /// Checks that a member is a word of its list, if it is there.
    pub(super) fn optional_word<W: Word>(
        &mut self,
        object: &Object,
        at: &Place<'_>,
        key: &'static str,
        rule: Rule,
        subject: &(impl Display + ?Sized),
    ) {
        if object.get(key).is_some_and(|value| !value.is_null()) {
            self.required_word::<W>(object, at, key, rule, subject);
        }
    }

    /// Checks that the items of a list are objects.
    pub(super) fn objects_only(&mut self, list: &'static str, noun: &str, rule: Rule) {
        for (index, item) in self.trace.entry().items(list).iter().enumerate() {
            if item.as_object().is_none() {
                let message = format!("{noun} is an object; found {}", shown(item));
                self.find(rule, Place::root().child(list).child(index), index, message);
            }
        }
    }

    /// Returns the subject of an entry; reports a missing id, or an id that an entry before it has.
    pub(super) fn identify(
        &mut self,
        entry: &Entry,
        id: Option<&str>,
        at: &Place<'_>,
        identity: &Identity,
        seen: &mut BTreeSet<String>,
    ) -> String {
        let (at, noun) = (at.child(identity.key), identity.noun);
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            self.find(identity.missing, at, entry.index(), format!("a {noun} has an id"));
            return entry.index().to_string();
        };
        if !seen.insert(id.to_owned()) {
            self.find(identity.duplicate, at, id, format!("another {noun} has this id"));
        }
        id.to_owned()
    }

    /// Reports an id that names nothing.
    pub(super) fn unknown(
        &mut self,
        rule: Rule,
        at: Place<'_>,
        subject: impl Display,
        noun: &str,
        found: &Value,
    ) {
        self.find(rule, at, subject, format!("no {noun} has the id {}", shown(found)));
    }

    /// Checks that an id names an action.
    pub(super) fn action_reference(&mut self, id: &Value, rule: Rule, at: Place<'_>, subject: impl Display) {
        if id.as_i64().is_none_or(|id| self.trace.action_by_id(id).is_none()) {
            self.unknown(rule, at, subject, "action", id);
        }
    }

    /// Checks that a member is a text that is not blank.
    pub(super) fn filled(
        &mut self,
        value: Option<&Value>,
        at: &Place<'_>,
        key: &str,
        rule: Rule,
        subject: &(impl Display + ?Sized),
    ) {
        if value.and_then(Value::as_str).is_some_and(|text| !text.trim_start().is_empty()) {
            return;
        }
        let found = value.filter(|value| !value.is_null()).map_or_else(|| "nothing".to_owned(), shown);
        self.find(rule, at.child(key), subject, format!("{key} is a text that is not blank; found {found}"));
    }

    /// Checks a list of references.
    pub(super) fn references(
        &mut self,
        object: &Object,
        at: &Place<'_>,
        key: &str,
        rule: Rule,
        subject: &(impl Display + ?Sized),
        is_known: impl Fn(&Self, &str) -> bool,
    ) {
        let items = object.get(key).and_then(Value::as_array).unwrap_or(&[]);
        for (index, item) in items.iter().enumerate() {
            if item.as_str().is_some_and(|id| is_known(self, id)) {
                continue;
            }
            let message = format!("{} is not known in this trace", shown(item));
            self.find(rule, at.child(key).child(index), subject, message);
        }
    }
}

/// The identification of the entries of a list: the member, and the rules about it.
pub(super) struct Identity {
    pub(super) key: &'static str,
    pub(super) noun: &'static str,
    pub(super) missing: Rule,
    pub(super) duplicate: Rule,
}

/// The longest text quoted from a document in a message, in characters: enough to recognise it.
const SHOWN_CHARS_MAX: usize = 60;

/// Returns a value of the document for a message.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(items) => return format!("a list of {}", items.len()),
        Value::Object(members) => return format!("an object of {} members", members.len()),
        // `Debug` escapes control characters, so that a document cannot write to a terminal.
        Value::String(text) => format!("{:?}", text.chars().take(SHOWN_CHARS_MAX + 1).collect::<String>()),
        other => other.to_string(),
    };
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < text.len() {
        let _ = write!(short, "…");
    }
    short
}

/// One step into a document.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The deepest place of any rule, with room to spare; `/goals/0/acceptance/0/binding/policy_id` is typical.
const DEPTH_MAX: usize = 8;

/// A place in a document, cheap to pass on; it becomes a pointer only in a finding.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    steps: [Step<'a>; DEPTH_MAX],
    depth: usize,
}

impl<'a> Place<'a> {
    pub(super) const fn root() -> Self {
        Self { steps: [Step::Index(0); DEPTH_MAX], depth: 0 }
    }

    /// Returns the place of an entry of a top-level list.
    pub(super) fn of(list: &'a str, entry: &Entry) -> Self {
        Self::root().child(list).child(entry.index())
    }

    /// Returns a place inside this one; deeper than [`DEPTH_MAX`] it stays at the enclosing place.
    pub(super) fn child(mut self, step: impl Into<Step<'a>>) -> Self {
        if let Some(slot) = self.steps.get_mut(self.depth) {
            *slot = step.into();
            self.depth += 1;
        }
        self
    }
}

impl From<Place<'_>> for JsonPointer {
    fn from(place: Place<'_>) -> Self {
        place
            .steps
            .iter()
            .take(place.depth)
            .map(|step| match step {
                Step::Key(key) => (*key).to_owned(),
                Step::Index(index) => index.to_string(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_pointer_up_to_its_depth() {
        let full = (0..DEPTH_MAX).fold(Place::root(), |place, step| place.child(step));
        assert_eq!(JsonPointer::from(full).to_string(), "/0/1/2/3/4/5/6/7");
        assert_eq!(JsonPointer::from(full.child("x")).to_string(), "/0/1/2/3/4/5/6/7");
        assert_eq!(JsonPointer::from(Place::root().child("a/b").child(3)).to_string(), "/a~1b/3");
    }
}
