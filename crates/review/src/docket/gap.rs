//! Everything a trace leaves open: what it declares, what follows from it, what nobody mentions.

use std::collections::BTreeSet;

use crate::lineage::Lineage;
use crate::model::{GapEvent, TargetPart};
use crate::residuals::{DerivedResidual, by_severity, derive_residuals};
use crate::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus, TargetType};
use crate::wire::{Residual, Trace};

use super::undeclared::undeclared;

/// How something in a review came to light.
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

/// How a reviewer should treat a gap, most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Urgency {
    /// It stops an approval until somebody decides about it.
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

/// A gap, and where it stands in a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its id; the same trace always gives the same ones.
    pub id: String,
    /// How it came to light.
    pub origin: Origin,
    /// Who surfaced it, in the words of the format.
    pub source: ResidualSource,
    /// Its kind as written.
    pub kind: String,
    /// The impact; nothing when nobody triaged it.
    pub severity: Option<ResidualSeverity>,
    /// The gap in plain language.
    pub statement: String,
    /// How it could be closed.
    pub suggested_check: Option<String>,
    /// The part it is about; nothing when it names none, or a path.
    pub part: Option<TargetPart>,
    /// What it is about, in words.
    pub target: String,
    /// Whether that lies on a path the trace calls high stakes.
    pub on_high_stakes: bool,
    /// Where it stands.
    pub status: ResidualStatus,
}

impl Gap {
    /// Returns how urgent it is. A gap nobody weighed is weighed as medium.
    pub fn urgency(&self) -> Urgency {
        let severity = self.severity.unwrap_or(ResidualSeverity::Medium);
        let is_open = self.status == ResidualStatus::Open;
        let grave = if self.on_high_stakes { ResidualSeverity::Medium } else { ResidualSeverity::High };
        match severity {
            severity if is_open && severity >= grave => Urgency::Blocking,
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

/// Finds the gaps of a trace: declared ones as a reviewer walks them, then derived, then undeclared ones.
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
        // A foreign word is no status: the gap counts as open until somebody says otherwise.
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

/// Returns whether a text names something the trace calls high stakes.
pub(super) fn is_high_stakes(trace: &Trace, text: &str) -> bool {
    trace.high_stakes_paths().any(|path| !path.is_empty() && text.contains(path))
}

/// Returns the texts that say where a residual bites.
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
