//! Linting: findings about a policy before any trace is seen.

mod finding;
mod names;
mod shape;
mod written;

pub use finding::{Finding, FindingKind, LanguageLevel};
pub use written::WRITTEN;

use crate::formula::Formula;
use crate::named_check::NamedCheck;

/// Lints a formula. Findings are in the order of the text, errors and warnings mixed.
///
/// An error means that the formula has no truth value on any trace: its verdict will be `unknown`.
pub fn lint(formula: &Formula) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The named checks are evaluated as a whole, so their parts need not mean anything alone.
    if NamedCheck::recognise(formula.expr()).is_none() {
        names::lint(formula, &mut findings);
        shape::lint(formula, &mut findings);
    }
    findings.sort_by_key(|finding| finding.location);
    findings.dedup();
    findings
}

/// Finds atoms and fields that no run of a skill and no imported log ever writes, so that a rule about them never applies.
pub(crate) fn lint_written(formula: &Formula) -> Vec<Finding> {
    let mut findings = Vec::new();
    if NamedCheck::recognise(formula.expr()).is_none() {
        written::lint(formula, &mut findings);
    }
    findings
}

#[cfg(test)]
mod tests;
