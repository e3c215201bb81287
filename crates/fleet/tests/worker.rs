//! A worker with threads, on a queue in memory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use hence_fleet::{
    Claim, JobQueue as _, MemoryQueue, Millis, Mode, NewJob, NewWorker, NoObserver, QueueName, Runner,
    Schedule, ScheduleName, Settlement, StopFlag, SubmitReply, Time, Wait, Worker, WorkerName, WorkerOptions,
};
use hence_store::RunId;

fn run(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

fn options(mode: Mode, concurrency: u32) -> WorkerOptions {
    let worker = NewWorker {
        name: WorkerName::new("w").unwrap(),
        about: "a test".to_owned(),
        queues: Default::default(),
        concurrency,
        lease: Millis::seconds(60),
        nonce: 1,
    };
    WorkerOptions { worker, mode, poll: Millis::new(20) }
}

fn work(
    queue: &MemoryQueue,
    runner: &dyn Runner,
    options: WorkerOptions,
    stop: StopFlag,
) -> hence_fleet::Summary {
    Worker { queue, runner, options, stop, observer: &NoObserver }.run().unwrap()
}

fn ended() -> Settlement {
    Settlement::Ended { status: "completed".to_owned() }
}

struct Script(fn(&str) -> Settlement);

impl Runner for Script {
    fn drive(&self, claim: &Claim, _: &StopFlag) -> Settlement {
        (self.0)(claim.run.as_str())
    }

    fn submit_scheduled(&self, _: &Schedule, _: Time) -> Result<(), String> {
        Err("no schedules here".to_owned())
    }
}

#[test]
fn a_worker_drives_everything_that_is_ready_and_ends_when_idle() {
    let queue = MemoryQueue::new();
    for name in ["a", "panics", "waits"] {
        queue.submit(&NewJob::of(run(name))).unwrap();
    }
    let runner = Script(|run| match run {
        "panics" => panic!("a defect of the runner"),
        "waits" => Settlement::Parked(Wait::Person("review".to_owned())),
        _ => ended(),
    });
    let summary = work(&queue, &runner, options(Mode::UntilIdle, 2), StopFlag::default());
    assert_eq!((summary.ended, summary.parked, summary.failed), (1, 1, 1));
    let state = |name: &str| queue.job(&run(name)).unwrap().unwrap();
    assert_eq!(state("a").state.word(), "ended");
    assert_eq!(state("waits").state.word(), "parked");
    assert!(state("panics").note.unwrap().contains("panic"), "the defect is named, and the worker lives");
    assert!(queue.workers().unwrap().is_empty(), "it has left");
}

#[test]
fn a_worker_that_is_to_drive_one_run_drives_one() {
    let queue = MemoryQueue::new();
    for name in ["a", "b"] {
        queue.submit(&NewJob::of(run(name))).unwrap();
    }
    let summary = work(&queue, &Script(|_| ended()), options(Mode::Once, 4), StopFlag::default());
    assert_eq!(summary.drives, 1);
    assert_eq!(queue.job(&run("b")).unwrap().unwrap().state.word(), "ready");
    let empty = MemoryQueue::new();
    assert_eq!(work(&empty, &Script(|_| ended()), options(Mode::Once, 1), StopFlag::default()).drives, 0);
}

/// A runner whose drives meet: each waits until all have begun.
struct Meeting {
    begun: AtomicUsize,
    most: usize,
    arrivals: Mutex<Sender<()>>,
}

impl Runner for Meeting {
    fn drive(&self, _: &Claim, stop: &StopFlag) -> Settlement {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _ = self.arrivals.lock().unwrap().send(());
        while self.begun.load(Ordering::SeqCst) < self.most || !stop.is_set() {
            std::thread::yield_now();
        }
        Settlement::Released
    }

    fn submit_scheduled(&self, _: &Schedule, _: Time) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_worker_drives_several_runs_at_once_and_releases_them_when_it_is_to_end() {
    let queue = MemoryQueue::new();
    for name in ["a", "b", "c", "d"] {
        queue.submit(&NewJob::of(run(name))).unwrap();
    }
    let (sender, arrivals): (Sender<()>, Receiver<()>) = channel();
    let runner = Meeting { begun: AtomicUsize::new(0), most: 3, arrivals: Mutex::new(sender) };
    let stop = StopFlag::default();
    let summary = std::thread::scope(|scope| {
        let worker = scope.spawn(|| work(&queue, &runner, options(Mode::Forever, 3), stop.clone()));
        for _ in 0..3 {
            arrivals.recv().unwrap();
        }
        stop.set();
        worker.join().unwrap()
    });
    assert_eq!(summary.drives, 3);
    for name in ["a", "b", "c", "d"] {
        let job = queue.job(&run(name)).unwrap().unwrap();
        assert_eq!((job.state.word(), job.crashes), ("ready", 0), "{name}");
    }
}

struct Firing<'a> {
    queue: &'a MemoryQueue,
    stop: StopFlag,
}

impl Runner for Firing<'_> {
    fn drive(&self, _: &Claim, _: &StopFlag) -> Settlement {
        self.stop.set();
        ended()
    }

    fn submit_scheduled(&self, schedule: &Schedule, due: Time) -> Result<(), String> {
        let id = run(&format!("{}-{}", schedule.name, due.millis()));
        match self.queue.submit(&NewJob::of(id)) {
            Ok(SubmitReply::Queued(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }
}

#[test]
fn a_schedule_that_was_missed_many_times_fires_once_for_the_last_of_them() {
    let queue = MemoryQueue::new();
    let hour = 60 * 60 * 1000;
    let now = queue.now().unwrap();
    // Ten hours ago, at a full hour.
    let missed = Time::from_millis((now.millis() / hour - 10) * hour);
    let name = ScheduleName::new("hourly").unwrap();
    queue
        .put_schedule(&Schedule {
            name: name.clone(),
            cron: "@hourly".to_owned(),
            zone: "UTC".to_owned(),
            queue: QueueName::default_queue(),
            payload: String::new(),
            next_at: Some(missed),
            last_at: None,
            paused_at: None,
            note: None,
            failures: 0,
            retry_at: None,
        })
        .unwrap();
    let stop = StopFlag::default();
    let runner = Firing { queue: &queue, stop: stop.clone() };
    let summary = work(&queue, &runner, options(Mode::Forever, 1), stop);
    assert_eq!(summary.ended, 1);
    let schedule = queue.schedules().unwrap().remove(0);
    assert!(schedule.next_at.unwrap() > now);
    assert_eq!(schedule.next_at.unwrap().millis() % hour, 0);
}
