//! Interactive runs over variables: one action per operation, one artifact per value.

mod gap;
mod operation;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_engine::resolve;
use hence_journal::{Control, RecordIndex};
use hence_review::model::{Action, ArtifactId, MetaActionId};
use hence_state::StepResult;
use hence_variables::{Change, Event, Name, Place, Scope, StateId, Status};

use crate::ProjectError;
use crate::base::Base;
use crate::ending::Ending;
use crate::piece::{Achieved, Facts, Piece, UnitHead};
use crate::unit::Units;
use crate::view::{Conclusion, Scene, View};
use crate::word;

/// How the name of every step on variables begins.
const STEP_PREFIX: &str = "vars.";

/// What is remembered of a run over variables.
#[derive(Default)]
pub(crate) struct VariablesView {
    tasks: BTreeMap<StateId, Task>,
    first: Option<StateId>,
    writes: usize,
}

/// A state: one task somebody works on.
#[derive(Clone, Debug)]
struct Task {
    title: Arc<str>,
    session: Option<Arc<str>>,
    tree: Option<String>,
    parent: Option<StateId>,
    status: Status,
    reason: Option<Arc<str>>,
    /// What it read since it last wrote something.
    read: Vec<ArtifactId>,
    /// The unit it was last seen in, and how many it had.
    unit: Option<MetaActionId>,
    visits: usize,
}

impl VariablesView {
    /// Returns the key of a variable: where it lives and what it is called.
    fn key(&self, state: StateId, place: Place, name: &Name) -> String {
        let task = self.tasks.get(&state);
        let own = || state.to_string();
        let home = match place {
            Place::Special | Place::Layer { scope: Scope::Temporary, .. } => own(),
            Place::Layer { scope: Scope::Tree, .. } => {
                task.and_then(|task| task.tree.clone()).map_or_else(own, |tree| format!("tree {tree}"))
            }
            Place::Layer { scope: Scope::Session, .. } => task
                .and_then(|task| task.session.clone())
                .map_or_else(own, |session| format!("session {session}")),
            Place::Layer { scope: Scope::Global, .. } => "global".to_owned(),
        };
        format!("{home}/{name}")
    }

    /// Returns the unit of what a state does next. A state somebody comes back to begins another.
    fn unit(&self, state: StateId, event: &Event, units: &Units) -> UnitHead {
        let task = self.tasks.get(&state);
        let id = match task.and_then(|task| task.unit.as_ref()) {
            Some(unit) if units.last() == Some(unit) => unit.clone(),
            Some(_) => MetaActionId::new(format!("{state}@{}", task.map_or(1, |task| task.visits) + 1)),
            None => MetaActionId::new(state.to_string()),
        };
        let parent = task.map_or_else(|| born(event).and_then(|(_, _, parent)| parent), |task| task.parent);
        let parent = parent.filter(|parent| self.tasks.contains_key(parent));
        let title = task.map_or_else(|| title(event), |task| task.title.clone());
        UnitHead {
            id,
            intent: format!("Work on the task of {state}").into(),
            title,
            parent: parent.map(|parent| MetaActionId::new(parent.to_string())),
        }
    }

    fn remember(&mut self, event: &Event, piece: &Piece) {
        self.first = self.first.or(Some(event.state));
        let (session, tree, parent) = born(event).unwrap_or_default();
        let task = self.tasks.entry(event.state).or_insert_with(|| Task {
            title: title(event),
            session,
            tree,
            parent,
            status: Status::Incomplete,
            reason: None,
            read: Vec::new(),
            unit: None,
            visits: 0,
        });
        if task.unit.as_ref() != Some(&piece.unit.id) {
            task.unit = Some(piece.unit.id.clone());
            task.visits += 1;
        }
        for change in &event.changes {
            match change {
                Change::Status { status, reason } => {
                    task.status = *status;
                    task.reason = reason.clone();
                }
                Change::Adopted(adoption) => task.status = adoption.import.document.status(),
                _ => {}
            }
        }
        let wrote = piece.actions.iter().any(|action| !action.common.outputs.is_empty());
        let inputs = piece.actions.iter().flat_map(|action| &action.common.inputs);
        if wrote {
            self.writes += 1;
            task.read.clear();
        } else if event.is_read() {
            for input in inputs {
                if !task.read.contains(input) {
                    task.read.push(input.clone());
                }
            }
        }
    }
}

