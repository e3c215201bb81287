//! The state of a review: the fold of its records.

use std::collections::{BTreeMap, BTreeSet};

use crate::handoff::{checkable_claims, undeclared_gaps};
use crate::lineage::Lineage;
use crate::model::{Residual, Target, Text};
use crate::vocabulary::{ResidualSeverity, ResidualStatus, ReviewItemStatus};
use crate::wire::Trace;

use super::approval::{Obstacle, obstacles};
use super::entry::{CommentEntry, Entry, RaiseItem, Recheck, RecheckOutcome};
use super::record::Record;

/// What the reviewers decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the dispositions of a review")]
pub enum Disposition {
    Approved,
    ChangesRequested,
    Escalated,
}

/// Why a review cannot take an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody signed.
    #[error("an entry has an author")]
    NoAuthor,
    /// The id does not exist.
    #[error("the review has no {kind} {id:?}")]
    Unknown {
        /// What kind of thing.
        kind: &'static str,
        /// The id.
        id: String,
    },
    /// The id exists already.
    #[error("the review has a {kind} {id:?} already")]
    Taken {
        /// What kind of thing.
        kind: &'static str,
        /// The id.
        id: String,
    },
    /// It is resolved, waived or closed.
    #[error("the {kind} {id:?} is closed")]
    Closed {
        /// What kind of thing.
        kind: &'static str,
        /// The id.
        id: String,
    },
    /// Accepting something as it is takes a reason.
    #[error("a note must say why")]
    NoteMissing,
    /// Something stands against an approval.
    #[error("{} things stand against an approval, first: {}", .0.len(), .0.first().map_or_else(String::new, ToString::to_string))]
    Obstacles(Vec<Obstacle>),
    /// The review is closed by an approval.
    #[error("the trace is approved; rescind that first")]
    Approved,
    /// There is no disposition.
    #[error("there is nothing to rescind")]
    NothingToRescind,
}

/// An item and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemState {
    /// The item as it was raised.
    pub item: RaiseItem,
    /// Who raised it.
    pub author: Text,
    /// When it was raised.
    pub created_at: Text,
    /// Where it stands.
    pub status: ReviewItemStatus,
    /// Who acknowledged it, and when.
    pub acknowledged: Option<(Text, Text)>,
    /// Who resolved or waived it, and when.
    pub closed: Option<(Text, Text)>,
    /// What was said when it was closed.
    pub note: Option<Text>,
}

/// A comment with its author and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommentState {
    pub(super) comment: CommentEntry,
    pub(super) author: Text,
    pub(super) created_at: Text,
    pub(super) resolved_at: Option<Text>,
}

/// The state of a review.
#[derive(Clone, Debug)]
pub struct Review {
    pub(super) comments: Vec<CommentState>,
    pub(super) items: Vec<ItemState>,
    /// Gaps of the trace and of the reviewers: severity and where they stand.
    pub(super) residuals: BTreeMap<String, (Option<ResidualSeverity>, ResidualStatus)>,
    pub(super) added: Vec<Residual>,
    pub(super) claims: BTreeSet<String>,
    pub(super) rechecks: BTreeMap<String, RecheckOutcome>,
    pub(super) undeclared_high: Vec<String>,
    artifacts: BTreeSet<String>,
    disposition: Option<Disposition>,
}

impl Review {
    /// Begins the review of a trace.
    pub fn open(trace: &Trace, lineage: &Lineage) -> Self {
        let residuals = trace.residuals().filter_map(|residual| {
            let status = residual.status().unwrap_or(ResidualStatus::Open);
            Some((residual.id()?.to_owned(), (residual.severity(), status)))
        });
        let high =
            undeclared_gaps(trace, lineage).into_iter().filter(|gap| gap.severity >= ResidualSeverity::High);
        Self {
            comments: Vec::new(),
            items: Vec::new(),
            residuals: residuals.collect(),
            added: Vec::new(),
            claims: checkable_claims(trace, lineage).into_iter().map(|claim| claim.artifact_id).collect(),
            rechecks: BTreeMap::new(),
            undeclared_high: high.map(|gap| gap.path).collect(),
            artifacts: trace
                .artifacts()
                .iter()
                .filter_map(|artifact| artifact.id())
                .map(str::to_owned)
                .collect(),
            disposition: None,
        }
    }

