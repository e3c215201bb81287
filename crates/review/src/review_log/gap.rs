//! The gaps of a trace (declared, derived, undeclared, of reviewers) and its claims that can be checked again.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;

use crate::lineage::Lineage;
use crate::model::{GapEvent, TargetPart};
use crate::reproduce::{Judgement, judge};
use crate::residuals::{DerivedResidual, by_severity, derive_residuals};
use crate::vocabulary::{
    ActionType, ActivityType, ArtifactType, Determinism, ResidualKind, ResidualSeverity, ResidualSource,
    ResidualStatus, TargetType,
};
use crate::wire::{Action, Residual, Trace};

use super::verified::{Coverage, Verified};

/// The origin of a gap, an item or a comment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// The trace declares it.
    Declared,
    /// It follows from what the trace records.
    Derived,
    /// A change was neither verified nor declared.
    Undeclared,
    /// A reviewer found it.
    Reviewer,
}

impl Origin {
    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Derived => "derived",
            Self::Undeclared => "undeclared",
            Self::Reviewer => "reviewer",
        }
    }
}

/// The urgency of a gap for a reviewer, most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Urgency {
    /// It prevents an approval until somebody decides about it.
    Blocking,
    /// It becomes a review item.
    ReviewItem,
    /// A comment is enough.
    Comment,
}

impl Urgency {
    /// Returns the word for packets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::ReviewItem => "review item",
            Self::Comment => "comment",
        }
    }
}

/// A gap with its status in a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its id; the same trace always gives the same ones.
    pub id: String,
    /// Its origin.
    pub origin: Origin,
    /// Its source, in the words of the format.
    pub source: ResidualSource,
    /// Its kind as written.
    pub kind: String,
    /// The impact; nothing when the gap was not triaged.
    pub severity: Option<ResidualSeverity>,
    /// The gap in plain language.
    pub statement: String,
    /// The check that could close it.
    pub suggested_check: Option<String>,
    /// The part it is about; nothing when it names none, or a path.
    pub part: Option<TargetPart>,
    /// Its subject in words.
    pub target: String,
    /// Whether its subject is on a high-stakes path.
    pub on_high_stakes: bool,
    /// Its status.
    pub status: ResidualStatus,
}

impl Gap {
    /// Returns how urgent it is. A gap without a severity counts as medium.
    pub fn urgency(&self) -> Urgency {
        let severity = self.severity.unwrap_or(ResidualSeverity::Medium);
        let is_open = self.status == ResidualStatus::Open;
        let blocking = if self.on_high_stakes { ResidualSeverity::Medium } else { ResidualSeverity::High };
        match severity {
            severity if is_open && severity >= blocking => Urgency::Blocking,
            ResidualSeverity::Info | ResidualSeverity::Low => Urgency::Comment,
            _ => Urgency::ReviewItem,
        }
    }

    /// Returns whether it must be dealt with before an approval.
    pub fn blocks(&self) -> bool {
        self.urgency() == Urgency::Blocking
    }

    /// Returns whether only a person may decide it.
    pub fn is_question(&self) -> bool {
        self.kind == ResidualKind::OpenQuestion.as_str()
    }

    /// Makes the gap a reviewer declares.
    pub(super) fn reviewers(event: &GapEvent, trace: &Trace, lineage: &Lineage) -> Self {
        let part = event.target.part.clone();
        let mut texts = vec![event.statement.to_string()];
        part_texts(trace, lineage, part.target_type(), part.id().as_deref().unwrap_or(""), &mut texts);
        Self {
            id: event.residual_id.to_string(),
            origin: Origin::Reviewer,
            source: ResidualSource::ReviewerAdded,
            kind: event.kind.as_str().to_owned(),
            severity: Some(event.severity),
            statement: event.statement.to_string(),
            suggested_check: event.suggested_check.as_deref().map(str::to_owned),
            target: words(&part),
            on_high_stakes: texts.iter().any(|text| is_high_stakes(trace, text)),
            part: Some(part),
            status: ResidualStatus::Open,
        }
    }
}

/// Returns the gaps of a trace: declared ones in review order, then derived, then undeclared ones.
pub fn gaps(trace: &Trace, lineage: &Lineage) -> Vec<Gap> {
    let mut found: Vec<Gap> =
        by_severity(trace).iter().map(|residual| declared(trace, lineage, residual)).collect();
    found.extend(derive_residuals(trace).into_iter().map(|residual| derived(trace, residual)));
    found.extend(undeclared(trace, lineage));
    // Of two with the same id the first keeps it; the later one is named by its place.
    let mut seen = BTreeSet::new();
    for (place, gap) in found.iter_mut().enumerate() {
        if !seen.insert(gap.id.clone()) {
            gap.id = format!("{}#{place}", gap.id);
        }
    }
    found
}

