//! A review as the fold of its journal.

use std::collections::BTreeMap;

use hence_canon::Value;

use crate::lineage::Lineage;
use crate::model::{
    CheckEvent, CheckOutcome, CommentEvent, DecisionEvent, GapEvent, ItemEvent, ReviewEvent, Target,
};
use crate::validate::validate_read;
use crate::vocabulary::ReviewItemStatus;
use crate::wire::Trace;

use super::checkable::{Checkable, checkables};
use super::decision::{Decision, DecisionKind, Stage};
use super::disposition::Disposition;
use super::entry::{ReviewEntry, ReviewHeader, Stamp};
use super::gap::{Gap, Origin, gaps};
use super::refusal::Refusal;
use super::thread::{Item, Remark, Shelf, declared_comments, declared_items};

/// A review of one trace: everything that follows from its journal.
#[derive(Debug)]
pub struct Review {
    pub(super) header: ReviewHeader,
    pub(super) trace: Trace,
    pub(super) lineage: Lineage,
    pub(super) gaps: Shelf<Gap>,
    pub(super) checkables: Vec<Checkable>,
    pub(super) checks: BTreeMap<String, CheckOutcome>,
    pub(super) comments: Shelf<Remark>,
    pub(super) items: Shelf<Item>,
    pub(super) added: Vec<(GapEvent, Stamp)>,
    pub(super) errors: usize,
    decision: Option<Decision>,
    entries: u64,
}

impl Review {
    /// Opens a review of a trace. The header must name the trace's content hash; [`super::read_review`] checks it.
    pub fn new(header: ReviewHeader, trace: &Value) -> Self {
        let trace = Trace::read(trace);
        let lineage = Lineage::of(&trace);
        let mut shelf = Shelf::default();
        for gap in gaps(&trace, &lineage) {
            shelf.push(gap.id.clone(), gap);
        }
        Self {
            errors: validate_read(&trace, &lineage).errors().count(),
            checkables: checkables(&trace, &lineage),
            comments: declared_comments(&trace),
            items: declared_items(&trace),
            header,
            trace,
            lineage,
            gaps: shelf,
            checks: BTreeMap::new(),
            added: Vec::new(),
            decision: None,
            entries: 0,
        }
    }

    /// Takes an entry in.
    ///
    /// # Errors
    /// [`Refusal`]; the review is then as it was.
    pub fn admit(&mut self, entry: ReviewEntry) -> Result<(), Refusal> {
        let ReviewEntry { stamp, event } = entry;
        let may_follow_approval =
            matches!(event, ReviewEvent::Comment(_) | ReviewEvent::Reject(_) | ReviewEvent::Rescind(_));
        if self.is(DecisionKind::Approved) && !may_follow_approval {
            return Err(Refusal::AlreadyApproved);
        }
        match event {
            ReviewEvent::Comment(event) => self.comment(event, stamp)?,
            ReviewEvent::Item(event) => self.raise(event, stamp)?,
            ReviewEvent::Gap(event) => self.declare(event, stamp)?,
            ReviewEvent::Check(event) => self.check(&event)?,
            ReviewEvent::Acknowledge(event) => self.acknowledge(&event, stamp)?,
            ReviewEvent::Resolve(event) => self.resolve(&event, stamp)?,
            ReviewEvent::Waive(event) => self.waive(&event, stamp)?,
            ReviewEvent::Approve(event) => self.approve(&event, stamp)?,
            ReviewEvent::Reject(event) => {
                self.decide(DecisionKind::Rejected, "a rejection", &event, stamp)?;
            }
            ReviewEvent::RequestChanges(event) => {
                self.decide(DecisionKind::ChangesRequested, "a request for changes", &event, stamp)?;
            }
            ReviewEvent::Escalate(event) => {
                self.decide(DecisionKind::Escalated, "an escalation", &event, stamp)?;
            }
            ReviewEvent::Rescind(event) => {
                spoken(event.note.as_deref().unwrap_or(""), "taking a decision back")?;
                self.decision.take().ok_or(Refusal::NothingDecided)?;
            }
        }
        self.entries += 1;
        Ok(())
    }

    fn comment(&mut self, event: CommentEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = event.comment_id.to_string();
        if self.comments.contains(&id) {
            return Err(Refusal::Taken(id));
        }
        let parent = event.thread_parent_id.as_ref();
        if let Some(parent) = parent.filter(|parent| !self.comments.contains(parent.as_str())) {
            return Err(Refusal::Unknown(parent.to_string()));
        }
        spoken(&event.body, "a comment")?;
        self.targets(&event.target)?;
        self.comments.push(id, Remark { event, origin: Origin::Reviewer, stamp, resolved: None });
        Ok(())
    }

