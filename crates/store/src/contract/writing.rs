//! Appending to journals and side logs: one writer, compare-and-append, many threads.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Place, assert_journal, create, head_after, name, run_id};
use crate::testing::{head_of, journal, labelled_line, line, lines};
use crate::{AppendError, Durability, InvalidLines, Lease, StoreError};

pub(super) fn an_append_moves_the_head(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    for index in 1..20 {
        let expected = writer.head();
        let head = writer.append(expected, &line(index), Durability::Buffered).expect("an append");
        assert_eq!((head, writer.head()), (head_after(index + 1), head_after(index + 1)));
    }
    writer.sync().expect("a sync");
    assert_journal(&*store, "r", &journal(20));
}

pub(super) fn an_append_on_another_head_changes_nothing(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 2);
    for expected in [head_after(1), head_after(3), head_of(&labelled_line(1, "other"))] {
        let error = writer.append(expected, &line(2), Durability::Synced).expect_err("another head");
        let found = head_after(2);
        assert!(
            matches!(&error, AppendError::HeadMoved { expected: e, found: f } if *e == expected && *f == found),
            "{error}",
        );
    }
    assert_journal(&*store, "r", &journal(2));
    writer.append(head_after(2), &line(2), Durability::Synced).expect("a refusal does not poison");
    assert_journal(&*store, "r", &journal(3));
}

pub(super) fn a_batch_is_appended_or_refused_as_a_whole(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let head = writer.append(head_after(1), &lines(1, 65), Durability::Synced).expect("a batch");
    assert_eq!(head, head_after(65));
    let torn = [lines(65, 70), b"{\"index\":70".to_vec()].concat();
    let refused = writer.append(head, &torn, Durability::Synced).expect_err("an unfinished line");
    assert!(matches!(refused, AppendError::InvalidLines(InvalidLines::Unterminated)), "{refused}");
    assert_journal(&*store, "r", &journal(65));
    writer.append(head, &lines(65, 70), Durability::Buffered).expect("a buffered batch");
    writer.append(head_after(70), &line(70), Durability::Synced).expect("one record behind a batch");
    assert_journal(&*store, "r", &journal(71));
}

pub(super) fn lines_that_do_not_continue_the_journal_are_refused(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 2);
    let bad = [Vec::new(), b"\n".to_vec(), b"not json\n".to_vec(), line(1), line(3), lines(2, 3).repeat(2)];
    for lines in bad {
        let refused =
            writer.append(head_after(2), &lines, Durability::Synced).expect_err("not a continuation");
        assert!(matches!(refused, AppendError::InvalidLines(_)), "{refused}");
        assert_eq!(writer.head(), head_after(2));
    }
    assert_journal(&*store, "r", &journal(2));
}

pub(super) fn both_durabilities_store_the_same_bytes(place: &dyn Place) {
    let store = place.open();
    for (id, durability) in [("buffered", Durability::Buffered), ("synced", Durability::Synced)] {
        let mut writer = create(&*store, id, 1);
        writer.append(head_after(1), &line(1), durability).expect("an append");
        writer.append(head_after(2), &lines(2, 9), durability).expect("a batch");
        assert_journal(&*store, id, &journal(9));
    }
}

pub(super) fn appended_records_are_there_when_opened_again(place: &dyn Place) {
    let mut writer = create(&*place.open(), "r", 1);
    writer.append(head_after(1), &lines(1, 4), Durability::Buffered).expect("a batch");
    drop(writer);
    let store = place.open();
    let mut opened = store.open(&run_id("r")).expect("the lease is free");
    assert_eq!((opened.writer.head(), opened.cut), (head_after(4), None));
    opened.writer.append(head_after(4), &line(4), Durability::Synced).expect("an append");
    assert_journal(&*store, "r", &journal(5));
}

pub(super) fn a_run_has_one_writer(place: &dyn Place) {
    let (store, other) = (place.open(), place.open());
    drop(create(&*store, "r", 1));
    let opened = store.open(&run_id("r")).expect("the lease is free");
    for second in [&store, &other] {
        let refused = second.open(&run_id("r")).expect_err("the lease is held");
        assert!(matches!(refused, StoreError::Leased { .. }), "{refused}");
        assert!(matches!(second.lease(&run_id("r")), Ok(Lease::Held(_))));
    }
    // Another run is not concerned.
    drop(create(&*other, "r2", 1));
    drop(opened);
    other.open(&run_id("r")).expect("the lease is free again");
}

