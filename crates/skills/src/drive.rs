//! Drives a run of a skill: steps run on worker threads, and their outcomes are recorded here, in plan order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hence_cognition::budget::{Limits, Usage};
use hence_cognition::run::{Capabilities, Context, RunRequest, StepOutcome, Waiting, execute, item_count};
use hence_cognition::skill::Step;
use hence_cognition::state::{Memory, Names};
use hence_engine::{Blocked, Driven, Measured, Meter, NoMeter, Pause, RunError, Sink, Watched};
use hence_journal::{Durability, RecordIndex};

use crate::budget::{Budget, USAGE_KEY, executed_usage, may_leave, recorded_usage};
use crate::calls::{CallExecutor, CallGate, CallLog, CallName, Entry, Intent, LoggedWorker, MayCall};
use crate::child::{ChildRuns, NoChildRuns};
use crate::program::{SkillProgram, SkillRun};
use crate::reach::may_act;
use crate::shared_child::EndedChild;
use crate::stop::{NeverStop, Stop};

/// The interval at which a waiting run checks whether it should stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A message of a thread that executes steps.
enum Message {
    /// A step was executed.
    Executed(Arc<str>, Box<Executed>),
    /// A step asks whether it may make a call.
    MayCall(Box<MayCall>),
}

impl From<MayCall> for Message {
    fn from(question: MayCall) -> Self {
        Self::MayCall(Box::new(question))
    }
}

/// Answers the question of a step whether it may make a call. Everything before the step is recorded, because it acts.
fn answer(
    program: &SkillProgram<'_>,
    book: &mut hence_engine::Book<'_>,
    question: &MayCall,
) -> Result<(), RunError> {
    let Some(step) = program.due_step().filter(|step| step.id == question.step) else {
        question.refuse("the step is not due");
        return Ok(());
    };
    let call = program.proposed_call(book, step, (&question.made, &question.answers), &question.next)?;
    let judgement = book.foresee(&call)?;
    let why: Vec<&str> = judgement.blocks.iter().map(|block| &*block.message).collect();
    if why.is_empty() {
        question.allow()
    } else {
        question.refuse(&why.join("; "))
    }
    Ok(())
}

/// The outcome of a step, or the answer it waits for.
type Executed = Result<StepOutcome, Waiting>;

/// Drives runs of skills.
pub struct Driver<'a> {
    /// The number of steps that run at a time. The journal does not depend on it.
    pub workers: NonZeroUsize,
    /// The call log of the run.
    pub log: &'a CallLog<'a>,
    /// Says whether the run is to stop.
    pub stop: &'a dyn Stop,
    /// The store of nested runs.
    pub children: &'a dyn ChildRuns,
    /// The meter of steps, calls and waits.
    pub meter: &'a dyn Meter,
}

impl Driver<'_> {
    /// Drives a run as far as it goes, and calls `observe` with each outcome once it is recorded.
    ///
    /// Thread timing never shows: outcomes are recorded in plan order, and a step sees only what was recorded before it
    /// could start. A step that may act starts only when every step before it in plan order is recorded; others run
    /// ahead. While a step waits for an answer, no later outcome is recorded, but other steps are executed; their
    /// outcomes stay in the call log until they are due.
    ///
    /// # Errors
    /// [`RunError`]; what was appended before stays.
    pub fn drive<'g, 'a>(
        &self,
        run: SkillRun<'g, 'a>,
        sink: &mut dyn Sink,
        observe: impl FnMut(&StepOutcome),
    ) -> Result<Driven<'g, SkillProgram<'a>>, RunError> {
        self.drive_within((&Limits::default(), &Usage::default()), run, sink, observe)
    }

    /// Drives a run as [`Driver::drive`] does, under limits for this process next to those that the run pins. `used` is what
    /// calls used that no record in effect counts: those of steps that were rolled back.
    ///
    /// # Errors
    /// [`RunError`]; what was appended before stays.
    pub fn drive_within<'g, 'a>(
        &self,
        (limits, used): (&Limits, &Usage),
        mut run: SkillRun<'g, 'a>,
        sink: &mut dyn Sink,
        observe: impl FnMut(&StepOutcome),
    ) -> Result<Driven<'g, SkillProgram<'a>>, RunError> {
        // What was executed is not executed again because a policy blocks it: only other policies can let it through.
        if let Some(blocked) = run.program().blocked_deed() {
            let blocked = blocked.clone();
            return Ok(Driven::Blocked(run, blocked));
        }
        let (program, _) = run.parts();
        let (skill, family) = (program.progress().skill(), program.family());
        let calls = CallExecutor::new(program.host(), self.log, self.stop).with_meter(self.meter);
        let budget = Budget::new(program.host(), Some(skill), &program.pinned().limits.and(limits));
        budget.count_past(program.outcomes(), &self.log.history());
        budget.count_spent(&self.log.history());
        budget.count_used(&program.pinned().links.used_before());
        budget.count_used(used);
        let calls = calls.for_skill(skill, self.children, family).with_budget(&budget);
        // Where policies stopped a step between its calls, its record answers the calls before, also without their log.
        for made in program.calls_before_stop() {
            if self.log.status(&made.key).is_some() {
                continue;
            }
            let call = CallName::from_key(made.key.clone(), made.capability.clone());
            let entries: Vec<Entry> = match made.is_held() {
                // It was begun, and policies hold its repetition back.
                true => {
                    let intent = Intent::new(&made.input, &made.idempotency_key);
                    made.each_begun()
                        .iter()
                        .map(|_| Entry::Intent { call: call.clone(), intent: intent.clone() })
                        .collect()
                }
                false => vec![Entry::Reply { call, reply: made.reply.clone() }],
            };
            for entry in entries {
                self.log.note(entry, Durability::Synced).map_err(RunError::CallLog)?;
            }
        }
        drive(run, &calls, self.workers, None, sink, observe)
    }
}

