//! Named checks of a whole trace, which say more than their formulas can.
//!
//! Four of them look at artifacts that no action need have produced, so a formula over actions only
//! approximates them. They are recognised by their formula or by their name standing alone as a formula; what
//! a policy is called never decides how it is evaluated.

mod data_flow;
mod files;
mod goals;
mod tests_lineage;

use std::sync::LazyLock;

use crate::eval::Subject;
use crate::formula::{Expr, Formula};

/// A named check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structural {
    /// Every input of every action was produced by exactly one earlier action.
    DataFlowIntegrity,
    /// Every verification goal is about a model of the trace.
    GoalsReferenceValidArtifacts,
    /// Generated tests descend from a state-space analysis.
    GeneratedTestsRequireDecomposition,
    /// The files the trace says it changed are those its actions changed.
    FilesModifiedConsistent,
    /// No critical residual is open.
    NoOpenCriticalResiduals,
    /// At a commit, no residual of severity high or above is open.
    HighSeverityResidualsAcknowledgedBeforeCommit,
    /// What is unverified says how to check it.
    UnverifiedResidualsHaveSuggestedCheck,
    /// Assumptions say where they bite.
    AssumptionsAreLocated,
}

/// How a check went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// How many things there were to check; none means the check does not apply.
    pub(crate) checked: Option<usize>,
    /// Positions that are as they should be.
    pub(crate) evidence: Vec<usize>,
    /// Positions that are not.
    pub(crate) violating: Vec<usize>,
    /// Artifacts that are not as they should be.
    pub(crate) violating_artifacts: Vec<String>,
    /// What is wrong, one sentence each.
    pub(crate) faults: Vec<String>,
}

impl Outcome {
    pub(crate) fn is_violated(&self) -> bool {
        !self.faults.is_empty()
    }

    pub(crate) fn applies(&self) -> bool {
        self.checked != Some(0)
    }
}

/// Name, check, formula.
const KNOWN: [(&str, Structural, &str); 8] = [
    (
        "data_flow_integrity",
        Structural::DataFlowIntegrity,
        "G(∀input ∈ inputs(a) → ∃!b . b < a ∧ input ∈ outputs(b))",
    ),
    (
        "goals_reference_valid_artifacts",
        Structural::GoalsReferenceValidArtifacts,
        "G(VerificationGoal → target_artifact_id ∈ {a.id | a.type = IMLModel})",
    ),
    (
        "generated_tests_require_decomposition",
        Structural::GeneratedTestsRequireDecomposition,
        "G(GeneratedTests → Decomposition ∈ ancestors(derived_from))",
    ),
    (
        "files_modified_consistent",
        Structural::FilesModifiedConsistent,
        "files_modified = {target(a) | G(a ∧ (EditFile ∨ CreateFile ∨ DeleteFile))}",
    ),
    (
        "no_open_critical_residuals",
        Structural::NoOpenCriticalResiduals,
        "¬∃ r ∈ residuals . r.severity = Critical ∧ r.status = Open",
    ),
    (
        "high_severity_residuals_acknowledged_before_commit",
        Structural::HighSeverityResidualsAcknowledgedBeforeCommit,
        "G(GitCommit → ∀ r ∈ residuals . r.severity ≥ High → r.status ≠ Open)",
    ),
    (
        "unverified_residuals_have_suggested_check",
        Structural::UnverifiedResidualsHaveSuggestedCheck,
        "∀ r ∈ residuals . r.kind = Unverified → r.suggested_check ≠ ∅",
    ),
    (
        "assumptions_are_located",
        Structural::AssumptionsAreLocated,
        "∀ r ∈ residuals . r.kind = Assumption → (r.target ≠ ∅ ∨ r.related_artifact_ids ≠ ∅)",
    ),
];

static FORMULAS: LazyLock<Vec<(Structural, Formula)>> = LazyLock::new(|| {
    let parsed = KNOWN.iter().filter_map(|(_, check, text)| Some((*check, Formula::parse(text).ok()?)));
    parsed.collect()
});

impl Structural {
    /// Returns the check called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        KNOWN.iter().find(|(known, ..)| *known == name).map(|(_, check, _)| *check)
    }

    /// Returns the check a formula states, if it is one of the named ones.
    pub fn recognise(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Atom(name) => Self::from_name(name.as_str()),
            _ => FORMULAS.iter().find(|(_, formula)| formula.expr() == expr).map(|(check, _)| *check),
        }
    }

    /// Returns the formula that says exactly what the check does, for those that have one.
    pub fn formula(self) -> Option<&'static Formula> {
        let said_by_formula = matches!(
            self,
            Self::NoOpenCriticalResiduals
                | Self::HighSeverityResidualsAcknowledgedBeforeCommit
                | Self::UnverifiedResidualsHaveSuggestedCheck
                | Self::AssumptionsAreLocated
        );
        let found = FORMULAS.iter().find(|(check, _)| *check == self).map(|(_, formula)| formula);
        found.filter(|_| said_by_formula)
    }
}

/// Runs a check that has no formula of its own.
pub(crate) fn check(check: Structural, subject: &Subject) -> Outcome {
    match check {
        Structural::DataFlowIntegrity => data_flow::check(subject),
        Structural::GoalsReferenceValidArtifacts => goals::check(subject),
        Structural::GeneratedTestsRequireDecomposition => tests_lineage::check(subject),
        Structural::FilesModifiedConsistent => files::check(subject),
        _ => Outcome::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_formula_parses_and_is_recognised_by_shape_and_by_name() {
        assert_eq!(FORMULAS.len(), KNOWN.len());
        for (name, check, text) in KNOWN {
            assert_eq!(Structural::recognise(Formula::parse(text).unwrap().expr()), Some(check));
            assert_eq!(Structural::recognise(Formula::parse(name).unwrap().expr()), Some(check));
        }
        assert_eq!(Structural::recognise(Formula::parse("G(a → b)").unwrap().expr()), None);
    }
}
