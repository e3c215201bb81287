//! Named checks of a whole trace, which state more than their formulas can.
//!
//! Four of them look at artifacts that no action need have produced, so a formula over actions only
//! approximates them. They are recognised by their formula, or by their name used as a formula; the id of a policy
//! never decides how it is evaluated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use hence_review::vocabulary::{ActionType, ActivityType, ArtifactType};
use hence_review::wire::{Action, Artifact};

use crate::eval::Subject;
use crate::formula::{Expr, Formula};

hence_canon::words! {
    /// A named check.
    pub enum NamedCheck {
        /// Every input of every action was produced by exactly one earlier action.
        DataFlowIntegrity = "data_flow_integrity",
        /// Every verification goal is about a model of the trace.
        GoalsReferenceValidArtifacts = "goals_reference_valid_artifacts",
        /// Generated tests descend from a state-space analysis.
        GeneratedTestsRequireDecomposition = "generated_tests_require_decomposition",
        /// `files_modified` lists exactly the files that the actions changed.
        FilesModifiedConsistent = "files_modified_consistent",
        /// No critical residual is open.
        NoOpenCriticalResiduals = "no_open_critical_residuals",
        /// At a commit, no residual of severity high or above is open.
        HighSeverityResidualsAcknowledgedBeforeCommit = "high_severity_residuals_acknowledged_before_commit",
        /// Every unverified residual suggests a check.
        UnverifiedResidualsHaveSuggestedCheck = "unverified_residuals_have_suggested_check",
        /// Every assumption names what it is about.
        AssumptionsAreLocated = "assumptions_are_located",
    }
}

/// The result of a named check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The number of things checked, where the check counts them; zero means that it does not apply.
    pub(crate) checked: Option<usize>,
    /// Positions that satisfy the check.
    pub(crate) evidence: Vec<usize>,
    /// Positions that violate it.
    pub(crate) violating: Vec<usize>,
    /// Artifacts that violate it.
    pub(crate) violating_artifacts: Vec<String>,
    /// The violations, one sentence each.
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

/// The formulas that state the checks, at least approximately.
static FORMULAS: LazyLock<Vec<(NamedCheck, Formula)>> = LazyLock::new(|| {
    let parsed =
        NamedCheck::ALL.iter().filter_map(|check| Some((*check, Formula::parse(check.text()).ok()?)));
    parsed.collect()
});

impl NamedCheck {
    const fn text(self) -> &'static str {
        match self {
            Self::DataFlowIntegrity => "G(∀input ∈ inputs(a) → ∃!b . b < a ∧ input ∈ outputs(b))",
            Self::GoalsReferenceValidArtifacts => {
                "G(VerificationGoal → target_artifact_id ∈ {a.id | a.type = IMLModel})"
            }
            Self::GeneratedTestsRequireDecomposition => {
                "G(GeneratedTests → Decomposition ∈ ancestors(derived_from))"
            }
            Self::FilesModifiedConsistent => {
                "files_modified = {target(a) | G(a ∧ (EditFile ∨ CreateFile ∨ DeleteFile))}"
            }
            Self::NoOpenCriticalResiduals => "¬∃ r ∈ residuals . r.severity = Critical ∧ r.status = Open",
            Self::HighSeverityResidualsAcknowledgedBeforeCommit => {
                "G(GitCommit → ∀ r ∈ residuals . r.severity ≥ High → r.status ≠ Open)"
            }
            Self::UnverifiedResidualsHaveSuggestedCheck => {
                "∀ r ∈ residuals . r.kind = Unverified → r.suggested_check ≠ ∅"
            }
            Self::AssumptionsAreLocated => {
                "∀ r ∈ residuals . r.kind = Assumption → (r.target ≠ ∅ ∨ r.related_artifact_ids ≠ ∅)"
            }
        }
    }

    /// Returns the check called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|check| check.as_str() == name)
    }

    /// Returns the named check whose formula or name `expr` is.
    pub fn recognise(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Atom(name) => Self::from_name(name.as_str()),
            _ => FORMULAS.iter().find(|(_, formula)| formula.expr() == expr).map(|(check, _)| *check),
        }
    }

    /// Returns the formula of a check that a formula expresses exactly.
    pub fn formula(self) -> Option<&'static Formula> {
        let has_exact_formula = matches!(
            self,
            Self::NoOpenCriticalResiduals
                | Self::HighSeverityResidualsAcknowledgedBeforeCommit
                | Self::UnverifiedResidualsHaveSuggestedCheck
                | Self::AssumptionsAreLocated
        );
        let found = FORMULAS.iter().find(|(check, _)| *check == self).map(|(_, formula)| formula);
        found.filter(|_| has_exact_formula)
    }
}

/// Runs a check that has no formula of its own.
pub(crate) fn check(check: NamedCheck, subject: &Subject) -> Outcome {
    match check {
        NamedCheck::DataFlowIntegrity => check_data_flow(subject),
        NamedCheck::GoalsReferenceValidArtifacts => check_goals(subject),
        NamedCheck::GeneratedTestsRequireDecomposition => check_tests_lineage(subject),
        NamedCheck::FilesModifiedConsistent => check_files(subject),
        _ => Outcome::default(),
    }
}

