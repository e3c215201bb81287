//! Every operation on the disk fails in turn, in every way, and the machine may crash after it: what is found then is the
//! old state or the new one.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use hence_canon::Digest;

use super::FileStore;
use super::sim_disk::{Fault, MARKS, Marks, SURVIVES, SimDisk, Survives};
use crate::testing::{head_of, journal, line, lines};
use crate::{
    AppendError, AttachmentName, Durability, Finding, Lease, NewRun, RunId, RunWriter, Store, StoreError,
};

const FAULTS: [Fault; 4] = [Fault::Fail(ErrorKind::StorageFull), Fault::Tear, Fault::FailAfter, Fault::Die];

pub(super) fn store_on(disk: &SimDisk) -> FileStore {
    FileStore::open_or_create_on(Arc::new(disk.clone()), "/store".into()).unwrap()
}

pub(super) fn run() -> RunId {
    RunId::new("r").unwrap()
}

pub(super) fn problem() -> AttachmentName {
    AttachmentName::new("problem.json").unwrap()
}

pub(super) fn new_run(records: u64) -> NewRun {
    NewRun { id: run(), attachments: vec![(problem(), b"{}".to_vec())], lines: journal(records) }
}

pub(super) fn with_run(records: u64) -> SimDisk {
    with_run_and(Marks::Taken, records)
}

pub(super) fn with_run_and(marks: Marks, records: u64) -> SimDisk {
    let disk = SimDisk::with(marks);
    drop(store_on(&disk).create(new_run(records)).unwrap());
    disk
}

/// The end of an operation, and the place where it was interrupted.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "a failing test prints it")]
pub(super) struct Outcome {
    pub(super) acknowledged: bool,
    at: usize,
    fault: Fault,
    survives: Survives,
}

/// Interrupts `act` on a disk made by `setup` at every operation in every way, and shows `check` what is left.
pub(super) fn interrupt(
    setup: impl Fn() -> SimDisk,
    act: impl Fn(&SimDisk) -> bool,
    check: impl Fn(&SimDisk, Outcome),
) -> usize {
    let mut interrupted = 0;
    for fault in FAULTS {
        for at in 0.. {
            let disk = setup();
            let before = disk.operations();
            disk.fail_at(before + at, fault);
            let acknowledged = act(&disk);
            for survives in SURVIVES {
                check(&disk.crashed(survives), Outcome { acknowledged, at, fault, survives });
            }
            if disk.operations() <= before + at {
                assert!(acknowledged, "what is not interrupted succeeds");
                break;
            }
            interrupted += 1;
        }
    }
    interrupted
}

/// Opens the run as a new process would, checks that it can be written, and returns its journal as it was found.
fn settle(disk: &SimDisk, outcome: Outcome) -> Option<Vec<u8>> {
    let store = store_on(disk);
    let raw = store.journal_bytes(&run()).ok();
    let opened = match store.open(&run()) {
        Err(StoreError::NoSuchRun { .. }) => return None,
        opened => opened.unwrap_or_else(|error| panic!("{outcome:?}: {error}")),
    };
    let found = store.journal_bytes(&run()).unwrap();
    let raw = raw.unwrap();
    match &opened.cut {
        None => assert_eq!(raw, found, "{outcome:?}: nothing is cut silently"),
        Some(cut) => {
            assert_eq!(cut.bytes as usize, raw.len() - found.len(), "{outcome:?}");
            assert_eq!(cut.offset as usize, found.len(), "{outcome:?}");
        }
    }
    // The run goes on from here as if nothing had happened, and stays what it is when opened again.
    let mut writer = opened.writer;
    let records = writer.head().records.get();
    assert_eq!(writer.head(), head_of(&found));
    for end in [records + 1, records + 4] {
        let head = writer.head();
        writer.append(head, &lines(head.records.get(), end), Durability::Synced).unwrap();
        let again = store_on(&disk.crashed(Survives::Nothing)).open(&run()).unwrap();
        assert_eq!((again.writer.head().records.get(), again.cut), (end, None), "{outcome:?}");
    }
    drop(writer);
    check_tidy(disk, outcome);
    Some(found)
}

/// Checks that a repair leaves nothing but values that nobody names.
fn check_tidy(disk: &SimDisk, outcome: Outcome) {
    let store = store_on(disk);
    store.doctor().repair().unwrap();
    let left = store.doctor().check().unwrap().findings;
    let expected = |finding: &Finding| matches!(finding, Finding::UnreferencedBlob { .. });
    assert!(left.iter().all(expected), "{outcome:?}: {left:?}");
    assert_eq!(disk.files().keys().filter(|path| path.starts_with("/store/tmp")).count(), 0);
}

