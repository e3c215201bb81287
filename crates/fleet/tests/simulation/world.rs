//! A simulated fleet: workers, network, queue, store, people and their accidents, in the order of a seeded scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hence_fleet::{
    Action, CRASHES_MAX, Clock, FAILURES_MAX, JobFilter, JobQueue, JobState, MemoryQueue, Millis, Mode,
    NewJob, NewWorker, QueueError, QueueName, Reply, Request, Settlement, Time, Token, WorkerCore,
    WorkerName, WorkerOptions,
};
use hence_store::RunId;

use crate::check::{Claiming, Limits};
use crate::drive::{Drive, Progress, Scene};
use crate::rng::Rng;
use crate::store::{Op, Rules, SimStore};

/// The time at which accidents end, in milliseconds after the start.
pub(crate) const ACCIDENTS_END: u64 = 5 * 60 * 1000;

/// The time by which every run must be over: the longest look for a lost wake, and clocks that were wrong by hours.
const EVERYTHING_ENDS: u64 = 48 * 60 * 60 * 1000;

/// The time after which a request without a reply has failed.
const REQUEST_TIMEOUT: u64 = 2000;

pub(crate) const START: u64 = 1_795_000_000_000;

#[derive(Debug, Clone)]
pub(crate) enum Event {
    Start(usize),
    Poll(usize, u64),
    News(usize, u64),
    Drive(usize, u64, Token),
    Deliver(usize, u64, u64, Request),
    Reply(usize, u64, u64, Reply),
    Kill(usize),
    Pause(usize, u64),
    Terminate(usize),
    Answer(RunId, usize),
    Cancel(RunId),
    PauseQueue(QueueName),
    ResumeQueue(QueueName),
    StepClock(i64),
    Repair,
}

pub(crate) struct Process {
    pub(crate) life: u64,
    pub(crate) core: Option<WorkerCore>,
    /// The error of the worker's own clock.
    pub(crate) offset: u64,
    pub(crate) paused_until: u64,
    pub(crate) outstanding: Option<u64>,
    /// The time of the next look at what the worker wants.
    pub(crate) next_poll: Option<u64>,
    pub(crate) drives: BTreeMap<Token, Drive>,
}

/// The clock of queue and store.
struct DatabaseClock(Arc<AtomicU64>);

impl Clock for DatabaseClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// The rates of accidents, in a thousand.
#[derive(Debug, Clone, Copy)]
struct Accidents {
    lost: u64,
    slow: u64,
    store_reply_lost: u64,
}

pub(crate) struct World {
    pub(crate) rng: Rng,
    now: u64,
    /// The error of the database's clock.
    clock_error: i64,
    clock: Arc<AtomicU64>,
    events: BTreeMap<(u64, u64), Event>,
    serial: u64,
    pub(crate) queue: MemoryQueue,
    pub(crate) store: SimStore,
    pub(crate) limits: Limits,
    paused: BTreeSet<QueueName>,
    starts: BTreeMap<QueueName, Time>,
    pub(crate) workers: Vec<Process>,
    accidents: Accidents,
    cancelled: BTreeSet<RunId>,
    pub(crate) log: Option<Vec<String>>,
    pub(crate) handled: u64,
}

impl World {
    /// Makes the world of a seed.
    pub(crate) fn new(seed: u64, rules: Rules) -> Self {
        let mut rng = Rng::new(seed);
        let clock = Arc::new(AtomicU64::new(START));
        let harsh = rng.range(0, 2);
        let accidents = Accidents { lost: harsh * 30, slow: harsh * 40, store_reply_lost: harsh * 5 };
        let mut world = Self {
            now: START,
            clock_error: 0,
            queue: MemoryQueue::with_clock(Arc::new(DatabaseClock(clock.clone()))),
            clock,
            events: BTreeMap::new(),
            serial: 0,
            store: SimStore::new(rules),
            limits: Limits::default(),
            paused: BTreeSet::new(),
            starts: BTreeMap::new(),
            workers: Vec::new(),
            accidents,
            cancelled: BTreeSet::new(),
            log: None,
            handled: 0,
            rng: rng.clone(),
        };
        world.make_queues();
        world.make_runs();
        world.make_workers(harsh);
        rng.next();
        world
    }

    pub(crate) fn after(&mut self, delay: u64, event: Event) {
        self.at(self.now + delay, event);
    }

    fn at(&mut self, time: u64, event: Event) {
        self.serial += 1;
        self.events.insert((time, self.serial), event);
    }

    fn are_accidents_over(&self) -> bool {
        self.now >= START + ACCIDENTS_END
    }

    fn happens(&mut self, chance: u64) -> bool {
        !self.are_accidents_over() && self.rng.permille(chance)
    }

    fn database_now(&self) -> u64 {
        self.now.saturating_add_signed(self.clock_error)
    }

