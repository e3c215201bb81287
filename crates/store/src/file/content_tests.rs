//! Files with any content: nothing panics, reading changes nothing, and damage is left as it is.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::crash_tests::{run, store_on, with_run_and};
use super::sim_disk::{MARKS, Marks, SimDisk};
use crate::testing::{head_of, journal, lines};
use crate::{Durability, FileStore, RunId, Store};

/// A store with a batch, an index, a blob and a run with a long id, so that every kind of file is there.
fn full_disk(marks: Marks) -> SimDisk {
    let disk = with_run_and(marks, 1);
    let store = store_on(&disk);
    let mut writer = store.open(&run()).unwrap().writer;
    writer.append(head_of(&journal(1)), &lines(1, 4), Durability::Synced).unwrap();
    drop(writer);
    let long = RunId::new(&"long".repeat(100)).unwrap();
    drop(store.create(crate::NewRun { id: long, ..super::crash_tests::new_run(1) }).unwrap());
    store.put_blob(b"value", Durability::Synced).unwrap();
    store.list().unwrap();
    disk
}

/// Uses everything that reads, then everything that repairs.
fn use_everything(disk: &SimDisk) {
    let before = disk.files();
    let Ok(store) = FileStore::open_on(std::sync::Arc::new(disk.clone()), "/store".into()) else { return };
    let _ = store.doctor().check();
    let _ = store.find("");
    for id in ["r", &"long".repeat(100)] {
        let id = RunId::new(id).unwrap();
        let _ = store.journal_bytes(&id).map(|bytes| bytes.len());
        let _ = store.attachments(&id);
        let _ = store.lease(&id);
        let _ = store.summary(&id);
    }
    let _ = store.blob(&hence_canon::Digest::of(b"value"));
    assert_eq!(disk.files(), before, "reading changes nothing");
    let journal = Path::new("/store/runs/r/trace.ndjson");
    match store.open(&run()) {
        Ok(mut opened) => {
            assert!(before[journal].starts_with(&disk.files()[journal]), "opening only cuts");
            let records = opened.writer.head().records.get();
            let head = opened.writer.head();
            // An index near the end of numbers has no successor; every other does.
            if records < u64::MAX {
                opened.writer.append(head, &lines(records, records + 1), Durability::Synced).unwrap();
            }
        }
        Err(_) => assert_eq!(disk.files()[journal], before[journal], "damage is left as it is"),
    }
    let _ = store.list();
    let _ = store.doctor().repair();
}

fn paths(disk: &SimDisk) -> Vec<PathBuf> {
    disk.files().into_keys().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_in_any_file_are_survived(at in any::<prop::sample::Index>(), bytes in any::<Vec<u8>>()) {
        for marks in MARKS {
            let disk = full_disk(marks);
            let paths = paths(&disk);
            disk.overwrite(&paths[at.index(paths.len())], &bytes);
            use_everything(&disk);
        }
    }

    #[test]
    fn any_changed_byte_in_any_file_is_survived(
        at in any::<prop::sample::Index>(),
        offset in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        for marks in MARKS {
            let disk = full_disk(marks);
            let paths = paths(&disk);
            let path = &paths[at.index(paths.len())];
            let mut bytes = disk.files()[path].clone();
            if !bytes.is_empty() {
                let offset = offset.index(bytes.len());
                bytes[offset] = byte;
            }
            disk.overwrite(path, &bytes);
            use_everything(&disk);
        }
    }
}
