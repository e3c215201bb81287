//! Naming a position of a skill's run, and returning to one.

use hence_engine::{Mark, Sink};
use hence_journal::{RecordIndex, RollbackControl};

use super::{SkillRun, SkillRunError};

impl SkillRun<'_> {
    /// Records a checkpoint or a rollback, also behind the end of a run. What was recorded stays; a rolled back run
    /// goes on from the checkpoint when it is next driven.
    ///
    /// # Errors
    /// [`SkillRunError`] when there is no such checkpoint, or the name is taken; nothing is recorded then.
    pub fn mark(mut self, mark: &Mark, sink: &mut dyn Sink) -> Result<(Self, RecordIndex), SkillRunError> {
        let marked = self.book.mark(mark, sink)?;
        marked.returned_to.into_iter().for_each(|to| self.return_to(to));
        Ok((self, marked.index))
    }

    /// Keeps the progress behind a record. Nothing is under way while a run is read back.
    pub(super) fn keep_position(&mut self, index: RecordIndex) {
        self.book.keep_position(index);
        self.kept.insert(index, (self.progress.clone(), self.variables.clone()));
    }

    pub(super) fn apply_recorded_rollback(&mut self, control: &RollbackControl) -> Result<(), SkillRunError> {
        self.book.apply_recorded_rollback(control)?;
        self.return_to(control.to);
        Ok(())
    }

    fn return_to(&mut self, to: RecordIndex) {
        self.returns += 1;
        // Positions are kept together with the book's, which has refused one that was not.
        if let Some((progress, variables)) = self.kept.get(&to) {
            (self.progress, self.variables) = (progress.clone(), variables.clone());
            self.blocked = None;
        }
    }
}