    fn note(&mut self, text: impl FnOnce() -> String) {
        let time = self.now - START;
        if let Some(log) = &mut self.log {
            log.push(format!("{time:>9} {}", text()));
        }
    }

    /// Lives until every run is over.
    pub(crate) fn live(&mut self) -> Result<(), String> {
        while let Some(((time, _), event)) = self.events.pop_first() {
            self.now = time;
            self.handled += 1;
            self.clock.store(self.database_now(), Ordering::SeqCst);
            if time > START + EVERYTHING_ENDS {
                return Err(format!("not everything ended: {}", self.unfinished()));
            }
            self.handle(event)?;
            if let Some(violation) = self.store.violation.take() {
                return Err(violation);
            }
            if self.are_accidents_over() && self.is_everything_over() {
                return self.judge_end();
            }
        }
        Err(format!("nothing more happens: {}", self.unfinished()))
    }

    fn handle(&mut self, event: Event) -> Result<(), String> {
        // A stopped process does nothing; what it should have done happens when it continues.
        if let Event::Poll(index, life)
        | Event::News(index, life)
        | Event::Drive(index, life, _)
        | Event::Reply(index, life, ..) = &event
        {
            let process = &self.workers[*index];
            if process.life != *life || process.core.is_none() {
                return Ok(());
            }
            if process.paused_until > self.now {
                let until = process.paused_until;
                self.at(until, event);
                return Ok(());
            }
        }
        match event {
            Event::Start(index) => self.start(index),
            Event::Poll(index, _) => {
                // Of several looks that were planned, the earliest one plans the next.
                if self.workers[index].next_poll.is_some_and(|at| at <= self.now) {
                    self.workers[index].next_poll = None;
                    self.pump(index);
                }
            }
            Event::News(index, _) => {
                let local = self.local(index);
                if let Some(core) = &mut self.workers[index].core {
                    core.news(local);
                }
                self.pump(index);
            }
            Event::Drive(index, life, token) => self.drive(index, life, token),
            Event::Deliver(index, life, id, request) => self.deliver(index, life, id, request)?,
            Event::Reply(index, _, id, reply) => {
                if self.workers[index].outstanding == Some(id) {
                    self.workers[index].outstanding = None;
                    let local = self.local(index);
                    if let Some(core) = &mut self.workers[index].core {
                        core.reply(local, reply);
                    }
                    self.pump(index);
                }
            }
            Event::Kill(index) => self.kill(index),
            Event::Pause(index, millis) => {
                self.note(|| format!("worker {index} stops for {millis} ms"));
                self.workers[index].paused_until = self.now + millis;
            }
            Event::Terminate(index) => {
                self.note(|| format!("worker {index} is asked to end"));
                if let Some(core) = &mut self.workers[index].core {
                    core.drain();
                }
                let life = self.workers[index].life;
                self.after(0, Event::News(index, life));
            }
            Event::Answer(run, step) => self.answer(&run, step),
            Event::Cancel(run) => {
                self.note(|| format!("run {run} is cancelled"));
                if self.queue.cancel(&run).is_ok() {
                    self.cancelled.insert(run);
                }
            }
            Event::PauseQueue(name) => {
                self.queue.pause(&name).expect("it exists");
                self.paused.insert(name);
            }
            Event::ResumeQueue(name) => {
                self.queue.resume(&name).expect("it exists");
                self.paused.remove(&name);
                self.tell_news();
            }
            Event::StepClock(step) => {
                self.note(|| format!("the clock of the database moves by {step} ms"));
                self.clock_error += step;
            }
            Event::Repair => self.repair(),
        }
        Ok(())
    }

    fn local(&self, index: usize) -> Millis {
        Millis::new(self.now - START + self.workers[index].offset)
    }

    fn start(&mut self, index: usize) {
        let nonce = self.rng.next();
        let queues = match self.rng.permille(150) && index > 0 {
            true => [QueueName::default_queue()].into(),
            false => BTreeSet::new(),
        };
        let worker = NewWorker {
            name: WorkerName::new(&format!("w{index}")).expect("a name"),
            about: String::new(),
            queues,
            concurrency: u32::try_from(self.rng.range(1, 4)).expect("small"),
            lease: Millis::seconds(self.rng.range(5, 30)),
            nonce,
        };
        let process = &mut self.workers[index];
        process.life += 1;
        process.outstanding = None;
        process.next_poll = None;
        process.drives.clear();
        process.core =
            Some(WorkerCore::new(WorkerOptions { worker, mode: Mode::Forever, poll: Millis::seconds(30) }));
        self.note(|| format!("worker {index} starts"));
        self.pump(index);
    }

    fn kill(&mut self, index: usize) {
        if self.workers[index].core.take().is_some() {
            self.note(|| format!("worker {index} is killed"));
            let delay = self.rng.range(0, 20_000);
            self.after(delay, Event::Start(index));
        }
    }

