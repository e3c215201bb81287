//! How urgent a gap is, and what to do about it.

use crate::lineage::Lineage;
use crate::vocabulary::{ResidualKind, ResidualSeverity, ResidualStatus, TargetType};
use crate::wire::{Residual, Trace};

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

/// Judges a gap by severity, status and where it bites, and says what to do about its kind.
pub fn triage(trace: &Trace, lineage: &Lineage, residual: &Residual) -> (Urgency, &'static str) {
    let open = residual.status() == Some(ResidualStatus::Open);
    let urgency = match residual.severity() {
        Some(ResidualSeverity::Critical | ResidualSeverity::High) if open => Urgency::Blocking,
        Some(ResidualSeverity::Medium) if open && is_high_stakes(trace, lineage, residual) => {
            Urgency::Blocking
        }
        Some(ResidualSeverity::Critical | ResidualSeverity::High | ResidualSeverity::Medium) => {
            Urgency::ReviewItem
        }
        // A gap nobody has weighed is weighed as medium.
        None => Urgency::ReviewItem,
        Some(ResidualSeverity::Low | ResidualSeverity::Info) => Urgency::Comment,
    };
    let advice = match residual.kind() {
        Some(ResidualKind::Assumption) => "check the premise where much depends on it, else raise an item",
        Some(ResidualKind::Unverified) => {
            "run the check, or raise an item; where much depends on it, let it block"
        }
        Some(ResidualKind::OutOfScope) => {
            "confirm the exclusion; escalate if the change depends on what was left out"
        }
        Some(ResidualKind::Limitation) => "carry the bound along; block if the result is used outside of it",
        Some(ResidualKind::OpenQuestion) => "ask a person; no tool can answer this",
        None => "find out what kind of gap this is",
    };
    (urgency, advice)
}

/// Returns whether a gap bites on a path the trace declares as high stakes.
fn is_high_stakes(trace: &Trace, lineage: &Lineage, residual: &Residual) -> bool {
    let Some(target) = residual.target() else { return false };
    let position = match target.target_type() {
        Some(TargetType::Action) => {
            let action =
                target.target_id().and_then(|id| id.parse().ok()).and_then(|id| trace.action_by_id(id));
            action.map(crate::wire::Action::position)
        }
        Some(TargetType::Artifact) => target.target_id().and_then(|id| lineage.producer(id)),
        _ => None,
    };
    let Some(position) = position else { return false };
    let touched = lineage.target_lineage(position);
    trace
        .high_stakes_paths()
        .any(|path| !path.is_empty() && touched.iter().any(|target| target.contains(path)))
}
