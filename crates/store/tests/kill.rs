//! A writer killed by the system at any moment loses nothing that it had acknowledged.
//!
//! The writer is this test program, started again to run only `child_appends`.

#![allow(clippy::unwrap_used, reason = "a test program fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use hence_canon::Digest;
use hence_journal::Head;
use hence_store::{Durability, FileStore, Holder, Lease, NewRun, RunId, Store, StoreError};

/// Names the store's folder to the child.
const FOLDER: &str = "HENCE_STORE_KILL_TEST_FOLDER";

fn run() -> RunId {
    RunId::new("killed").unwrap()
}

fn line(index: u64) -> String {
    let hash = Digest::of(&index.to_le_bytes());
    let padding = "x".repeat(usize::try_from(index % 3).unwrap() * 500);
    format!("{{\"index\":{index},\"padding\":\"{padding}\",\"record_hash\":\"{hash}\"}}\n")
}

fn lines(start: u64, end: u64) -> Vec<u8> {
    (start..end).map(line).collect::<String>().into_bytes()
}

/// Appends until it is killed: one record, then a batch, and so on. Does nothing unless started by a test.
#[test]
fn child_appends() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut writer = FileStore::open(folder).unwrap().open(&run()).unwrap().writer;
    let mut out = std::io::stdout();
    for round in 0_u64.. {
        let head = writer.head();
        let count = if round % 2 == 0 { 1 } else { 5 };
        let lines = lines(head.records.get(), head.records.get() + count);
        let head = writer.append(head, &lines, Durability::Synced).unwrap();
        writeln!(out, "\nacknowledged {head}").unwrap();
        out.flush().unwrap();
    }
}

fn start_child(folder: &Path) -> (Child, impl Iterator<Item = Head> + use<>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child_appends", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let heads = acknowledged(child.stdout.take().unwrap());
    (child, heads)
}

/// Reads what the child acknowledged; a line that the kill cut short was not.
fn acknowledged(out: ChildStdout) -> impl Iterator<Item = Head> + use<> {
    let lines = BufReader::new(out).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| {
        let text = String::from_utf8(line).ok()?;
        text.strip_prefix("acknowledged ")?.parse().ok()
    })
}

#[test]
fn every_acknowledged_record_is_there_after_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("store");
    let store = FileStore::open_or_create(&folder).unwrap();
    drop(store.create(NewRun { id: run(), attachments: Vec::new(), lines: lines(0, 1) }).unwrap());
    for acknowledgements in [1, 2, 3, 10, 25, 40] {
        let (mut child, mut heads) = start_child(&folder);
        let before: Vec<Head> = heads.by_ref().take(acknowledgements).collect();
        assert_eq!(before.len(), acknowledgements, "the child appends until it is killed");
        child.kill().unwrap();
        child.wait().unwrap();
        let last = heads.last().or(before.last().copied()).unwrap();

        let opened = store.open(&run()).unwrap();
        let head = opened.writer.head();
        assert!(head.records >= last.records, "{head} lacks the acknowledged {last}");
        // At most the append that was under way is there besides: five records or one.
        assert!(head.records.get() <= last.records.get() + 5);
        let journal = store.journal_bytes(&run()).unwrap();
        assert!(journal == lines(0, head.records.get()), "the journal is what was appended");
    }
    assert!(store.doctor().repair().unwrap().left.is_empty());
}

#[test]
fn a_second_process_is_refused_and_told_who_writes() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("store");
    let store = FileStore::open_or_create(&folder).unwrap();
    drop(store.create(NewRun { id: run(), attachments: Vec::new(), lines: lines(0, 1) }).unwrap());
    let (mut child, mut heads) = start_child(&folder);
    let seen = heads.next().unwrap();
    let holder = Holder::Named(format!("process {}", child.id()));
    let refused = store.open(&run()).unwrap_err();
    assert!(matches!(&refused, StoreError::Leased { holder: found, .. } if *found == holder), "{refused}");
    assert_eq!(store.lease(&run()).unwrap(), Lease::Held(holder));
    let journal = store.journal_bytes(&run()).unwrap();
    let acknowledged = lines(0, seen.records.get());
    assert!(journal.starts_with(&acknowledged), "reading goes on beside a writer");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(store.lease(&run()).unwrap(), Lease::Free);
    store.open(&run()).unwrap();
}
