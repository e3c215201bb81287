//! The variables of a run: of an interactive run, or of a skill's run.

use hence_engine::VariablesRun;
use hence_journal::{Head, RecordIndex};
use hence_skills::SkillVariables;
use hence_variables::{Event, StateId, Timestamp, Workspace, apply};

/// The variables of a run that was read.
pub(crate) enum Loaded {
    /// An interactive run.
    Variables(Box<VariablesRun>),
    /// A skill's run: its variables are a view of its steps.
    Skill(Box<SkillView>),
}

/// The variables of a skill's run, and the head of its journal.
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

    /// Returns the time of the last event.
    pub(crate) fn last_moment(&self) -> Option<Timestamp> {
        match self {
            Self::Variables(run) => run.last_moment(),
            Self::Skill(view) => Some(view.variables.now()),
        }
    }

    /// Returns whether an operation can still change the run.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Variables(run) => !run.has_ended(),
            Self::Skill(_) => false,
        }
    }
}

/// Returns the variables of a skill's run after a record, and the time of the last event.
pub(super) fn until(events: &[(RecordIndex, Event)], last: RecordIndex) -> (Workspace, Option<Timestamp>) {
    let (mut workspace, mut now) = (Workspace::new(), None);
    for (_, event) in events.iter().filter(|(index, _)| *index <= last) {
        // Every event has been applied once already, so it cannot be refused.
        let _ = apply(&mut workspace, event);
        now = now.max(Some(event.at));
    }
    (workspace, now)
}
