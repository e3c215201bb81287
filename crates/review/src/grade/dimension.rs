//! The dimensions of the rubric, and the count of policies that passed.

use std::collections::BTreeSet;

use crate::lineage::Lineage;
use crate::validate::{Report, Rule};
use crate::vocabulary::{
    ActionCategory, ActionType, ActivityType, ArtifactType, Determinism, EvaluationStatus,
};
use crate::wire::{Action, Artifact, Residual, Trace};

/// The kind of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names of the rubric")]
pub enum DimensionKind {
    Structure,
    Rationale,
    NegativeSpace,
    Reproducibility,
    Evidence,
    Lineage,
}

impl DimensionKind {
    /// Returns the name in the rubric.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Structure => "Structure",
            Self::Rationale => "Rationale coverage",
            Self::NegativeSpace => "Negative space",
            Self::Reproducibility => "Reproducibility",
            Self::Evidence => "Verification evidence",
            Self::Lineage => "Lineage / integrity",
        }
    }

    /// Returns the weight in the rubric.
    pub const fn weight(self) -> u32 {
        match self {
            Self::Structure | Self::Lineage => 15,
            Self::Rationale | Self::NegativeSpace | Self::Reproducibility => 20,
            Self::Evidence => 25,
        }
    }
}

/// One dimension of a grade.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The kind.
    pub kind: DimensionKind,
    /// 0 to 1; nothing when it does not apply.
    pub score: Option<f64>,
    /// The observation.
    pub note: String,
    /// Advice to raise the score; nothing at full score.
    pub raise: Option<String>,
}

impl Dimension {
    /// Returns the weight.
    pub fn weight(&self) -> u32 {
        self.kind.weight()
    }
}

/// A share of the score that a trace has or lacks.
struct Part {
    worth: f64,
    earned: f64,
    advice: &'static str,
}

impl Part {
    fn all_or_nothing(worth: f64, holds: bool, advice: &'static str) -> Self {
        Self { worth, earned: if holds { worth } else { 0.0 }, advice }
    }

    fn share(worth: f64, share: f64, advice: &'static str) -> Self {
        Self { worth, earned: worth * share, advice }
    }
}

fn dimension(kind: DimensionKind, parts: &[Part], note: String) -> Dimension {
    let score = parts.iter().map(|part| part.earned).sum::<f64>();
    let missing: Vec<&str> =
        parts.iter().filter(|part| part.earned < part.worth - f64::EPSILON).map(|part| part.advice).collect();
    let raise = (!missing.is_empty()).then(|| missing.join("; "));
    Dimension { kind, score: Some(score), note, raise }
}

#[expect(clippy::cast_precision_loss, reason = "a document has far fewer than 2^52 parts")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or(0)
}

pub(super) fn structure(trace: &Trace, report: &Report) -> Dimension {
    let typed = |event: Option<crate::wire::Event>| {
        event.is_some_and(|event| event.text("type").is_some_and(|word| !word.is_empty()))
    };
    let sound = report.has_structure();
    let parts = [
        Part::all_or_nothing(0.4, sound, "fix the structural errors that validation names"),
        Part::all_or_nothing(0.3, typed(trace.trigger()), "record the trigger with its type"),
        Part::all_or_nothing(0.3, typed(trace.outcome()), "record the outcome with its type"),
    ];
    let note = if sound { "the structure holds" } else { "structural errors" };
    dimension(DimensionKind::Structure, &parts, note.to_owned())
}

/// The shortest rationale that can give a reason, in characters.
const RATIONALE_CHARS_MIN: usize = 30;
/// The shortest summary that can describe the outcome, in characters.
const SUMMARY_CHARS_MIN: usize = 25;

fn is_reasoned(action: &&Action) -> bool {
    let rationale = action.rationale().trim();
    rationale.chars().count() >= RATIONALE_CHARS_MIN && !rationale.starts_with('(')
}

pub(super) fn rationale(trace: &Trace) -> Dimension {
    let actions = trace.actions();
    let reasoned = actions.iter().filter(is_reasoned).count();
    let decided = actions.iter().any(|action| action.category() == Some(ActionCategory::Gateway));
    let outcome = trace.outcome();
    let summary = outcome.as_ref().and_then(|outcome| outcome.text("summary")).unwrap_or("");
    let parts = [
        Part::share(0.7, share(reasoned, actions.len()), "give every action a rationale of a sentence"),
        Part::all_or_nothing(0.15, decided, "record at least one decision with its options"),
        Part::all_or_nothing(
            0.15,
            summary.chars().count() >= SUMMARY_CHARS_MIN,
            "summarise the outcome in a sentence",
        ),
    ];
    let note =
        format!("{}% of the actions give their reason in a sentence", percent(reasoned, actions.len()));
    dimension(DimensionKind::Rationale, &parts, note)
}

