//! Listing, finding and checking.

use super::{Place, create, head_after, run_id};
use crate::testing::{journal, line};
use crate::{CANDIDATES_MAX, Condition, Durability, StoreError};

pub(super) fn runs_are_listed_in_order_with_their_heads(place: &dyn Place) {
    let store = place.open();
    assert!(store.list().expect("listed").is_empty());
    for (id, records) in [("b", 2), ("a", 1), ("c", 3)] {
        drop(create(&*store, id, records));
    }
    let mut writer = store.open(&run_id("a")).expect("the lease is free").writer;
    for records in 1..4 {
        // Listing again and again must not show what a list knew before.
        let listed = place.open().list().expect("listed");
        let found: Vec<_> =
            listed.iter().map(|run| (run.run.as_str(), run.head(), run.journal_bytes)).collect();
        let expected = [("a", records), ("b", 2), ("c", 3)].map(|(id, records)| {
            (id, Some(head_after(records)), u64::try_from(journal(records).len()).expect("small"))
        });
        assert_eq!(found, expected);
        for run in &listed {
            assert!(matches!(run.condition, Condition::Whole { .. }));
            let header = format!("{}\n", run.header.as_deref().expect("a short header"));
            assert_eq!(header.as_bytes(), line(0));
            assert_eq!(&store.summary(&run.run).expect("a run is summarized"), run);
        }
        writer.append(head_after(records), &line(records), Durability::Buffered).expect("an append");
    }
}

pub(super) fn a_prefix_finds_the_only_run_it_fits(place: &dyn Place) {
    let store = place.open();
    for id in ["refund", "refund-42", "return-7", "Z/é"] {
        drop(create(&*store, id, 1));
    }
    let cases =
        [("refund-", "refund-42"), ("refund", "refund"), ("ret", "return-7"), ("Z/", "Z/é"), ("Z", "Z/é")];
    for (prefix, id) in cases {
        assert_eq!(store.find(prefix).expect("found"), run_id(id));
    }
    for prefix in ["x", "refund-42x", "efund", "z"] {
        let error = store.find(prefix).expect_err("no such run");
        assert!(matches!(error, StoreError::PrefixNotFound { .. }), "{error}");
    }
}

pub(super) fn an_ambiguous_prefix_names_some_candidates(place: &dyn Place) {
    let store = place.open();
    assert!(matches!(store.find(""), Err(StoreError::PrefixNotFound { .. })));
    for number in 0..=CANDIDATES_MAX {
        drop(create(&*store, &format!("run-{number:02}"), 1));
        let found = store.find("run");
        match found {
            Ok(run) => assert_eq!((run.as_str(), number), ("run-00", 0)),
            Err(StoreError::PrefixAmbiguous { matches, candidates, .. }) => {
                assert_eq!(matches, number + 1);
                let expected =
                    (0..=number).take(CANDIDATES_MAX).map(|number| run_id(&format!("run-{number:02}")));
                assert_eq!(candidates, expected.collect::<Vec<_>>());
            }
            Err(error) => assert_eq!(error.to_string(), "", "only ambiguity may be in the way"),
        }
    }
}

pub(super) fn a_sound_store_has_no_findings(place: &dyn Place) {
    let store = place.open();
    for id in ["a", "b"] {
        let mut writer = create(&*store, id, 1);
        writer.append(head_after(1), &crate::testing::lines(1, 5), Durability::Synced).expect("a batch");
    }
    drop(store.list().expect("listed"));
    let report = store.doctor().check().expect("checked");
    assert_eq!((report.runs, report.findings), (2, Vec::new()));
    assert!(store.doctor().repair().expect("repaired").left.is_empty());
    assert_eq!(store.journal_bytes(&run_id("a")).expect("readable"), journal(5));
}
