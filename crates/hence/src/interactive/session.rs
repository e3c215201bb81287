//! One interactive run, shared with other processes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hence_canon::{Lenient, Value, canonical_bytes};
use hence_engine::{
    Blobs, MemorySink, Request, ResumeError, Run, RunKind, Sink as _, Variables, VariablesRun,
    without_defects,
};
use hence_journal::RecordIndex;
use hence_state::Profile;
use hence_store::{NewRun, RunId, RunWriter, StoreError, StoreHandle};
use hence_variables::{
    Accepted, Call, Decision, Event, Files, LoadFault, NoFiles, Op, Refusal, Reply, Spill, State, StateId,
    Stored, Timestamp, ValueType, Workspace, apply, decide,
};

use super::loaded::{Loaded, StepVariables, StepsView, until};
use super::stored_run::{self, SnapshotUsed};
use super::{CallerTime, SharedScopes, StoreVariableFiles, linked};
use crate::clock::SystemClock;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::hint;
use crate::kind::{Purpose, StoredSkillRun, StoredSolveRun};
use crate::sink::{StoreBlobs, StoreSink};
use crate::target::{Journal, find_run, problem_name};
use crate::time_log::TimeLog;

/// The longest wait for another process to finish its change. A change takes milliseconds; a process that holds the
/// lease for longer is stuck or is not changing variables.
const LEASE_WAIT_MAX: Duration = Duration::from_secs(30);
/// The pause between two attempts to take the lease.
const LEASE_PAUSE: Duration = Duration::from_millis(2);

/// An open run. Every change takes the lease, reads the records of other processes, decides, appends and releases the
/// lease, so that no process decides on outdated variables.
pub(crate) struct Session<'a> {
    context: &'a Context,
    pub(crate) store: StoreHandle,
    pub(crate) id: RunId,
    pub(crate) root: PathBuf,
    time: CallerTime,
    problem: Lenient,
    /// The run whose steps write the variables; `None` for an interactive run.
    steps: Option<StepsRun>,
    run: Option<Loaded>,
    snapshot: SnapshotUsed,
}

/// A run whose steps write its variables.
enum StepsRun {
    Skill(Box<StoredSkillRun>),
    Solve(Box<StoredSolveRun>),
}

impl StepsRun {
    fn variables(
        &self,
        journal: &[u8],
        blobs: &dyn Blobs,
    ) -> Result<(StepVariables, hence_state::Status), ResumeError> {
        Ok(match self {
            Self::Skill(run) => {
                let (variables, status) = run.variables(journal, blobs)?;
                (StepVariables::Skill(Box::new(variables)), status)
            }
            Self::Solve(run) => {
                let (variables, status) = run.variables(journal, blobs)?;
                (StepVariables::Solve(Box::new(variables)), status)
            }
        })
    }
}

impl<'a> Session<'a> {
    /// Opens a run by its id or a prefix of it, and reads it. `time` is the time of every operation.
    pub(crate) fn open(
        context: &'a Context,
        name: &str,
        root: &Path,
        time: CallerTime,
    ) -> Result<Self, CliError> {
        let store = context.store()?;
        let id = find_run(&store, name)?;
        // The journal of a skill is read whole; that of variables only as far as its snapshot does not cover it.
        let mut journal = Journal::start_of_run(&store, &id)?;
        if journal.kind != RunKind::Variables {
            journal = Journal::of_run(context, id.as_str())?;
        }
        let problem = journal.required_problem()?.clone();
        let steps = match journal.kind {
            RunKind::Skill => StoredSkillRun::open(&journal, &[])?.map(|run| StepsRun::Skill(Box::new(run))),
            RunKind::Solve => Some(StepsRun::Solve(Box::new(StoredSolveRun::open(&journal, Purpose::Read)?))),
            RunKind::Reason | RunKind::Variables | RunKind::Trace => None,
        };
        let (root, snapshot) = (root.to_owned(), SnapshotUsed::default());
        let mut session = Self { context, store, id, root, time, problem, steps, run: None, snapshot };
        session.run = Some(session.load()?);
        Ok(session)
    }

    /// Returns the source of times.
    pub(crate) fn time(&self) -> CallerTime {
        self.time
    }

    /// Sets the time of the operations that follow.
    pub(crate) fn set_time(&mut self, time: CallerTime) {
        self.time = time;
    }