/// The number of different severities that shows triaged gaps.
const SEVERITIES_FULL: usize = 3;

pub(super) fn negative_space(trace: &Trace) -> Dimension {
    let residuals: Vec<Residual> = trace.residuals().collect();
    if residuals.is_empty() {
        return Dimension {
            kind: DimensionKind::NegativeSpace,
            score: Some(0.0),
            note: "no gap is declared".to_owned(),
            raise: Some("declare what was assumed, left out or not verified".to_owned()),
        };
    }
    let count = residuals.len();
    let filled = |residual: &&Residual| residual.suggested_check().is_some_and(|check| !check.is_empty());
    let checkable = residuals.iter().filter(filled).count();
    let located = |residual: &&Residual| {
        residual.object("target").is_some_and(|target| !target.is_empty())
            || !residual.items("related_artifact_ids").is_empty()
    };
    let placed = residuals.iter().filter(located).count();
    let severities: BTreeSet<Option<&str>> =
        residuals.iter().map(|residual| residual.text("severity")).collect();
    let parts = [
        Part::all_or_nothing(0.4, true, ""),
        Part::share(0.2, share(checkable, count), "say for every gap how it could be closed"),
        Part::share(0.2, share(placed, count), "say for every gap where it bites"),
        Part::share(
            0.2,
            share(severities.len().min(SEVERITIES_FULL), SEVERITIES_FULL),
            "tell gaps apart by severity",
        ),
    ];
    let note = format!("{count} declared, {}% with a suggested check", percent(checkable, count));
    dimension(DimensionKind::NegativeSpace, &parts, note)
}

/// The share for a proof, which can be checked again without a recorded command.
const PROOF_SHARE: f64 = 0.6;

pub(super) fn reproducibility(trace: &Trace) -> Dimension {
    let runs = |action: &&Action| {
        matches!(
            action.action_type(),
            Some(ActionType::Activity(
                ActivityType::RunCommand
                    | ActivityType::RunTests
                    | ActivityType::GitDiff
                    | ActivityType::GitStatus
                    | ActivityType::GitCommit
            ))
        )
    };
    let runnable = trace.actions().iter().filter(runs).count();
    let replayable = replayable(trace);
    let is_proof =
        |kind| matches!(kind, Some(ArtifactType::VerificationGoal | ArtifactType::VerificationResult));
    let proof = trace.artifacts().iter().any(|artifact| is_proof(artifact.artifact_type()));
    let replay = share(replayable, runnable).max(if proof { PROOF_SHARE } else { 0.0 }).min(1.0);
    let bound = trace.entry().text("commit_sha").is_some_and(|sha| !sha.is_empty());
    let described = trace.entry().object("reproducibility").is_some_and(|found| !found.is_empty());
    let parts = [
        Part::share(0.5, replay, "record for every command how to run it again"),
        Part::all_or_nothing(0.25, described, "describe how the trace as a whole is reproduced"),
        Part::all_or_nothing(0.25, bound, "bind the trace to a commit"),
    ];
    let note = format!("{replayable} replayable, {}bound to a commit", if bound { "" } else { "not " });
    dimension(DimensionKind::Reproducibility, &parts, note)
}

/// Returns the number of actions that can be done again.
pub(crate) fn replayable(trace: &Trace) -> usize {
    // What was recorded once is read by a replay, not computed: only a command that is run again shows anything about it.
    let is_recorded = |action: &Action| {
        let determinism =
            action.object("execution").and_then(|execution| execution.get("determinism")?.as_str());
        let command =
            action.object("reproducibility").and_then(|how| how.get("procedure")?.get("command")?.as_str());
        determinism == Some(Determinism::Nondeterministic.as_str())
            && command.is_none_or(|command| command.starts_with("hence replay"))
    };
    let described = trace.actions().iter().filter(|action| {
        action.object("reproducibility").is_some_and(|found| !found.is_empty()) && !is_recorded(action)
    });
    described.count()
}

