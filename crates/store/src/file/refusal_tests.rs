//! Things on a real disk that are not what they should be.

use std::fs;
use std::path::Path;

use crate::testing::{head_of, journal, line, lines};
use crate::{AppendError, Durability, FileStore, Holder, NewRun, RunId, Store, StoreError};

fn run() -> RunId {
    RunId::new("r").unwrap()
}

fn new_run() -> NewRun {
    NewRun { id: run(), attachments: Vec::new(), lines: journal(1) }
}

fn store_in(folder: &Path) -> FileStore {
    FileStore::open_or_create(folder.join("store")).unwrap()
}

/// Returns every path below a folder with its bytes.
fn contents(folder: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.push((path.display().to_string(), fs::read(&path).ok()));
    }
    found.sort();
    found
}

#[test]
fn a_folder_that_is_no_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let missing = FileStore::open(folder.path().join("store")).unwrap_err();
    assert!(
        missing.to_string().ends_with("/store is not a store: expected a file `format`, found no folder")
    );
    fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    fs::create_dir(folder.path().join("runs")).unwrap();
    let before = contents(folder.path());
    for refused in [FileStore::open(folder.path()), FileStore::open_or_create(folder.path())] {
        let refused = refused.unwrap_err();
        assert!(
            matches!(&refused, StoreError::NotAStore { found, .. } if found.contains("thesis.txt")),
            "{refused}"
        );
    }
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_file_in_place_of_the_store_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fs::write(&path, "a file").unwrap();
    for refused in [FileStore::open(&path), FileStore::open_or_create(&path)] {
        let text = refused.unwrap_err().to_string();
        assert_eq!(text, format!("cannot open {}: expected a folder, found a file", path.display()));
    }
    assert_eq!(fs::read(&path).unwrap(), b"a file");
    let below = FileStore::open_or_create(path.join("store")).unwrap_err().to_string();
    assert!(below.contains("expected a folder, found a file"), "{below}");
}

#[test]
fn an_unknown_format_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(store_in(folder.path()));
    let root = folder.path().join("store");
    for (marker, shown) in
        [("hence-store 2\n", "hence-store 2"), ("", ""), ("hence-store 1", "hence-store 1")]
    {
        fs::write(root.join("format"), marker).unwrap();
        let before = contents(&root);
        for refused in [FileStore::open(&root), FileStore::open_or_create(&root)] {
            let refused = refused.unwrap_err();
            assert!(
                matches!(&refused, StoreError::UnknownFormat { found, .. } if found == shown),
                "{refused}"
            );
        }
        assert_eq!(contents(&root), before);
    }
}

#[test]
fn a_file_in_place_of_a_run_and_a_folder_in_place_of_a_journal_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let place = store.folder().join("runs/r");
    fs::write(&place, "a file").unwrap();
    let expected = format!("cannot open {}: expected a folder, found a file", place.display());
    assert_eq!(store.open(&run()).unwrap_err().to_string(), expected);
    assert_eq!(store.create(new_run()).unwrap_err().to_string(), expected);
    assert_eq!(store.journal_bytes(&run()).unwrap_err().to_string(), expected);
    assert_eq!(fs::read(&place).unwrap(), b"a file");
    fs::remove_file(&place).unwrap();

    drop(store.create(new_run()).unwrap());
    let journal = place.join("trace.ndjson");
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    let expected = format!("cannot open {}: expected a file, found a folder", journal.display());
    assert_eq!(store.open(&run()).unwrap_err().to_string(), expected);
    assert_eq!(store.journal_bytes(&run()).unwrap_err().to_string(), expected);
    let other = NewRun { id: "s".parse().unwrap(), ..new_run() };
    drop(store.create(other).unwrap());
    fs::create_dir(store.folder().join("runs/s/batch")).unwrap();
    let listed = store.list().unwrap();
    let unreadable = |run: &crate::RunSummary| {
        matches!(&run.condition, crate::Condition::Damaged(crate::Damage::Unreadable(reason))
            if reason.ends_with("expected a file, found a folder"))
    };
    assert!(listed.len() == 2 && listed.iter().all(unreadable), "unreadable runs hide nothing: {listed:?}");
    assert!(!store.doctor().check().unwrap().findings.is_empty());
}

#[test]
fn a_file_in_place_of_the_blobs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    fs::remove_dir(store.folder().join("blobs")).unwrap();
    fs::write(store.folder().join("blobs"), "a file").unwrap();
    let refused = store.put_blob(b"value", Durability::Synced).unwrap_err().to_string();
    assert!(refused.contains("expected a folder, found a file"), "{refused}");
}

