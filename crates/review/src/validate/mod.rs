//! Validation: every rule a document breaks, in one pass, with a pointer to each place.
//!
//! The rules come in two [stages](Stage): the shape of the document, then its meaning. A document that is not
//! an object has one finding; any other is checked by all rules, so that its author can fix everything at once.

mod action;
mod artifact;
mod check;
mod document;
mod flow;
mod governance;
mod overlay;
mod rule;

use std::collections::BTreeSet;

use hence_canon::{JsonPointer, Value};

use crate::lineage::{Flow, Lineage};
use crate::model::decode;
use crate::wire::Trace;

use check::{Check, shown};

pub use rule::{Finding, Report, Rule, Severity, Stage};

/// Validates a document as interchange: words the specification does not know are warnings.
pub fn validate(value: &Value) -> Report {
    if value.as_object().is_none() {
        let message = format!("a trace is an object; found {}", shown(value));
        return Report {
            findings: vec![Finding {
                rule: Rule::TraceType,
                severity: Severity::Error,
                pointer: JsonPointer::root(),
                subject: String::new(),
                message,
            }],
        };
    }
    let trace = Trace::read(value);
    checked(&trace, &Flow::of(&trace))
}

/// Validates a trace that has been read, with its lineage, when both exist already.
pub fn validate_read(trace: &Trace, lineage: &Lineage) -> Report {
    checked(trace, lineage.flow())
}

fn checked(trace: &Trace, flow: &Flow) -> Report {
    let mut check = Check::new(trace, flow);
    check.document();
    check.actions();
    check.artifacts();
    check.flow();
    check.derivation();
    check.residuals();
    check.meta_actions();
    check.policies();
    check.evaluations();
    check.review();
    check.goals();
    check.finish()
}

/// Validates a document as canonical: it must decode into [`crate::model::Trace`].
///
/// Unknown words and contradicting categories become errors, and every finding of decoding is reported under
/// `canonical.decode`, unless a rule has a finding at the same place.
pub fn validate_canonical(value: &Value) -> Report {
    let mut report = validate(value);
    for finding in &mut report.findings {
        if finding.rule.is_error_when_canonical() {
            finding.severity = Severity::Error;
        }
    }
    let Err(error) = decode(value) else { return report };
    let spoken: BTreeSet<String> = report.errors().map(|finding| finding.pointer.to_string()).collect();
    let findings = error.findings.into_vec().into_iter();
    let unspoken = findings.filter(|finding| !spoken.contains(&finding.pointer.to_string()));
    report.findings.extend(unspoken.map(|finding| Finding {
        rule: Rule::Canonical,
        severity: Severity::Error,
        subject: finding.pointer.to_string(),
        message: finding.message(),
        pointer: finding.pointer,
    }));
    report
}

/// Whether a trace has what a reviewer needs before starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The document has the structure of a trace.
    pub structure_valid: bool,
    /// The trace has an outcome.
    pub outcome_recorded: bool,
    /// The ids of actions that give no reason.
    pub actions_without_rationale: Vec<String>,
    /// The number of declared gaps. None is suspicious: every piece of work has some.
    pub residuals_declared: usize,
}

impl Readiness {
    /// Returns whether nothing is missing.
    pub fn is_ready(&self) -> bool {
        self.structure_valid
            && self.outcome_recorded
            && self.actions_without_rationale.is_empty()
            && self.residuals_declared > 0
    }
}

/// Judges the readiness of a trace from what validation found.
pub fn readiness(trace: &Trace, report: &Report) -> Readiness {
    let silent = trace.actions().iter().filter(|action| action.rationale().trim().is_empty());
    Readiness {
        structure_valid: report.has_structure(),
        outcome_recorded: trace
            .outcome()
            .is_some_and(|outcome| outcome.text("type").is_some_and(|word| !word.is_empty())),
        actions_without_rationale: silent.map(|action| action::Subject(action).to_string()).collect(),
        residuals_declared: trace.residuals().count(),
    }
}

#[cfg(test)]
mod tests;
