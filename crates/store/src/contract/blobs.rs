//! Blobs.

use hence_canon::Digest;

use super::{Place, name, new_run};
use crate::testing::labelled_line;
use crate::{Durability, Finding, NewRun, StoreError};

pub(super) fn a_blob_reads_back_by_its_digest(place: &dyn Place) {
    let store = place.open();
    for bytes in [Vec::new(), b"x".to_vec(), (0..=255).cycle().take(300_000).collect()] {
        let digest = Digest::of(&bytes);
        assert!(!store.has_blob(&digest).expect("told"));
        let missing = store.blob(&digest).expect_err("not stored yet");
        assert!(matches!(missing, StoreError::NoSuchBlob { .. }), "{missing}");
        assert_eq!(store.put_blob(&bytes, Durability::Synced).expect("stored"), digest);
        assert!(store.has_blob(&digest).expect("told"));
        assert!(store.blob(&digest).expect("it reads back") == bytes);
    }
}

pub(super) fn storing_a_blob_again_is_no_change(place: &dyn Place) {
    let store = place.open();
    let first = store.put_blob(b"value", Durability::Buffered).expect("stored");
    for durability in [Durability::Buffered, Durability::Synced] {
        assert_eq!(store.put_blob(b"value", durability).expect("stored again"), first);
    }
    assert_eq!(store.doctor().check().expect("checked").blobs, 1);
}

pub(super) fn a_blob_is_shared_by_everyone(place: &dyn Place) {
    let stores: Vec<_> = (0..4).map(|_| place.open()).collect();
    std::thread::scope(|scope| {
        for store in &stores {
            scope.spawn(|| {
                for value in 0..20_u8 {
                    store.put_blob(&[value; 100], Durability::Buffered).expect("stored");
                }
            });
        }
    });
    for value in 0..20_u8 {
        let digest = Digest::of(&[value; 100]);
        assert_eq!(place.open().blob(&digest).expect("it reads back"), [value; 100]);
    }
}

pub(super) fn a_blob_that_no_run_names_is_found(place: &dyn Place) {
    let store = place.open();
    let [in_journal, in_attachment, nowhere] = ["journal", "attachment", "nowhere"]
        .map(|text| store.put_blob(text.as_bytes(), Durability::Synced).expect("stored"));
    let mut new = NewRun { lines: labelled_line(0, &in_journal.to_string()), ..new_run("r", 1) };
    new.attachments.push((name("vars.json"), format!("[\"{in_attachment}\"]").into_bytes()));
    drop(store.create(new).expect("a new run is created"));
    drop(store.list().expect("listed"));
    let report = store.doctor().check().expect("checked");
    assert_eq!((report.runs, report.blobs), (1, 3));
    assert_eq!(report.findings, [Finding::UnreferencedBlob { digest: nowhere, bytes: 7 }]);
    let repaired = store.doctor().repair().expect("repaired");
    assert_eq!(repaired.left, report.findings, "a repair gives up no value");
    assert!(store.has_blob(&nowhere).expect("told"));
}
