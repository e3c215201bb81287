//! The simulation: runs arrive, are created and submitted, wait for a worker, are driven step by step and settled.
//!
//! Each database has cores, one log that syncs what waits, and one row that every change of its queue locks until it is durable. Each
//! worker has slots and cores. Runs are divided among the databases by their ids, and workers among the databases in turn.

#![allow(clippy::indexing_slicing, reason = "every index was made by the simulation itself")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::parameters::{Load, Parameters};
use crate::random::Random;
use crate::station::{Log, Station};

/// The share of the time before anything is counted.
const WARM_UP: f64 = 0.1;

/// The microseconds of a day.
const DAY_US: f64 = 86_400e6;

/// The most runs that wait: with more, the load is far beyond what the workers do.
const WAITING_MAX: usize = 2_000_000;

/// The result of a simulation. Utilisations are shares; delays are in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) arrived: u64,
    pub(crate) settled: u64,
    /// The delay between the durable submission of a run and the durable claim of it.
    pub(crate) delay_p50_ms: f64,
    pub(crate) delay_p99_ms: f64,
    pub(crate) slots: f64,
    pub(crate) worker_cores: f64,
    pub(crate) database_cores: f64,
    pub(crate) log: f64,
    pub(crate) queue_row: f64,
}

impl Outcome {
    /// Returns whether the workers and databases kept up with the load.
    pub(crate) fn keeps_up(&self, delay_ms_max: f64) -> bool {
        #[allow(clippy::cast_precision_loss, reason = "counts of a simulation")]
        let share = self.settled as f64 / self.arrived.max(1) as f64;
        share > 0.97 && self.delay_p99_ms <= delay_ms_max
    }
}

/// The operation of a run on its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Create,
    Submit,
    Claim,
    Append,
    Settle,
}

impl Operation {
    fn changes_queue(self) -> bool {
        matches!(self, Self::Submit | Self::Claim | Self::Settle)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    /// A message of a run reaches its database.
    Reaches(usize),
    CpuEnd(usize),
    SyncEnd(usize),
    CallEnd(usize),
    StepEnd(usize),
}

/// A time in whole nanoseconds, so that times have an order.
fn order(time_us: f64) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times are positive and bounded"
    )]
    let nanoseconds = (time_us * 1e3).max(0.0) as u64;
    nanoseconds
}

struct Run {
    operation: Operation,
    database: usize,
    worker: usize,
    steps_left: u32,
    submitted_at: f64,
}

struct Database {
    cores: Station<usize>,
    log: Log<usize>,
    row_holder: Option<(usize, f64)>,
    row_line: VecDeque<usize>,
    row_time: f64,
    ready: VecDeque<usize>,
}

struct Worker {
    free: u32,
    cores: Station<usize>,
}

struct Simulation<'a> {
    parameters: &'a Parameters,
    load: Load,
    random: Random,
    now: f64,
    number: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    runs: Vec<Run>,
    unused: Vec<usize>,
    databases: Vec<Database>,
    workers: Vec<Worker>,
    delays: Vec<f64>,
    arrived: u64,
    settled: u64,
    slot_time: f64,
    busy_slots: u32,
}

/// Simulates a load.
pub(crate) fn simulate(parameters: &Parameters, load: Load) -> Outcome {
    let database = |_| Database {
        cores: Station::new(parameters.database_cores),
        log: Log::new(),
        row_holder: None,
        row_line: VecDeque::new(),
        row_time: 0.0,
        ready: VecDeque::new(),
    };
    let worker =
        |_| Worker { free: parameters.slots_per_worker, cores: Station::new(parameters.worker_cores) };
    let mut simulation = Simulation {
        parameters,
        load,
        random: Random::new(load.seed),
        now: 0.0,
        number: 0,
        events: BinaryHeap::new(),
        runs: Vec::new(),
        unused: Vec::new(),
        databases: (0..load.databases.max(1)).map(database).collect(),
        workers: (0..load.workers).map(worker).collect(),
        delays: Vec::new(),
        arrived: 0,
        settled: 0,
        slot_time: 0.0,
        busy_slots: 0,
    };
    simulation.execute();
    simulation.outcome()
}

