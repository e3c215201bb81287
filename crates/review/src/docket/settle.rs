//! What happens to items, gaps and comments.

use crate::model::{GapEvent, SubjectEvent, SubjectType};
use crate::vocabulary::{ResidualStatus, ReviewItemStatus};

use super::entry::Stamp;
use super::gap::{Origin, part_texts};
use super::refusal::Refusal;
use super::review::{Review, spoken};
use super::thread::Item;

impl Review {
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
        spoken(note, "a waiver")?;
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

    /// A reviewer who declares what nobody declared has seen it: the new gap stands for it from now on.
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
