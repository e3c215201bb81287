//! What all checks share: the trace, what is known by id, and the list of findings.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use hence_canon::{Object, Value};

use crate::interner::Interner;
use crate::lineage::Flow;
use crate::version::Version;
use crate::vocabulary::ArtifactType;
use crate::wire::Trace;

use super::finding::{Finding, Report, Severity};
use super::place::Place;
use super::rule::Rule;

/// Whether a member must be there.
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

/// One validation under way.
pub(super) struct Check<'a> {
    pub(super) trace: &'a Trace,
    pub(super) flow: &'a Flow,
    pub(super) version: Version,
    pub(super) known: Known<'a>,
    /// The files that actions changed.
    pub(super) files: Interner,
    /// Where the finding about them belongs.
    pub(super) files_place: usize,
    /// The unit each action names.
    pub(super) named_units: Vec<Option<&'a Value>>,
    /// What later rules need of each artifact.
    pub(super) artifact_facts: Vec<ArtifactFacts<'a>>,
    report: Report,
}

/// What is kept of an artifact, so that it need not be looked at again.
#[derive(Clone, Copy)]
pub(super) struct ArtifactFacts<'a> {
    pub(super) artifact_type: Option<ArtifactType>,
    /// How many items its list of sources has.
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

    /// Checks a member against its list of words.
    pub(super) fn word(
        &mut self,
        object: &Object,
        at: &Place<'_>,
        field: Field,
        subject: &(impl Display + ?Sized),
        is_word: impl Fn(&str) -> bool,
    ) {
        let found = match object.get(field.key) {
            None | Some(Value::Null) if field.presence == Presence::Optional => return,
            None | Some(Value::Null) => "nothing".to_owned(),
            Some(Value::String(word)) if is_word(word) => return,
            Some(other) => shown(other),
        };
        let message = format!("{} is one of {}; found {found}", field.key, field.words.join(", "));
        self.find(field.rule, at.child(field.key), subject, message);
    }

    /// Checks that a member is a text with something in it.
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

/// A member whose value comes from a list of words.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) rule: Rule,
    pub(super) words: &'static [&'static str],
    pub(super) presence: Presence,
}

/// Longest text quoted from a document in a message: enough to recognise it, too little to flood a report.
const SHOWN_CHARS_MAX: usize = 60;

/// Shows a value of the document in a message.
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