    /// Returns the time of an operation: the caller's, but not before the last of this run or of `others`.
    pub(crate) fn moment(&self, others: Option<Timestamp>) -> Result<Timestamp, CliError> {
        match self.loaded()? {
            Loaded::Variables(run) => self.time.not_before(self.context, run.last_moment().max(others)),
            // Steps change the variables, by the logical clock of their run.
            Loaded::Steps(view) => Ok(view.variables.now()),
        }
    }

    /// Returns whether the steps of the run write the variables.
    pub(crate) fn is_driven_by_steps(&self) -> bool {
        self.steps.is_some()
    }

    /// Returns whether the blocks of the recursive loop write the variables.
    pub(crate) fn is_driven_by_blocks(&self) -> bool {
        matches!(self.steps, Some(StepsRun::Solve(_)))
    }

    /// Returns the variables as last read.
    pub(crate) fn workspace(&self) -> Result<&Workspace, CliError> {
        Ok(self.loaded()?.workspace())
    }

    /// Returns the run as last read.
    pub(crate) fn loaded(&self) -> Result<&Loaded, CliError> {
        self.run.as_ref().ok_or_else(|| {
            CliError::new(Code::Stopped, format!("run {}: an earlier change was not confirmed", self.id))
        })
    }

    /// Returns the named state if it exists, or the first state when none is named.
    pub(crate) fn state(&self, named: Option<StateId>) -> Result<StateId, CliError> {
        let run = self.loaded()?;
        let Some(state) = named.or(run.first_state()) else {
            return Err(CliError::new(Code::NoSuchPlace, format!("run {} has no state yet", self.id)));
        };
        match run.workspace().state(state) {
            Some(_) => Ok(state),
            None => Err(CliError::variables(&hence_variables::Refusal::NoState { state })),
        }
    }

    /// Returns the journal without an unfinished append.
    pub(crate) fn journal(&self) -> Result<Vec<u8>, CliError> {
        Ok(whole_lines(self.store.journal_bytes(&self.id)?))
    }

    /// Reads the current run.
    fn load(&mut self) -> Result<Loaded, CliError> {
        let Some(kept) = &self.steps else {
            let (run, used) = stored_run::load(&self.store, &self.id, &self.problem)?;
            self.snapshot = used;
            return Ok(Loaded::Variables(Box::new(run)));
        };
        let journal = self.journal()?;
        let variables = kept.variables(&journal, &StoreBlobs(&self.store));
        let (variables, status) = variables.map_err(|error| CliError::resume(self.id.as_str(), error))?;
        let head = hence_journal::read_tail(&journal).map(|tail| tail.head);
        let head = head.map_err(|error| {
            CliError::of_run(Code::BadRecord, &self.id, error).with_hint(hint::verify(self.id.as_str()))
        })?;
        Ok(Loaded::Steps(Box::new(StepsView { variables, status, head })))
    }

    /// Returns the variables with the whole log of every state, which a snapshot leaves out.
    pub(crate) fn whole_workspace(&self) -> Result<Workspace, CliError> {
        if let Loaded::Steps(view) = self.loaded()? {
            return Ok(view.variables.workspace().clone());
        }
        let loaded = VariablesRun::load(&self.journal()?, &self.problem, &StoreBlobs(&self.store));
        Ok(loaded.map_err(|error| stored_run::not_loaded(&self.id, error))?.workspace().clone())
    }

    /// Reads the variables after a record, and the time of the last event there.
    pub(crate) fn workspace_at(&self, last: RecordIndex) -> Result<(Workspace, Timestamp), CliError> {
        if let Loaded::Steps(view) = self.loaded()? {
            let (workspace, now) = until(view.variables.events(), last);
            return Ok((workspace, now.unwrap_or(view.variables.now())));
        }
        let (journal, blobs) = (self.journal()?, StoreBlobs(&self.store));
        let then = VariablesRun::load_until(&journal, &self.problem, &blobs, last);
        let then = then.map_err(|error| stored_run::not_loaded(&self.id, error))?;
        let last = then.last_moment().map_or_else(|| self.moment(None), Ok)?;
        Ok((then.workspace().clone(), last))
    }

    /// Returns every event of the run with its record.
    pub(crate) fn events(&self) -> Result<Vec<(RecordIndex, Event)>, CliError> {
        if let Loaded::Steps(view) = self.loaded()? {
            return Ok(view.variables.events().to_vec());
        }
        hence_engine::events(&self.journal()?, &StoreBlobs(&self.store))
            .map_err(|error| stored_run::not_loaded(&self.id, error))
    }