#[test]
fn an_interrupted_creation_leaves_a_whole_run_or_none() {
    let act = |disk: &SimDisk| {
        let store = FileStore::open_on(Arc::new(disk.clone()), "/store".into()).unwrap();
        store.create(new_run(3)).is_ok()
    };
    let setup = || {
        let disk = SimDisk::new();
        store_on(&disk);
        disk
    };
    let interrupted = interrupt(setup, act, |disk, outcome| {
        let attached = store_on(disk).attachment(&run(), &problem());
        match settle(disk, outcome) {
            None => assert!(!outcome.acknowledged, "{outcome:?}"),
            Some(found) => {
                assert_eq!(found, journal(3), "{outcome:?}");
                assert_eq!(attached.unwrap(), b"{}", "{outcome:?}");
            }
        }
        check_tidy(disk, outcome);
    });
    assert!(interrupted > 30, "{interrupted}");
}

#[test]
fn an_interrupted_creation_of_several_runs_leaves_each_whole_with_the_blobs_or_not_at_all() {
    let named = |id: &str| NewRun { id: RunId::new(id).unwrap(), ..new_run(3) };
    let blob = b"a value that both runs name".to_vec();
    for setup in [SimDisk::new, || SimDisk::new().syncing_filesystem()] {
        let act = |disk: &SimDisk| {
            let store = FileStore::open_on(Arc::new(disk.clone()), "/store".into()).unwrap();
            store.create_all(vec![named("inner"), named("r")], std::slice::from_ref(&blob)).is_ok()
        };
        let setup = || {
            let disk = setup();
            store_on(&disk);
            disk
        };
        let interrupted = interrupt(setup, act, |disk, outcome| {
            let store = store_on(disk);
            let (inner, has_blob) =
                (store.journal_bytes(&RunId::new("inner").unwrap()), store.blob(&Digest::of(&blob)));
            let attached = store.attachment(&run(), &problem());
            let outer = settle(disk, outcome);
            if outcome.acknowledged {
                assert!(inner.is_ok() && outer.is_some(), "{outcome:?}");
            }
            for found in inner.iter().chain(&outer) {
                assert_eq!(*found, journal(3), "{outcome:?}");
                assert_eq!(has_blob.as_ref().unwrap(), &blob, "{outcome:?}");
            }
            if outer.is_some() {
                assert_eq!(attached.unwrap(), b"{}", "{outcome:?}");
            }
            // A value that was not synced and that no run names may be lost in part; storing it again replaces it.
            store.put_blob(&blob, Durability::Synced).unwrap();
            check_tidy(disk, outcome);
        });
        assert!(interrupted > 30, "{interrupted}");
    }
}

#[test]
fn an_interrupted_making_of_a_store_is_finished_by_the_next() {
    let act = |disk: &SimDisk| FileStore::open_or_create_on(Arc::new(disk.clone()), "/store".into()).is_ok();
    interrupt(SimDisk::new, act, |disk, outcome| {
        let opened = FileStore::open_on(Arc::new(disk.clone()), "/store".into());
        assert!(opened.is_ok() || !outcome.acknowledged, "{outcome:?}");
        drop(store_on(disk).create(new_run(1)).unwrap());
        assert_eq!(settle(disk, outcome), Some(journal(1)));
    });
}

/// Appends `batches`, which end at those numbers of records, and interrupts the last.
fn interrupt_append(
    batches: &'static [u64],
    durability: Durability,
    check: impl Fn(Vec<u8>, [Vec<u8>; 2], Outcome),
) {
    let (last, before) = batches.split_last().unwrap();
    let append = |writer: &mut dyn RunWriter, end: u64| {
        let head = writer.head();
        writer.append(head, &lines(head.records.get(), end), durability)
    };
    // The writer that made the earlier appends makes the last one too, so the faults count from there.
    for (reopen, marks) in [false, true].into_iter().flat_map(|reopen| MARKS.map(|marks| (reopen, marks))) {
        let prepare = |disk: &SimDisk| {
            let store = store_on(disk);
            let mut writer = store.open(&run()).unwrap().writer;
            for end in before {
                append(&mut *writer, *end).unwrap();
            }
            if !reopen {
                return writer;
            }
            drop(writer);
            store.open(&run()).unwrap().writer
        };
        for fault in FAULTS {
            for at in 0.. {
                let disk = with_run_and(marks, 1);
                let mut writer = prepare(&disk);
                let old = store_on(&disk).journal_bytes(&run()).unwrap();
                let start = disk.operations();
                disk.fail_at(start + at, fault);
                let acknowledged = append(&mut *writer, *last).is_ok();
                let reached = disk.operations() > start + at;
                assert_eq!(acknowledged, !reached, "a failure of the disk is never hidden");
                if !acknowledged {
                    check_poisoned(&mut *writer);
                }
                for survives in SURVIVES {
                    let outcome = Outcome { acknowledged, at, fault, survives };
                    let found = settle(&disk.crashed(survives), outcome).unwrap();
                    check(found, [old.clone(), journal(*last)], outcome);
                }
                if !reached {
                    break;
                }
            }
        }
    }
}