/// The end of driving one nested run for the run around it.
#[derive(Debug)]
pub enum NestedDrive {
    /// It ended.
    Ended(Box<EndedChild>),
    /// It waits for somebody, or was stopped.
    Open,
    /// The run around it does not come to its step: it went on without it, or was rolled back.
    NotReached,
}

impl Driver<'_> {
    /// Drives one nested run for the run around it, which is only read: executes the step `step` of the outermost run `run`, and makes
    /// only the calls of the nested run `child`. The log holds the replies of the runs around it, and takes the calls of the nested run.
    ///
    /// # Errors
    /// [`RunError`] when the log could not be written.
    pub fn drive_nested(
        &self,
        mut run: SkillRun<'_, '_>,
        step: &str,
        child: &str,
    ) -> Result<NestedDrive, RunError> {
        let (program, _) = run.parts();
        let (skill, family) = (program.progress().skill(), program.family());
        let calls = CallExecutor::new(program.host(), self.log, self.stop).with_meter(self.meter);
        let calls = calls.for_skill(skill, self.children, family).only(child.into());
        let (request, lineage) = (program.request().clone(), program.lineage());
        let step = loop {
            match program.progress().start() {
                Some(started) if *started.id == *step => break started,
                Some(_) => {}
                None => return Ok(NestedDrive::NotReached),
            }
        };
        let memory = program.progress().state().memory.clone();
        // The run around it records the outcome, when it executes the step itself.
        let _ = execute_step(&calls, None, step, &memory, &request, &lineage);
        match (calls.take_failure(), calls.take_ended()) {
            (Some(error), _) => Err(RunError::CallLog(error)),
            (None, Some(ended)) => Ok(NestedDrive::Ended(Box::new(ended))),
            (None, None) => Ok(NestedDrive::Open),
        }
    }
}

/// Drives a run to its end without a stored call log.
///
/// # Errors
/// [`RunError`]; also when a step waits for an answer or policies block the run.
pub fn finish<'g, 'a>(
    run: SkillRun<'g, 'a>,
    workers: NonZeroUsize,
    sink: &mut dyn Sink,
    observe: impl FnMut(&StepOutcome),
) -> Result<SkillRun<'g, 'a>, RunError> {
    let log = CallLog::in_memory();
    let driver = Driver { workers, log: &log, stop: &NeverStop, children: &NoChildRuns, meter: &NoMeter };
    driver.drive(run, sink, observe)?.into_finished()
}

/// The steps that were executed or may be, and are not recorded yet.
struct Pending<'a> {
    ready: BTreeMap<Arc<str>, Executed>,
    /// Steps that may act: they run only once everything before them is recorded, so that no run ends with an effect
    /// outside its record.
    held: BTreeMap<Arc<str>, &'a Step>,
    blocked: Option<Blocked>,
}