pub(super) fn creating_a_run_takes_its_lease(place: &dyn Place) {
    let (store, other) = (place.open(), place.open());
    let writer = create(&*store, "r", 1);
    let refused = other.open(&run_id("r")).expect_err("the lease is held");
    assert!(matches!(refused, StoreError::Leased { .. }), "{refused}");
    drop(writer);
    other.open(&run_id("r")).expect("the lease is free");
}

pub(super) fn a_lease_ends_with_its_writer(place: &dyn Place) {
    let store = place.open();
    drop(create(&*store, "r", 1));
    for records in 1..6 {
        assert_eq!(store.lease(&run_id("r")).expect("a lease is told"), Lease::Free);
        let mut opened = store.open(&run_id("r")).expect("the lease is free");
        opened.writer.append(head_after(records), &line(records), Durability::Buffered).expect("an append");
    }
    assert_journal(&*store, "r", &journal(6));
}

pub(super) fn of_many_that_open_one_run_at_most_one_writes(place: &dyn Place) {
    drop(create(&*place.open(), "r", 1));
    let stores: Vec<_> = (0..4).map(|_| place.open()).collect();
    let appended: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = stores
            .iter()
            .map(|store| {
                scope.spawn(move || {
                    let mut appended = 0;
                    for _ in 0..10 {
                        match store.open(&run_id("r")) {
                            Ok(mut opened) => {
                                let head = opened.writer.head();
                                let next = line(head.records.get());
                                opened.writer.append(head, &next, Durability::Buffered).expect("an append");
                                appended += 1;
                            }
                            Err(StoreError::Leased { .. }) => {}
                            Err(error) => assert_eq!(error.to_string(), "", "only a lease may be in the way"),
                        }
                    }
                    appended
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_journal(&*place.open(), "r", &journal(1 + appended));
}

pub(super) fn lines_of_a_side_log_stay_in_order(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let calls = name("calls.ndjson");
    let log = writer.side_log(&calls).expect("lines beside a journal");
    log.append(b"one\n", Durability::Buffered).expect("a line");
    log.append(b"two\nthree\n", Durability::Synced).expect("two lines");
    assert_eq!(store.attachment(&run_id("r"), &calls).expect("readable"), b"one\ntwo\nthree\n");
    assert_eq!(store.attachment_start(&run_id("r"), &calls, 5).expect("readable"), b"one\nt");
    assert_eq!(store.attachment_start(&run_id("r"), &calls, 99).expect("readable"), b"one\ntwo\nthree\n");
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

pub(super) fn a_side_log_is_written_by_many_threads(place: &dyn Place) {
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

pub(super) fn a_torn_line_of_a_side_log_is_cut(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let calls = name("calls.ndjson");
    writer.attach(&calls, b"whole\ntor", Durability::Synced).expect("an attachment");
    let log = writer.side_log(&calls).expect("lines beside a journal");
    log.append(b"next\n", Durability::Synced).expect("a line");
    assert_eq!(store.attachment(&run_id("r"), &calls).expect("readable"), b"whole\nnext\n");
}

pub(super) fn writers_of_different_runs_do_not_disturb_each_other(place: &dyn Place) {
    let store = place.open();
    std::thread::scope(|scope| {
        for number in 0..12 {
            let store = &*store;
            scope.spawn(move || {
                let mut writer = create(store, &format!("run-{number}"), 1);
                for records in 1..10 {
                    writer
                        .append(head_after(records), &line(records), Durability::Synced)
                        .expect("an append");
                }
                writer.append(head_after(10), &lines(10, 20), Durability::Synced).expect("a batch");
            });
        }
    });
    for number in 0..12 {
        assert_journal(&*place.open(), &format!("run-{number}"), &journal(20));
    }
}

pub(super) fn readers_see_a_beginning_of_the_journal(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let whole = journal(200);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Acquire) {
                let found = store.journal_bytes(&run_id("r")).expect("readable");
                assert!(whole.starts_with(&found), "not a beginning of the journal");
                assert!(found.len() >= seen, "what was read once is read again");
                seen = found.len();
            }
        });
        for records in 1..200 {
            writer.append(head_after(records), &line(records), Durability::Buffered).expect("an append");
        }
        done.store(true, Ordering::Release);
        reader.join().expect("no panic");
    });
    assert_journal(&*store, "r", &whole);
}
