//! Validation: every rule a document breaks, in one pass, with a pointer to each place.
//!
//! The rules come in two [stages](Stage): the shape of the document, then its meaning. A document that is not
//! even an object has one finding; any other is checked by all rules, so that its author can mend everything at
//! once. No document makes validation panic.

mod action;
mod artifact;
mod canonical;
mod check;
mod derivation;
mod document;
mod finding;
mod flow;
mod goal;
mod members;
mod meta;
mod place;
mod policy;
mod ready;
mod residual;
mod review;
mod rule;
mod timestamp;

use hence_canon::{JsonPointer, Value};

use crate::lineage::{Flow, Lineage};
use crate::wire::Trace;

use check::{Check, shown};

pub use canonical::validate_canonical;
pub use finding::{Finding, Report, Severity};
pub use ready::{Readiness, readiness};
pub use rule::{Rule, Stage};

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

/// Validates a trace that has been read, with its lineage, when both are at hand.
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

#[cfg(test)]
mod tests;
