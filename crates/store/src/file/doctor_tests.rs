//! Tests of the checks and repairs of a folder.

use std::path::{Path, PathBuf};

use super::crash_tests::{new_run, run, store_on, with_run};
use super::disk::{Access, Disk};
use super::sim_disk::SimDisk;
use crate::testing::{head_of, journal, lines};
use crate::{Damage, Durability, Finding, Gravity, Repair, Store};

fn put(disk: &SimDisk, path: &str, bytes: &[u8]) {
    disk.open(Path::new(path), Access::CreateNew).unwrap().write_at(0, bytes).unwrap();
}

fn findings(disk: &SimDisk) -> Vec<String> {
    store_on(disk).doctor().check().unwrap().findings.iter().map(ToString::to_string).collect()
}

#[test]
fn everything_out_of_place_is_named_and_only_the_safe_is_repaired() {
    let disk = with_run(1);
    let store = store_on(&disk);
    drop(store.create(crate::NewRun { id: "hurt".parse().unwrap(), ..new_run(2) }).unwrap());
    drop(store.create(crate::NewRun { id: "torn".parse().unwrap(), ..new_run(2) }).unwrap());
    store.list().unwrap();
    let digest = store.put_blob(b"value", Durability::Synced).unwrap();
    let hex = digest.to_string();
    disk.overwrite(&PathBuf::from(format!("/store/blobs/{}/{}", &hex[..2], &hex[2..])), b"other");
    disk.overwrite(Path::new("/store/runs/hurt/trace.ndjson"), b"{}\n");
    disk.overwrite(Path::new("/store/runs/torn/trace.ndjson"), &journal(2)[..journal(2).len() - 1]);
    put(&disk, "/store/runs/UPPER", b"");
    put(&disk, "/store/runs/r/NOTES", b"");
    put(&disk, "/store/blobs/readme", b"");
    put(&disk, "/store/tmp/1-1", b"half");
    disk.create_folder(Path::new("/store/tmp/1-2")).unwrap();
    let torn_bytes = journal(2).len() - journal(1).len() - 1;
    let expected = [
        "run hurt: damaged: the last whole line has no valid `record_hash`".to_owned(),
        "/store/runs/r/NOTES: not put there by the store".to_owned(),
        format!("run torn: {torn_bytes} bytes of an unfinished append at byte {}", journal(1).len()),
        "/store/runs/UPPER: not put there by the store".to_owned(),
        format!("blob {digest}: damaged, its bytes have the digest {}", hence_canon::Digest::of(b"other")),
        "/store/blobs/readme: not put there by the store".to_owned(),
        "/store/tmp/1-1: left behind by an interrupted writer".to_owned(),
        "/store/tmp/1-2: left behind by an interrupted writer".to_owned(),
        "index: it does not match the journals".to_owned(),
    ];
    let before = disk.files();
    assert_eq!(findings(&disk), expected);
    assert_eq!(disk.files(), before, "a check changes nothing");

    let repaired = store.doctor().repair().unwrap();
    let done: Vec<String> = repaired.done.iter().map(ToString::to_string).collect();
    let expected_done = [
        format!(
            "run torn: cut {torn_bytes} bytes of an unfinished append at byte {}; the journal ends at {}",
            journal(1).len(),
            head_of(&journal(1)),
        ),
        "/store/tmp/1-1: removed".to_owned(),
        "/store/tmp/1-2: removed".to_owned(),
        "index: rebuilt from 3 journals".to_owned(),
    ];
    assert_eq!(done, expected_done);
    // The remaining findings are either harmless or beyond repair.
    let damage = repaired.left.iter().filter(|finding| finding.gravity() == Gravity::Damage).count();
    let harmless = repaired.left.iter().filter(|finding| finding.gravity() == Gravity::Harmless).count();
    assert_eq!((damage, harmless), (2, 3));
    let left = [0, 1, 3, 4, 5].map(|at: usize| expected[at].clone());
    assert_eq!(repaired.left.iter().map(ToString::to_string).collect::<Vec<_>>(), left);
    assert_eq!(findings(&disk), left);
    assert_eq!(disk.files()[Path::new("/store/runs/hurt/trace.ndjson")], b"{}\n");
}

#[test]
fn a_run_in_use_is_left_alone() {
    let disk = with_run(1);
    let store = store_on(&disk);
    let writer = store.open(&run()).unwrap().writer;
    let report = store.doctor().check().unwrap();
    let in_use = "run r: being written by process 1, its end was not judged";
    assert_eq!(report.findings.first().unwrap().to_string(), in_use);
    drop(writer);
    let rebuilt = store.doctor().repair().unwrap();
    assert_eq!((rebuilt.done, rebuilt.left), (vec![Repair::IndexRebuilt { runs: 1 }], vec![]));
}

