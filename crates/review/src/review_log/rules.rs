//! The rules of a review: refusals, decisions, obstacles to an approval, and the states of items, comments and gaps.

use crate::model::{CheckEvent, CheckOutcome, GapEvent, SubjectEvent, SubjectType};
use crate::vocabulary::{ResidualStatus, ReviewItemStatus, words};

use super::gap::{Basis, Gap, Origin, is_rereading, part_texts};
use super::record::Stamp;
use super::review::Review;
use super::thread::Item;

/// An entry that the rules of a review refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each variant means")]
pub enum Refusal {
    #[error("the id {0:?} is taken")]
    Taken(String),
    #[error("nothing in the review has the id {0:?}")]
    Unknown(String),
    #[error("the trace has no {0}")]
    NoTarget(String),
    #[error("{what} must say something")]
    Silent { what: &'static str },
    #[error("{id:?} is {status} already")]
    Settled { id: String, status: &'static str },
    #[error("{id:?} is a gap: a successor trace addresses it, a review acknowledges or waives it")]
    GapNotResolved { id: String },
    #[error("{id:?} is a comment: it can only be resolved")]
    CommentOnlyResolved { id: String },
    #[error("the review comes to {disposition}, not approve; obstacles: {obstacles}, first {first}")]
    NotApprovable { disposition: &'static str, obstacles: usize, first: String },
    #[error("the trace is approved: comment on it, or take the approval back first")]
    AlreadyApproved,
    #[error("nothing is decided that could be taken back")]
    NothingDecided,
    #[error("{id:?} is a recorded result, which reading the record again does not confirm; {again}")]
    OnlyReread { id: String, again: String },
}

words! {
    /// The kind of a decision.
    DecisionKind, "decision" {
        Approved = "approved",
        Rejected = "rejected",
        ChangesRequested = "changes_requested",
        Escalated = "escalated",
    }
}

words! {
    /// The stage of a review.
    Stage, "stage of a review" {
        UnderReview = "under_review",
        ReadyForApproval = "ready_for_approval",
        ChangesRequired = "changes_required",
        Approved = "approved",
        Rejected = "rejected",
    }
}

/// A decision on the whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The kind.
    pub kind: DecisionKind,
    /// Who decided, and when.
    pub stamp: Stamp,
    /// The note.
    pub note: Option<String>,
}

/// The result a review should have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Disposition {
    /// There is no obstacle.
    Approve,
    /// Something must be done first.
    RequestChanges,
    /// A question that only a person may decide is open.
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

/// An obstacle to an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The id of its subject.
    pub subject: String,
    /// The reason, and what would clear it.
    pub reason: String,
}

/// A disposition with its obstacles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The disposition.
    pub disposition: Disposition,
    /// The obstacles; empty for an approval.
    pub obstacles: Vec<Obstacle>,
}

