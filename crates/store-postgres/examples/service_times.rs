//! Measures single operations of one process that waits for each: `service_times ADDRESS TIMES`.
//!
//! Prints the median of each in microseconds. `tools/bench-postgres-scale` calls it with and without waiting for the disk, and makes the
//! parameters of `tools/scale-model` of the differences.

use std::collections::BTreeSet;
use std::time::Instant;

use hence_canon::Digest;
use hence_fleet::{ClaimRequest, JobQueue as _, Millis, NewJob, NewWorker, Settlement, WorkerName};
use hence_store::{Durability, NewRun, RunId, Store as _};
use hence_store_postgres::PostgresStore;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[allow(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, times] = arguments.as_slice() else {
        return Err("usage: service_times ADDRESS TIMES".into());
    };
    let times: u64 = times.parse()?;
    let store = PostgresStore::connect(address)?;
    let prefix = format!("times-{}", std::process::id());
    let id = |number: u64| RunId::new(&format!("{prefix}-{number}"));

    let mut create = Vec::new();
    for number in 0..times {
        let new = NewRun { id: id(number)?, attachments: Vec::new(), lines: line(0) };
        let start = Instant::now();
        let writer = store.create(new)?;
        create.push(start.elapsed());
        drop(writer);
    }
    let (mut append, mut look) = (Vec::new(), Vec::new());
    let mut writer = store.open(&id(0)?)?.writer;
    for _ in 0..times {
        let head = writer.head();
        let start = Instant::now();
        writer.append(head, &line(head.records.get()), Durability::Synced)?;
        append.push(start.elapsed());
        let start = Instant::now();
        store.has_run(&id(0)?)?;
        look.push(start.elapsed());
    }
    let queue = store.queue();
    let worker = queue.register(&NewWorker {
        name: WorkerName::new(&prefix)?,
        about: "a measurement".to_owned(),
        queues: BTreeSet::new(),
        concurrency: 1,
        lease: Millis::seconds(60),
        nonce: 1,
    })?;
    let mut change = Vec::new();
    for number in 0..times {
        let start = Instant::now();
        queue.submit(&NewJob::of(id(number)?))?;
        change.push(start.elapsed());
        let start = Instant::now();
        let reply = queue.claim(&ClaimRequest { worker: worker.clone(), request: number + 1, max: 1 })?;
        change.push(start.elapsed());
        let claim = reply.claims.first().ok_or("nothing was claimed")?;
        let start = Instant::now();
        queue.settle(&claim.run, claim.token, &Settlement::Ended { status: "completed".to_owned() })?;
        change.push(start.elapsed());
    }
    for (name, mut values) in [("create", create), ("append", append), ("look", look), ("queue", change)] {
        values.sort_unstable();
        let median = values.get(values.len() / 2).map_or(0, |value| value.as_micros());
        println!("{name}={median}");
    }
    Ok(())
}

/// Returns a record line of 300 bytes, about the size of a small step.
fn line(index: u64) -> Vec<u8> {
    let hash = Digest::of(&index.to_le_bytes());
    let kind = if index == 0 { "header" } else { "step" };
    let text = "x".repeat(170);
    format!("{{\"index\":{index},\"record_hash\":\"{hash}\",\"text\":\"{text}\",\"type\":\"{kind}\"}}\n")
        .into_bytes()
}
