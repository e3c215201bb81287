//! A review as the fold of its log.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;

use crate::ContentHash;
use crate::lineage::Lineage;
use crate::model::{
    CheckEvent, CheckOutcome, CommentEvent, DecisionEvent, GapEvent, ItemEvent, ReviewEvent, SubjectType,
    Target,
};
use crate::validate::validate_read;
use crate::vocabulary::ReviewItemStatus;
use crate::wire::Trace;

use super::gap::{Checkable, Gap, Origin, checkables, gaps};
use super::record::{InvalidLine, ReviewEntry, ReviewHead, ReviewHeader, Stamp, open};
use super::rules::{Decision, DecisionKind, Disposition, Refusal, Stage, require_text};
use super::thread::{ById, Item, Remark, declared_comments, declared_items};

/// A review of one trace: the fold of its log.
#[derive(Debug)]
pub struct Review {
    pub(super) header: ReviewHeader,
    pub(super) trace: Trace,
    pub(super) lineage: Lineage,
    pub(super) gaps: ById<Gap>,
    pub(super) checkables: Vec<Checkable>,
    pub(super) checks: BTreeMap<String, CheckOutcome>,
    pub(super) comments: ById<Remark>,
    pub(super) items: ById<Item>,
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
        let mut found = ById::default();
        for gap in gaps(&trace, &lineage) {
            found.push(gap.id.clone(), gap);
        }
        Self {
            errors: validate_read(&trace, &lineage).errors().count(),
            checkables: checkables(&trace, &lineage),
            comments: declared_comments(&trace),
            items: declared_items(&trace),
            header,
            trace,
            lineage,
            gaps: found,
            checks: BTreeMap::new(),
            added: Vec::new(),
            decision: None,
            entries: 0,
        }
    }

    /// Applies an entry.
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
                require_text(event.note.as_deref().unwrap_or(""), "taking a decision back")?;
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
        require_text(&event.body, "a comment")?;
        self.targets(&event.target)?;
        self.comments.push(id, Remark { event, origin: Origin::Reviewer, stamp, resolved: None });
        Ok(())
    }

    fn raise(&mut self, event: ItemEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = event.review_item_id.to_string();
        if self.items.contains(&id) {
            return Err(Refusal::Taken(id));
        }
        require_text(&event.title, "an item")?;
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
        require_text(&event.statement, "a gap")?;
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
            require_text(event.note.as_deref().unwrap_or(""), "accepting a claim unchecked")?;
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
        require_text(note, what)?;
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

    /// Returns all gaps with their status.
    pub fn gaps(&self) -> &[Gap] {
        self.gaps.all()
    }

    /// Returns a gap.
    pub fn gap(&self, id: &str) -> Option<&Gap> {
        self.gaps.get(id)
    }

    /// Returns all items with their status.
    pub fn items(&self) -> &[Item] {
        self.items.all()
    }

    /// Returns an item.
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.items.get(id)
    }

    /// Returns the claims that can be checked again, each with the outcome of its check.
    pub fn claims(&self) -> impl Iterator<Item = (&Checkable, Option<CheckOutcome>)> {
        self.checkables.iter().map(|claim| (claim, self.checks.get(claim.artifact_id.as_str()).copied()))
    }

    /// Returns how many comments there are, and how many of them are open.
    pub fn comment_counts(&self) -> (usize, usize) {
        let all = self.comments.all();
        (all.len(), all.iter().filter(|remark| remark.resolved.is_none()).count())
    }

    /// Returns the decision in force.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// Returns the stage of the review.
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

    /// Returns the kind of thing an id names: an item, else a gap, else a comment.
    pub fn subject(&self, id: &str) -> Option<SubjectType> {
        if self.item(id).is_some() {
            Some(SubjectType::Item)
        } else if self.gap(id).is_some() {
            Some(SubjectType::Residual)
        } else if self.comments.contains(id) {
            Some(SubjectType::Comment)
        } else {
            None
        }
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

/// A review log, read as far as it is valid.
#[derive(Debug)]
pub struct ReadReview {
    /// The fold of all valid records; nothing when the header is invalid or names another trace.
    pub review: Option<Review>,
    /// The head of the valid part.
    pub head: Option<ReviewHead>,
    /// The number of lines.
    pub lines: u64,
    /// The error of the first invalid line.
    pub broken: Option<Broken>,
}

/// The error that makes a line of a review log invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// The review is stored under another name than its own.
    #[error("record 0: it is the review {found}, stored as {expected}")]
    OtherName {
        /// The name under which it is stored.
        expected: Arc<str>,
        /// The name in its header.
        found: Arc<str>,
    },
    /// The line is not a record, or not at its place.
    #[error("record {line}: {reason}")]
    Line {
        /// The line, from 0.
        line: u64,
        /// The reason.
        reason: InvalidLine,
    },
    /// The record breaks a rule of reviews.
    #[error("record {line} was not allowed: {reason}")]
    NotAllowed {
        /// The line, from 0.
        line: u64,
        /// The broken rule.
        reason: Refusal,
    },
    /// The review is bound to another trace.
    #[error("the review is bound to {expected}, the trace has {found}")]
    OtherTrace {
        /// The hash in the header.
        expected: ContentHash,
        /// The hash of the trace given.
        found: ContentHash,
    },
    /// There is no header.
    #[error("the journal has no record")]
    Empty,
}

/// Reads a review log and compares it with its trace.
///
/// Bytes after the last line feed are an append that never finished and was never acknowledged; they are ignored.
pub fn read_review(journal: &[u8], trace: &Value) -> ReadReview {
    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines: Vec<&[u8]> = journal.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n').collect();
    let lines = lines.get(..lines.len().saturating_sub(1)).unwrap_or_default();
    let mut read = ReadReview { review: None, head: None, lines: lines.len() as u64, broken: None };
    if lines.is_empty() {
        read.broken = Some(Broken::Empty);
    }
    for (line, bytes) in (0u64..).zip(lines) {
        if let Err(broken) = take(&mut read, line, bytes, trace) {
            read.broken = Some(broken);
            break;
        }
    }
    read
}

/// Reads the log of a review that is stored under a name, which must be its own.
pub fn read_stored_review(name: &str, journal: &[u8], trace: &Value) -> ReadReview {
    let mut read = read_review(journal, trace);
    let own = read.review.as_ref().map(|review| review.header.review_id.clone());
    if let Some(found) = own.filter(|own| **own != *name) {
        read.broken = Some(Broken::OtherName { expected: name.into(), found });
    }
    read
}

fn take(read: &mut ReadReview, line: u64, bytes: &[u8], trace: &Value) -> Result<(), Broken> {
    let invalid = |reason| Broken::Line { line, reason };
    let (members, head) = open(bytes, read.head).map_err(invalid)?;
    match &mut read.review {
        None => {
            let header = ReviewHeader::read(&members).map_err(invalid)?;
            let found = ContentHash::of(trace);
            if found != header.content_hash {
                return Err(Broken::OtherTrace { expected: header.content_hash, found });
            }
            read.review = Some(Review::new(header, trace));
        }
        Some(review) => {
            let entry = ReviewEntry::read(&members).map_err(invalid)?;
            review.admit(entry).map_err(|reason| Broken::NotAllowed { line, reason })?;
        }
    }
    read.head = Some(head);
    Ok(())
}
