//! Measures durable appends of many runs at once: `append_load ADDRESS RUNS RECORDS_PER_APPEND SECONDS`.
//!
//! Prints appends and records per second. `tools/bench-postgres` compares them with what `pgbench` gets on the same server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hence_canon::Digest;
use hence_store::{Durability, NewRun, RunId, RunWriter, Store as _, StoreError};
use hence_store_postgres::PostgresStore;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[allow(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, runs, records, seconds] = arguments.as_slice() else {
        return Err("usage: append_load ADDRESS RUNS RECORDS_PER_APPEND SECONDS".into());
    };
    let (runs, records, seconds): (u64, u64, u64) = (runs.parse()?, records.parse()?, seconds.parse()?);
    PostgresStore::migrate(address)?;
    let store = PostgresStore::connect(address)?;
    let start = Instant::now();
    let prefix = format!("load-{}", std::process::id());
    let create = |number: u64| -> Result<Box<dyn RunWriter>, StoreError> {
        let id = RunId::new(&format!("{prefix}-{number}")).expect("a short id");
        store.create(NewRun { id, attachments: Vec::new(), lines: line(0) })
    };
    let writers = (0..runs).map(create).collect::<Result<Vec<_>, _>>()?;
    let created = start.elapsed();
    let (appends, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<(), AnyError> {
        let threads: Vec<_> = writers
            .into_iter()
            .map(|mut writer| {
                let (appends, is_over) = (&appends, &is_over);
                scope.spawn(move || -> Result<(), AnyError> {
                    while !is_over.load(Ordering::Relaxed) {
                        let head = writer.head();
                        let first = head.records.get();
                        let lines: Vec<u8> = (first..first + records).flat_map(line).collect();
                        writer.append(head, &lines, Durability::Synced)?;
                        appends.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(seconds));
        is_over.store(true, Ordering::Relaxed);
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a writer panicked")?)
    })?;
    let elapsed = start.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
    let rate = appends.load(Ordering::Relaxed) as f64 / elapsed;
    #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
    let records = rate * records as f64;
    println!(
        "appends_per_second={rate:.0} records_per_second={records:.0} created_ms={}",
        created.as_millis()
    );
    Ok(())
}

/// Returns a record line of 300 bytes, about the size of a small step.
fn line(index: u64) -> Vec<u8> {
    let hash = Digest::of(&index.to_le_bytes());
    let kind = if index == 0 { "header" } else { "step" };
    let text = format!(
        "{{\"index\":{index:0},\"record_hash\":\"{hash}\",\"text\":\"{}\",\"type\":\"{kind}\"}}\n",
        "x".repeat(170)
    );
    text.into_bytes()
}