impl Review {
    /// Judges the trace by the review so far.
    ///
    /// It may be approved only if its structure holds, nothing open blocks, every consequential claim was confirmed, and
    /// nothing severe is undeclared. An open question is for a person.
    pub fn judgement(&self) -> Judgement {
        let mut obstacles = Vec::new();
        let mut add =
            |subject: &str, reason: String| obstacles.push(Obstacle { subject: subject.to_owned(), reason });
        if self.errors > 0 {
            add("trace", format!("{} validation errors; a successor trace must fix them", self.errors));
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
                Some(CheckOutcome::Reread) => add(
                    &claim.artifact_id,
                    "it was only read again from the record; check it, or accept it with a reason".to_owned(),
                ),
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

impl Review {
    /// Refuses to confirm a recorded result without saying how it was checked, or by reading the record again.
    ///
    /// Entries that are read back are not judged by this rule: older versions allowed them.
    ///
    /// # Errors
    /// [`Refusal::OnlyReread`] with what would check the result.
    pub fn may_confirm(&self, event: &CheckEvent) -> Result<(), Refusal> {
        let claim = self.checkables.iter().find(|claim| claim.artifact_id == event.artifact_id.as_str());
        let note = event.note.as_deref().unwrap_or("").trim();
        let is_recorded = claim.is_some_and(|claim| claim.basis == Basis::Recorded);
        let says_how = !note.is_empty() && !is_rereading(note);
        if event.outcome != CheckOutcome::Confirmed || !is_recorded || says_how {
            return Ok(());
        }
        let steps = claim.map(|claim| claim.again.join("; ")).filter(|steps| !steps.is_empty());
        let again = steps.unwrap_or_else(|| "it cannot be checked from here".to_owned());
        Err(Refusal::OnlyReread { id: event.artifact_id.to_string(), again })
    }

    pub(super) fn acknowledge(&mut self, event: &SubjectEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = &*event.subject_id;
        match event.subject_type {
            SubjectType::Item => {
                let item = self.open_item(id)?;
                if item.status == ReviewItemStatus::Acknowledged {
                    return Err(Refusal::Settled { id: id.to_owned(), status: item.status.as_str() });
                }
                item.status = ReviewItemStatus::Acknowledged;
                item.acknowledged = Some(stamp);
            }
            SubjectType::Residual => self.move_gap(id, ResidualStatus::Acknowledged)?,
            SubjectType::Comment => return Err(Refusal::CommentOnlyResolved { id: id.to_owned() }),
        }
        Ok(())
    }

    pub(super) fn resolve(&mut self, event: &SubjectEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = &*event.subject_id;
        match event.subject_type {
            SubjectType::Item => {
                let note = event.note.as_deref().map(str::to_owned);
                let item = self.open_item(id)?;
                item.status = ReviewItemStatus::Resolved;
                item.closed = Some((stamp, note));
            }
            SubjectType::Comment => {
                let remark = self.comments.get_mut(id).ok_or_else(|| Refusal::Unknown(id.to_owned()))?;
                if remark.resolved.is_some() {
                    return Err(Refusal::Settled { id: id.to_owned(), status: "resolved" });
                }
                remark.resolved = Some(stamp);
            }
            SubjectType::Residual => return Err(Refusal::GapNotResolved { id: id.to_owned() }),
        }
        Ok(())
    }

    pub(super) fn waive(&mut self, event: &SubjectEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = &*event.subject_id;
        let note = event.note.as_deref().unwrap_or("");
        require_text(note, "a waiver")?;
        match event.subject_type {
            SubjectType::Item => {
                let item = self.open_item(id)?;
                item.status = ReviewItemStatus::Waived;
                item.closed = Some((stamp, Some(note.to_owned())));
            }
            SubjectType::Residual => self.move_gap(id, ResidualStatus::Waived)?,
            SubjectType::Comment => return Err(Refusal::CommentOnlyResolved { id: id.to_owned() }),
        }
        Ok(())
    }

    fn open_item(&mut self, id: &str) -> Result<&mut Item, Refusal> {
        let item = self.items.get_mut(id).ok_or_else(|| Refusal::Unknown(id.to_owned()))?;
        if item.is_open() {
            return Ok(item);
        }
        Err(Refusal::Settled { id: id.to_owned(), status: item.status.as_str() })
    }

    fn move_gap(&mut self, id: &str, status: ResidualStatus) -> Result<(), Refusal> {
        let gap = self.gaps.get_mut(id).ok_or_else(|| Refusal::Unknown(id.to_owned()))?;
        let may_move = gap.status == ResidualStatus::Open
            || (gap.status == ResidualStatus::Acknowledged && status == ResidualStatus::Waived);
        if !may_move {
            return Err(Refusal::Settled { id: id.to_owned(), status: gap.status.as_str() });
        }
        gap.status = status;
        Ok(())
    }

    /// Acknowledges the undeclared gaps that a reviewer's new gap names: the new gap replaces them.
    pub(super) fn settle_undeclared(&mut self, event: &GapEvent) {
        let part = &event.target.part;
        let mut texts = vec![event.statement.to_string()];
        let id = part.id().unwrap_or_default();
        part_texts(&self.trace, &self.lineage, part.target_type(), &id, &mut texts);
        for gap in self.gaps.all_mut() {
            let is_named = texts.iter().any(|text| text.contains(gap.target.as_str()));
            if gap.origin == Origin::Undeclared && gap.status == ResidualStatus::Open && is_named {
                gap.status = ResidualStatus::Acknowledged;
            }
        }
    }
}

/// Refuses an empty text where one is required.
pub(super) fn require_text(text: &str, what: &'static str) -> Result<(), Refusal> {
    if text.trim().is_empty() { Err(Refusal::Silent { what }) } else { Ok(()) }
}
