//! Driving a run: what may start runs on some thread, what is due is recorded here, in plan order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hence_cognition::run::{Context, RunRequest, StepOutcome, Waiting, execute};
use hence_cognition::skill::Step;
use hence_cognition::state::{Memory, Names};
use hence_engine::{Blocked, Sink};

use super::{FinishedSkill, SkillRun, SkillRunError, acts};
use crate::calls::{Desk, Entry, Ledger, Outside, Promise, Recorder};
use crate::child::{ChildRuns, NoChildRuns};
use crate::host::Host;
use crate::stop::{NeverStop, Stop};

/// How often it is asked whether a run is to stop while nothing else happens.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What executing a step gave: an outcome, or what it waits for.
type Executed = Result<StepOutcome, Waiting>;

/// What drives a run.
pub struct Driver<'a> {
    /// Who carries out calls.
    pub host: &'a dyn Host,
    /// How many steps run at a time. What they write does not depend on it.
    pub workers: NonZeroUsize,
    /// What is known about calls, and where more of it is kept.
    pub ledger: &'a Ledger<'a>,
    /// Whether the run is to stop.
    pub stop: &'a dyn Stop,
    /// Where nested runs are kept.
    pub children: &'a dyn ChildRuns,
}

/// How far a run was driven.
pub enum Driven<'a> {
    /// To its end.
    Finished(Box<FinishedSkill>),
    /// Policies block the step that is due, or the end of the run. That is recorded; it can be taken up again.
    Blocked(Blocked),
    /// Not to its end: it can be taken up again.
    Paused(Box<SkillRun<'a>>, Pause),
}

/// Why a run does not go on.
#[derive(Clone, Debug)]
pub enum Pause {
    /// Someone has to answer first. Everything that did not need the answer has been executed.
    Waiting(Vec<Waiting>),
    /// It was to stop.
    Stopped,
}

