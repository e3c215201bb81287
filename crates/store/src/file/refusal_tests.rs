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
    use std::os::unix::fs::FileExt as _;
    use std::path::PathBuf;
    // A file that is always full: the error that a real file system gives has the right name.
    let path = PathBuf::from("/dev/full");
    let Ok(full) = fs::OpenOptions::new().write(true).open(&path) else {
        println!("skipped: no /dev/full here");
        return;
    };
    let error = full.write_all_at(b"x", 0).unwrap_err();
    let error = crate::DiskError::new(crate::Action::Write, &path, error);
    assert_eq!(error.to_string(), "cannot write /dev/full: no space left");
}

/// Makes a store with one run, puts a link to `target` at `place` below it, and returns the store.
#[cfg(unix)]
fn store_with_link(folder: &Path, place: &str, target: &Path) -> FileStore {
    let store = store_in(folder);
    store.create(new_run()).unwrap();
    let place = store.folder().join(place);
    match fs::symlink_metadata(&place) {
        Ok(found) if found.is_dir() => fs::rename(&place, folder.join("moved")).unwrap(),
        Ok(_) => fs::remove_file(&place).unwrap(),
        Err(_) => {}
    }
    std::os::unix::fs::symlink(target, place).unwrap();
    store
}

#[cfg(unix)]
#[test]
fn links_inside_a_store_are_never_followed() {
    let places = ["runs/r/lock", "runs/r/trace.ndjson", "runs/r", "runs", "tmp", "blobs", "index", "format"];
    for place in places {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "years of work").unwrap();
        // A link to a folder where a folder is, to a file where a file is.
        let is_folder =
            !place.contains('.') && !place.ends_with("lock") && !matches!(place, "index" | "format");
        let target = if is_folder { precious.clone() } else { precious.join("file") };
        let store = store_with_link(folder.path(), place, &target);
        let before = contents(&precious);
        let opened = store.open(&run()).map(|mut opened| {
            let head = opened.writer.head();
            let _ = opened.writer.append(head, &line(1), Durability::Synced);
        });
        let stored = store.put_blob(b"a blob", Durability::Synced);
        let (checked, repaired) = (store.doctor().check(), store.doctor().repair());
        assert_eq!(contents(&precious), before, "{place}");
        if matches!(place, "runs/r/lock" | "runs/r/trace.ndjson" | "runs/r" | "runs") {
            assert!(opened.is_err(), "{place}");
        }
        if matches!(place, "tmp" | "blobs") {
            assert!(stored.unwrap_err().to_string().contains("symbolic link"), "{place}");
        }
        // Each is named, except the index, which a repair replaces.
        let named = match checked {
            Ok(report) => !report.findings.is_empty(),
            Err(error) => error.to_string().contains("symbolic link"),
        };
        assert!(named || place == "format" && FileStore::open(store.folder()).is_err(), "{place}");
        drop(repaired);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    store.create(new_run()).unwrap();
    let journal = store.journal_path(&run());
    fs::remove_file(&journal).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &journal,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let refused = store.open(&run()).unwrap_err().to_string();
    assert!(refused.contains("a pipe or a device"), "{refused}");
    assert!(store.journal_bytes(&run()).is_err());
    assert!(!store.doctor().check().unwrap().findings.is_empty());
}

#[cfg(unix)]
#[test]
fn what_a_store_creates_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    store.create(new_run()).unwrap();
    store.put_blob(b"a blob", Durability::Synced).unwrap();
    store.list().unwrap();
    for (path, _) in contents(store.folder()) {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path}: {mode:o}");
    }
}