/// Returns session, tree and parent of a state that comes to be.
#[expect(clippy::type_complexity, reason = "three parts of one birth")]
fn born(event: &Event) -> Option<(Option<Arc<str>>, Option<String>, Option<StateId>)> {
    event.changes.iter().find_map(|change| match change {
        Change::Born(birth) => Some((
            birth.session.as_ref().map(|session| session.as_str().into()),
            birth.tree.map(|tree| tree.to_string()),
            birth.parent,
        )),
        Change::Adopted(adoption) => {
            let document = &adoption.import.document;
            Some((document.session_id.clone(), document.tree_id.map(|tree| tree.to_string()), None))
        }
        _ => None,
    })
}

/// Returns what a new state is about: its prompt, else its id.
fn title(event: &Event) -> Arc<str> {
    let prompt = event.changes.iter().find_map(|change| match change {
        Change::Write { variable, .. } if variable.name.is_prompt() => {
            variable.stored.shown().as_str().map(word::shortened)
        }
        _ => None,
    });
    let prompt = prompt.filter(|text| !text.trim().is_empty());
    prompt.map_or_else(|| event.state.to_string().into(), Into::into)
}

impl View for VariablesView {
    fn begin(&self, scene: &Scene<'_>) -> Piece {
        let (mut actions, artifacts) = crate::reason::take_in(scene);
        let unit = UnitHead {
            id: MetaActionId::new("session"),
            title: "Begin the run".into(),
            intent: "Bind the run to its problem".into(),
            parent: None,
        };
        for action in &mut actions {
            action.common.meta_action_id = Some(unit.id.clone());
        }
        Piece {
            actions,
            artifacts,
            residuals: Vec::new(),
            unit,
            achieved: Achieved::Yes,
            facts: Facts::Nothing,
        }
    }

    fn step(
        &self,
        scene: &Scene<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<Piece, ProjectError> {
        let refused = |reason: String| ProjectError::Event { index, reason };
        if !result.step().starts_with(STEP_PREFIX) {
            return Err(refused(format!("expected a step {STEP_PREFIX}…, found {}", result.step())));
        }
        let output = result.outcome().output().ok_or_else(|| refused("it has no output".to_owned()))?;
        let value = resolve(output, scene.base.blobs)?;
        let event = Event::from_value(&value).map_err(|error| refused(error.to_string()))?;
        Ok(operation::shown(self, scene, index, result, event))
    }

    fn control(&self, _: &Scene<'_>, _: RecordIndex, _: &Control) -> Piece {
        let id = MetaActionId::new("session");
        let unit = UnitHead { id, title: "Begin the run".into(), intent: "".into(), parent: None };
        Piece {
            actions: Vec::new(),
            artifacts: Vec::new(),
            residuals: Vec::new(),
            unit,
            achieved: Achieved::Silent,
            facts: Facts::Nothing,
        }
    }

    fn take(&mut self, piece: &Piece) -> Result<(), ProjectError> {
        if let Facts::Event(event) = &piece.facts {
            self.remember(event, piece);
        }
        Ok(())
    }

    fn conclude(&self, scene: &Scene<'_>, _: &[Action]) -> Conclusion {
        let first = self.first.and_then(|state| self.tasks.get(&state));
        let ending = match first.map(|task| (task.status, &task.reason)) {
            Some((Status::Complete, _)) => Ending::Completed,
            Some((status @ (Status::Error | Status::Cancelled), reason)) => {
                let why = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
                Ending::Failed(format!("the task ended as {status}{why}"))
            }
            _ => Ending::Unfinished,
        };
        Conclusion {
            before: gap::of_whole(self),
            after: gap::of_end(self, scene.base, &ending),
            ending,
            limitations: vec![
                "operations came from outside: a replay reads them from the journal and folds them again"
                    .to_owned(),
            ],
            loops: 0,
            iterations_max: 0,
        }
    }

    fn plan(&self, _: &Base<'_>) -> String {
        format!("skill {} {}", hence_engine::VARIABLES_SKILL, hence_engine::VARIABLES_SKILL_VERSION)
    }
}