    /// Does what the worker wants to do now.
    fn pump(&mut self, index: usize) {
        let life = self.workers[index].life;
        let local = self.local(index);
        while let Some(action) = self.workers[index].core.as_mut().and_then(|core| core.poll(local)) {
            match action {
                Action::Send(request) => self.send(index, life, request),
                Action::Drive(claim) => {
                    self.note(|| format!("worker {index} drives {} as {:?}", claim.run, claim.token));
                    self.workers[index].drives.insert(claim.token, Drive::new(claim.clone()));
                    let delay = self.rng.range(1, 50);
                    self.after(delay, Event::Drive(index, life, claim.token));
                }
                Action::Stop(token) => {
                    if let Some(drive) = self.workers[index].drives.get_mut(&token) {
                        drive.is_stopping = true;
                    }
                }
                Action::Exit(end) => {
                    self.note(|| format!("worker {index} ends: {end:?}"));
                    self.workers[index].core = None;
                    let delay = self.rng.range(100, 5000);
                    self.after(delay, Event::Start(index));
                    return;
                }
            }
        }
        let deadline = self.workers[index].core.as_ref().and_then(WorkerCore::deadline);
        if let Some(deadline) = deadline {
            let at = START + deadline.get().saturating_sub(self.workers[index].offset);
            let at = at.max(self.now + 1);
            let process = &mut self.workers[index];
            if process.next_poll.is_none_or(|planned| at < planned) {
                process.next_poll = Some(at);
                self.at(at, Event::Poll(index, life));
            }
        }
    }

    /// Sends a request through the network, which may lose it, lose its reply, or be slow.
    fn send(&mut self, index: usize, life: u64, request: Request) {
        self.serial += 1;
        let id = self.serial;
        self.workers[index].outstanding = Some(id);
        let timeout = match &request {
            Request::Register(_) => Reply::Registered(Err(unreachable())),
            Request::Claim(_) => Reply::Claimed(Err(unreachable())),
            Request::Heartbeat { .. } => Reply::Renewed(Err(unreachable())),
            Request::Settle { .. } => Reply::Settled(Err(unreachable())),
            Request::Unregister(_) => Reply::Unregistered(Err(unreachable())),
        };
        self.after(REQUEST_TIMEOUT, Event::Reply(index, life, id, timeout));
        if !self.happens(self.accidents.lost) {
            let delay = if self.happens(self.accidents.slow) {
                self.rng.range(500, 8000)
            } else {
                self.rng.range(1, 20)
            };
            self.after(delay, Event::Deliver(index, life, id, request));
        }
    }

    /// Lets the queue answer a request, even if its sender is dead by now.
    fn deliver(&mut self, index: usize, life: u64, id: u64, request: Request) -> Result<(), String> {
        let reply = match request {
            Request::Register(new) => Reply::Registered(self.queue.register(&new)),
            Request::Claim(request) => {
                let all = JobFilter { limit: 1000, ..JobFilter::default() };
                let before = self.queue.jobs(&all).expect("it is in memory");
                let row = self
                    .queue
                    .workers()
                    .expect("it is in memory")
                    .into_iter()
                    .find(|row| row.id == request.worker);
                let reply = self.queue.claim(&request);
                if let (Ok(reply), Some(worker)) = (&reply, &row) {
                    let now = Time::from_millis(self.database_now());
                    let claimed: Vec<RunId> = reply.claims.iter().map(|claim| claim.run.clone()).collect();
                    let (paused, limits, starts) = (&self.paused, &self.limits, &mut self.starts);
                    let is_clock_moved = self.clock_error != 0;
                    Claiming { before: &before, paused, limits, starts, is_clock_moved, worker, now }
                        .judge(&claimed)?;
                }
                Reply::Claimed(reply)
            }
            Request::Heartbeat { id, request, held } => {
                Reply::Renewed(self.queue.heartbeat(&id, request, &held))
            }
            Request::Settle { run, token, settlement } => {
                let reply = self.queue.settle(&run, token, &settlement);
                self.note(|| {
                    format!(
                        "{run} {token:?} {settlement:?}: {:?}",
                        reply.as_ref().map(|job| job.state.word())
                    )
                });
                self.tell_news();
                Reply::Settled(reply)
            }
            Request::Unregister(id) => Reply::Unregistered(self.queue.unregister(&id)),
        };
        if !self.happens(self.accidents.lost) {
            let delay = if self.happens(self.accidents.slow) {
                self.rng.range(500, 8000)
            } else {
                self.rng.range(1, 20)
            };
            self.after(delay, Event::Reply(index, life, id, reply));
        }
        Ok(())
    }

