//! What is wrong, or odd, about a policy before any trace is seen.

mod finding;
mod level;
mod names;
mod shape;
mod vacuity;

pub use finding::{Finding, FindingKind};
pub use level::LanguageLevel;

use crate::formula::Formula;
use crate::structural::Structural;

/// Lints a formula: findings in the order they stand, errors and warnings mixed.
///
/// An error means that the formula has no truth value on any trace: its verdict will be `unknown`.
pub fn lint(formula: &Formula) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The named checks are evaluated as a whole, so what their parts would mean alone does not matter.
    if Structural::recognise(formula.expr()).is_none() {
        names::lint(formula, &mut findings);
        shape::lint(formula, &mut findings);
        vacuity::lint(formula, &mut findings);
    }
    findings.sort_by_key(|finding| finding.place);
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests;