    /// Returns the bytes of a large value.
    pub(crate) fn large_value(&self, spill: &Spill) -> Result<Vec<u8>, CliError> {
        if let Loaded::Steps(view) = self.loaded()?
            && let Ok(bytes) = Files::read(&view.variables, &spill.path)
        {
            return Ok(bytes.to_vec());
        }
        Ok(self.store.blob(&spill.sha256)?)
    }

    /// Reads a stored value, inline or from a file.
    pub(crate) fn value_of(&self, stored: &Stored) -> Result<(Value, ValueType), LoadFault> {
        match &self.run {
            Some(Loaded::Steps(view)) => stored.load(&view.variables),
            _ => {
                stored.load(&StoreVariableFiles { store: &self.store, root: &self.root, shared_scopes: None })
            }
        }
    }

    /// Reads the records that other processes appended.
    pub(crate) fn refresh(&mut self) -> Result<(), CliError> {
        let Some(Loaded::Variables(mut run)) = self.run.take() else {
            self.run = Some(self.load()?);
            return Ok(());
        };
        let known = run.head().records.get();
        let lines = stored_run::lines_after(&self.store, &self.id, self.snapshot, known)?;
        let caught_up = run.catch_up(&lines, &StoreBlobs(&self.store));
        caught_up.map_err(|error| CliError::resume(self.id.as_str(), error))?;
        self.run = Some(Loaded::Variables(run));
        Ok(())
    }

    /// Performs a call while holding the run's lease. When this returns a reply, the change survives power loss.
    pub(crate) fn call(&mut self, call: &Call) -> Result<Reply, CliError> {
        if self.is_driven_by_steps() {
            let what = match self.is_driven_by_blocks() {
                true => "a run of `hence solve` are written by its blocks",
                false => "a skill's run are written by its steps",
            };
            let message = format!("run {}: the variables of {what}", self.id);
            return Err(CliError::new(Code::Driven, message));
        }
        let writer = lease_of(self.context, &self.store, &self.id)?;
        if self.run.as_ref().is_none_or(|run| run.head() != writer.head()) {
            self.refresh()?;
        }
        let (mut first, mut others) = (Vec::new(), None);
        let mut shared_scopes = None;
        if self.loaded()?.is_open() {
            (first, others) = self.news(call)?;
            if let Call::On { state, op } = call
                && op.changes_something()
            {
                // Nothing is written to a shared scope for a call that is refused.
                self.require_accepted(call, *state, &first, others)?;
                shared_scopes = SharedScopes::take(self.context, self.workspace()?, *state, op, self.time)?;
            }
        }
        others = others.max(shared_scopes.as_ref().and_then(SharedScopes::last_moment));
        let now = self.moment(others)?;
        if let (Call::On { state, .. }, Some(shared_scopes)) = (call, &mut shared_scopes)
            && let Some(view) = self.workspace()?.state_view(*state)
        {
            let met = shared_scopes.meet(view, now);
            met.map_err(|error| CliError::from_error(Code::Disk, error))?;
        }
        let Some(Loaded::Variables(mut run)) = self.run.take() else {
            return self.loaded().map(|_| Reply::Done);
        };
        let mut ground = StoreVariableFiles { store: &self.store, root: &self.root, shared_scopes: None };
        // The changes of other runs are recorded before the call is decided.
        let shared = match (call, &shared_scopes) {
            (Call::On { state, .. }, Some(shared_scopes)) => shares(&run, *state, shared_scopes),
            _ => Vec::new(),
        };
        first.extend(shared);
        let mut call = Cow::Borrowed(call);
        if !run.has_ended() {
            match accepted_after(run.workspace(), &first, &call, now, &ground) {
                Ok(accepted) => call = Cow::Owned(accepted),
                Err(refusal) => {
                    // A refused call records nothing, not even what others wrote or what has expired.
                    self.run = Some(Loaded::Variables(run));
                    return Err(CliError::variables(&refusal));
                }
            }
        }
        let (mut sink, _) = StoreSink::measured(&self.store, writer);
        for early in first {
            let (next, _) = run.call(&early, now, &mut ground, &mut sink)?;
            *run = next;
        }
        ground.shared_scopes = shared_scopes.as_mut();
        let (mut run, reply) = run.call(&call, now, &mut ground, &mut sink)?;
        stored_run::save(&self.store, &mut *sink.writer, &mut run, &mut self.snapshot);
        self.run = Some(Loaded::Variables(Box::new(run)));
        reply.map_err(|refusal| CliError::variables(&refusal))
    }

