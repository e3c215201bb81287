//! Runs of variables: one action per operation, one artifact per value.

mod operation;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_engine::resolve;
use hence_journal::{Control, RecordIndex};
use hence_review::model::{Action, ArtifactId, MetaActionId, Residual, TargetPart};
use hence_review::vocabulary::ResidualKind::{Limitation, OutOfScope, Unverified};
use hence_review::vocabulary::ResidualSeverity::{High, Low, Medium};
use hence_state::StepResult;
use hence_variables::{Change, Event, Name, Place, Scope, StateId, Status};

use crate::ProjectError;
use crate::artifacts::PROBLEM;
use crate::delta::{Facts, TraceDelta, UnitHead, Units};
use crate::gaps::{GapMembers as _, gap};
use crate::run_info::RunInfo;
use crate::text;
use crate::view::{Conclusion, Context, Ending, RunView};

/// The prefix of the name of every step on variables.
const STEP_PREFIX: &str = "vars.";

/// The projection of an interactive run over variables.
#[derive(Default)]
pub(crate) struct VariablesView {
    tasks: BTreeMap<StateId, Task>,
    first: Option<StateId>,
    writes: usize,
}

/// A state of variables: one task.
#[derive(Clone, Debug)]
struct Task {
    title: Arc<str>,
    session: Option<Arc<str>>,
    tree: Option<String>,
    parent: Option<StateId>,
    status: Status,
    reason: Option<Arc<str>>,
    /// The artifacts it read since its last write.
    read: Vec<ArtifactId>,
    /// Its last unit, and how many units it has had.
    unit: Option<MetaActionId>,
    visits: usize,
}

impl VariablesView {
    /// Returns the artifact key of a variable: its scope and its name.
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

    /// Returns the unit of the next operation on a state. Coming back to a state begins another unit.
    fn unit(&self, state: StateId, event: &Event, units: &Units) -> UnitHead {
        let task = self.tasks.get(&state);
        let id = match task.and_then(|task| task.unit.as_ref()) {
            Some(unit) if units.last() == Some(unit) => unit.clone(),
            Some(_) => MetaActionId::new(format!("{state}@{}", task.map_or(1, |task| task.visits) + 1)),
            None => MetaActionId::new(state.to_string()),
        };
        let parent =
            task.map_or_else(|| created(event).and_then(|(_, _, parent)| parent), |task| task.parent);
        let parent = parent.filter(|parent| self.tasks.contains_key(parent));
        let title = task.map_or_else(|| title(event), |task| task.title.clone());
        UnitHead {
            id,
            intent: format!("Work on the task of {state}").into(),
            title,
            parent: parent.map(|parent| MetaActionId::new(parent.to_string())),
        }
    }

