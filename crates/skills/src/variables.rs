//! The `vars` namespace of a skill's run as the variable store.
//!
//! A run whose steps declare variables has a variable store next to its memory: every write of a `vars` target is an
//! operation on it, decided by the same rules as `hence vars`. A refused write fails the step; an expired variable also
//! leaves the memory. The store is a fold of the outcomes, so it is not stored: the journal is enough to rebuild it.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_cognition::failure::{ErrorClass, Failure};
use hence_cognition::run::StepOutcome;
use hence_cognition::skill::{Skill, Step};
use hence_cognition::state::Memory;
use hence_journal::RecordIndex;
use hence_state::{ProblemSpec, Timestamp};
use hence_variables::{
    Call, Change, Decision, Event, Files, Init, Name, NoFiles, Op, Origin, ReadFault, Refusal, Set, StateId,
    StorePath, Timestamp as Moment, TreeId, Workspace, apply, decide,
};

use crate::pinned::Pinned;

/// The prefix of every variable target.
const NAMESPACE: &str = "vars.";

/// The source of variables that other runs wrote to a shared scope before this run was made.
const READ_AT_START: &str = "shared scope";

/// The variables of a skill's run.
#[derive(Clone, Debug)]
pub struct SkillVariables {
    workspace: Workspace,
    state: StateId,
    now: Moment,
    events: Vec<(RecordIndex, Event)>,
    /// Large values, by the path in their reference.
    large: BTreeMap<StorePath, Arc<[u8]>>,
}

impl SkillVariables {
    /// Makes the store of a new run, with the run's goal as `prompt`.
    pub(crate) fn begin(problem: &ProblemSpec, skill: &Skill) -> Result<Self, Refusal> {
        let workspace = Workspace::new();
        let state = StateId::of_run(problem.id(), &workspace);
        let tree = TreeId::of_run(&root_run(problem), 0);
        let shared = Pinned::of(problem).map(|pinned| pinned.links.shared).unwrap_or_default();
        let init = Init {
            session_id: shared.session.clone(),
            prompt: Some(goal(problem)),
            state_id: Some(state.to_string().into()),
            tree_id: Some(tree.to_string().into()),
            ..Init::default()
        };
        let now = moment(problem.created_at())?;
        let mut begun = Self { workspace, state, now, events: Vec::new(), large: BTreeMap::new() };
        begun.call(&Call::Init(init), now, RecordIndex::HEADER)?;
        for input in shared.of_skill(skill) {
            let set = Set {
                value_type: Some(input.value_type.clone()),
                scope: Some(input.scope.clone()),
                read_only: input.read_only.then_some(true),
                origin: Origin::source(READ_AT_START),
                ..Set::new(&*input.name, input.value.clone())
            };
            begun.call(&Call::On { state, op: Op::Set(set) }, now, RecordIndex::HEADER)?;
        }
        Ok(begun)
    }

    /// Returns whether a step of the skill declares variables.
    pub(crate) fn are_declared(skill: &Skill) -> bool {
        skill.steps.iter().any(|step| step.variables.is_some())
    }

    /// Returns the variables.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the only state of the store.
    pub fn state(&self) -> StateId {
        self.state
    }

    /// Returns the time of the last step that was applied, by the run's clock.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Returns every change with its record, oldest first. Those of the header are what the run began with: its goal, and
    /// what it read from shared scopes.
    pub fn events(&self) -> &[(RecordIndex, Event)] {
        &self.events
    }

    /// Returns the variables after the writes of a step.
    ///
    /// # Errors
    /// [`Refusal`] with the rule that a write breaks.
    pub(crate) fn after(
        &self,
        step: &Step,
        outcome: &StepOutcome,
        memory: &Memory,
        at: &Timestamp,
        index: RecordIndex,
    ) -> Result<Self, Refusal> {
        let (mut after, now) = (self.clone(), moment(at)?);
        let mut names: Vec<&str> =
            outcome.writes.iter().filter_map(|text| text.strip_prefix(NAMESPACE)).collect();
        names.dedup();
        // The final answer seals the store, so a step writes it last.
        names.sort_by_key(|name| *name == Name::final_answer().as_str());
        for name in names {
            let Some(value) = memory.vars().get(name) else { continue };
            let set = declared(step, name, value);
            after.call(&Call::On { state: self.state, op: Op::Set(set) }, now, index)?;
        }
        // Variables expire with the record that moved the clock, whether or not its step wrote anything.
        after.call(&Call::On { state: self.state, op: Op::List }, now, index)?;
        after.now = now;
        Ok(after)
    }