/// Checks that every input was produced by exactly one earlier action.
fn check_data_flow(subject: &Subject) -> Outcome {
    let producers = producers(subject);
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    for action in subject.trace().actions() {
        let at = action.position().get();
        let mut inputs = action.inputs().peekable();
        if inputs.peek().is_none() {
            continue;
        }
        outcome.checked = outcome.checked.map(|count| count + 1);
        let faults: Vec<String> = inputs.filter_map(|input| fault(input, at, producers.get(input))).collect();
        if faults.is_empty() {
            outcome.evidence.push(at);
        } else {
            outcome.violating.push(at);
            outcome.faults.extend(faults);
        }
    }
    outcome
}

/// Returns the producers of each artifact: every action that lists it, and the action the artifact names.
fn producers(subject: &Subject) -> BTreeMap<&str, BTreeSet<usize>> {
    let mut producers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let trace = subject.trace();
    for action in trace.actions() {
        for output in action.outputs() {
            producers.entry(output).or_default().insert(action.position().get());
        }
    }
    for artifact in trace.artifacts() {
        let named = artifact.producer_action_id().and_then(|id| trace.action_by_id(id));
        if let (Some(id), Some(action)) = (artifact.id(), named) {
            producers.entry(id).or_default().insert(action.position().get());
        }
    }
    producers
}

fn fault(input: &str, at: usize, producers: Option<&BTreeSet<usize>>) -> Option<String> {
    let Some(producers) = producers else { return Some(format!("nothing produced its input `{input}`")) };
    match producers.range(..at).count() {
        0 => Some(format!("its input `{input}` was not produced before it")),
        1 => None,
        several => Some(format!("its input `{input}` was produced by {several} earlier actions")),
    }
}

/// Checks that every verification goal is about a model of the trace.
fn check_goals(subject: &Subject) -> Outcome {
    let trace = subject.trace();
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    for goal in trace.artifacts().iter().filter(|artifact| artifact.is(ArtifactType::VerificationGoal)) {
        outcome.checked = outcome.checked.map(|count| count + 1);
        let id = goal.id().unwrap_or("");
        let fault = match goal.payload_text("target_artifact_id") {
            None => "does not say what it is about".to_owned(),
            Some(target) => match trace.artifact_by_id(target).map(|found| found.artifact_type()) {
                Some(Some(artifact_type)) if artifact_type.is_model() => continue,
                Some(_) => format!("is about `{target}`, which is not a model"),
                None => format!("is about `{target}`, which the trace does not have"),
            },
        };
        outcome.violating_artifacts.push(id.to_owned());
        outcome.faults.push(format!("goal `{id}` {fault}"));
    }
    outcome
}

/// Checks that generated tests descend from a state-space analysis.
fn check_tests_lineage(subject: &Subject) -> Outcome {
    let of_type =
        |kind: ArtifactType| subject.trace().artifacts().iter().filter(move |artifact| artifact.is(kind));
    let analyses = of_type(ArtifactType::StateSpaceAnalysisResult).filter_map(Artifact::id);
    // One walk serves all tests. A test is never an analysis, so including the starting points is harmless.
    let grounded = subject.lineage().with_descendants(analyses);
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    for tests in of_type(ArtifactType::GeneratedTests) {
        outcome.checked = outcome.checked.map(|count| count + 1);
        let id = tests.id().unwrap_or("");
        if grounded.binary_search(&id).is_err() {
            outcome.violating_artifacts.push(id.to_owned());
            outcome.faults.push(format!("no state-space analysis is among the ancestors of tests `{id}`"));
        }
    }
    outcome
}

/// Checks that `files_modified` lists exactly the files that actions changed.
fn check_files(subject: &Subject) -> Outcome {
    let trace = subject.trace();
    let declared: BTreeSet<&str> = trace.files_modified().collect();
    let changing = trace.actions().iter().filter(|action| {
        matches!(
            action.action_type(),
            Some(ActionType::Activity(
                ActivityType::EditFile | ActivityType::CreateFile | ActivityType::DeleteFile
            ))
        )
    });
    let mut changed: BTreeSet<&str> = BTreeSet::new();
    let mut outcome = Outcome::default();
    for action in changing {
        changed.extend(action.file_refs());
        for path in action.file_refs().filter(|path| !declared.contains(path)) {
            outcome.faults.push(format!("`{path}` was changed, and `files_modified` does not list it"));
        }
    }
    // A renamed file may be declared as modified, and need not be.
    let renames = |action: &&Action| action.action_type() == Some(ActivityType::RenameFile.into());
    let renamed: BTreeSet<&str> =
        trace.actions().iter().filter(renames).flat_map(|action| action.file_refs()).collect();
    for path in declared.difference(&changed).filter(|path| !renamed.contains(*path)) {
        outcome.faults.push(format!("`files_modified` lists `{path}`, which no action changed"));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_formula_parses_and_is_recognised_by_shape_and_by_name() {
        assert_eq!(FORMULAS.len(), NamedCheck::ALL.len());
        for check in NamedCheck::ALL {
            for text in [check.text(), check.as_str()] {
                assert_eq!(NamedCheck::recognise(Formula::parse(text).unwrap().expr()), Some(*check));
            }
        }
        assert_eq!(NamedCheck::recognise(Formula::parse("G(a → b)").unwrap().expr()), None);
    }
}
