//! Everything a trace leaves open: what it declares, what follows from it, what nobody mentions.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;

use crate::lineage::Lineage;
use crate::model::{Field as _, Target};
use crate::residuals::{by_severity, derive_residuals};
use crate::vocabulary::{
    ActionType, ActivityType, ReasoningType, ResidualSeverity, ResidualStatus, TargetType,
};
use crate::wire::{Action, Position, Residual, Trace};

/// How a gap came to light.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// The trace declares it.
    Declared,
    /// It follows from what the trace records.
    Derived,
    /// Something was changed and neither verified nor declared.
    Undeclared,
    /// A reviewer found it.
    Reviewer,
}

impl Origin {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Derived => "derived",
            Self::Undeclared => "undeclared",
            Self::Reviewer => "reviewer",
        }
    }
}

/// A gap, and where it stands in a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its id; the same trace always gives the same ones.
    pub id: String,
    /// How it came to light.
    pub origin: Origin,
    /// Its kind as written.
    pub kind: String,
    /// The impact; nothing when nobody triaged it.
    pub severity: Option<ResidualSeverity>,
    /// The gap in plain language.
    pub statement: String,
    /// How it could be closed.
    pub suggested_check: Option<String>,
    /// What it is about, in words.
    pub target: String,
    /// Whether that lies on a path the trace calls high stakes.
    pub on_high_stakes: bool,
    /// Where it stands.
    pub status: ResidualStatus,
}

impl Gap {
    /// Returns whether it must be dealt with before an approval: high or critical, or on a high-stakes path.
    pub fn blocks(&self) -> bool {
        let is_high = self.severity >= Some(ResidualSeverity::High);
        let is_grave = self.severity >= Some(ResidualSeverity::Medium);
        self.status == ResidualStatus::Open && (is_high || (is_grave && self.on_high_stakes))
    }

    /// Returns whether only a person may decide it.
    pub fn is_question(&self) -> bool {
        self.kind == "open_question"
    }
}

/// Finds the gaps of a trace: declared ones as a reviewer walks them, then derived, then undeclared ones.
pub fn gaps(trace: &Trace, lineage: &Lineage) -> Vec<Gap> {
    let stakes: Vec<&str> = trace.high_stakes_paths().filter(|path| !path.is_empty()).collect();
    let is_high_stakes = |text: &str| stakes.iter().any(|path| text.contains(path));
    let mut found: Vec<Gap> = by_severity(trace)
        .iter()
        .map(|residual| declared(trace, lineage, residual, &is_high_stakes))
        .collect();
    for derived in derive_residuals(trace) {
        let target = Target::from(derived.target.clone()).encode().unwrap_or_default();
        let target_id = target.get("target_id").and_then(Value::as_str).unwrap_or("").to_owned();
        found.push(Gap {
            on_high_stakes: is_high_stakes(&target_id) || is_high_stakes(&derived.statement),
            target: format!("{} {target_id}", derived.target.target_type()),
            id: derived.id,
            origin: Origin::Derived,
            kind: derived.basis.kind().to_owned(),
            severity: Some(derived.severity),
            statement: derived.statement,
            suggested_check: Some(derived.suggested_check),
            status: ResidualStatus::Open,
        });
    }
    found.extend(undeclared(trace, lineage, &is_high_stakes));
    // Of two with the same id the first keeps it; the later one is named by its place.
    let mut seen = BTreeSet::new();
    for (place, gap) in found.iter_mut().enumerate() {
        if !seen.insert(gap.id.clone()) {
            gap.id = format!("{}#{place}", gap.id);
        }
    }
    found
}

fn declared(trace: &Trace, lineage: &Lineage, residual: &Residual, is_high: &dyn Fn(&str) -> bool) -> Gap {
    let target = residual.target();
    let part =
        target.as_ref().and_then(|target| Some((target.target_type()?, target.target_id().unwrap_or(""))));
    let on_high_stakes = about(trace, lineage, part, residual).iter().any(|text| is_high(text));
    Gap {
        id: residual.id().map_or_else(|| format!("#{}", residual.index()), str::to_owned),
        origin: Origin::Declared,
        kind: residual.text("kind").unwrap_or("unknown kind").to_owned(),
        severity: residual.severity(),
        statement: residual.statement().to_owned(),
        suggested_check: residual.suggested_check().filter(|check| !check.is_empty()).map(str::to_owned),
        target: part.map(|(kind, id)| format!("{kind} {id}").trim().to_owned()).unwrap_or_default(),
        on_high_stakes,
        // A foreign word is no status: the gap counts as open until somebody says otherwise.
        status: residual.status().unwrap_or(ResidualStatus::Open),
    }
}