impl<'a> SkillRun<'a> {
    /// Runs to the end, or as far as it goes, and tells `observe` of each outcome once it is kept.
    ///
    /// Which thread finishes first never shows: outcomes are recorded in plan order, and a step sees only what was
    /// recorded before it could start. A step that waits holds up the record, not the work: whatever can be executed
    /// is, and kept beside the journal until it is due.
    ///
    /// # Errors
    /// [`SkillRunError`]; whatever was kept before stays kept.
    pub fn drive(
        self,
        driver: &Driver<'_>,
        sink: &mut dyn Sink,
        observe: impl FnMut(&StepOutcome),
    ) -> Result<Driven<'a>, SkillRunError> {
        let skill = self.progress.skill();
        let Driver { host, ledger, stop, children, .. } = *driver;
        let (outside, family, trouble) = (Outside::Open, self.family(), Mutex::new(None));
        let desk = Desk { host, skill, ledger, stop, outside, children, family, trouble };
        self.drive_at(&desk, driver.workers, sink, observe)
    }

    /// Runs to the end, keeping nothing beside the journal.
    ///
    /// # Errors
    /// [`SkillRunError`]; also when a step waits for an answer.
    pub fn finish(
        self,
        host: &dyn Host,
        workers: NonZeroUsize,
        sink: &mut dyn Sink,
        observe: impl FnMut(&StepOutcome),
    ) -> Result<FinishedSkill, SkillRunError> {
        let ledger = Ledger::empty();
        let driver = Driver { host, workers, ledger: &ledger, stop: &NeverStop, children: &NoChildRuns };
        match self.drive(&driver, sink, observe)? {
            Driven::Finished(finished) => Ok(*finished),
            Driven::Paused(_, Pause::Waiting(waiting)) => Err(SkillRunError::Waiting(waiting)),
            Driven::Paused(_, Pause::Stopped) => Err(SkillRunError::Waiting(Vec::new())),
            Driven::Blocked(blocked) => Err(blocked.into()),
        }
    }

    pub(crate) fn drive_at(
        mut self,
        desk: &Desk<'_>,
        workers: NonZeroUsize,
        sink: &mut dyn Sink,
        mut observe: impl FnMut(&StepOutcome),
    ) -> Result<Driven<'a>, SkillRunError> {
        let request = self.request.clone();
        // A nested run that is run again is as deep as it was.
        let above = usize::try_from(self.pinned.links.depth()).unwrap_or(0);
        let lineage: Names = vec![self.pinned.id.clone(); above + 1].into();
        self.recorded.extend(desk.ledger.outcomes());
        let (send, receive) = mpsc::channel::<(Arc<str>, Executed)>();
        let mut ready: BTreeMap<Arc<str>, Executed> = BTreeMap::new();
        let (mut blocked, mut held) = (None, BTreeMap::new());
        let (give, jobs) = mpsc::channel::<(&'a Step, Memory)>();
        let jobs = Mutex::new(jobs);
        std::thread::scope(|scope| {
            // Threads end when nobody is left to give them anything.
            let give = give;
            let (mut active, mut hired) = (0usize, 0usize);
            let hire = || {
                let (send, jobs, request, lineage) = (send.clone(), &jobs, &request, &lineage);
                scope.spawn(move || {
                    while let Some((step, memory)) = take_job(jobs) {
                        let outcome = execute_at(desk, step, &memory, request, lineage);
                        // The receiver lives until every step that was started has been heard of, or the run stopped.
                        let _ = send.send((step.id.clone(), outcome));
                    }
                });
            };
            while !self.has_reached_stop() {
                let room = if blocked.is_some() { 0 } else { workers.get().saturating_sub(active) };
                let mut steps = self.take_startable(room, desk, &mut ready, &mut held);
                if blocked.is_none()
                    && steps.len() < room
                    && let Some(step) = self.take_held(desk, &mut held)
                {
                    blocked = self.precheck(step, sink)?;
                    if let Some(recorded) = self.recorded.get(&step.id).filter(|_| blocked.is_none()) {
                        ready.insert(step.id.clone(), Ok(recorded.clone()));
                    } else if blocked.is_none() {
                        steps.push(step);
                    }
                }
                let memory = &self.progress.state().memory;
                if let ([only], 0) = (steps.as_slice(), active) {
                    // Nothing else can happen before it is done: handing it to a thread would only take longer.
                    let outcome = execute_at(desk, only, memory, &request, &lineage);
                    ready.insert(only.id.clone(), outcome);
                } else {
                    active += steps.len();
                    (hired..active).for_each(|_| hire());
                    hired = hired.max(active);
                    // The threads hold the other end until this one is gone.
                    steps.into_iter().for_each(|step| drop(give.send((step, memory.clone()))));
                }
                // Behind a line or a nested run that could not be kept nothing is recorded.
                if blocked.is_none()
                    && !desk.has_trouble()
                    && let Some(outcome) = self.take_due(&mut ready)
                {
                    match self.commit(outcome, sink)? {
                        Ok(()) => self.progress.outcomes().last().into_iter().for_each(&mut observe),
                        Err(found) => blocked = Some(found),
                    }
                } else if active == 0 {
                    break;
                } else if let Some((step, outcome)) = hear(&receive) {
                    active -= 1;
                    ready.insert(step, outcome);
                }
            }
            Ok::<(), SkillRunError>(())
        })?;
        if blocked.is_none() && self.has_reached_stop() {
            return Ok(Driven::Paused(Box::new(self), Pause::Stopped));
        }
        if let Some(error) = desk.take_trouble() {
            return Err(SkillRunError::CallLog(error));
        }
        self.pause_or_end(desk, ready, blocked, sink)
    }

    /// Takes up to `room` steps that may start and have not been executed; what was recorded of others is ready.
    ///
    /// Under policies a step that acts is held until everything before it is recorded.
    fn take_startable(
        &mut self,
        room: usize,
        desk: &Desk<'_>,
        ready: &mut BTreeMap<Arc<str>, Executed>,
        held: &mut BTreeMap<Arc<str>, &'a Step>,
    ) -> Vec<&'a Step> {
        let is_guarded = self.policy_state().is_pinned();
        let mut steps = Vec::new();
        while steps.len() < room
            && !desk.stop.is_wanted()
            && let Some(step) = self.progress.start()
        {
            match self.recorded.get(&step.id) {
                _ if is_guarded && acts(step, desk.host) => {
                    held.insert(step.id.clone(), step);
                }
                Some(recorded) => drop(ready.insert(step.id.clone(), Ok(recorded.clone()))),
                None => steps.push(step),
            }
        }
        steps
    }

    /// Takes the step that is due, if it was held.
    fn take_held(&self, desk: &Desk<'_>, held: &mut BTreeMap<Arc<str>, &'a Step>) -> Option<&'a Step> {
        let due = self.progress.due().filter(|_| !desk.stop.is_wanted())?;
        held.remove(&due.id)
    }

    /// Takes the outcome of the step that is due, if it is there.
    fn take_due(&self, ready: &mut BTreeMap<Arc<str>, Executed>) -> Option<StepOutcome> {
        let due = self.progress.due()?;
        match ready.remove(&due.id)? {
            Ok(outcome) => Some(outcome),
            Err(waiting) => {
                ready.insert(due.id.clone(), Err(waiting));
                None
            }
        }
    }

    fn pause_or_end(
        self,
        desk: &Desk<'_>,
        ready: BTreeMap<Arc<str>, Executed>,
        blocked: Option<Blocked>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'a>, SkillRunError> {
        if let Some(blocked) = &blocked {
            // What the step called is in its record; when it is tried again, everything is asked anew.
            let entry = Entry::Blocked { step: blocked.step.clone() };
            desk.ledger.note(entry, Promise::Kept).map_err(SkillRunError::CallLog)?;
        }
        if blocked.is_none() && self.progress.due().is_none() {
            return match self.end(sink) {
                Ok(finished) => Ok(Driven::Finished(Box::new(finished))),
                Err(SkillRunError::Blocked(blocked)) => Ok(Driven::Blocked(blocked)),
                Err(error) => Err(error),
            };
        }
        let mut waiting = Vec::new();
        for executed in ready.into_values() {
            match executed {
                Ok(outcome) => desk
                    .ledger
                    .note(Entry::Outcome(Box::new(outcome)), Promise::Kept)
                    .map_err(SkillRunError::CallLog)?,
                Err(wait) => waiting.push(wait),
            }
        }
        if let Some(blocked) = blocked {
            return Ok(Driven::Blocked(blocked));
        }
        let pause = if desk.stop.is_wanted() { Pause::Stopped } else { Pause::Waiting(waiting) };
        Ok(Driven::Paused(Box::new(self), pause))
    }
}

/// Waits a while for a step that has been executed.
fn hear(receive: &Receiver<(Arc<str>, Executed)>) -> Option<(Arc<str>, Executed)> {
    match receive.recv_timeout(LOOK_EVERY) {
        Ok(heard) => Some(heard),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// Waits for a step to execute; `None` when there will be none.
fn take_job<'a>(jobs: &Mutex<Receiver<(&'a Step, Memory)>>) -> Option<(&'a Step, Memory)> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn execute_at(
    desk: &Desk<'_>,
    step: &Step,
    memory: &Memory,
    request: &RunRequest,
    lineage: &Names,
) -> Executed {
    let mut worker = desk.host.worker();
    let mut recorder = Recorder::new(&mut *worker, desk);
    let mut context = Context {
        capabilities: &mut recorder,
        options: &request.options,
        skill_id: lineage.first().cloned().unwrap_or_default(),
        lineage: lineage.clone(),
        run_id: request.run_id.clone(),
        path: "".into(),
        trace_id: request.trace_id.clone(),
    };
    execute(step, memory, &mut context)
}
