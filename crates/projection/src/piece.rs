//! What one record adds to a trace.

use std::sync::Arc;

use hence_cognition::run::StepOutcome;
use hence_journal::RecordIndex;
use hence_review::model::{Action, Artifact, MetaActionId, Residual};
use hence_variables::Event;

/// What one record adds to a trace, computed from it and the records before it.
///
/// It is final but for two links that only later records can tell: which action follows a decision
/// (`next_action_id`), and how the unit of an action ended.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The actions, in order. Their numbers continue those taken before.
    pub actions: Vec<Action>,
    /// The artifacts they made.
    pub artifacts: Vec<Artifact>,
    /// The gaps the record itself shows.
    pub residuals: Vec<Residual>,
    pub(crate) unit: UnitHead,
    pub(crate) achieved: Achieved,
    pub(crate) facts: Facts,
}

/// Whether what the record's unit was for was done here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Achieved {
    Yes,
    /// It failed, was skipped, or ended at a limit.
    No,
    /// The record says nothing about it.
    Silent,
}

/// The unit of intent a piece belongs to.
#[derive(Clone, Debug)]
pub(crate) struct UnitHead {
    pub(crate) id: MetaActionId,
    pub(crate) title: Arc<str>,
    pub(crate) intent: Arc<str>,
    pub(crate) parent: Option<MetaActionId>,
}

/// What the program of a run remembers of a record.
#[derive(Clone, Debug)]
pub(crate) enum Facts {
    Nothing,
    Reason(crate::reason::Fact),
    Outcome(RecordIndex, Box<StepOutcome>),
    /// The first record says that the run goes on from after the second.
    RolledBack(RecordIndex, RecordIndex),
    MissingOutputs(String),
    Completed,
    Event(Box<Event>),
}