    /// Returns the names of the variables that expired between `self` and `later`.
    pub(crate) fn gone_in(&self, later: &Self) -> Vec<Name> {
        let view = later.workspace.state_view(later.state);
        let is_gone = |name: &&Name| view.is_some_and(|view| view.find(name).is_none());
        let events = later.events.iter().skip(self.events.len());
        let deleted = events.flat_map(|(_, event)| &event.changes).filter_map(|change| match change {
            Change::Delete { name, .. } => Some(name),
            _ => None,
        });
        deleted.filter(is_gone).cloned().collect()
    }

    fn call(&mut self, call: &Call, now: Moment, index: RecordIndex) -> Result<(), Refusal> {
        loop {
            let event = match decide(&self.workspace, call, now, &NoFiles)? {
                Decision::ExpireFirst(event) => {
                    self.record(index, event);
                    continue;
                }
                Decision::Accept(accepted) => {
                    let files = accepted.spills.iter();
                    self.large.extend(files.map(|file| (file.path.clone(), file.content.bytes().into())));
                    accepted.event
                }
            };
            event.into_iter().for_each(|event| self.record(index, event));
            return Ok(());
        }
    }

    fn record(&mut self, index: RecordIndex, event: Event) {
        // An event that was decided on a workspace applies to that workspace.
        let applied = apply(&mut self.workspace, &event);
        debug_assert!(applied.is_ok(), "{applied:?}");
        self.events.push((index, event));
    }
}

/// Returns the goal of a run: that of its frame, else its input `prompt`, else what the skill is for.
fn goal(problem: &ProblemSpec) -> Value {
    let inputs = problem.canonical().value().get("inputs");
    let context = inputs.and_then(|inputs| inputs.get("context"));
    let framed = context.and_then(|context| context.get("frame")?.get("goal"));
    let asked = context.and_then(|context| context.get("inputs")?.get("prompt"));
    let is_text = |value: &&Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let own = framed.filter(is_text).or(asked.filter(is_text));
    own.or_else(|| inputs?.get("prompt")).cloned().unwrap_or_default()
}

/// Returns the outermost run of a nested run, whose id begins with it; the run itself when it is not nested. All runs of a
/// family share one task tree.
fn root_run(problem: &ProblemSpec) -> Arc<str> {
    let Some(parent) = Pinned::of(problem).and_then(|pinned| pinned.links.parent) else {
        return problem.id().clone();
    };
    // The parent of a run right below the outermost is the outermost; each further level adds a part to the id.
    let levels = usize::try_from(parent.depth.saturating_sub(1)).unwrap_or(usize::MAX);
    let root = parent.run.rsplitn(levels.saturating_add(1), '/').last();
    root.map_or_else(|| parent.run.clone(), Arc::from)
}

impl Files for SkillVariables {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        self.large.get(path).cloned().ok_or(ReadFault::Missing)
    }
}

/// Makes the write of a variable, with the type, scope and lifetime that its step declares.
fn declared(step: &Step, name: &str, value: &Value) -> Set {
    let all = step.variables.as_deref().unwrap_or_default();
    let found = all.iter().find(|declared| &*declared.name == name);
    let origin = Origin::source(&step.id);
    Set {
        value_type: found.and_then(|found| found.value_type.clone()),
        scope: found.and_then(|found| found.scope.clone()),
        ttl_seconds: found.and_then(|found| found.ttl_seconds).map(Value::from),
        read_only: found.and_then(|found| found.read_only),
        description: found.and_then(|found| found.description.clone()),
        origin,
        ..Set::new(name, value.clone())
    }
}

fn moment(at: &Timestamp) -> Result<Moment, Refusal> {
    at.as_str().parse().map_err(|_| Refusal::InvalidArgument {
        what: "time",
        expected: "a time of the run's clock",
        found: at.to_string(),
    })
}

/// Returns the failure of a step whose write was refused.
pub(crate) fn failure(refusal: &Refusal) -> Failure {
    let message = format_args!("{refusal} [{}, {}]", refusal.code(), refusal.rule());
    Failure::new(ErrorClass::OutputMapping, message)
}