    /// Refuses a call that the rules refuse with what is known now, before a lease of a shared scope is taken.
    fn require_accepted(
        &self,
        call: &Call,
        state: StateId,
        first: &[Call],
        others: Option<Timestamp>,
    ) -> Result<(), CliError> {
        let workspace = self.workspace()?;
        let (Loaded::Variables(run), Some(known)) = (self.loaded()?, workspace.state(state)) else {
            return Ok(());
        };
        let shared_scopes = SharedScopes::look(self.context, known)?;
        let shared = shared_scopes.as_ref().map(|scopes| shares(run, state, scopes)).unwrap_or_default();
        let before: Vec<Call> = first.iter().cloned().chain(shared).collect();
        let elsewhere = others.max(shared_scopes.as_ref().and_then(SharedScopes::last_moment));
        let now = self.time.at_or_after(run.last_moment().max(elsewhere))?;
        let ground = StoreVariableFiles { store: &self.store, root: &self.root, shared_scopes: None };
        let accepted = accepted_after(workspace, &before, call, now, &ground);
        accepted.map(|_| ()).map_err(|refusal| CliError::variables(&refusal))
    }

    /// Returns the calls to record before a call is decided: the news of the shared scopes for a read, and the results
    /// of children in other runs. With them comes the last time that was recorded there.
    fn news(&self, call: &Call) -> Result<(Vec<Call>, Option<Timestamp>), CliError> {
        let Call::On { state, op } = call else { return Ok((Vec::new(), None)) };
        let workspace = self.workspace()?;
        let Some(known) = workspace.state(*state) else { return Ok((Vec::new(), None)) };
        let (mut news, mut last) = (Vec::new(), None);
        if !op.changes_something()
            && let (Loaded::Variables(run), Some(shared_scopes)) =
                (self.loaded()?, SharedScopes::look(self.context, known)?)
        {
            news.extend(shares(run, *state, &shared_scopes));
            last = shared_scopes.last_moment();
        }
        let waits = matches!(op, Op::ChildResult { .. })
            || matches!(op, Op::Set(set) if &*set.name == hence_variables::Name::final_answer().as_str());
        if waits {
            let (answers, ended) = linked::answers(self.context, workspace, known)?;
            news.extend(answers);
            last = last.max(ended);
        }
        Ok((news, last))
    }

    /// Returns the variables that a state sees now, with the changes of other runs in shared scopes. Nothing is
    /// recorded.
    pub(crate) fn seen_by(&self, state: StateId) -> Result<Workspace, CliError> {
        let mut workspace = self.workspace()?.clone();
        let Some(known) = workspace.state(state) else { return Ok(workspace) };
        let (Loaded::Variables(run), Some(shared_scopes)) =
            (self.loaded()?, SharedScopes::look(self.context, known)?)
        else {
            return Ok(workspace);
        };
        let now = self.moment(shared_scopes.last_moment())?;
        for call in shares(run, state, &shared_scopes) {
            if let Ok(Decision::Accept(Accepted { event: Some(event), .. })) =
                decide(&workspace, &call, now, &NoFiles)
            {
                // An event that was decided on a workspace applies to that workspace.
                let _ = apply(&mut workspace, &event);
            }
        }
        Ok(workspace)
    }
}

/// Decides a call that is made after others; nothing is recorded. Returns the call as it is to be made: variables that expire
/// with it are no change that its caller missed, so a count of mutations that it expects includes them.
fn accepted_after(
    workspace: &Workspace,
    before: &[Call],
    call: &Call,
    now: Timestamp,
    files: &dyn Files,
) -> Result<Call, Refusal> {
    let (mut workspace, mut call) = (Cow::Borrowed(workspace), call.clone());
    let is_over = workspace.states().all(|state| state.lives_in().is_some() || state.status().is_terminal());
    let is_rollback = matches!(call, Call::On { op: Op::Rollback(_), .. });
    if is_over && !is_rollback {
        // A process died before it recorded the end of the run, which any call records before it is refused.
        return Ok(call);
    }
    for early in before {
        if let Ok(Decision::Accept(Accepted { event: Some(event), .. })) =
            decide(&workspace, early, now, files)
        {
            // An event that was decided on a workspace applies to that workspace.
            let _ = apply(workspace.to_mut(), &event);
        }
    }
    loop {
        match decide(&workspace, &call, now, files)? {
            Decision::Accept(_) => return Ok(call),
            Decision::ExpireFirst(event) => {
                let count = |workspace: &Workspace| workspace.state(event.state).map(State::mutation_count);
                let known = count(&workspace);
                if apply(workspace.to_mut(), &event).is_err() {
                    return Ok(call);
                }
                if let Some(expected) = expected_count(&mut call).filter(|expected| **expected == known) {
                    *expected = count(&workspace);
                }
            }
        }
    }
}