fn declared(trace: &Trace, lineage: &Lineage, residual: &Residual) -> Gap {
    let target = residual.target();
    let named =
        target.as_ref().and_then(|target| Some((target.target_type()?, target.target_id().unwrap_or(""))));
    Gap {
        id: residual.id().map_or_else(|| format!("#{}", residual.index()), str::to_owned),
        origin: Origin::Declared,
        source: residual
            .text("source")
            .and_then(ResidualSource::from_word)
            .unwrap_or(ResidualSource::AgentDeclared),
        kind: residual.text("kind").unwrap_or("unknown kind").to_owned(),
        severity: residual.severity(),
        statement: residual.statement().to_owned(),
        suggested_check: residual.suggested_check().filter(|check| !check.is_empty()).map(str::to_owned),
        part: None,
        target: named.map(|(kind, id)| format!("{kind} {id}").trim().to_owned()).unwrap_or_default(),
        on_high_stakes: about(trace, lineage, residual).iter().any(|text| is_high_stakes(trace, text)),
        // A gap with an unknown status counts as open.
        status: residual.status().unwrap_or(ResidualStatus::Open),
    }
}

fn derived(trace: &Trace, residual: DerivedResidual) -> Gap {
    let id = residual.target.id();
    Gap {
        on_high_stakes: is_high_stakes(trace, id.as_deref().unwrap_or(""))
            || is_high_stakes(trace, &residual.statement),
        target: words(&residual.target),
        part: Some(residual.target),
        id: residual.id,
        origin: Origin::Derived,
        source: residual.basis.source(),
        kind: residual.basis.kind().to_owned(),
        severity: Some(residual.severity),
        statement: residual.statement,
        suggested_check: Some(residual.suggested_check),
        status: ResidualStatus::Open,
    }
}

fn words(part: &TargetPart) -> String {
    let id = part.id().unwrap_or_default();
    format!("{} {id}", part.target_type()).trim().to_owned()
}

/// Returns whether a text contains a high-stakes path of the trace.
pub(super) fn is_high_stakes(trace: &Trace, text: &str) -> bool {
    trace.high_stakes_paths().any(|path| !path.is_empty() && text.contains(path))
}

/// Returns the texts that name the subject of a residual.
pub(super) fn about(trace: &Trace, lineage: &Lineage, residual: &Residual) -> Vec<String> {
    let mut texts = vec![residual.statement().to_owned()];
    for id in residual.related_artifact_ids() {
        part_texts(trace, lineage, TargetType::Artifact, id, &mut texts);
    }
    if let Some(target) = residual.target()
        && let Some(kind) = target.target_type()
    {
        part_texts(trace, lineage, kind, target.target_id().unwrap_or(""), &mut texts);
    }
    texts
}

/// Adds the names and targets of a part.
pub(super) fn part_texts(
    trace: &Trace,
    lineage: &Lineage,
    kind: TargetType,
    id: &str,
    texts: &mut Vec<String>,
) {
    match kind {
        TargetType::Artifact => {
            texts.push(id.to_owned());
            texts.extend(trace.artifact_by_id(id).and_then(|artifact| artifact.name()).map(str::to_owned));
            texts.extend(lineage.producer(id).map(|maker| lineage.target(maker).to_owned()));
        }
        TargetType::Action => {
            let action = id.parse().ok().and_then(|id| trace.action_by_id(id));
            texts.extend(action.map(|action| lineage.target(action.position()).to_owned()));
        }
        _ => {}
    }
}

/// Returns the changes that were neither verified nor declared.
///
/// [`Verified`] says what counts as verified. A change counts as declared when a residual names the file, its artifact
/// or its action.
fn undeclared(trace: &Trace, lineage: &Lineage) -> Vec<Gap> {
    let verified = Verified::of(trace, lineage);
    let mut changed: BTreeMap<&str, &Action> = BTreeMap::new();
    for action in trace.actions().iter().filter(|action| is_change(action)) {
        changed.insert(lineage.target(action.position()), action);
    }
    let mut paths: BTreeSet<&str> = changed.keys().copied().collect();
    paths.extend(trace.files_modified());
    paths.remove("");
    let mentioned: Vec<String> =
        trace.residuals().map(|residual| about(trace, lineage, &residual).join("\n")).collect();
    let found = paths.into_iter().filter_map(|path| {
        let on_high_stakes = is_high_stakes(trace, path);
        let coverage = verified.coverage(path, changed.get(path).copied(), on_high_stakes);
        let settled = coverage == Coverage::Verified || mentioned.iter().any(|text| text.contains(path));
        (!settled).then(|| undeclared_gap(path, coverage, on_high_stakes))
    });
    found.collect()
}

