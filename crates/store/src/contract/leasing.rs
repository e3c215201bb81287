//! One writer.

use super::{Place, assert_journal, create, head_after, run_id};
use crate::testing::{journal, line};
use crate::{Durability, Lease, StoreError};

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