/// Returns the number of mutations that a call expects, if it can expect one.
fn expected_count(call: &mut Call) -> Option<&mut Option<u64>> {
    let Call::On { op, .. } = call else { return None };
    match op {
        Op::Set(set) => Some(&mut set.if_mutation_count),
        Op::Delete(delete) => Some(&mut delete.if_mutation_count),
        Op::Rename(rename) => Some(&mut rename.if_mutation_count),
        Op::Checkpoint(checkpoint) => Some(&mut checkpoint.if_mutation_count),
        Op::Rollback(rollback) => Some(&mut rollback.if_mutation_count),
        _ => None,
    }
}

/// Returns the calls that record the news of shared scopes.
fn shares(run: &VariablesRun, state: StateId, shared_scopes: &SharedScopes) -> Vec<Call> {
    let news = run.workspace().state_view(state).map(|view| shared_scopes.news(view)).unwrap_or_default();
    news.into_iter().map(|shared| Call::Share { state, shared: Box::new(shared) }).collect()
}

/// Takes the lease of a run; waits while another process holds it.
pub(crate) fn lease_of(
    context: &Context,
    store: &StoreHandle,
    id: &RunId,
) -> Result<Box<dyn RunWriter>, CliError> {
    let start = Instant::now();
    loop {
        match store.open(id) {
            Ok(opened) => {
                if let Some(cut) = &opened.cut {
                    context.say(format!("run {id}: {cut}"));
                }
                return Ok(opened.writer);
            }
            Err(StoreError::Leased { .. }) if start.elapsed() < LEASE_WAIT_MAX => {
                std::thread::sleep(LEASE_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Removes an unfinished line at the end.
pub(super) fn whole_lines(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes
}

/// Creates a run and its first event in one operation: a run without a state never exists.
pub(crate) fn create(
    context: &Context,
    problem: Value,
    root: &Path,
    call: &Call,
    now: Timestamp,
) -> Result<(StoreHandle, RunId, VariablesRun, Reply), CliError> {
    let store = context.store_or_new()?;
    let (id, run, reply) = create_in(&store, problem, root, call, now)?;
    Ok((store, id, run, reply))
}

/// Creates a run in a store, with its first event.
pub(super) fn create_in(
    store: &StoreHandle,
    problem: Value,
    root: &Path,
    call: &Call,
    now: Timestamp,
) -> Result<(RunId, VariablesRun, Reply), CliError> {
    let bytes = canonical_bytes(&problem);
    let request = Request::new(without_defects(problem), Profile::STRICT);
    let program = Variables::new(&request).map_err(|findings| CliError::refused("the new run", &findings))?;
    let (run, header) = Run::start(program)?;
    let id = RunId::new(run.program().problem().id())
        .map_err(|error| CliError::from_error(Code::Argument, error).with_hint(hint::OTHER_ID))?;
    let mut sink = MemorySink::default();
    // Appending to a memory sink cannot fail.
    let _ = sink.append(&header);
    let (run, reply) =
        run.call(call, now, &mut StoreVariableFiles { store, root, shared_scopes: None }, &mut sink)?;
    let reply = reply.map_err(|refusal| CliError::variables(&refusal))?;
    for blob in sink.blobs.values() {
        store.put_blob(blob, hence_store::Durability::Synced)?;
    }
    let attachments = vec![(problem_name(), bytes)];
    let journal = sink.journal;
    let new = NewRun { id: id.clone(), attachments, lines: journal.clone() };
    let mut writer = store.create(new).map_err(|error| match CliError::from(error) {
        taken if taken.code == Code::Conflict => taken.with_hint(hint::OTHER_ID_FOR_RUN),
        other => other,
    })?;
    TimeLog::open(&mut *writer, SystemClock::started()).created_whole(&journal);
    Ok((id, run, reply))
}