#[test]
fn a_missing_stale_corrupt_or_lying_index_changes_no_list() {
    let disk = with_run(2);
    let store = store_on(&disk);
    let honest = store.list().unwrap();
    let index = Path::new("/store/index");
    let bytes = disk.files()[index].clone();
    for at in (0..bytes.len()).step_by(7) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 4;
        for wrong in [&flipped[..], &bytes[..at]] {
            disk.overwrite(index, wrong);
            assert_eq!(findings(&disk), ["index: it is corrupt"]);
            assert_eq!(store.list().unwrap(), honest);
            assert_eq!(disk.files()[index], bytes, "a list heals the index");
        }
    }
    disk.remove_file(index).unwrap();
    assert_eq!(findings(&disk), [""; 0], "a store that was never listed has none either");
    assert_eq!(store.observer().list().unwrap(), honest);
    assert!(!disk.files().contains_key(index), "looking changes nothing");
    let store = store_on(&disk);
    assert_eq!(store.list().unwrap(), honest);
    // Stale: the journal has grown since.
    let mut writer = store.open(&run()).unwrap().writer;
    writer.append(writer.head(), &lines(2, 4), Durability::Buffered).unwrap();
    drop(writer);
    assert_eq!(findings(&disk), ["index: it does not match the journals"]);
    assert_eq!(store.list().unwrap()[0].head(), Some(head_of(&journal(4))));
    assert_eq!(findings(&disk), [""; 0]);
    // Forged: well formed, of the right time and length, with another head.
    let forged = {
        let mut known = super::index::read(&store.disk, &store.layout).unwrap();
        known.values_mut().for_each(|cached| cached.head = head_of(&journal(3)));
        super::index::encode(&known)
    };
    disk.overwrite(index, &forged);
    assert_eq!(findings(&disk), ["index: it says of journals what they do not say"]);
    store.doctor().repair().unwrap();
    assert_eq!(findings(&disk), [""; 0]);
    // Lying: well formed, and about a run that is gone.
    disk.rename(Path::new("/store/runs/r"), Path::new("/store/runs/s")).unwrap();
    let listed = store.list().unwrap();
    assert_eq!(listed.iter().map(|run| run.run.as_str()).collect::<Vec<_>>(), ["s"]);
}

#[test]
fn a_run_without_a_journal_is_listed_as_damaged_and_hides_no_other() {
    let disk = with_run(1);
    drop(store_on(&disk).create(crate::NewRun { id: "s".parse().unwrap(), ..new_run(1) }).unwrap());
    disk.remove_file(Path::new("/store/runs/r/trace.ndjson")).unwrap();
    let store = store_on(&disk);
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].condition, crate::Condition::Damaged(Damage::NoJournal));
    let damaged = Finding::DamagedRun { run: run(), reason: Damage::NoJournal };
    assert!(store.doctor().check().unwrap().findings.contains(&damaged));
    assert!(store.open(&run()).is_err() && store.journal_bytes(&run()).is_err());
}

#[test]
fn a_run_whose_long_id_was_altered_is_damage() {
    let disk = with_run(1);
    let store = store_on(&disk);
    let id = "x".repeat(300);
    drop(store.create(crate::NewRun { id: id.parse().unwrap(), ..new_run(1) }).unwrap());
    assert_eq!(store.list().unwrap().len(), 2);
    let folder = format!("/store/runs/%%{}", hence_canon::Digest::of(id.as_bytes()));
    disk.overwrite(&Path::new(&folder).join("id"), b"another id");
    assert_eq!(store.list().unwrap().len(), 1);
    let strays = findings(&disk);
    let misnamed = format!("{folder}: it holds a journal, and its name is not that of a run");
    assert!(strays.contains(&misnamed), "{strays:?}");
}

#[test]
fn a_folder_in_place_of_a_file_of_a_run_is_named() {
    for name in ["times.ndjson", "view", "skill.json", "id"] {
        let disk = with_run(1);
        disk.create_folder(&Path::new("/store/runs/r").join(name)).unwrap();
        let found: Vec<String> =
            store_on(&disk).misplaced_in(&run()).unwrap().iter().map(ToString::to_string).collect();
        assert!(
            found.len() == 1 && found[0].contains("expected a file, found a folder"),
            "{name}: {found:?}"
        );
    }
}
