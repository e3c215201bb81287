//! The contract that every queue must pass, on PostgreSQL, and what only a shared queue can do wrong.

mod cluster;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hence_fleet::contract::{MemoryPlace, Place};
use hence_fleet::{ClaimRequest, JobQueue, Millis, NewJob, NewWorker, WorkerName};
use hence_store::RunId;

use cluster::{Cluster, Schema};

/// A place for queues: a schema of the test server, or memory where there is no server.
enum QueuePlace {
    Postgres(Schema, Arc<AtomicU64>),
    Memory(MemoryPlace),
}

impl QueuePlace {
    fn new() -> Self {
        match Cluster::shared() {
            Some(cluster) => Self::Postgres(Schema::new(cluster), Arc::default()),
            None => Self::Memory(MemoryPlace::new()),
        }
    }
}

impl Place for QueuePlace {
    fn open(&self) -> Box<dyn JobQueue> {
        match self {
            Self::Postgres(schema, ahead) => Box::new(schema.connect().queue_with_clock_ahead(ahead.clone())),
            Self::Memory(place) => place.open(),
        }
    }

    fn pass(&self, time: Millis) {
        match self {
            Self::Postgres(_, ahead) => drop(ahead.fetch_add(time.get(), Ordering::SeqCst)),
            Self::Memory(place) => place.pass(time),
        }
    }
}

mod contract {
    hence_fleet::contract_tests!(super::QueuePlace::new());
}

fn worker(name: &str) -> NewWorker {
    NewWorker {
        name: WorkerName::new(name).expect("a name"),
        about: "a test".to_owned(),
        queues: BTreeSet::new(),
        concurrency: 8,
        lease: Millis::seconds(10),
        nonce: 1,
    }
}

#[test]
fn of_many_workers_exactly_one_claims_each_run() {
    let place = QueuePlace::new();
    let queue = place.open();
    for number in 0..40 {
        queue
            .submit(&NewJob::of(RunId::new(&format!("run-{number:02}")).expect("an id")))
            .expect("submitted");
    }
    let claimed = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|number| {
                let place = &place;
                scope.spawn(move || {
                    let queue = place.open();
                    let id = queue.register(&worker(&format!("w{number}"))).expect("registered");
                    let mut claimed = Vec::new();
                    for request in 1..=40 {
                        let reply = queue.claim(&ClaimRequest { worker: id.clone(), request, max: 1 });
                        claimed.extend(reply.expect("a reply").claims.into_iter().map(|claim| claim.run));
                    }
                    claimed
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect::<Vec<_>>()
    });
    let distinct: BTreeSet<_> = claimed.iter().collect();
    assert_eq!(claimed.len(), distinct.len(), "no run is claimed twice");
    // A worker holds at most its concurrency.
    assert_eq!(claimed.len(), 32);
}

#[test]
fn a_queue_that_was_opened_before_sees_what_others_changed_since() {
    let place = QueuePlace::new();
    let (one, other) = (place.open(), place.open());
    let run = |number: u32| RunId::new(&format!("run-{number}")).expect("an id");
    for number in 0..5 {
        one.submit(&NewJob::of(run(number))).expect("submitted");
        assert!(other.job(&run(number)).expect("a look").is_some(), "run {number}");
    }
    other.cancel(&run(3)).expect("cancelled");
    assert_eq!(one.job(&run(3)).expect("a look"), other.job(&run(3)).expect("a look"));
}
