//! Measures the queue while many runs are queued: `claim_load ADDRESS QUEUED SAMPLES`.
//!
//! 1. QUEUED runs are submitted to one queue, which nobody serves. A submission of a process that knows nothing of the queue, as
//!    `hence submit` is one, is measured among them.
//! 2. Two workers with threads serve another queue of the same store. SAMPLES runs are submitted to it, one after the other:
//!    the time from before the submission until a worker has claimed the run.
//! 3. Four workers claim and settle SAMPLES of the queued runs as fast as they can: the time of each claim.
//!
//! `tools/bench-postgres` runs it.

use std::collections::BTreeSet;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use hence_fleet::{
    Claim, ClaimRequest, JobQueue as _, Millis, Mode, NewJob, NewWorker, Observer, QueueName, Runner,
    Schedule, Settlement, StopFlag, Time, Worker, WorkerEvent, WorkerName, WorkerOptions,
};
use hence_store::RunId;
use hence_store_postgres::PostgresStore;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The submissions by processes of their own that are measured.
const COLD: usize = 20;

#[allow(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, queued, samples] = arguments.as_slice() else {
        return Err("usage: claim_load ADDRESS QUEUED SAMPLES".into());
    };
    let (queued, samples): (usize, usize) = (queued.parse()?, samples.parse()?);
    PostgresStore::migrate(address)?;
    let queue = PostgresStore::connect(address)?.queue();
    queue.add_queue(&fast()?)?;
    let start = Instant::now();
    for number in 0..queued {
        queue.submit(&NewJob::of(RunId::new(&format!("queued-{number:06}"))?))?;
    }
    println!("queued={queued} submit_ms={:.2}", millis(start.elapsed()) / queued.max(1) as f64);
    let mut cold = Vec::new();
    for number in 0..COLD {
        let start = Instant::now();
        let queue = PostgresStore::connect(address)?.queue();
        queue.submit(&NewJob::of(RunId::new(&format!("cold-{number:06}"))?))?;
        cold.push(start.elapsed());
    }
    report("connect_and_submit", cold);
    report("submit_to_claimed", submit_to_claimed(address, samples)?);
    let start = Instant::now();
    let claims = claim_times(address, samples)?;
    println!("claims_per_second={:.0}", claims.len() as f64 / start.elapsed().as_secs_f64());
    report("claim", claims);
    Ok(())
}

fn fast() -> Result<QueueName, AnyError> {
    Ok(QueueName::new("fast")?)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[allow(clippy::print_stdout, reason = "the figures are the output")]
fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
    let [half, most, all] =
        [50, 99, 100].map(|share| at(share).map(|time| millis(*time)).unwrap_or_default());
    println!("{what}: n={} p50_ms={half:.2} p99_ms={most:.2} max_ms={all:.2}", times.len());
}

/// Ends each run at once.
struct Nothing;

impl Runner for Nothing {
    fn drive(&self, _: &Claim, _: &StopFlag) -> Settlement {
        Settlement::Ended { status: "completed".to_owned() }
    }

    fn submit_scheduled(&self, _: &Schedule, _: Time) -> Result<(), String> {
        Ok(())
    }
}

/// Tells when a run is claimed.
struct Watching(std::sync::Mutex<Sender<Instant>>);

impl Observer for Watching {
    fn hear(&self, event: &WorkerEvent<'_>) {
        if matches!(event, WorkerEvent::Claimed(_)) {
            let _ = self.0.lock().expect("no panic").send(Instant::now());
        }
    }
}

fn new_worker(name: String, queues: BTreeSet<QueueName>) -> Result<NewWorker, AnyError> {
    let (name, about, lease) = (WorkerName::new(&name)?, "a measurement".to_owned(), Millis::seconds(15));
    Ok(NewWorker { name, about, queues, concurrency: 4, lease, nonce: 1 })
}

fn submit_to_claimed(address: &str, samples: usize) -> Result<Vec<Duration>, AnyError> {
    let (sender, claimed) = channel();
    let stop = StopFlag::default();
    let queue = PostgresStore::connect(address)?.queue();
    std::thread::scope(|scope| -> Result<Vec<Duration>, AnyError> {
        for number in 0..2 {
            let worker = new_worker(format!("listening-{number}"), [fast()?].into())?;
            let options = WorkerOptions { worker, mode: Mode::Forever, poll: Millis::seconds(1) };
            let (observer, stop) = (Watching(sender.clone().into()), stop.clone());
            let queue = PostgresStore::connect(address)?.queue();
            scope.spawn(move || {
                let worker = Worker { queue: &queue, runner: &Nothing, options, stop, observer: &observer };
                worker.run().expect("the worker works")
            });
        }
        // The workers register and read the queue first.
        std::thread::sleep(Duration::from_secs(3));
        let mut times = Vec::new();
        for number in 0..samples {
            let job = NewJob { queue: fast()?, ..NewJob::of(RunId::new(&format!("fast-{number:06}"))?) };
            let start = Instant::now();
            queue.submit(&job)?;
            times.push(claimed.recv_timeout(Duration::from_secs(60))?.saturating_duration_since(start));
            // Pauses of many lengths, so that submissions meet workers at every moment between two looks.
            std::thread::sleep(Duration::from_millis(number as u64 % 29));
        }
        stop.set();
        Ok(times)
    })
}

fn claim_times(address: &str, samples: usize) -> Result<Vec<Duration>, AnyError> {
    let claim = |number: usize| -> Result<Vec<Duration>, AnyError> {
        let queue = PostgresStore::connect(address)?.queue();
        let worker = queue.register(&new_worker(format!("claiming-{number}"), BTreeSet::new())?)?;
        let mut times = Vec::new();
        for request in 1..=(samples / 4) as u64 {
            let start = Instant::now();
            let reply = queue.claim(&ClaimRequest { worker: worker.clone(), request, max: 1 })?;
            // The first claim also reads everything that is queued.
            if request > 1 {
                times.push(start.elapsed());
            }
            for claim in reply.claims {
                queue.settle(
                    &claim.run,
                    claim.token,
                    &Settlement::Ended { status: "completed".to_owned() },
                )?;
            }
        }
        Ok(times)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || claim(number))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a thread panicked")??);
        }
        Ok(all)
    })
}
