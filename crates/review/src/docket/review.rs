//! A review as the fold of its journal.

use std::collections::BTreeMap;

use hence_canon::Value;

use crate::lineage::Lineage;
use crate::model::{CheckOutcome, CommentEvent, ItemEvent, ReviewEvent, SubjectEvent, SubjectType, Target};
use crate::validate::validate_read;
use crate::vocabulary::ResidualStatus;
use crate::wire::Trace;

use super::checkable::{Checkable, checkables};
use super::disposition::Disposition;
use super::entry::{ReviewEntry, ReviewHeader, Stamp};
use super::gap::{Gap, Origin, gaps};
use super::subject::has_part;

/// Where an item stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the words of the format")]
pub enum ItemState {
    Open,
    Acknowledged,
    Resolved,
    Waived,
}

/// An item and what happened to it.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is wanted.
    pub event: ItemEvent,
    /// Who wants it.
    pub stamp: Stamp,
    /// Where it stands.
    pub state: ItemState,
    /// Who acknowledged it.
    pub acknowledged: Option<Stamp>,
    /// Who resolved or waived it, and what they said.
    pub closed: Option<(Stamp, Option<String>)>,
}

/// A comment and what happened to it.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub(super) event: CommentEvent,
    pub(super) stamp: Stamp,
    pub(super) resolved: Option<Stamp>,
}

/// A decision on the whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it was approved; rejected otherwise.
    pub approved: bool,
    /// Who decided.
    pub stamp: Stamp,
    /// What they said.
    pub note: Option<String>,
}

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
    #[error("the trace is approved: comment on it, or reject it first")]
    AlreadyApproved,
}

/// A review of one trace: everything that follows from its journal.
#[derive(Debug)]
pub struct Review {
    pub(super) header: ReviewHeader,
    pub(super) trace: Trace,
    pub(super) lineage: Lineage,
    pub(super) gaps: Vec<Gap>,
    gap_places: BTreeMap<String, usize>,
    pub(super) checkables: Vec<Checkable>,
    pub(super) checks: BTreeMap<String, CheckOutcome>,
    pub(super) comments: Vec<Remark>,
    pub(super) items: Vec<Item>,
    pub(super) added: Vec<(crate::model::GapEvent, Stamp)>,
    pub(super) errors: usize,
    decision: Option<Decision>,
    entries: u64,
}