    /// Returns what the reviewers decided last.
    pub fn disposition(&self) -> Option<Disposition> {
        self.disposition
    }

    /// Returns the items in the order they were raised.
    pub fn items(&self) -> &[ItemState] {
        &self.items
    }

    /// Returns where a gap stands.
    pub fn residual_status(&self, id: &str) -> Option<ResidualStatus> {
        self.residuals.get(id).map(|(_, status)| *status)
    }

    /// Takes a record, or refuses it and stays as it is.
    pub(super) fn apply(&mut self, record: &Record) -> Result<(), Refusal> {
        if self.disposition == Some(Disposition::Approved) && !matches!(record.entry, Entry::Rescind(_)) {
            return Err(Refusal::Approved);
        }
        let by = (record.author.clone(), record.at.clone());
        match &record.entry {
            Entry::Comment(comment) => self.comment(comment, by),
            Entry::ResolveComment(resolved) => self.resolve_comment(resolved.comment_id.as_str(), &by.1),
            Entry::RaiseItem(item) => self.raise(item, by),
            Entry::AcknowledgeItem(note) => {
                let item = self.open_item(note.review_item_id.as_str())?;
                item.status = ReviewItemStatus::Acknowledged;
                item.acknowledged = Some(by);
                Ok(())
            }
            Entry::ResolveItem(note) => self.close_item(
                note.review_item_id.as_str(),
                ReviewItemStatus::Resolved,
                note.note.clone(),
                by,
            ),
            Entry::WaiveItem(note) => {
                reason(note.note.as_ref())?;
                self.close_item(note.review_item_id.as_str(), ReviewItemStatus::Waived, note.note.clone(), by)
            }
            Entry::AcknowledgeResidual(note) => {
                self.settle(note.residual_id.as_str(), ResidualStatus::Acknowledged)
            }
            Entry::WaiveResidual(note) => {
                reason(note.note.as_ref())?;
                self.settle(note.residual_id.as_str(), ResidualStatus::Waived)
            }
            Entry::AddResidual(added) => self.add_residual(&added.residual),
            Entry::Recheck(recheck) => self.recheck(recheck),
            Entry::Approve(_) => {
                let obstacles = obstacles(self);
                if !obstacles.is_empty() {
                    return Err(Refusal::Obstacles(obstacles));
                }
                self.disposition = Some(Disposition::Approved);
                Ok(())
            }
            Entry::RequestChanges(note) => self.dispose(Disposition::ChangesRequested, note.note.as_ref()),
            Entry::Escalate(note) => self.dispose(Disposition::Escalated, note.note.as_ref()),
            Entry::Rescind(note) => {
                reason(note.note.as_ref())?;
                self.disposition.take().map(|_| ()).ok_or(Refusal::NothingToRescind)
            }
        }
    }

    fn dispose(&mut self, disposition: Disposition, note: Option<&Text>) -> Result<(), Refusal> {
        reason(note)?;
        self.disposition = Some(disposition);
        Ok(())
    }

    fn comment(&mut self, comment: &CommentEntry, (author, created_at): (Text, Text)) -> Result<(), Refusal> {
        let known = |id: &str| self.comments.iter().any(|known| known.comment.comment_id.as_str() == id);
        let id = comment.comment_id.as_str();
        if known(id) {
            return Err(Refusal::Taken { kind: "comment", id: id.to_owned() });
        }
        if let Some(parent) = comment.thread_parent_id.as_ref().filter(|parent| !known(parent.as_str())) {
            return Err(Refusal::Unknown { kind: "comment", id: parent.to_string() });
        }
        self.comments.push(CommentState { comment: comment.clone(), author, created_at, resolved_at: None });
        Ok(())
    }