    fn remember(&mut self, event: &Event, delta: &TraceDelta) {
        self.first = self.first.or(Some(event.state));
        let (session, tree, parent) = created(event).unwrap_or_default();
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
        if task.unit.as_ref() != Some(&delta.unit.id) {
            task.unit = Some(delta.unit.id.clone());
            task.visits += 1;
        }
        for change in &event.changes {
            match change {
                Change::Status { status, reason } => {
                    task.status = *status;
                    task.reason = reason.clone();
                }
                Change::Imported(adoption) => task.status = adoption.import.document.status(),
                _ => {}
            }
        }
        let wrote = delta.actions.iter().any(|action| !action.common.outputs.is_empty());
        let inputs = delta.actions.iter().flat_map(|action| &action.common.inputs);
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

/// Returns session, tree and parent of a state that is created.
#[expect(clippy::type_complexity, reason = "three parts of one creation")]
fn created(event: &Event) -> Option<(Option<Arc<str>>, Option<String>, Option<StateId>)> {
    event.changes.iter().find_map(|change| match change {
        Change::Created(birth) => Some((
            birth.session.as_ref().map(|session| session.as_str().into()),
            birth.tree.map(|tree| tree.to_string()),
            birth.parent,
        )),
        Change::Imported(adoption) => {
            let document = &adoption.import.document;
            Some((document.session_id.clone(), document.tree_id.map(|tree| tree.to_string()), None))
        }
        _ => None,
    })
}

/// Returns the title of a new state: its prompt, else its id.
fn title(event: &Event) -> Arc<str> {
    let prompt = event.changes.iter().find_map(|change| match change {
        Change::Write { variable, .. } if variable.name.is_prompt() => {
            variable.stored.shown().as_str().map(text::shortened)
        }
        _ => None,
    });
    let prompt = prompt.filter(|text| !text.trim().is_empty());
    prompt.map_or_else(|| event.state.to_string().into(), Into::into)
}

impl RunView for VariablesView {
    fn begin(&self, context: &Context<'_>) -> TraceDelta {
        crate::reason::begin(context, session("Bind the run to its problem"))
    }

    fn step(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<TraceDelta, ProjectError> {
        if &**result.step() == hence_engine::VARIABLES_END_STEP {
            // The tasks say how they ended; that the run ended with them is no action of its own.
            return Ok(TraceDelta::empty(session(""), Facts::Nothing));
        }
        let refused = |reason: String| ProjectError::Event { index, reason };
        if !result.step().starts_with(STEP_PREFIX) {
            return Err(refused(format!("expected a step {STEP_PREFIX}…, found {}", result.step())));
        }
        let output = result.outcome().output().ok_or_else(|| refused("it has no output".to_owned()))?;
        let value = resolve(output, context.run.blobs)?;
        let event = Event::from_value(&value).map_err(|error| refused(error.to_string()))?;
        Ok(operation::delta(self, context, index, result, event))
    }

    fn control(&self, _: &Context<'_>, _: RecordIndex, _: &Control) -> TraceDelta {
        TraceDelta::empty(session(""), Facts::Nothing)
    }

    fn apply(&mut self, delta: &TraceDelta) -> Result<(), ProjectError> {
        if let Facts::Event(event) = &delta.facts {
            self.remember(event, delta);
        }
        Ok(())
    }

    fn conclude(&self, context: &Context<'_>, _: &[Action]) -> Conclusion {
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
            before: gaps_of_run(self),
            after: gaps_of_end(self, context.run, &ending),
            ending,
            limitations: vec![
                "operations came from outside: a replay reads them from the journal and folds them again"
                    .to_owned(),
            ],
            loops: 0,
            iterations_max: 0,
        }
    }

    fn plan(&self) -> String {
        format!("skill {} {}", hence_engine::VARIABLES_SKILL, hence_engine::VARIABLES_SKILL_VERSION)
    }
}

/// Returns the unit of the run as a whole.
fn session(intent: &str) -> UnitHead {
    let id = MetaActionId::new("session");
    UnitHead { id, title: "Begin the run".into(), intent: intent.into(), parent: None }
}

/// Returns the gaps of the run as a whole.
fn gaps_of_run(view: &VariablesView) -> Vec<Residual> {
    if view.writes == 0 {
        return Vec::new();
    }
    let statement = "Values were set from outside; nothing in the record checks them.";
    let check = "Compare the values with what they were taken from.";
    let unchecked = gap("values-from-outside", Unverified, Medium, statement, check).on(TargetPart::Trace);
    let statement = "What a value was computed from is not recorded: what its task read since it last wrote counts as its source.";
    let check = "Do not take the lineage for more than the order of reads and writes.";
    vec![unchecked, gap("sources-inferred", Limitation, Low, statement, check).on_artifact(PROBLEM)]
}

/// Returns the gaps of tasks without an answer.
fn gaps_of_end(view: &VariablesView, run: &RunInfo<'_>, ending: &Ending) -> Vec<Residual> {
    let check = format!("hence vars status {}", text::shell_word(run.id()));
    let mut gaps = Vec::new();
    for (state, task) in &view.tasks {
        let why =
            task.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", text::shortened(reason)));
        let (kind, severity, statement) = match task.status {
            Status::Complete => continue,
            Status::Incomplete => (Limitation, High, format!("The task {state} has no final answer.")),
            Status::Cancelled => (OutOfScope, Medium, format!("The task {state} was called off{why}")),
            Status::Error => (Limitation, High, format!("The task {state} failed{why}")),
        };
        gaps.push(
            gap(format!("task-{state}"), kind, severity, statement, check.as_str()).on(TargetPart::Trace),
        );
    }
    if view.tasks.is_empty() && *ending == Ending::Unfinished {
        let statement = "Nothing was done in the run.";
        gaps.push(gap("unfinished", Limitation, High, statement, check).on(TargetPart::Trace));
    }
    gaps
}
