//! The contract that every queue must pass, on PostgreSQL, and what only a shared queue can do wrong.

mod cluster;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hence_fleet::contract::{MemoryPlace, Place};
use hence_fleet::{
    ClaimRequest, JobQueue, Millis, NewJob, NewWorker, QueueName, Settlement, SubmitReply, Wait, WakeReply,
    WorkerName,
};
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

/// Waits until a server has so many connections that listen.
fn wait_for_listeners(cluster: &Cluster, schema: &str, count: usize) {
    let start = std::time::Instant::now();
    let listening = format!(
        "select count(*) from pg_stat_activity where query = 'listen hence_queue' and application_name = '{schema}'"
    );
    while cluster.sql(&listening) != count.to_string() {
        assert!(start.elapsed().as_secs() < 60, "nobody listens");
        // Connecting takes some time, and nothing tells when it is done.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Waits until the version of a queue is another one than `before`, and returns it.
fn next_version(queue: &dyn JobQueue, before: u64) -> u64 {
    let start = std::time::Instant::now();
    loop {
        let version = queue.version();
        if version != before {
            return version;
        }
        assert!(start.elapsed().as_secs() < 60, "the change is not noticed");
        // As often as a worker looks.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Returns the version of a queue once it listens: the first notice is the one that it listens.
fn listening_version(cluster: &Cluster, schema: &Schema, queue: &dyn JobQueue) -> u64 {
    queue.version();
    wait_for_listeners(cluster, &schema.name, 1);
    let start = std::time::Instant::now();
    // The number counts notices from then on; before, it is that of the last change: none, or four and more.
    while !(1..4).contains(&queue.version()) {
        assert!(start.elapsed().as_secs() < 60, "it does not listen");
        // Connecting takes some time, and nothing tells when it is done.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // A notice about a change that was made before may still be on its way, and nothing tells when the last one has come. One that
    // comes later still makes the test fail, never pass.
    std::thread::sleep(std::time::Duration::from_millis(300));
    queue.version()
}

fn named(schema: &Schema, more: &str) -> hence_store_postgres::PostgresStore {
    let address = format!("{}&application_name={}{more}", schema.address, schema.name);
    hence_store_postgres::PostgresStore::connect(&address).expect("a store")
}

#[test]
fn a_worker_is_told_of_what_it_may_claim_and_of_nothing_else() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let (queue, other) = (named(&schema, "").queue(), schema.connect().queue());
    for number in 0..4 {
        other.submit(&NewJob::of(RunId::new(&format!("run-{number}")).expect("an id"))).expect("submitted");
    }
    let mut version = listening_version(cluster, &schema, &queue);
    for number in 4..7 {
        // Neither a registration nor a claim is news for others, so exactly one notice is heard.
        let id = other.register(&worker(&format!("w{number}"))).expect("registered");
        other.claim(&ClaimRequest { worker: id, request: 1, max: 1 }).expect("a claim");
        other.submit(&NewJob::of(RunId::new(&format!("run-{number}")).expect("an id"))).expect("submitted");
        let next = next_version(&queue, version);
        assert_eq!(next, version + 1, "run {number}");
        version = next;
    }
    drop(other);
    // A process that ends right after its submission has told the workers.
    schema.connect().queue().submit(&NewJob::of(RunId::new("last").expect("an id"))).expect("submitted");
    assert_eq!(next_version(&queue, version), version + 1);
    drop(queue);
    wait_for_listeners(cluster, &schema.name, 0);
}

#[test]
fn without_notices_a_worker_notices_changes_by_looking() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let (queue, other) = (named(&schema, "&notify=off").queue(), named(&schema, "&notify=off").queue());
    let version = queue.version();
    other.submit(&NewJob::of(RunId::new("run").expect("an id"))).expect("submitted");
    next_version(&queue, version);
    wait_for_listeners(cluster, &schema.name, 0);
    let refused = hence_store_postgres::PostgresStore::connect(&format!("{}&notify=maybe", schema.address));
    let refused = refused.expect_err("neither on nor off").to_string();
    assert!(refused.contains("notify: expected on or off, found \"maybe\""), "{refused}");
}

#[test]
fn a_worker_listens_again_after_the_server_restarted() {
    let Some(cluster) = Cluster::start(&["fsync=off"]) else { return };
    let schema = Schema::new(&cluster);
    let (queue, other) = (named(&schema, "").queue(), schema.connect().queue());
    let version = listening_version(&cluster, &schema, &queue);
    cluster.restart_immediately();
    // Listening again counts as a notice: whatever was sent meanwhile is missed.
    wait_for_listeners(&cluster, &schema.name, 1);
    let version = next_version(&queue, version);
    other.submit(&NewJob::of(RunId::new("run").expect("an id"))).expect("submitted");
    next_version(&queue, version);
}

#[test]
fn a_process_that_knows_nothing_submits_wakes_and_looks_without_reading_the_queue() {
    let place = QueuePlace::new();
    let known = place.open();
    let run = |name: &str| RunId::new(name).expect("an id");
    known.add_queue(&QueueName::new("night").expect("a name")).expect("a queue");
    known.submit(&NewJob::of(run("one"))).expect("submitted");
    let night = |name: &str, queue: &str| NewJob {
        queue: QueueName::new(queue).expect("a name"),
        ..NewJob::of(run(name))
    };
    let fresh = || place.open();
    assert!(matches!(fresh().submit(&night("two", "night")), Ok(SubmitReply::Queued(_))));
    assert!(matches!(fresh().submit(&night("two", "night")), Ok(SubmitReply::AlreadyQueued(_))));
    assert_eq!(fresh().job(&run("two")).expect("a look").expect("a job").number, 2, "numbers go on");
    assert!(fresh().job(&run("three")).expect("a look").is_none());
    assert!(fresh().has_queue(&QueueName::new("night").expect("a name")).expect("a look"));
    assert!(!fresh().has_queue(&QueueName::new("nigth").expect("a name")).expect("a look"));
    let refused = fresh().submit(&night("three", "nigth")).expect_err("there is no such queue").to_string();
    assert_eq!(
        refused, "there is no queue nigth; the queues are default, night",
        "a refusal names all of them"
    );
    assert_eq!(fresh().wake(&run("three")).expect("a wake"), WakeReply::Nothing);
    let id = known.register(&worker("w")).expect("registered");
    let claimed = known.claim(&ClaimRequest { worker: id, request: 1, max: 1 }).expect("a claim").claims;
    let parked = Settlement::Parked(Wait::Person("step ask".to_owned()));
    known.settle(&claimed[0].run, claimed[0].token, &parked).expect("settled");
    assert_eq!(fresh().wake(&claimed[0].run).expect("a wake"), WakeReply::Woken);
    assert_eq!(known.job(&claimed[0].run).expect("a look").expect("a job").state.word(), "ready");
}
