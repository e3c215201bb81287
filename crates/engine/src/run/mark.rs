//! Naming a position of a run, and returning to one.

use hence_journal::{RecordIndex, RollbackControl};

use super::{Run, RunError};
use crate::Mark;
use crate::sink::Sink;

impl Run {
    /// Records a checkpoint or a rollback, also behind the end of a run. What was recorded stays; a rolled back run
    /// goes on from the checkpoint when it is next advanced.
    ///
    /// # Errors
    /// [`RunError`] when there is no such checkpoint, or the name is taken; nothing is recorded then.
    pub fn mark(mut self, mark: &Mark, sink: &mut dyn Sink) -> Result<(Self, RecordIndex), RunError> {
        let marked = self.book.mark(mark, sink)?;
        marked.returned_to.into_iter().for_each(|to| self.return_to(to));
        Ok((self, marked.index))
    }

    /// Keeps where the run stands behind a record.
    pub(super) fn keep_position(&mut self, index: RecordIndex) {
        self.book.keep_position(index);
        self.kept.insert(index, (self.cursor.clone(), self.tally.clone()));
    }

    pub(super) fn apply_recorded_rollback(&mut self, control: &RollbackControl) -> Result<(), RunError> {
        self.book.apply_recorded_rollback(control)?;
        self.return_to(control.to);
        Ok(())
    }

    fn return_to(&mut self, to: RecordIndex) {
        // Positions are kept together with the book's, which has refused one that was not.
        if let Some((cursor, tally)) = self.kept.get(&to) {
            (self.cursor, self.tally) = (cursor.clone(), tally.clone());
            self.blocked = None;
        }
    }
}
