//! Whether a trace may be approved, and what stands in the way.

use crate::model::CheckOutcome;
use crate::vocabulary::ResidualStatus;

use super::gap::Gap;
use super::review::Review;

/// What a review should come to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Disposition {
    /// Nothing stands in the way.
    Approve,
    /// Something must be done first.
    RequestChanges,
    /// Something only a person may decide is open.
    EscalateToHuman,
}

impl Disposition {
    /// Returns the word of the handoff procedure.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::RequestChanges => "request-changes",
            Self::EscalateToHuman => "escalate-to-human",
        }
    }
}

/// Something that stands in the way of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What it is about, by its id.
    pub subject: String,
    /// What is wrong, and what would clear it.
    pub reason: String,
}

/// A disposition and everything it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What the review should come to.
    pub disposition: Disposition,
    /// What stands in the way; empty for an approval.
    pub obstacles: Vec<Obstacle>,
}

impl Review {
    /// Judges the trace as the review stands now.
    ///
    /// It may be approved only if its structure holds, nothing open blocks, every consequential claim was confirmed, and
    /// nothing grave goes undeclared. An open question is for a person.
    pub fn judgement(&self) -> Judgement {
        let mut obstacles = Vec::new();
        let mut add =
            |subject: &str, reason: String| obstacles.push(Obstacle { subject: subject.to_owned(), reason });
        if self.errors > 0 {
            add("trace", format!("{} validation errors; a successor trace must mend them", self.errors));
        }
        for item in self.items() {
            if item.event.blocking && item.is_open() {
                add(
                    item.event.review_item_id.as_str(),
                    "a blocking item is not resolved or waived".to_owned(),
                );
            }
        }
        let asks = |gap: &Gap| gap.is_question() && gap.status == ResidualStatus::Open;
        for gap in self.gaps() {
            if asks(gap) {
                add(
                    &gap.id,
                    "an open question is for a person to decide; waive it with the answer".to_owned(),
                );
            } else if gap.blocks() {
                let severity = gap.severity.map_or("untriaged", |severity| severity.as_str());
                let stakes = if gap.on_high_stakes { " on a high-stakes path" } else { "" };
                let origin = gap.origin.as_str();
                add(&gap.id, format!("a {severity} {origin} gap{stakes} is open; acknowledge or waive it"));
            }
        }
        for claim in &self.checkables {
            match self.checks.get(claim.artifact_id.as_str()) {
                Some(CheckOutcome::Confirmed | CheckOutcome::Accepted) => {}
                Some(CheckOutcome::Diverged) => {
                    add(&claim.artifact_id, "checking it again gave something else".to_owned());
                }
                None => add(&claim.artifact_id, "nobody checked this claim again".to_owned()),
            }
        }
        let disposition = match (obstacles.is_empty(), self.gaps().iter().any(asks)) {
            (true, _) => Disposition::Approve,
            (false, true) => Disposition::EscalateToHuman,
            (false, false) => Disposition::RequestChanges,
        };
        Judgement { disposition, obstacles }
    }
}