impl Simulation<'_> {
    fn execute(&mut self) {
        let end = order(self.load.seconds * 1e6);
        self.schedule_arrival();
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            let is_too_much = self.databases.iter().any(|database| database.ready.len() > WAITING_MAX);
            if time > end || is_too_much {
                break;
            }
            #[allow(clippy::cast_precision_loss, reason = "a simulated time in nanoseconds")]
            let now = time as f64 / 1e3;
            self.slot_time += (now - self.now) * f64::from(self.busy_slots);
            self.now = now;
            self.handle(event);
        }
    }

    fn schedule(&mut self, at: f64, event: Event) {
        self.number += 1;
        self.events.push(Reverse((order(at), self.number, event)));
    }

    fn schedule_arrival(&mut self) {
        let pause = self.random.exponential(DAY_US / self.load.runs_per_day);
        self.schedule(self.now + pause, Event::Arrival);
    }

    fn is_counted(&self, time: f64) -> bool {
        time >= self.load.seconds * 1e6 * WARM_UP
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival => self.arrive(),
            Event::Reaches(run) if self.runs[run].operation.changes_queue() => self.lock_row(run),
            Event::Reaches(run) => self.enter_cores(run),
            Event::CpuEnd(run) => {
                let database = self.runs[run].database;
                if let Some((end, next)) = self.databases[database].cores.leave(self.now) {
                    self.schedule(end, Event::CpuEnd(next));
                }
                let sync = self.parameters.sync_us;
                if let Some(end) = self.databases[database].log.enter(self.now, run, sync) {
                    self.schedule(end, Event::SyncEnd(database));
                }
            }
            Event::SyncEnd(database) => {
                let (done, next) = self.databases[database].log.leave(self.now, self.parameters.sync_us);
                if let Some(end) = next {
                    self.schedule(end, Event::SyncEnd(database));
                }
                done.into_iter().for_each(|run| self.complete(run));
            }
            Event::CallEnd(run) => {
                let worker = self.runs[run].worker;
                let step = self.parameters.step_us;
                if let Some((end, run)) = self.workers[worker].cores.enter(self.now, run, step) {
                    self.schedule(end, Event::StepEnd(run));
                }
            }
            Event::StepEnd(run) => {
                let worker = self.runs[run].worker;
                if let Some((end, next)) = self.workers[worker].cores.leave(self.now) {
                    self.schedule(end, Event::StepEnd(next));
                }
                self.begin(run, Operation::Append);
            }
        }
    }

    fn arrive(&mut self) {
        self.schedule_arrival();
        self.arrived += u64::from(self.is_counted(self.now));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a small number"
        )]
        let database = (self.random.exponential(1.0) * 1e6) as usize % self.databases.len();
        let new = Run {
            operation: Operation::Create,
            database,
            worker: 0,
            steps_left: self.parameters.steps_per_run,
            submitted_at: 0.0,
        };
        let run = match self.unused.pop() {
            Some(run) => {
                self.runs[run] = new;
                run
            }
            None => {
                self.runs.push(new);
                self.runs.len() - 1
            }
        };
        self.begin(run, Operation::Create);
    }

    fn begin(&mut self, run: usize, operation: Operation) {
        self.runs[run].operation = operation;
        self.schedule(self.now + self.parameters.round_trip_us, Event::Reaches(run));
    }

    fn lock_row(&mut self, run: usize) {
        let database = &mut self.databases[self.runs[run].database];
        if database.row_holder.is_some() {
            database.row_line.push_back(run);
        } else {
            database.row_holder = Some((run, self.now));
            self.enter_cores(run);
        }
    }

    fn unlock_row(&mut self, database: usize) {
        let now = self.now;
        let held = &mut self.databases[database];
        if let Some((_, since)) = held.row_holder.take() {
            held.row_time += now - since;
        }
        if let Some(next) = held.row_line.pop_front() {
            held.row_holder = Some((next, now));
            self.enter_cores(next);
        }
    }

    fn enter_cores(&mut self, run: usize) {
        let service = match self.runs[run].operation {
            Operation::Create => self.parameters.create_us,
            Operation::Append => self.parameters.append_us,
            Operation::Submit | Operation::Claim | Operation::Settle => self.parameters.queue_us,
        };
        let database = self.runs[run].database;
        if let Some((end, run)) = self.databases[database].cores.enter(self.now, run, service) {
            self.schedule(end, Event::CpuEnd(run));
        }
    }

    /// Continues a run whose operation is durable.
    fn complete(&mut self, run: usize) {
        let Run { operation, database, worker, submitted_at, .. } = self.runs[run];
        if operation.changes_queue() {
            self.unlock_row(database);
        }
        match operation {
            Operation::Create => self.begin(run, Operation::Submit),
            Operation::Submit => {
                self.runs[run].submitted_at = self.now;
                self.databases[database].ready.push_back(run);
                self.dispatch(database);
            }
            Operation::Claim => {
                if self.is_counted(submitted_at) {
                    self.delays.push((self.now - submitted_at) / 1e3);
                }
                self.call(run);
            }
            Operation::Append => {
                self.runs[run].steps_left -= 1;
                match self.runs[run].steps_left {
                    0 => self.begin(run, Operation::Settle),
                    _ => self.call(run),
                }
            }
            Operation::Settle => {
                self.settled += u64::from(self.is_counted(submitted_at));
                self.workers[worker].free += 1;
                self.busy_slots -= 1;
                self.unused.push(run);
                self.dispatch(database);
            }
        }
    }

    fn call(&mut self, run: usize) {
        let time = self.random.exponential(self.parameters.call_us);
        self.schedule(self.now + time, Event::CallEnd(run));
    }

    /// Gives waiting runs to free slots of the workers of a database: the worker with the most free slots first.
    fn dispatch(&mut self, database: usize) {
        while !self.databases[database].ready.is_empty() {
            let of_database = |worker: &usize| worker % self.databases.len() == database;
            let workers = (0..self.workers.len()).filter(of_database);
            let Some(worker) = workers.max_by_key(|worker| (self.workers[*worker].free, Reverse(*worker)))
            else {
                return;
            };
            if self.workers[worker].free == 0 {
                return;
            }
            let Some(run) = self.databases[database].ready.pop_front() else { return };
            self.workers[worker].free -= 1;
            self.busy_slots += 1;
            self.runs[run].worker = worker;
            self.begin(run, Operation::Claim);
        }
    }

    fn outcome(mut self) -> Outcome {
        // Runs that still wait have waited at least this long.
        let ready = self.databases.iter().flat_map(|database| &database.ready);
        let submitted = ready.map(|run| self.runs[*run].submitted_at).filter(|at| self.is_counted(*at));
        let waited: Vec<f64> = submitted.map(|at| (self.now - at) / 1e3).collect();
        self.delays.extend(waited);
        self.delays.sort_by(f64::total_cmp);
        let percentile = |percent: usize| {
            let at = (self.delays.len() * percent / 100).min(self.delays.len().saturating_sub(1));
            self.delays.get(at).copied().unwrap_or(f64::NAN)
        };
        let most = |shares: &mut dyn Iterator<Item = f64>| shares.fold(0.0, f64::max);
        let slots = f64::from(self.parameters.slots_per_worker) * f64::from(self.load.workers.max(1));
        let now = self.now.max(1.0);
        Outcome {
            arrived: self.arrived,
            settled: self.settled,
            delay_p50_ms: percentile(50),
            delay_p99_ms: percentile(99),
            slots: (self.slot_time / (now * slots)).min(1.0),
            worker_cores: most(&mut self.workers.iter().map(|worker| worker.cores.utilisation(now))),
            database_cores: most(&mut self.databases.iter().map(|database| database.cores.utilisation(now))),
            log: most(&mut self.databases.iter().map(|database| database.log.utilisation(now))),
            queue_row: most(&mut self.databases.iter().map(|database| (database.row_time / now).min(1.0))),
        }
    }
}