impl Review {
    /// Opens a review of a trace. The header must name the trace's content hash; [`super::read_review`] checks it.
    pub fn new(header: ReviewHeader, trace: &Value) -> Self {
        let trace = Trace::read(trace);
        let lineage = Lineage::of(&trace);
        let gaps = gaps(&trace, &lineage);
        let gap_places = gaps.iter().enumerate().map(|(place, gap)| (gap.id.clone(), place)).collect();
        Self {
            errors: validate_read(&trace, &lineage).errors().count(),
            checkables: checkables(&trace, &lineage),
            header,
            trace,
            lineage,
            gaps,
            gap_places,
            checks: BTreeMap::new(),
            comments: Vec::new(),
            items: Vec::new(),
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
        let approved = self.decision.as_ref().is_some_and(|decision| decision.approved);
        if approved && !matches!(event, ReviewEvent::Comment(_) | ReviewEvent::Reject(_)) {
            return Err(Refusal::AlreadyApproved);
        }
        match event {
            ReviewEvent::Comment(event) => self.comment(event, stamp)?,
            ReviewEvent::Item(event) => self.raise(event, stamp)?,
            ReviewEvent::Gap(event) => self.declare(event, stamp)?,
            ReviewEvent::Check(event) => {
                let id = event.artifact_id.as_str();
                if self.trace.artifact_by_id(id).is_none() {
                    return Err(Refusal::NoTarget(format!("artifact {id:?}")));
                }
                self.checks.insert(id.to_owned(), event.outcome);
            }
            ReviewEvent::Acknowledge(event) => self.acknowledge(&event, stamp)?,
            ReviewEvent::Resolve(event) => self.resolve(&event, stamp)?,
            ReviewEvent::Waive(event) => self.waive(&event, stamp)?,
            ReviewEvent::Approve(event) => self.approve(event.note.as_deref(), stamp)?,
            ReviewEvent::Reject(event) => {
                let note = event.note.as_deref().filter(|note| !note.trim().is_empty());
                let note = note.ok_or(Refusal::Silent { what: "a rejection" })?.to_owned();
                self.decision = Some(Decision { approved: false, stamp, note: Some(note) });
            }
        }
        self.entries += 1;
        Ok(())
    }

    fn comment(&mut self, event: CommentEvent, stamp: Stamp) -> Result<(), Refusal> {
        let known = |id: &str| self.comments.iter().any(|comment| comment.event.comment_id.as_str() == id);
        if known(event.comment_id.as_str()) {
            return Err(Refusal::Taken(event.comment_id.to_string()));
        }
        if let Some(parent) = event.thread_parent_id.as_ref().filter(|parent| !known(parent.as_str())) {
            return Err(Refusal::Unknown(parent.to_string()));
        }
        spoken(&event.body, "a comment")?;
        self.targets(&event.target)?;
        self.comments.push(Remark { event, stamp, resolved: None });
        Ok(())
    }

    fn raise(&mut self, event: ItemEvent, stamp: Stamp) -> Result<(), Refusal> {
        if self.item(event.review_item_id.as_str()).is_some() {
            return Err(Refusal::Taken(event.review_item_id.to_string()));
        }
        spoken(&event.title, "an item")?;
        self.targets(&event.target)?;
        self.items.push(Item { event, stamp, state: ItemState::Open, acknowledged: None, closed: None });
        Ok(())
    }

    fn declare(&mut self, event: crate::model::GapEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = event.residual_id.as_str();
        if self.gap(id).is_some() {
            return Err(Refusal::Taken(id.to_owned()));
        }
        spoken(&event.statement, "a gap")?;
        self.targets(&event.target)?;
        self.gap_places.insert(id.to_owned(), self.gaps.len());
        self.gaps.push(Gap {
            id: id.to_owned(),
            origin: Origin::Reviewer,
            kind: event.kind.as_str().to_owned(),
            severity: Some(event.severity),
            statement: event.statement.to_string(),
            suggested_check: event.suggested_check.as_deref().map(str::to_owned),
            target: event.target.part.target_type().as_str().to_owned(),
            on_high_stakes: false,
            status: ResidualStatus::Open,
        });
        self.added.push((event, stamp));
        Ok(())
    }

    fn acknowledge(&mut self, event: &SubjectEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = &*event.subject_id;
        match event.subject_type {
            SubjectType::Item => {
                let item = self.open_item(id)?;
                if item.state == ItemState::Acknowledged {
                    return Err(Refusal::Settled { id: id.to_owned(), status: "acknowledged" });
                }
                item.state = ItemState::Acknowledged;
                item.acknowledged = Some(stamp);
            }
            SubjectType::Residual => self.move_gap(id, ResidualStatus::Acknowledged)?,
            SubjectType::Comment => return Err(Refusal::CommentOnlyResolved { id: id.to_owned() }),
        }
        Ok(())
    }

    fn resolve(&mut self, event: &SubjectEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = &*event.subject_id;
        match event.subject_type {
            SubjectType::Item => {
                let note = event.note.as_deref().map(str::to_owned);
                let item = self.open_item(id)?;
                item.state = ItemState::Resolved;
                item.closed = Some((stamp, note));
            }
            SubjectType::Comment => {
                let remark = self.comments.iter_mut().find(|remark| remark.event.comment_id.as_str() == id);
                let remark = remark.ok_or_else(|| Refusal::Unknown(id.to_owned()))?;
                if remark.resolved.is_some() {
                    return Err(Refusal::Settled { id: id.to_owned(), status: "resolved" });
                }
                remark.resolved = Some(stamp);
            }
            SubjectType::Residual => return Err(Refusal::GapNotResolved { id: id.to_owned() }),
        }
        Ok(())
    }

    fn waive(&mut self, event: &SubjectEvent, stamp: Stamp) -> Result<(), Refusal> {
        let id = &*event.subject_id;
        let note = event.note.as_deref().unwrap_or("");
        spoken(note, "a waiver")?;
        match event.subject_type {
            SubjectType::Item => {
                let item = self.open_item(id)?;
                item.state = ItemState::Waived;
                item.closed = Some((stamp, Some(note.to_owned())));
            }
            SubjectType::Residual => self.move_gap(id, ResidualStatus::Waived)?,
            SubjectType::Comment => return Err(Refusal::CommentOnlyResolved { id: id.to_owned() }),
        }
        Ok(())
    }

    fn approve(&mut self, note: Option<&str>, stamp: Stamp) -> Result<(), Refusal> {
        let judgement = self.judgement();
        if judgement.disposition != Disposition::Approve {
            let first = judgement.obstacles.first();
            return Err(Refusal::NotApprovable {
                disposition: judgement.disposition.as_str(),
                obstacles: judgement.obstacles.len(),
                first: first.map(|found| format!("{}: {}", found.subject, found.reason)).unwrap_or_default(),
            });
        }
        self.decision = Some(Decision { approved: true, stamp, note: note.map(str::to_owned) });
        Ok(())
    }

    fn open_item(&mut self, id: &str) -> Result<&mut Item, Refusal> {
        let item = self.items.iter_mut().find(|item| item.event.review_item_id.as_str() == id);
        let item = item.ok_or_else(|| Refusal::Unknown(id.to_owned()))?;
        match item.state {
            ItemState::Open | ItemState::Acknowledged => Ok(item),
            ItemState::Resolved => Err(Refusal::Settled { id: id.to_owned(), status: "resolved" }),
            ItemState::Waived => Err(Refusal::Settled { id: id.to_owned(), status: "waived" }),
        }
    }

    fn move_gap(&mut self, id: &str, status: ResidualStatus) -> Result<(), Refusal> {
        let place = self.gap_places.get(id).copied();
        let gap = place
            .and_then(|place| self.gaps.get_mut(place))
            .ok_or_else(|| Refusal::Unknown(id.to_owned()))?;
        let may_move = gap.status == ResidualStatus::Open
            || (gap.status == ResidualStatus::Acknowledged && status == ResidualStatus::Waived);
        if !may_move {
            return Err(Refusal::Settled { id: id.to_owned(), status: gap.status.as_str() });
        }
        gap.status = status;
        Ok(())
    }

    fn targets(&self, target: &Target) -> Result<(), Refusal> {
        if has_part(&self.trace, &target.part) {
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
        &self.gaps
    }

    /// Returns a gap.
    pub fn gap(&self, id: &str) -> Option<&Gap> {
        self.gap_places.get(id).and_then(|place| self.gaps.get(*place))
    }

    /// Returns all items with where they stand.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns an item.
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.event.review_item_id.as_str() == id)
    }

    /// Returns the claims that can be checked again, each with what came of it.
    pub fn claims(&self) -> impl Iterator<Item = (&Checkable, Option<CheckOutcome>)> {
        self.checkables.iter().map(|claim| (claim, self.checks.get(claim.artifact_id.as_str()).copied()))
    }

    /// Returns how many comments there are, and how many of them are open.
    pub fn comment_counts(&self) -> (usize, usize) {
        (self.comments.len(), self.comments.iter().filter(|remark| remark.resolved.is_none()).count())
    }

    /// Returns the last decision.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
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

fn spoken(text: &str, what: &'static str) -> Result<(), Refusal> {
    if text.trim().is_empty() { Err(Refusal::Silent { what }) } else { Ok(()) }
}
