//! The variables of a run: of an interactive run, or of a run whose steps write them.

use std::sync::Arc;

use hence_engine::VariablesRun;
use hence_journal::{Head, RecordIndex};
use hence_skills::SkillVariables;
use hence_solve::SolveVariables;
use hence_variables::{
    Event, Files, ReadFault, State, StateId, Status, StorePath, Timestamp, Workspace, apply,
};

/// The variables of a run that was read.
pub(crate) enum Loaded {
    /// An interactive run.
    Variables(Box<VariablesRun>),
    /// A run whose variables are a view of its steps.
    Steps(Box<StepsView>),
}

/// The variables of a run whose steps write them, and the head of its journal.
pub(crate) struct StepsView {
    pub(super) variables: StepVariables,
    /// The status of the run.
    pub(super) status: hence_state::Status,
    pub(super) head: Head,
}

/// Returns the status of the task of a run whose steps write the variables. The end of the run ends the task, with or without
/// a `Final`.
pub(super) fn status_of_task(run: hence_state::Status, own: Status) -> Status {
    match run {
        hence_state::Status::Completed => Status::Complete,
        hence_state::Status::Failed => Status::Error,
        hence_state::Status::Pending | hence_state::Status::Running => own,
    }
}

/// The variables that steps write.
pub(super) enum StepVariables {
    /// The steps of a skill.
    Skill(Box<SkillVariables>),
    /// The blocks of the recursive loop.
    Solve(Box<SolveVariables>),
}

impl StepVariables {
    pub(super) fn workspace(&self) -> &Workspace {
        match self {
            Self::Skill(variables) => variables.workspace(),
            Self::Solve(variables) => variables.workspace(),
        }
    }

    pub(super) fn state(&self) -> StateId {
        match self {
            Self::Skill(variables) => variables.state(),
            Self::Solve(variables) => variables.state(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::Skill(variables) => variables.now(),
            Self::Solve(variables) => variables.now(),
        }
    }

    pub(super) fn events(&self) -> &[(RecordIndex, Event)] {
        match self {
            Self::Skill(variables) => variables.events(),
            Self::Solve(variables) => variables.events(),
        }
    }
}

impl Files for StepVariables {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        match self {
            Self::Skill(variables) => Files::read(&**variables, path),
            Self::Solve(variables) => Files::read(&**variables, path),
        }
    }
}

impl Loaded {
    pub(crate) fn workspace(&self) -> &Workspace {
        match self {
            Self::Variables(run) => run.workspace(),
            Self::Steps(view) => view.variables.workspace(),
        }
    }

    pub(crate) fn first_state(&self) -> Option<StateId> {
        match self {
            Self::Variables(run) => run.first_state(),
            Self::Steps(view) => Some(view.variables.state()),
        }
    }

    pub(crate) fn head(&self) -> Head {
        match self {
            Self::Variables(run) => run.head(),
            Self::Steps(view) => view.head,
        }
    }

    /// Returns the time of the last event.
    pub(crate) fn last_moment(&self) -> Option<Timestamp> {
        match self {
            Self::Variables(run) => run.last_moment(),
            Self::Steps(view) => Some(view.variables.now()),
        }
    }

    /// Returns the status of a state. That of a run of steps follows from the run.
    pub(crate) fn status_of(&self, state: &State) -> Status {
        match self {
            Self::Variables(_) => state.status(),
            Self::Steps(view) => status_of_task(view.status, state.status()),
        }
    }

    /// Returns whether an operation can still change the run.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Variables(run) => !run.has_ended(),
            Self::Steps(_) => false,
        }
    }
}

/// Returns the variables of a run whose steps write them after a record, and the time of the last event.
pub(super) fn until(events: &[(RecordIndex, Event)], last: RecordIndex) -> (Workspace, Option<Timestamp>) {
    let (mut workspace, mut now) = (Workspace::new(), None);
    for (_, event) in events.iter().filter(|(index, _)| *index <= last) {
        // Every event has been applied once already, so it cannot be refused.
        let _ = apply(&mut workspace, event);
        now = now.max(Some(event.at));
    }
    (workspace, now)
}