    fn raise(&mut self, event: ItemEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = event.review_item_id.to_string();
        if self.items.contains(&id) {
            return Err(Refusal::Taken(id));
        }
        spoken(&event.title, "an item")?;
        self.targets(&event.target)?;
        let status = ReviewItemStatus::Open;
        let item = Item { event, origin: Origin::Reviewer, stamp, status, acknowledged: None, closed: None };
        self.items.push(id, item);
        Ok(())
    }

    fn declare(&mut self, event: GapEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = event.residual_id.to_string();
        if self.gaps.contains(&id) {
            return Err(Refusal::Taken(id));
        }
        spoken(&event.statement, "a gap")?;
        self.targets(&event.target)?;
        self.settle_undeclared(&event);
        self.gaps.push(id, Gap::reviewers(&event, &self.trace, &self.lineage));
        self.added.push((event, stamp));
        Ok(())
    }

    fn check(&mut self, event: &CheckEvent) -> Result<(), Refusal> {
        let id = event.artifact_id.as_str();
        if self.trace.artifact_by_id(id).is_none() {
            return Err(Refusal::NoTarget(format!("artifact {id:?}")));
        }
        if event.outcome == CheckOutcome::Accepted {
            spoken(event.note.as_deref().unwrap_or(""), "accepting a claim unchecked")?;
        }
        self.checks.insert(id.to_owned(), event.outcome);
        Ok(())
    }

    fn approve(&mut self, event: &DecisionEvent, stamp: Stamp) -> Result<(), Refusal> {
        let judgement = self.judgement();
        if judgement.disposition != Disposition::Approve {
            let first = judgement.obstacles.first();
            return Err(Refusal::NotApprovable {
                disposition: judgement.disposition.as_str(),
                obstacles: judgement.obstacles.len(),
                first: first.map(|found| format!("{}: {}", found.subject, found.reason)).unwrap_or_default(),
            });
        }
        let note = event.note.as_deref().map(str::to_owned);
        self.decision = Some(Decision { kind: DecisionKind::Approved, stamp, note });
        Ok(())
    }

    fn decide(
        &mut self,
        kind: DecisionKind,
        what: &'static str,
        event: &DecisionEvent,
        stamp: Stamp,
    ) -> Result<(), Refusal> {
        let note = event.note.as_deref().unwrap_or("");
        spoken(note, what)?;
        self.decision = Some(Decision { kind, stamp, note: Some(note.to_owned()) });
        Ok(())
    }

    fn targets(&self, target: &Target) -> Result<(), Refusal> {
        if self.trace.has_part(&target.part) {
            return Ok(());
        }
        Err(Refusal::NoTarget(format!("{} of that id", target.part.target_type())))
    }

    /// Returns the first record.
    pub fn header(&self) -> &ReviewHeader {
        &self.header
    }

    /// Returns the trace under review.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns all gaps with where they stand.
    pub fn gaps(&self) -> &[Gap] {
        self.gaps.all()
    }

    /// Returns a gap.
    pub fn gap(&self, id: &str) -> Option<&Gap> {
        self.gaps.get(id)
    }

    /// Returns all items with where they stand.
    pub fn items(&self) -> &[Item] {
        self.items.all()
    }

    /// Returns an item.
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.items.get(id)
    }

    /// Returns the claims that can be checked again, each with what came of it.
    pub fn claims(&self) -> impl Iterator<Item = (&Checkable, Option<CheckOutcome>)> {
        self.checkables.iter().map(|claim| (claim, self.checks.get(claim.artifact_id.as_str()).copied()))
    }

    /// Returns how many comments there are, and how many of them are open.
    pub fn comment_counts(&self) -> (usize, usize) {
        let all = self.comments.all();
        (all.len(), all.iter().filter(|remark| remark.resolved.is_none()).count())
    }

    /// Returns the decision that stands.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// Returns how far the review has come.
    pub fn stage(&self) -> Stage {
        match self.decision.as_ref().map(|decision| decision.kind) {
            Some(DecisionKind::Approved) => Stage::Approved,
            Some(DecisionKind::Rejected) => Stage::Rejected,
            Some(DecisionKind::ChangesRequested) => Stage::ChangesRequired,
            Some(DecisionKind::Escalated) => Stage::UnderReview,
            None if self.judgement().obstacles.is_empty() => Stage::ReadyForApproval,
            None => Stage::UnderReview,
        }
    }

    fn is(&self, kind: DecisionKind) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.kind == kind)
    }

    /// Returns how many entries there are.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns an id that is free: the letter and the number of the entry to come.
    pub fn free_id(&self, letter: char) -> String {
        let taken = |id: &str| self.subject(id).is_some();
        let mut number = self.entries + 1;
        while taken(&format!("{letter}{number}")) {
            number += 1;
        }
        format!("{letter}{number}")
    }
}

/// Refuses silence where something must be said.
pub(super) fn spoken(text: &str, what: &'static str) -> Result<(), Refusal> {
    if text.trim().is_empty() { Err(Refusal::Silent { what }) } else { Ok(()) }
}