fn undeclared_gap(path: &str, coverage: Coverage<'_>, on_high_stakes: bool) -> Gap {
    let by = |check: &Action| format!("{} (action {})", check.type_word(), check.id().unwrap_or_default());
    let (statement, check) = match coverage {
        Coverage::Refuted(check) => (
            format!(
                "{path} was changed, and the check after it failed: {}. No declared gap mentions it.",
                by(check)
            ),
            "Make the check pass, or declare why it may fail.",
        ),
        Coverage::Undecided(check) => (
            format!(
                "{path} was changed, and the check after it does not say how it ended: {}. No declared gap mentions it.",
                by(check)
            ),
            "Repeat the check and record its result.",
        ),
        Coverage::Verified | Coverage::Unchecked => (
            format!("{path} was changed; nothing verifies it and no declared gap mentions it."),
            "Verify the change, or declare why it needs none.",
        ),
    };
    Gap {
        id: format!("undeclared-{path}"),
        origin: Origin::Undeclared,
        source: ResidualSource::ToolInferred,
        kind: ResidualKind::Unverified.as_str().to_owned(),
        severity: Some(if on_high_stakes { ResidualSeverity::High } else { ResidualSeverity::Medium }),
        statement,
        suggested_check: Some(check.to_owned()),
        part: None,
        target: path.to_owned(),
        on_high_stakes,
        status: ResidualStatus::Open,
    }
}

fn is_change(action: &Action) -> bool {
    matches!(
        action.action_type(),
        Some(ActionType::Activity(
            ActivityType::EditFile
                | ActivityType::CreateFile
                | ActivityType::DeleteFile
                | ActivityType::RenameFile
        ))
    )
}

/// Returns whether a text names a way to read a record again: a replay, a verification, a look at it.
pub(super) fn is_rereading(text: &str) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric()).collect();
    let reads = ["replay", "verify", "show", "log", "state", "diff", "why", "stats", "export"];
    words.iter().any(|word| word.starts_with("replay") || ["reread", "re-read"].contains(word))
        || words.windows(2).any(|pair| matches!(pair, ["hence", word] if reads.contains(word)))
}

/// A claim that a reviewer can check again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkable {
    /// The artifact.
    pub artifact_id: String,
    /// Its type as written.
    pub kind: String,
    /// Its subject.
    pub about: String,
    /// The action that made it.
    pub action_id: Option<i64>,
    /// The command that should reproduce it, if the action has one.
    pub command: Option<String>,
    /// The safety of that command.
    pub judgement: Option<Judgement>,
    /// The tool that made it, if the action names one.
    pub tool: Option<String>,
    /// The expected result.
    pub expected: Option<String>,
    /// The source of the result.
    pub basis: Basis,
    /// The calls that would check a recorded result, in words.
    pub again: Vec<String>,
}

/// The way in which the result of a claim came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// A command or a replay computes it again.
    Computed,
    /// It was recorded once. Reading the record again shows nothing about it.
    Recorded,
}

/// Returns the consequential claims of a trace: results that no later artifact supersedes.
pub fn checkables(trace: &Trace, lineage: &Lineage) -> Vec<Checkable> {
    let replaced: BTreeSet<&str> =
        trace.artifacts().iter().filter_map(|artifact| artifact.supersedes()).collect();
    let is_result = |kind: Option<ArtifactType>| {
        matches!(
            kind,
            Some(
                ArtifactType::VerificationResult
                    | ArtifactType::CommandResult
                    | ArtifactType::StateSpaceAnalysisResult
                    | ArtifactType::ConformanceResult
            )
        )
    };
    let found = trace.artifacts().iter().filter(|artifact| is_result(artifact.artifact_type()));
    found
        .filter_map(|artifact| {
            let id = artifact.id().filter(|id| !replaced.contains(id))?;
            let maker = lineage.producer(id).and_then(|position| trace.action(position));
            let how = maker.and_then(|action| action.object("reproducibility"));
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let command = text(how.and_then(|how| how.get("procedure")?.get("command")));
            let expected = how.and_then(|how| how.get("expected_output")?.get("result_summary"));
            let is_unstable = maker
                .and_then(|action| action.object("execution")?.get("determinism")?.as_str())
                .is_some_and(|word| word == Determinism::Nondeterministic.as_str());
            // A replay of a run reads what is not deterministic from its journal.
            let command = command.filter(|command| !is_unstable || !is_rereading(command));
            let basis = if is_unstable && command.is_none() { Basis::Recorded } else { Basis::Computed };
            let steps =
                how.and_then(|how| how.get("procedure")?.get("steps")?.as_array()).unwrap_or_default();
            Some(Checkable {
                basis,
                again: steps.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                artifact_id: id.to_owned(),
                kind: artifact.type_word().to_owned(),
                about: artifact.about().to_owned(),
                action_id: maker.and_then(crate::wire::Action::id),
                judgement: command.as_deref().map(judge),
                command,
                tool: text(maker.and_then(|action| action.object("execution")?.get("tool"))),
                expected: text(expected)
                    .filter(|_| basis == Basis::Computed)
                    .or_else(|| maker.and_then(|action| action.result_summary()).map(str::to_owned)),
            })
        })
        .collect()
}
