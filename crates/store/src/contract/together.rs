//! Many at once.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Place, assert_journal, create, head_after, run_id};
use crate::Durability;
use crate::testing::{journal, line, lines};

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