    /// Tells workers that something changed; news may be lost, too.
    fn tell_news(&mut self) {
        for index in 0..self.workers.len() {
            if self.rng.permille(500) {
                let life = self.workers[index].life;
                self.after(1, Event::News(index, life));
            }
        }
    }

    fn drive(&mut self, index: usize, life: u64, token: Token) {
        let Some(mut drive) = self.workers[index].drives.remove(&token) else { return };
        let now = self.database_now();
        let writer = (u64::try_from(index).expect("small") << 32) | life;
        let mut scene = Scene { store: &mut self.store, queue: &self.queue, writer, now };
        let progress = drive.advance(&mut scene);
        // A store whose reply is lost leaves its writer without knowledge of the head: it stops.
        let end = match progress {
            Progress::Kill => return self.kill(index),
            Progress::On if self.happens(self.accidents.store_reply_lost) => {
                Settlement::Failed { reason: "the store does not answer".to_owned() }
            }
            Progress::On => {
                self.workers[index].drives.insert(token, drive);
                let delay =
                    if self.happens(20) { self.rng.range(1000, 15_000) } else { self.rng.range(1, 200) };
                return self.after(delay, Event::Drive(index, life, token));
            }
            Progress::Asked(step, settlement) => {
                let delay = self.rng.range(1, 90_000);
                self.after(delay, Event::Answer(drive.claim.run.clone(), step));
                settlement
            }
            Progress::End(settlement) => settlement,
        };
        let local = self.local(index);
        if let Some(core) = &mut self.workers[index].core {
            core.driven_to(local, token, end);
        }
        self.pump(index);
    }

    /// Lets a person answer: the answer is stored, then the run is woken. The person's process may die in between.
    fn answer(&mut self, run: &RunId, step: usize) {
        let now = self.database_now();
        let Ok(epoch) = self.store.open(run, u64::MAX, now) else {
            return self.after(3000, Event::Answer(run.clone(), step));
        };
        self.store.runs.get_mut(run).expect("it exists").answered.insert(step);
        self.store.close(run, epoch);
        self.note(|| format!("{run} step {step} is answered"));
        if !self.happens(100) {
            self.queue.wake(run).expect("it is in memory");
            self.tell_news();
        }
    }

    /// Ends the accidents: somebody submits again what was quarantined or died because of them.
    fn repair(&mut self) {
        let runs: Vec<RunId> = self.store.runs.keys().cloned().collect();
        for run in runs {
            let is_unsettled = matches!(
                self.queue.job(&run).expect("it is in memory").map(|job| job.state),
                Some(JobState::Quarantined { .. } | JobState::Dead { .. })
            );
            if is_unsettled {
                self.note(|| format!("{run} is submitted again"));
                self.queue.submit(&NewJob::of(run)).expect("the default queue takes it");
            }
        }
        self.tell_news();
    }

    fn is_everything_over(&self) -> bool {
        self.store.runs.keys().all(|run| {
            let job = self.queue.job(run).expect("it is in memory");
            job.is_none_or(|job| job.is_settled())
        })
    }

    fn unfinished(&self) -> String {
        let all = JobFilter { limit: 1000, ..JobFilter::default() };
        let jobs = self.queue.jobs(&all).expect("it is in memory");
        let open = jobs.iter().filter(|job| !job.is_settled());
        open.map(|job| format!("{}: {:?}", job.run, job.state)).collect::<Vec<_>>().join("; ")
    }

    /// Returns whether a run was cancelled, or the run that waited for it: the id of a child begins with that of its parent.
    fn is_cancelled(&self, run: &RunId) -> bool {
        let is_above = |one: &RunId| run.as_str().starts_with(&format!("{one}-"));
        self.cancelled.iter().any(|one| one == run || is_above(one))
    }

    /// Judges how everything ended.
    fn judge_end(&self) -> Result<(), String> {
        if let Some(mismatch) = self.store.mismatch() {
            return Err(mismatch);
        }
        for (run, stored) in &self.store.runs {
            let job = self.queue.job(run).expect("it is in memory").ok_or(format!("run {run} has no job"))?;
            let blocked = stored.script.get(stored.journal.len());
            let is_expected = match (&job.state, blocked) {
                (JobState::Ended { .. }, None) => true,
                (JobState::Cancelled { .. }, _) => self.is_cancelled(run),
                (JobState::Dead { .. }, Some(Op::Fails(u32::MAX))) => job.failures >= FAILURES_MAX,
                (JobState::Quarantined { .. }, Some(Op::Poison)) => job.crashes >= CRASHES_MAX,
                _ => false,
            };
            if !is_expected {
                return Err(format!("run {run} is {:?} before {blocked:?}; {:?}", job.state, job.note));
            }
        }
        Ok(())
    }
}

fn unreachable() -> QueueError {
    QueueError::Unavailable("no reply".to_owned())
}
