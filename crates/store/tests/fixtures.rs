//! Opens every store in `fixtures/`, so that this version reads all formats that were ever released.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test program fails by panicking")]

use std::num::NonZeroUsize;
use std::path::Path;

use hence_journal::verify::check_chain;
use hence_store::{Condition, FileStore, Finding, RunId, RunSummary, Store};

/// The heads of the runs in `store-1`.
const HEADS: [(&str, &str); 5] = [
    ("blob", "6cdc6954e84030dd92f013cd7daf79b6f311711526f2d6e296e47db596af7be6:9"),
    ("compat", "c5b2c07c542555fb5e656748323bbf2fc370fc708333de69199e5cbcbe176386:23"),
    ("skill", "0f2ea644a0bad3d35be9d7496514bcd4265c39cf4caa70a1eb2503f025329622:9"),
    ("strict", "d47c67fb8f2d7198dc1c56d7c14e575dba1d3ed8cc109dfd4813502e77df8a4d:14"),
    ("variables", "1e6fae8297948037d7c6dcfa4a2b3be5543c69636a90414db0e59c0d4b07ecea:7"),
];

/// Copies a fixture, because listing a store writes its index.
fn fixture(name: &str) -> (tempfile::TempDir, FileStore) {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name), folder.path());
    let store = FileStore::open(folder.path()).unwrap();
    (folder, store)
}

fn copy(source: &Path, target: &Path) {
    std::fs::create_dir_all(target).unwrap();
    for entry in std::fs::read_dir(source).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &target.join(name));
        } else {
            std::fs::copy(path, target.join(name)).unwrap();
        }
    }
}

/// Returns the damage that a check reports; a missing index is none.
fn damage(store: &FileStore) -> Vec<Finding> {
    let findings = store.doctor().check().unwrap().findings;
    findings.into_iter().filter(|finding| !matches!(finding, Finding::StaleIndex { .. })).collect()
}

fn chain_head(store: &FileStore, run: &RunSummary) -> Option<String> {
    let journal = store.journal_bytes(&run.run).unwrap();
    check_chain(&journal, NonZeroUsize::MIN).head.map(|head| head.to_string())
}

#[test]
fn every_run_of_format_1_has_its_head_and_no_damage() {
    let (_folder, store) = fixture("store-1");
    let runs = store.list().unwrap();
    let heads: Vec<(String, Option<String>)> =
        runs.iter().map(|run| (run.run.to_string(), chain_head(&store, run))).collect();
    assert_eq!(heads, HEADS.map(|(run, head)| (run.to_owned(), Some(head.to_owned()))));
    assert!(runs.iter().all(|run| matches!(run.condition, Condition::Whole { .. })));
    assert_eq!(damage(&store), []);
    assert_eq!(store.doctor().check().unwrap().blobs, 2);
}

#[test]
fn a_problem_that_was_worked_out_has_its_head_and_no_damage() {
    let (_folder, store) = fixture("store-1-strict-2");
    let runs = store.list().unwrap();
    let [run] = &*runs else { panic!("{runs:?}") };
    let head = "f898dd9f99f35bf1f7e74ecb919195e076c0e3cc5e5a5a79712d3da57129950e:14";
    assert_eq!(chain_head(&store, run).as_deref(), Some(head));
    assert_eq!(damage(&store), []);
}

#[test]
fn a_torn_journal_is_found_and_cut_when_it_is_opened() {
    let (_folder, store) = fixture("store-1-torn");
    let [Finding::UnfinishedAppend { run, cut }] = &*damage(&store) else { panic!("{:?}", damage(&store)) };
    assert_eq!((run.as_str(), cut.bytes, cut.head.records.get()), ("torn", 299, 13));
    let opened = store.open(&RunId::new("torn").unwrap()).unwrap();
    assert_eq!(opened.cut.as_ref(), Some(cut));
    drop(opened);
    assert_eq!(damage(&store), []);
}

#[test]
fn a_flipped_bit_breaks_the_chain_and_not_the_store() {
    let (_folder, store) = fixture("store-1-flipped");
    assert_eq!(damage(&store), []);
    let runs = store.list().unwrap();
    let [run] = &*runs else { panic!("{runs:?}") };
    assert!(matches!(run.condition, Condition::Whole { .. }));
    let report = check_chain(&store.journal_bytes(&run.run).unwrap(), NonZeroUsize::MIN);
    assert_eq!(report.head, None);
}