#[test]
fn folders_that_were_tidied_away_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    for name in ["runs", "blobs", "tmp"] {
        fs::remove_dir(store.folder().join(name)).unwrap();
    }
    assert!(store.list().unwrap().is_empty());
    assert!(store.doctor().check().unwrap().findings.is_empty());
    drop(store.create(new_run()).unwrap());
    store.put_blob(b"value", Durability::Synced).unwrap();
    assert_eq!(store.journal_bytes(&run()).unwrap(), journal(1));
}

#[test]
fn a_batch_torn_on_a_real_disk_is_cut_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut writer = store.create(new_run()).unwrap();
    writer.append(head_of(&journal(1)), &lines(1, 3), Durability::Synced).unwrap();
    writer.append(head_of(&journal(3)), &lines(3, 8), Durability::Synced).unwrap();
    drop(writer);
    let file = fs::OpenOptions::new().write(true).open(store.folder().join("runs/r/trace.ndjson")).unwrap();
    file.set_len(journal(6).len() as u64 + 5).unwrap();
    let opened = store.open(&run()).unwrap();
    assert_eq!(opened.writer.head(), head_of(&journal(3)));
    let cut = opened.cut.unwrap();
    assert_eq!((cut.whole_records, cut.bytes as usize), (3, journal(6).len() + 5 - journal(3).len()));
    assert_eq!(store.journal_bytes(&run()).unwrap(), journal(3));
}

#[test]
fn the_holder_of_a_lease_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let writer = store.create(new_run()).unwrap();
    let refused = FileStore::open(store.folder()).unwrap().open(&run()).unwrap_err();
    let name = format!("process {}", std::process::id());
    assert!(matches!(&refused, StoreError::Leased { holder: Holder::Named(found), .. } if *found == name));
    assert_eq!(refused.to_string(), format!("run r is being written by {name}"));
    drop(writer);
}

#[test]
fn a_journal_that_changes_behind_its_writer_is_not_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut writer = store.create(new_run()).unwrap();
    let path = store.folder().join("runs/r/trace.ndjson");
    let changed = [journal(1), b"intruder".to_vec()].concat();
    fs::write(&path, &changed).unwrap();
    let refused = writer.append(head_of(&journal(1)), &line(1), Durability::Synced).unwrap_err();
    assert!(matches!(refused, AppendError::ModifiedExternally { .. }), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), changed);
}

#[test]
#[cfg(unix)]
fn a_store_that_may_not_be_written_is_readable_and_refuses_writes_whole() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    drop(store.create(new_run()).unwrap());
    let digest = store.put_blob(b"value", Durability::Synced).unwrap();
    let set_mode = |mode_of: fn(bool) -> u32| {
        for (path, bytes) in contents(store.folder()) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode_of(bytes.is_none()))).unwrap();
        }
    };
    set_mode(|is_folder| if is_folder { 0o555 } else { 0o444 });
    let before = contents(store.folder());
    let readable = FileStore::open(store.folder()).unwrap();
    assert_eq!(readable.journal_bytes(&run()).unwrap(), journal(1));
    assert_eq!(readable.list().unwrap().len(), 1);
    assert_eq!(readable.blob(&digest).unwrap(), b"value");
    assert!(readable.lease(&run()).is_ok());
    assert!(readable.doctor().check().is_ok());
    // Root may write anywhere; the same refusal is tested on the simulated disk.
    if fs::write(store.folder().join("probe"), "").is_ok() {
        println!("skipped: this user may write where permission is denied");
    } else {
        let refused = readable.open(&run()).unwrap_err().to_string();
        assert!(refused.ends_with("permission denied"), "{refused}");
        assert!(readable.create(NewRun { id: "s".parse().unwrap(), ..new_run() }).is_err());
        assert!(readable.put_blob(b"other", Durability::Synced).is_err());
        assert_eq!(contents(store.folder()), before);
    }
    set_mode(|is_folder| if is_folder { 0o755 } else { 0o644 });
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_named() {
    use super::checked_disk::CheckedDisk;
    use super::disk::{Access, Disk};
    use super::real_disk::RealDisk;
    // A file that is always full: the error that a real file system gives has the right name.
    if RealDisk.open(Path::new("/dev/full"), Access::Write).is_err() {
        println!("skipped: no /dev/full here");
        return;
    }
    let disk = CheckedDisk(std::sync::Arc::new(RealDisk));
    let full = disk.open(Path::new("/dev/full"), Access::Write).unwrap();
    assert_eq!(full.write_at(0, b"x").unwrap_err().to_string(), "cannot write /dev/full: no space left");
}
