//! How the records of one kind of run are read.

use hence_journal::{Control, RecordIndex};
use hence_review::model::{Action, ActionId, Residual};
use hence_skills::CallHistory;
use hence_state::StepResult;

use crate::ProjectError;
use crate::base::Base;
use crate::ending::Ending;
use crate::link::RunLink;
use crate::piece::Piece;
use crate::shelf::Shelf;
use crate::unit::Units;

/// What is there when a record is looked at: everything before it.
pub(crate) struct Scene<'s> {
    pub(crate) base: &'s Base<'s>,
    pub(crate) shelf: &'s Shelf,
    pub(crate) units: &'s Units,
    /// The number of the next action.
    pub(crate) next: ActionId,
}

impl Scene<'_> {
    /// Returns the number of the action so many behind the next one.
    pub(crate) fn action(&self, behind: usize) -> ActionId {
        // A journal is far shorter than 2^62 actions.
        ActionId(self.next.0.saturating_add(i64::try_from(behind).unwrap_or(i64::MAX)))
    }
}

/// What the end of the record tells.
pub(crate) struct Conclusion {
    pub(crate) ending: Ending,
    /// Gaps of the run as a whole, told before those of single records.
    pub(crate) before: Vec<Residual>,
    /// Gaps that only the end shows, told behind them.
    pub(crate) after: Vec<Residual>,
    /// What limits a replay of the whole run; nothing when every byte is computed again.
    pub(crate) limitations: Vec<String>,
    pub(crate) loops: usize,
    pub(crate) iterations_max: usize,
}

/// One kind of run. Looking is pure; only `take` remembers.
pub(crate) trait View {
    /// Looks at the header.
    fn begin(&self, scene: &Scene<'_>) -> Piece;

    /// Looks at a step.
    fn step(&self, scene: &Scene<'_>, index: RecordIndex, result: &StepResult)
    -> Result<Piece, ProjectError>;

    /// Looks at a decision between steps.
    fn control(&self, scene: &Scene<'_>, index: RecordIndex, control: &Control) -> Piece;

    /// Remembers a piece that became part of the trace.
    fn take(&mut self, piece: &Piece) -> Result<(), ProjectError>;

    /// Says how it ended and what it left open.
    fn conclude(&self, scene: &Scene<'_>, actions: &[Action]) -> Conclusion;

    /// Says what people are asked while the run waits, as far as the record or what is under way beside it tells.
    fn questions(&self, _: &Base<'_>, _: Option<&CallHistory>) -> Vec<Residual> {
        Vec::new()
    }

    /// Returns the runs this one came out of, as far as its problem names them.
    fn links(&self) -> Vec<RunLink> {
        Vec::new()
    }

    /// Says what the run is an execution of, for people.
    fn plan(&self, base: &Base<'_>) -> String;
}