/// Drives a run as far as it goes, or until it is about to append record `until`.
pub(crate) fn drive<'g, 'a>(
    mut run: SkillRun<'g, 'a>,
    calls: &CallExecutor<'_>,
    workers: NonZeroUsize,
    until: Option<RecordIndex>,
    sink: &mut dyn Sink,
    mut observe: impl FnMut(&StepOutcome),
) -> Result<Driven<'g, SkillProgram<'a>>, RunError> {
    let (program, book) = run.parts();
    let request = program.request().clone();
    let lineage = program.lineage();
    program.read_outcomes_from(calls.log().outcomes());
    let mut pending = Pending { ready: BTreeMap::new(), held: BTreeMap::new(), blocked: None };
    let (send, receive) = mpsc::channel::<Message>();
    // The policies are asked before each call that acts. They are asked here, because the gate belongs to the book.
    let is_gated = book.policy_state().is_pinned() && !calls.is_closed();
    let asking = is_gated.then(|| CallGate::new(send.clone()));
    let (give, jobs) = mpsc::channel::<(&'a Step, Memory)>();
    let jobs = Mutex::new(jobs);
    std::thread::scope(|scope| {
        // Threads end when this end of the channel is dropped, and so does a question that nobody will answer.
        let (give, receive) = (give, receive);
        let (mut active, mut hired) = (0usize, 0usize);
        let hire = || {
            let (send, jobs, request, lineage, asking) =
                (send.clone(), &jobs, &request, &lineage, asking.as_ref());
            scope.spawn(move || {
                while let Some((step, memory)) = take_job(jobs) {
                    let asking = asking.filter(|_| may_act(step, calls.host()));
                    let outcome = execute_step(calls, asking, step, &memory, request, lineage);
                    // The receiver lives until every started step was received, or the run stopped.
                    let _ = send.send(Message::Executed(step.id.clone(), Box::new(outcome)));
                }
            });
        };
        while until.is_none_or(|until| book.next_index() < until) {
            let room = if pending.blocked.is_some() { 0 } else { workers.get().saturating_sub(active) };
            let steps = pending.startable(program, book, calls, room, sink)?;
            let is_idle = steps.is_empty() && active == 0;
            let memory = &program.progress().state().memory;
            if let ([only], 0, None) = (steps.as_slice(), active, &asking) {
                // Nothing else can happen before it is done, so a thread would only take longer.
                let outcome = execute_step(calls, None, only, memory, &request, &lineage);
                pending.ready.insert(only.id.clone(), outcome);
            } else {
                active += steps.len();
                (hired..active).for_each(|_| hire());
                hired = hired.max(active);
                // The threads hold the other end until this one is gone.
                steps.into_iter().for_each(|step| drop(give.send((step, memory.clone()))));
            }
            // Nothing is recorded after a log line or a nested run that could not be stored.
            if pending.blocked.is_none()
                && !calls.has_failed()
                && let Some(outcome) = pending.take_due(program)
            {
                match program.commit(book, outcome, sink)? {
                    Ok(()) => program.outcomes().last().into_iter().for_each(&mut observe),
                    Err(blocked) => pending.blocked = Some(blocked),
                }
            } else if is_idle {
                break;
            } else if active > 0 {
                match receive.recv_timeout(STOP_POLL_INTERVAL) {
                    Ok(Message::Executed(step, outcome)) => {
                        active -= 1;
                        pending.ready.insert(step, *outcome);
                    }
                    Ok(Message::MayCall(question)) => answer(program, book, &question)?,
                    Err(_) => {}
                }
            }
        }
        Ok::<(), RunError>(())
    })?;
    if pending.blocked.is_none() && until.is_some_and(|until| book.next_index() >= until) {
        return Ok(Driven::Paused(run, Pause::Stopped));
    }
    match calls.take_failure() {
        Some(error) => Err(RunError::CallLog(error)),
        None => pause_or_end(run, calls, pending, sink),
    }
}

impl<'a> Pending<'a> {
    /// Takes up to `room` steps that may start and have not been executed; recorded outcomes of others become ready.
    fn startable(
        &mut self,
        program: &mut SkillProgram<'a>,
        book: &mut hence_engine::Book<'_>,
        calls: &CallExecutor<'_>,
        room: usize,
        sink: &mut dyn Sink,
    ) -> Result<Vec<&'a Step>, RunError> {
        let mut steps = Vec::new();
        while steps.len() < room
            && !calls.stop().is_wanted()
            && let Some(step) = program.progress().start()
        {
            match program.recorded_outcome(&step.id) {
                _ if may_act(step, calls.host()) || is_counted(step, calls) => {
                    self.held.insert(step.id.clone(), step);
                }
                Some(_) => self.take_recorded(program, step, calls),
                None => steps.push(step),
            }
        }
        if self.blocked.is_some() || steps.len() >= room || calls.stop().is_wanted() {
            return Ok(steps);
        }
        let due = program.progress().due().map(|step| step.id.clone());
        if let Some(step) = due.and_then(|due| self.held.remove(&due)) {
            // A step that was stopped between its calls is judged before each call that is left.
            if book.policy_state().is_pinned()
                && !program.was_executed(&step.id, book.next_index())
                && !program.is_stopped_between_calls()
            {
                self.blocked = program.precheck(book, step, sink)?;
            }
            match program.recorded_outcome(&step.id) {
                _ if self.blocked.is_some() => {}
                Some(_) => self.take_recorded(program, step, calls),
                None => steps.push(step),
            }
        }
        Ok(steps)
    }

    /// Makes the recorded outcome of a step ready. A replay computes what follows from it again.
    fn take_recorded(&mut self, program: &SkillProgram<'a>, step: &'a Step, calls: &CallExecutor<'_>) {
        let outcome = program.read_or_computed(step, calls.host());
        self.ready.extend(outcome.map(|outcome| (step.id.clone(), Ok(outcome))));
    }

    /// Takes the outcome of the step that is due, if it has been executed.
    fn take_due(&mut self, program: &mut SkillProgram<'a>) -> Option<StepOutcome> {
        let due = program.progress().due()?;
        match self.ready.remove(&due.id)? {
            Ok(outcome) => Some(outcome),
            Err(waiting) => {
                self.ready.insert(due.id.clone(), Err(waiting));
                None
            }
        }
    }
}