fn check_poisoned(writer: &mut dyn RunWriter) {
    let head = writer.head();
    let again = writer.append(head, &line(head.records.get()), Durability::Synced).unwrap_err();
    assert!(matches!(again, AppendError::Poisoned { .. }), "{again}");
    assert!(matches!(writer.sync(), Err(AppendError::Poisoned { .. })));
}

#[test]
fn an_interrupted_durable_append_leaves_the_old_or_the_new_journal() {
    for batches in [&[2][..], &[9], &[2, 9], &[9, 10], &[9, 20], &[9, 20, 21, 40]] {
        interrupt_append(batches, Durability::Synced, |found, [old, new], outcome| {
            assert!(found == new || found == old && !outcome.acknowledged, "{batches:?} {outcome:?}");
        });
    }
}

#[test]
fn an_interrupted_buffered_append_is_old_or_new_when_the_process_dies_and_whole_records_when_the_machine_does()
 {
    for batches in [&[2][..], &[9], &[2, 9], &[9, 10], &[9, 20]] {
        interrupt_append(batches, Durability::Buffered, |found, [old, new], outcome| {
            if outcome.survives == Survives::All {
                assert!(found == new || found == old && !outcome.acknowledged, "{batches:?} {outcome:?}");
            }
            assert!(new.starts_with(&found) && found.ends_with(b"\n"), "{batches:?} {outcome:?}");
        });
    }
}

#[test]
fn an_interrupted_recovery_is_finished_by_the_next() {
    // A batch was torn in the middle of its third record.
    let setup = |marks| {
        let disk = with_run_and(marks, 1);
        let mut writer = store_on(&disk).open(&run()).unwrap().writer;
        writer.append(head_of(&journal(1)), &lines(1, 4), Durability::Synced).unwrap();
        writer.append(head_of(&journal(4)), &lines(4, 9), Durability::Synced).unwrap();
        drop(writer);
        let end = journal(6).len() + 10;
        disk.overwrite(Path::new("/store/runs/r/trace.ndjson"), &journal(9)[..end]);
        disk
    };
    let act = |disk: &SimDisk| store_on(disk).open(&run()).is_ok();
    for marks in MARKS {
        interrupt(
            || setup(marks),
            act,
            |disk, outcome| {
                assert_eq!(settle(disk, outcome), Some(journal(4)), "{outcome:?}");
            },
        );
    }
}

#[test]
fn an_interrupted_blob_is_there_or_not_and_never_believed_in_part() {
    let value = b"a value over 10 KiB".repeat(600);
    let digest = Digest::of(&value);
    let act = |disk: &SimDisk| {
        let store = FileStore::open_on(Arc::new(disk.clone()), "/store".into()).unwrap();
        store.put_blob(&value, Durability::Synced).is_ok()
    };
    let buffered_before = || {
        let disk = with_run(1);
        store_on(&disk).put_blob(&value, Durability::Buffered).unwrap();
        disk
    };
    let corrupt_before = || {
        let disk = with_run(1);
        store_on(&disk).put_blob(&value, Durability::Synced).unwrap();
        let hex = digest.to_string();
        disk.overwrite(&Path::new("/store/blobs").join(&hex[..2]).join(&hex[2..]), b"");
        disk
    };
    let setups: [&dyn Fn() -> SimDisk; 3] = [&|| with_run(1), &buffered_before, &corrupt_before];
    for setup in setups {
        interrupt(setup, act, |disk, outcome| {
            let store = store_on(disk);
            match store.blob(&digest) {
                Ok(found) => assert!(found == value),
                Err(StoreError::NoSuchBlob { .. } | StoreError::BlobCorrupt { .. }) => {
                    assert!(!outcome.acknowledged, "{outcome:?}");
                }
                Err(error) => panic!("{outcome:?}: {error}"),
            }
            store.put_blob(&value, Durability::Synced).unwrap();
            assert!(store.blob(&digest).unwrap() == value);
            check_tidy(disk, outcome);
        });
    }
}

