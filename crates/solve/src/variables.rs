//! The variables of a run, as a fold of its records.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_journal::RecordIndex;
use hence_state::{ProblemSpec, Timestamp};
use hence_variables::{
    Call, Decision, Delete, Event, Files, Get, Init, Name, NoFiles, Op, Origin, ReadFault, Refusal, Reply,
    Rollback, Set, Spawner, StateId, Status, StorePath, Stored, TakeCheckpoint, Timestamp as Moment, TreeId,
    Workspace, apply, decide,
};

use crate::spec::{AnswerForms, Spec};

/// The names that the loop gives to every block. What a block assigns to them is no variable of the run.
const RESERVED: [&str; 14] = [
    "context",
    "len",
    "prompt",
    "llm_query",
    "llm_query_batched",
    "rlm_query",
    "rlm_query_batched",
    "get",
    "set",
    "slice",
    "search",
    "show_vars",
    "checkpoint",
    "rollback",
];

/// The names that the loop gives to a block besides, where the forms of other runtimes count.
const RESERVED_COMPAT: [&str; 4] = ["answer", "FINAL", "FINAL_VAR", "SHOW_VARS"];

/// Returns whether a name of the interpreter can be a variable of the run.
pub(crate) fn is_kept(name: &str, forms: AnswerForms) -> bool {
    let number = name.strip_prefix("context_");
    let is_context =
        number.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    let is_compat = forms == AnswerForms::Compat && RESERVED_COMPAT.contains(&name);
    !name.starts_with('_') && !is_context && !is_compat && !RESERVED.contains(&name)
}

/// The variables of a run at one position.
#[derive(Clone, Debug)]
pub struct SolveVariables {
    workspace: Workspace,
    state: StateId,
    now: Moment,
    events: Vec<(RecordIndex, Event)>,
    /// Large values, by the path in their reference.
    large: BTreeMap<StorePath, Arc<[u8]>>,
}

impl SolveVariables {
    /// Makes the variables of a new run, with its question as `prompt`.
    ///
    /// # Errors
    /// [`Refusal`] when the question or the ids cannot be recorded.
    pub fn begin(problem: &ProblemSpec, spec: &Spec) -> Result<Self, Refusal> {
        let workspace = Workspace::new();
        let state = StateId::of_run(problem.id(), &workspace);
        let root = spec.parent.as_ref().map_or(problem.id(), |parent| &parent.root);
        let spawned_by = spec.parent.as_ref().and_then(|parent| {
            let depth = u8::try_from(parent.depth).ok()?;
            Some((Spawner { run: parent.run.clone(), state: parent.state.parse().ok()? }, depth))
        });
        let init = Init {
            prompt: Some(spec.question.clone().into()),
            state_id: Some(state.to_string().into()),
            tree_id: Some(TreeId::of_run(root, 0).to_string().into()),
            spawned_by,
            ..Init::default()
        };
        let now = moment(problem.created_at())?;
        let mut begun = Self { workspace, state, now, events: Vec::new(), large: BTreeMap::new() };
        begun.call(&Call::Init(init), RecordIndex::HEADER)?;
        Ok(begun)
    }

