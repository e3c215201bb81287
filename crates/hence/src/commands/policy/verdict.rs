//! Verdicts as reports show them.

use hence_policy::Summary;
use hence_policy::lint::Finding;
use hence_policy::verdict::{Step, Verdict, Witnesses};
use schemars::JsonSchema;
use serde::Serialize;

/// How many verdicts there are of each kind. Vacuous ones are not compliance and stand apart.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub(crate) struct Counts {
    /// Policies that applied and were satisfied.
    pub(super) proven: usize,
    /// Policies that were violated.
    pub(super) failed: usize,
    /// Policies that had nothing to say about the trace.
    pub(super) vacuous: usize,
    /// Policies without a verdict.
    pub(super) unknown: usize,
    /// Verdicts that rest on words looked for in texts.
    pub(super) heuristic: usize,
}

impl Counts {
    pub(super) fn of(summary: Summary) -> Self {
        let Summary { proven, failed, vacuous, unknown, heuristic } = summary;
        Self { proven, failed, vacuous, unknown, heuristic }
    }

    /// Returns whether no policy had anything to say.
    pub(super) const fn is_vacuous(self) -> bool {
        self.proven + self.failed + self.unknown == 0
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            proven: self.proven + other.proven,
            failed: self.failed + other.failed,
            vacuous: self.vacuous + other.vacuous,
            unknown: self.unknown + other.unknown,
            heuristic: self.heuristic + other.heuristic,
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { proven, failed, vacuous, unknown, heuristic } = self;
        write!(out, "{proven} proven, {failed} failed, {vacuous} vacuous, {unknown} unknown")?;
        match heuristic {
            0 => Ok(()),
            _ => write!(out, "; {heuristic} rest on words looked for in texts"),
        }
    }
}

/// What a policy says about a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerdictReport {
    /// The policy.
    policy_id: String,
    /// How much a failure matters: info, warning or error.
    severity: &'static str,
    /// passed, failed, not_applicable or unknown. Only passed is compliance.
    status: &'static str,
    /// Why, in a sentence.
    note: Option<String>,
    /// Why it failed, step by step, outermost first.
    explanation: Vec<StepReport>,
    /// What violated it.
    violating: WitnessReport,
    /// What satisfied it where it applied.
    evidence: WitnessReport,
    /// Words that were looked for in texts: the verdict rests on a guess about them.
    heuristic_words: Vec<String>,
    #[serde(skip)]
    line: String,
}

/// One step of an explanation.
#[derive(Serialize, JsonSchema)]
struct StepReport {
    /// The action's place in the trace, from 0.
    position: Option<usize>,
    /// The action's id.
    action_id: Option<i64>,
    /// The action's type.
    action_type: Option<String>,
    /// What was found there, or not found.
    found: String,
}

/// Parts of a trace a verdict points at.
#[derive(Serialize, JsonSchema)]
struct WitnessReport {
    /// Ids of actions.
    action_ids: Vec<i64>,
    /// Ids of artifacts.
    artifact_ids: Vec<String>,
    /// Ids of residuals.
    residual_ids: Vec<String>,
    /// Other elements, by id or place.
    elements: Vec<String>,
}

/// Something wrong or odd about a policy.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingReport {
    /// The policy.
    pub(super) policy_id: String,
    /// error: the policy cannot be evaluated; warning: perhaps not as meant.
    pub(super) weight: &'static str,
    /// What, and where in the formula.
    pub(super) text: String,
}

impl VerdictReport {
    pub(super) fn of(verdict: &Verdict) -> Self {
        let steps = verdict.explanation.iter().flat_map(|explanation| &explanation.steps);
        Self {
            policy_id: verdict.policy_id.to_string(),
            severity: verdict.severity.as_str(),
            status: verdict.status.as_str(),
            note: verdict.note(),
            explanation: steps.map(StepReport::of).collect(),
            violating: WitnessReport::of(&verdict.violating),
            evidence: WitnessReport::of(&verdict.evidence),
            heuristic_words: verdict.heuristic_words.clone(),
            line: verdict.to_string(),
        }
    }

    /// Returns whether the verdict's note is what a finding says.
    pub(super) fn says(&self, finding: &FindingReport) -> bool {
        self.policy_id == finding.policy_id && self.note.as_ref() == Some(&finding.text)
    }

    /// Returns the verdict in a line, and by what it is sorted: what needs attention first.
    pub(super) fn line(&self) -> (u8, &str) {
        let order = match self.status {
            "failed" => 0,
            "unknown" => 1,
            "passed" => 2,
            _ => 3,
        };
        (order, &self.line)
    }
}

impl StepReport {
    fn of(step: &Step) -> Self {
        let action = step.action.as_ref();
        Self {
            position: action.map(|action| action.position),
            action_id: action.and_then(|action| action.id),
            action_type: action.map(|action| action.action_type.clone()),
            found: step.found.clone(),
        }
    }
}

impl WitnessReport {
    fn of(witnesses: &Witnesses) -> Self {
        let texts = |ids: &[std::sync::Arc<str>]| ids.iter().map(ToString::to_string).collect();
        Self {
            action_ids: witnesses.action_ids.clone(),
            artifact_ids: texts(&witnesses.artifact_ids),
            residual_ids: texts(&witnesses.residual_ids),
            elements: texts(&witnesses.elements),
        }
    }
}

impl FindingReport {
    pub(super) fn of(policy_id: &str, finding: &Finding) -> Self {
        let weight = finding.severity().as_str();
        Self { policy_id: policy_id.to_owned(), weight, text: finding.to_string() }
    }
}