/// Returns the texts that say where a residual bites.
fn about(
    trace: &Trace,
    lineage: &Lineage,
    part: Option<(TargetType, &str)>,
    residual: &Residual,
) -> Vec<String> {
    let mut texts = vec![residual.statement().to_owned()];
    let mut artifact = |id: &str| {
        texts.push(id.to_owned());
        texts.extend(trace.artifact_by_id(id).and_then(|artifact| artifact.name()).map(str::to_owned));
        texts.extend(lineage.producer(id).map(|maker| lineage.target(maker).to_owned()));
    };
    residual.related_artifact_ids().for_each(&mut artifact);
    match part {
        Some((TargetType::Artifact, id)) => artifact(id),
        Some((TargetType::Action, id)) => {
            let action = id.parse().ok().and_then(|id| trace.action_by_id(id));
            texts.extend(action.map(|action| lineage.target(action.position()).to_owned()));
        }
        _ => {}
    }
    texts
}

/// Finds what was changed and neither verified nor declared.
///
/// A change counts as verified when a later check consumed or built on what it made, or had the same target.
fn undeclared(trace: &Trace, lineage: &Lineage, is_high: &dyn Fn(&str) -> bool) -> Vec<Gap> {
    let checks: Vec<&Action> = trace.actions().iter().filter(|action| is_check(action)).collect();
    let touched: Vec<&str> = checks.iter().flat_map(|check| check.inputs().chain(check.outputs())).collect();
    let verified: BTreeSet<&str> = lineage.with_ancestors(touched).into_iter().collect();
    let mut checked_last: BTreeMap<&str, Position> = BTreeMap::new();
    for check in &checks {
        checked_last.insert(lineage.target(check.position()), check.position());
    }
    let mut changed_last: BTreeMap<&str, &Action> = BTreeMap::new();
    for action in trace.actions().iter().filter(|action| is_change(action)) {
        changed_last.insert(lineage.target(action.position()), action);
    }
    let mut paths: BTreeSet<&str> = changed_last.keys().copied().collect();
    paths.extend(trace.files_modified());
    paths.remove("");
    let mentioned: Vec<String> = trace
        .residuals()
        .map(|residual| {
            let part = residual.target();
            let part = part.as_ref().and_then(|target| Some((target.target_type()?, target.target_id()?)));
            about(trace, lineage, part, &residual).join("\n")
        })
        .collect();
    let is_open = |path: &&str| {
        let change = changed_last.get(path);
        let by_flow = change.is_some_and(|change| change.outputs().any(|id| verified.contains(id)));
        let by_target = checked_last
            .get(path)
            .is_some_and(|check| change.is_none_or(|change| change.position() < *check));
        !by_flow && !by_target && !mentioned.iter().any(|text| text.contains(*path))
    };
    paths.into_iter().filter(is_open).map(|path| undeclared_gap(path, is_high(path))).collect()
}

fn undeclared_gap(path: &str, on_high_stakes: bool) -> Gap {
    Gap {
        id: format!("undeclared-{path}"),
        origin: Origin::Undeclared,
        kind: "unverified".to_owned(),
        severity: Some(if on_high_stakes { ResidualSeverity::High } else { ResidualSeverity::Medium }),
        statement: format!("{path} was changed; nothing verifies it and no declared gap mentions it."),
        suggested_check: Some("Verify the change, or declare why it needs none.".to_owned()),
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

fn is_check(action: &Action) -> bool {
    match action.action_type() {
        Some(ActionType::Activity(word)) => matches!(
            word,
            ActivityType::RunTests
                | ActivityType::TypeCheck
                | ActivityType::Lint
                | ActivityType::ManualVerification
        ),
        Some(ActionType::Reasoning(word)) => matches!(
            word,
            ReasoningType::Verify
                | ReasoningType::StateSpaceAnalysis
                | ReasoningType::ConformanceCheck
                | ReasoningType::CoSimulate
        ),
        _ => false,
    }
}
