//! Variables as a run has them: an interactive run's own, or those the steps of a skill wrote.

use hence_engine::VariablesRun;
use hence_journal::{Head, RecordIndex};
use hence_skills::SkillVariables;
use hence_variables::{Event, StateId, Timestamp, Workspace, apply};

use crate::error::CliError;

/// A run that was read, for what its variables are.
pub(crate) enum Loaded {
    /// Driven from outside.
    Variables(Box<VariablesRun>),
    /// Driven by a skill: its variables are a view of its steps.
    Skill(Box<SkillView>),
}

/// The variables of a skill's run, and where its journal ends.
pub(crate) struct SkillView {
    pub(super) variables: SkillVariables,
    pub(super) head: Head,
}

impl Loaded {
    pub(crate) fn workspace(&self) -> &Workspace {
        match self {
            Self::Variables(run) => run.workspace(),
            Self::Skill(view) => view.variables.workspace(),
        }
    }

    pub(crate) fn first_state(&self) -> Option<StateId> {
        match self {
            Self::Variables(run) => run.first_state(),
            Self::Skill(view) => Some(view.variables.state()),
        }
    }

    pub(crate) fn head(&self) -> Head {
        match self {
            Self::Variables(run) => run.head(),
            Self::Skill(view) => view.head,
        }
    }

    /// Returns what the run's clock shows.
    pub(crate) fn now(&self) -> Result<Timestamp, CliError> {
        match self {
            Self::Variables(run) => Ok(run.now()?),
            Self::Skill(view) => Ok(view.variables.now()),
        }
    }
}

/// Returns the variables of a skill's run as they were after a record.
pub(super) fn until(events: &[(RecordIndex, Event)], last: RecordIndex) -> (Workspace, Option<Timestamp>) {
    let (mut workspace, mut now) = (Workspace::new(), None);
    for (_, event) in events.iter().filter(|(index, _)| *index <= last) {
        // They have been folded once already.
        let _ = apply(&mut workspace, event);
        now = now.max(Some(event.at));
    }
    (workspace, now)
}