    /// Returns a copy to try operations on. It does not hold the events so far.
    #[must_use]
    pub fn scratch(&self) -> Self {
        Self {
            workspace: self.workspace.clone(),
            state: self.state,
            now: self.now,
            events: Vec::new(),
            large: self.large.clone(),
        }
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the state of the run.
    pub fn state(&self) -> StateId {
        self.state
    }

    /// Returns the time of the last record, by the run's clock.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Returns every change with its record, oldest first.
    pub fn events(&self) -> &[(RecordIndex, Event)] {
        &self.events
    }

    /// Returns the names and types of the variables, without `prompt`.
    pub fn list(&self) -> Vec<(Name, &'static str)> {
        let Some(view) = self.workspace.state_view(self.state) else { return Vec::new() };
        let visible = view.visible();
        let is_shown = |name: &Name| !name.is_prompt();
        visible
            .into_iter()
            .filter(|(name, _)| is_shown(name))
            .map(|(name, found)| (name, logical_type(&found.variable.stored)))
            .collect()
    }

    /// Returns the value of a variable; `None` when there is none.
    pub fn value(&self, name: &str) -> Option<Value> {
        let get = Op::Get(Get { name: name.into(), ..Get::default() });
        let call = Call::On { state: self.state, op: get };
        match decide(&self.workspace, &call, self.now, self) {
            Ok(Decision::Accept(accepted)) => match accepted.reply {
                Reply::Value { value, .. } => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the answer, once `Final` is set.
    pub fn answer(&self) -> Option<Value> {
        let state = self.workspace.state(self.state)?;
        (state.status() == Status::Complete).then(|| self.value(Name::final_answer().as_str())).flatten()
    }

    /// Moves the time to that of a record.
    ///
    /// # Errors
    /// [`Refusal`] when the time cannot be read.
    pub fn at(&mut self, time: &Timestamp) -> Result<(), Refusal> {
        self.now = moment(time)?.max(self.now);
        Ok(())
    }

    /// Writes a variable.
    ///
    /// # Errors
    /// [`Refusal`] with the rule that it breaks; nothing changes then.
    pub fn set(
        &mut self,
        name: &str,
        value: &Value,
        source: &str,
        index: RecordIndex,
    ) -> Result<(), Refusal> {
        let set = Set { origin: Origin::source(source), ..Set::new(name, value.clone()) };
        self.call(&Call::On { state: self.state, op: Op::Set(set) }, index)
    }

    /// Deletes a variable.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn delete(&mut self, name: &str, source: &str, index: RecordIndex) -> Result<(), Refusal> {
        let delete = Delete { name: name.into(), origin: Origin::source(source), ..Delete::default() };
        self.call(&Call::On { state: self.state, op: Op::Delete(delete) }, index)
    }

    /// Names the present variables.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn checkpoint(&mut self, name: &str, index: RecordIndex) -> Result<(), Refusal> {
        let op = Op::Checkpoint(TakeCheckpoint { name: name.into(), ..TakeCheckpoint::default() });
        self.call(&Call::On { state: self.state, op }, index)
    }

    /// Returns to named variables.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn roll_back(&mut self, name: &str, index: RecordIndex) -> Result<(), Refusal> {
        self.call(&Call::On { state: self.state, op: Op::Rollback(Rollback::to(name)) }, index)
    }

    /// Ends the task as failed.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn fail(&mut self, reason: &str, index: RecordIndex) -> Result<(), Refusal> {
        let reason: String = reason.chars().take(1000).collect();
        let op = Op::Fail { reason: Some(reason.into()) };
        self.call(&Call::On { state: self.state, op }, index)
    }

    fn call(&mut self, call: &Call, index: RecordIndex) -> Result<(), Refusal> {
        loop {
            match decide(&self.workspace, call, self.now, &NoFiles)? {
                Decision::ExpireFirst(event) => self.record(index, event),
                Decision::Accept(accepted) => {
                    let files = accepted.spills.iter();
                    self.large.extend(files.map(|file| (file.path.clone(), file.content.bytes().into())));
                    accepted.event.into_iter().for_each(|event| self.record(index, event));
                    return Ok(());
                }
            }
        }
    }

    fn record(&mut self, index: RecordIndex, event: Event) {
        // An event that was decided on a workspace applies to that workspace.
        let applied = apply(&mut self.workspace, &event);
        debug_assert!(applied.is_ok(), "{applied:?}");
        self.events.push((index, event));
    }
}

impl Files for SolveVariables {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        self.large.get(path).cloned().ok_or(ReadFault::Missing)
    }
}

/// Returns the type of a value, also of one that is stored in a file.
fn logical_type(stored: &Stored) -> &'static str {
    match stored {
        Stored::Spilled(spill) => spill.logical_type.as_str(),
        other => other.shown_type().as_str(),
    }
}

fn moment(at: &Timestamp) -> Result<Moment, Refusal> {
    at.as_str().parse().map_err(|_| Refusal::InvalidArgument {
        what: "time",
        expected: "a time of the run's clock",
        found: at.to_string(),
    })
}
