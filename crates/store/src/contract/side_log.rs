//! Lines beside a journal.

use super::{Place, create, name, run_id};
use crate::{Durability, StoreError};

pub(super) fn lines_beside_a_journal_are_kept_in_order(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let calls = name("calls.ndjson");
    let log = writer.side_log(&calls).expect("lines beside a journal");
    log.append(b"one\n", Durability::Buffered).expect("a line");
    log.append(b"two\nthree\n", Durability::Synced).expect("two lines");
    assert_eq!(store.attachment(&run_id("r"), &calls).expect("readable"), b"one\ntwo\nthree\n");
    drop(writer);
    let held = store.open(&run_id("r")).expect_err("the lease lasts as long as the log");
    assert!(matches!(held, StoreError::Leased { .. }), "{held}");
    drop(log);
    let mut writer = store.open(&run_id("r")).expect("the lease ended with the log").writer;
    let log = writer.side_log(&calls).expect("lines that are there");
    log.append(b"four\n", Durability::Synced).expect("a line behind the others");
    assert_eq!(place.open().attachment(&run_id("r"), &calls).expect("readable"), b"one\ntwo\nthree\nfour\n");
    writer.detach(&calls).expect("lines are removed as any attachment");
    assert!(store.attachment(&run_id("r"), &calls).is_err());
}

pub(super) fn lines_beside_a_journal_come_from_many_threads(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let calls = name("calls.ndjson");
    let log = writer.side_log(&calls).expect("lines beside a journal");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for number in 0..10 {
                    let line = format!("{thread} {number}\n");
                    log.append(line.as_bytes(), Durability::Synced).expect("a line");
                }
            });
        }
    });
    let bytes = store.attachment(&run_id("r"), &calls).expect("readable");
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 80);
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 80);
}

pub(super) fn a_torn_line_beside_a_journal_is_cut(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let calls = name("calls.ndjson");
    writer.attach(&calls, b"whole\ntor", Durability::Synced).expect("an attachment");
    let log = writer.side_log(&calls).expect("lines beside a journal");
    log.append(b"next\n", Durability::Synced).expect("a line");
    assert_eq!(store.attachment(&run_id("r"), &calls).expect("readable"), b"whole\nnext\n");
}