fn pause_or_end<'g, 'a>(
    mut run: SkillRun<'g, 'a>,
    calls: &CallExecutor<'_>,
    pending: Pending<'a>,
    sink: &mut dyn Sink,
) -> Result<Driven<'g, SkillProgram<'a>>, RunError> {
    let note = |entry| calls.log().note(entry, Durability::Buffered).map_err(RunError::CallLog);
    if let Some(blocked) = &pending.blocked
        && run.program().blocked_deed().is_none()
        && !run.program().is_stopped_between_calls()
    {
        // It only asked and read; when the step is retried, every call is made again.
        note(Entry::Blocked { step: blocked.step.clone() })?;
    }
    if pending.blocked.is_none() && run.program().due().is_none() {
        let (program, book) = run.parts();
        return match program.end(book, sink) {
            Ok(()) => Ok(Driven::Finished(run)),
            Err(RunError::Blocked(blocked)) => Ok(Driven::Blocked(run, blocked)),
            Err(error) => Err(error),
        };
    }
    let mut waiting = Vec::new();
    for executed in pending.ready.into_values() {
        match executed {
            Ok(outcome) => note(Entry::Outcome(Box::new(outcome)))?,
            Err(Waiting { key, message, .. }) => waiting.push(hence_engine::Waiting { key, message }),
        }
    }
    if let Some(blocked) = pending.blocked {
        return Ok(Driven::Blocked(run, blocked));
    }
    let pause = if calls.stop().is_wanted() { Pause::Stopped } else { Pause::Waiting(waiting) };
    Ok(Driven::Paused(run, pause))
}

/// Waits for a step to execute; `None` when there will be none.
fn take_job<'a>(jobs: &Mutex<Receiver<(&'a Step, Memory)>>) -> Option<(&'a Step, Memory)> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Returns the surroundings of a step of the outermost run.
pub(crate) fn context<'c>(
    capabilities: &'c mut dyn Capabilities,
    request: &'c RunRequest,
    lineage: &Names,
) -> Context<'c> {
    Context {
        capabilities,
        options: &request.options,
        skill_id: lineage.first().cloned().unwrap_or_default(),
        lineage: lineage.clone(),
        run_id: request.run_id.clone(),
        path: "".into(),
        trace_id: request.trace_id.clone(),
        idempotency_root: request.idempotency_root.clone(),
        shared: request.shared.clone(),
        made: Vec::new(),
    }
}

fn execute_step(
    calls: &CallExecutor<'_>,
    asking: Option<&CallGate>,
    step: &Step,
    memory: &Memory,
    request: &RunRequest,
    lineage: &Names,
) -> Executed {
    let mut worker = calls.host().worker();
    let mut logged = LoggedWorker::new(&mut *worker, calls, asking);
    let began = calls.meter().now();
    calls.meter().watch(Watched::StepBegan { step: &step.id, items: item_count(step, memory) });
    let executed = execute(step, memory, &mut context(&mut logged, request, lineage));
    calls.meter().watch(Watched::StepEnded { step: &step.id });
    let outcome = executed?;
    if let Some(span) = calls.meter().since(began) {
        calls.meter().note(Measured::Step { step: step.id.clone(), span });
    }
    let used = calls.budget().map(|budget| budget.used_by_step(&step.id)).unwrap_or_default();
    let used = if used.is_empty() { executed_usage(&outcome) } else { used };
    let is_limited = calls.budget().is_some_and(Budget::is_limited);
    // The calls of gates and nested skills are not among those the step made itself.
    let is_recorded =
        !used.is_empty() && (is_limited || used.calls > recorded_usage(&outcome, calls.host()).calls);
    Ok(if is_recorded {
        StepOutcome { meta: outcome.meta.with(USAGE_KEY, used.value()), ..outcome }
    } else {
        outcome
    })
}

/// Returns whether the calls of a step are counted: it then starts when everything before it is recorded, so that what was
/// used before it does not depend on timing.
fn is_counted(step: &Step, calls: &CallExecutor<'_>) -> bool {
    calls.budget().is_some_and(Budget::is_counted) && may_leave(step, calls.host())
}