pub(super) fn evidence(trace: &Trace) -> Dimension {
    let has = |kind| trace.artifacts().iter().any(|artifact| artifact.is(kind));
    let summarised = |action: &Action| action.result_summary().is_some_and(|summary| !summary.is_empty());
    let is_tests = |action: &Action| action.action_type() == Some(ActivityType::RunTests.into());
    let proved = has(ArtifactType::VerificationResult);
    let tested = has(ArtifactType::GeneratedTests)
        || trace.actions().iter().any(|action| is_tests(action) && summarised(action));
    let reported = trace.actions().iter().any(summarised);
    let parts = [
        Part::all_or_nothing(0.5, proved, "verify something formally and record the result"),
        Part::all_or_nothing(0.25, tested, "run tests and record their result"),
        Part::all_or_nothing(0.25, reported, "summarise what actions gave"),
    ];
    let seen = [(proved, "proofs"), (tested, "tests"), (reported, "results")];
    let seen: Vec<&str> = seen.into_iter().filter(|(there, _)| *there).map(|(_, name)| name).collect();
    let note = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
    dimension(DimensionKind::Evidence, &parts, note)
}

/// The verdicts of policies, counted. Policies that do not apply are left out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Compliance {
    /// The number of policies that passed.
    pub passed: usize,
    /// The number of policies that applied.
    pub total: usize,
    /// The names of those that failed, in the order given.
    pub failed: Vec<String>,
}

impl Compliance {
    /// Counts verdicts, given by the name of their policy.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = (&'a str, EvaluationStatus)>) -> Self {
        let mut compliance = Self::default();
        for (name, status) in verdicts {
            match status {
                EvaluationStatus::NotApplicable => continue,
                EvaluationStatus::Passed => compliance.passed += 1,
                EvaluationStatus::Failed => compliance.failed.push(name.to_owned()),
                EvaluationStatus::Unknown => {}
            }
            compliance.total += 1;
        }
        compliance
    }

    /// Counts the verdicts a trace records; nothing when it records none.
    pub fn recorded(trace: &Trace) -> Option<Self> {
        let evaluations: Vec<_> = trace.policy_evaluations().collect();
        let verdicts = evaluations.iter().filter_map(|found| Some((found.policy_id()?, found.status()?)));
        let compliance = Self::of(verdicts);
        (compliance.total > 0).then_some(compliance)
    }
}

pub(super) fn lineage(trace: &Trace, lineage: &Lineage, report: &Report) -> Dimension {
    let kind = DimensionKind::Lineage;
    if trace.artifacts().is_empty() {
        let advice = "record artifacts and what they were derived from";
        return Dimension {
            kind,
            score: None,
            note: "no artifacts".to_owned(),
            raise: Some(advice.to_owned()),
        };
    }
    let checks = [
        (Some(flows(report)), "let every input come from exactly one earlier action"),
        (goals_have_models(trace), "let every verification goal target a model"),
        (tests_have_analyses(trace, lineage), "derive generated tests from an analysis of the state space"),
    ];
    let applicable = checks.iter().filter(|(holds, _)| holds.is_some()).count();
    let passed = checks.iter().filter(|(holds, _)| *holds == Some(true)).count();
    let missing: Vec<&str> =
        checks.iter().filter(|(holds, _)| *holds == Some(false)).map(|(_, advice)| *advice).collect();
    #[expect(clippy::cast_precision_loss, reason = "at most three")]
    let score = passed as f64 / applicable as f64;
    Dimension {
        kind,
        score: Some(score),
        note: format!("{passed} of {applicable} structural checks hold"),
        raise: (!missing.is_empty()).then(|| missing.join("; ")),
    }
}

/// Returns whether each input of each action is produced by exactly one earlier action.
fn flows(report: &Report) -> bool {
    !report.errors().any(|finding| {
        matches!(
            finding.rule,
            Rule::RefInput | Rule::FlowUnproduced | Rule::FlowOrder | Rule::FlowProducerUnique
        )
    })
}

/// Returns whether all goals target a model; nothing when there are none.
fn goals_have_models(trace: &Trace) -> Option<bool> {
    let mut goals = of_type(trace, ArtifactType::VerificationGoal).peekable();
    goals.peek()?;
    Some(goals.all(|goal| {
        let target = goal.payload_text("target_artifact_id").and_then(|id| trace.artifact_by_id(id));
        target.and_then(Artifact::artifact_type).is_some_and(ArtifactType::is_model)
    }))
}

/// Returns whether all generated tests derive from an analysis; nothing when there are none.
fn tests_have_analyses(trace: &Trace, lineage: &Lineage) -> Option<bool> {
    let mut tests = of_type(trace, ArtifactType::GeneratedTests).peekable();
    tests.peek()?;
    let analyses = of_type(trace, ArtifactType::StateSpaceAnalysisResult).filter_map(Artifact::id);
    let derived = lineage.with_descendants(analyses);
    Some(tests.all(|tests| tests.id().is_some_and(|id| derived.binary_search(&id).is_ok())))
}

fn of_type(trace: &Trace, kind: ArtifactType) -> impl Iterator<Item = &Artifact> {
    trace.artifacts().iter().filter(move |artifact| artifact.is(kind))
}