#[test]
fn an_interrupted_attachment_is_the_old_or_the_new_one() {
    let act = |disk: &SimDisk| {
        let mut writer = store_on(disk).open(&run()).expect("opening a sound run writes only a name").writer;
        writer.attach(&problem(), b"a new problem", Durability::Synced).is_ok()
    };
    interrupt(
        || with_run(1),
        act,
        |disk, outcome| {
            let found = store_on(disk).attachment(&run(), &problem()).unwrap();
            assert!(found == b"a new problem" || found == b"{}" && !outcome.acknowledged, "{outcome:?}");
            assert_eq!(settle(disk, outcome), Some(journal(1)));
        },
    );
    let detach = |disk: &SimDisk| {
        let mut writer = store_on(disk).open(&run()).expect("opening a sound run writes only a name").writer;
        writer.detach(&problem()).is_ok()
    };
    interrupt(
        || with_run(1),
        detach,
        |disk, outcome| match store_on(disk).attachment(&run(), &problem()) {
            Ok(found) => assert!(found == b"{}" && !outcome.acknowledged, "{outcome:?}"),
            Err(error) => {
                assert!(matches!(error, StoreError::NoSuchAttachment { .. }), "{outcome:?}: {error}")
            }
        },
    );
}

#[test]
fn an_interrupted_index_is_healed_and_never_believed() {
    let setup = || {
        let disk = with_run(1);
        let store = store_on(&disk);
        store.list().unwrap();
        let mut writer = store.open(&run()).unwrap().writer;
        writer.append(head_of(&journal(1)), &lines(1, 3), Durability::Synced).unwrap();
        disk
    };
    let act = |disk: &SimDisk| {
        let listed = store_on(disk).list().unwrap();
        assert_eq!(listed[0].head(), Some(head_of(&journal(3))), "a list needs no index");
        true
    };
    interrupt(setup, act, |disk, outcome| {
        let store = store_on(disk);
        assert_eq!(store.list().unwrap()[0].head(), Some(head_of(&journal(3))), "{outcome:?}");
        let stale = |finding: &Finding| matches!(finding, Finding::StaleIndex { .. });
        assert!(!store.doctor().check().unwrap().findings.iter().any(stale), "{outcome:?}");
        check_tidy(disk, outcome);
    });
}

#[test]
fn a_refused_operation_leaves_every_byte_as_it_was() {
    let files = |disk: &SimDisk| -> BTreeMap<_, _> {
        // The lock file holds the name of whoever wrote last.
        disk.files().into_iter().filter(|(path, _)| !path.ends_with("lock")).collect()
    };
    for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied] {
        for at in 0..12 {
            let disk = with_run(1);
            let before = files(&disk);
            disk.fail_at(disk.operations() + at, Fault::Fail(kind));
            let store = store_on(&disk);
            let created = store.create(NewRun { id: RunId::new("other").unwrap(), ..new_run(2) });
            if created.is_err() {
                let unchanged = files(&disk) == before;
                let renamed = disk.files().contains_key(Path::new("/store/runs/other/trace.ndjson"));
                assert!(unchanged || renamed, "{kind} at {at}");
            }
        }
        // A write that fails halfway gives its space back.
        let disk = with_run(1);
        let mut writer = store_on(&disk).open(&run()).unwrap().writer;
        let before = files(&disk);
        disk.fail_at(disk.operations(), Fault::Tear);
        let failed = writer.append(head_of(&journal(1)), &line(1), Durability::Synced).unwrap_err();
        assert!(
            failed.to_string().contains("cannot write /store/runs/r/trace.ndjson: no space left"),
            "{failed}"
        );
        assert_eq!(files(&disk), before);
        drop(writer);
        assert_eq!(store_on(&disk).lease(&run()).unwrap(), Lease::Free);
    }
}

#[test]
fn lines_beside_a_journal_survive_what_acknowledged_them() {
    let calls = AttachmentName::new("calls.ndjson").unwrap();
    let lines: [(&[u8], Durability); 3] =
        [(b"one\n", Durability::Synced), (b"two\n", Durability::Buffered), (b"three\n", Durability::Synced)];
    let whole: Vec<u8> = lines.iter().flat_map(|(line, _)| line.iter().copied()).collect();
    let act = |disk: &SimDisk| {
        let store = store_on(disk);
        let Ok(mut opened) = store.open(&run()) else { return false };
        let Ok(log) = opened.writer.side_log(&calls) else { return false };
        lines.iter().all(|(line, durability)| log.append(line, *durability).is_ok())
    };
    let check = |disk: &SimDisk, outcome: Outcome| {
        let store = store_on(disk);
        let mut writer = store.open(&run()).unwrap_or_else(|error| panic!("{outcome:?}: {error}")).writer;
        let log = writer.side_log(&calls).unwrap();
        let found = store.attachment(&run(), &calls).unwrap();
        assert!(found.is_empty() || found.ends_with(b"\n"), "{outcome:?}");
        assert!(whole.starts_with(&found), "{outcome:?}");
        assert!(!outcome.acknowledged || found == whole, "{outcome:?}");
        log.append(b"next\n", Durability::Synced).unwrap();
        assert_eq!(
            store.attachment(&run(), &calls).unwrap(),
            [&found[..], b"next\n"].concat(),
            "{outcome:?}"
        );
    };
    assert!(interrupt(|| with_run(2), act, check) > 10);
}