    fn resolve_comment(&mut self, id: &str, at: &Text) -> Result<(), Refusal> {
        let found = self.comments.iter_mut().find(|known| known.comment.comment_id.as_str() == id);
        let comment = found.ok_or_else(|| Refusal::Unknown { kind: "comment", id: id.to_owned() })?;
        if comment.resolved_at.is_some() {
            return Err(Refusal::Closed { kind: "comment", id: id.to_owned() });
        }
        comment.resolved_at = Some(at.clone());
        Ok(())
    }

    fn raise(&mut self, item: &RaiseItem, (author, created_at): (Text, Text)) -> Result<(), Refusal> {
        let id = item.review_item_id.as_str();
        if self.items.iter().any(|known| known.item.review_item_id.as_str() == id) {
            return Err(Refusal::Taken { kind: "item", id: id.to_owned() });
        }
        self.items.push(ItemState {
            item: item.clone(),
            author,
            created_at,
            status: ReviewItemStatus::Open,
            acknowledged: None,
            closed: None,
            note: None,
        });
        Ok(())
    }

    fn open_item(&mut self, id: &str) -> Result<&mut ItemState, Refusal> {
        let found = self.items.iter_mut().find(|known| known.item.review_item_id.as_str() == id);
        let item = found.ok_or_else(|| Refusal::Unknown { kind: "item", id: id.to_owned() })?;
        match item.status {
            ReviewItemStatus::Open | ReviewItemStatus::Acknowledged => Ok(item),
            ReviewItemStatus::Resolved | ReviewItemStatus::Waived => {
                Err(Refusal::Closed { kind: "item", id: id.to_owned() })
            }
        }
    }

    fn close_item(
        &mut self,
        id: &str,
        status: ReviewItemStatus,
        note: Option<Text>,
        by: (Text, Text),
    ) -> Result<(), Refusal> {
        let item = self.open_item(id)?;
        item.status = status;
        item.note = note;
        item.closed = Some(by);
        Ok(())
    }

    fn settle(&mut self, id: &str, status: ResidualStatus) -> Result<(), Refusal> {
        let found = self.residuals.get_mut(id);
        let (_, known) = found.ok_or_else(|| Refusal::Unknown { kind: "residual", id: id.to_owned() })?;
        // Only a successor trace addresses a gap; what it addressed or somebody waived stays so.
        if matches!(known, ResidualStatus::Addressed | ResidualStatus::Waived) {
            return Err(Refusal::Closed { kind: "residual", id: id.to_owned() });
        }
        *known = status;
        Ok(())
    }

    fn add_residual(&mut self, residual: &Residual) -> Result<(), Refusal> {
        let id = residual.residual_id.to_string();
        if self.residuals.contains_key(&id) {
            return Err(Refusal::Taken { kind: "residual", id });
        }
        self.residuals.insert(id, (residual.severity, ResidualStatus::Open));
        self.undeclared_high.retain(|path| !residual.statement.contains(path.as_str()));
        self.added.push(residual.clone());
        Ok(())
    }

    fn recheck(&mut self, recheck: &Recheck) -> Result<(), Refusal> {
        let id = recheck.artifact_id.as_str();
        if !self.artifacts.contains(id) {
            return Err(Refusal::Unknown { kind: "artifact", id: id.to_owned() });
        }
        if recheck.outcome == RecheckOutcome::Accepted {
            reason(recheck.note.as_ref())?;
        }
        self.rechecks.insert(id.to_owned(), recheck.outcome);
        Ok(())
    }

    /// Returns the targets of comments and items, for the merged view.
    pub(super) fn target_value(target: &Target) -> hence_canon::Value {
        crate::model::Field::encode(target).unwrap_or_default()
    }
}

fn reason(note: Option<&Text>) -> Result<(), Refusal> {
    if note.is_some_and(|note| !note.trim().is_empty()) { Ok(()) } else { Err(Refusal::NoteMissing) }
}
