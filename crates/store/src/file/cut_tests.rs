//! Journals cut at every byte.

use std::path::Path;

use super::crash_tests::{run, store_on, with_run, with_run_and};
use super::sim_disk::{MARKS, Marks, SimDisk};
use crate::testing::{head_of, journal, line, lines};
use crate::{Condition, Damage, Durability, Finding, Store, StoreError};

const JOURNAL: &str = "/store/runs/r/trace.ndjson";

/// Appends one record, then a batch, then one record, then a batch.
fn disk_with_batches(marks: Marks) -> SimDisk {
    let disk = with_run_and(marks, 1);
    let mut writer = store_on(&disk).open(&run()).unwrap().writer;
    for end in [2, 5, 6, 9] {
        let head = writer.head();
        writer.append(head, &lines(head.records.get(), end), Durability::Synced).unwrap();
    }
    drop(writer);
    disk
}

/// Returns how many records hold when the journal ends at byte `cut`: those of finished appends.
fn records_kept(cut: usize) -> u64 {
    let whole = (0..=9).rev().find(|records| journal(*records).len() <= cut).unwrap();
    // Only the last batch has a note, and only inside it does a whole record count for nothing.
    if (6..9).contains(&whole) { 6 } else { whole }
}

#[test]
fn a_journal_cut_at_any_byte_opens_at_its_last_finished_append_and_says_so() {
    let whole = journal(9);
    for (cut, marks) in (0..=whole.len()).flat_map(|cut| MARKS.map(|marks| (cut, marks))) {
        let disk = disk_with_batches(marks);
        disk.overwrite(Path::new(JOURNAL), &whole[..cut]);
        let store = store_on(&disk);
        let records = records_kept(cut);
        if records == 0 {
            let refused = store.open(&run()).unwrap_err();
            assert!(matches!(refused, StoreError::Damaged { reason: Damage::Tail(_), .. }), "{refused}");
            assert_eq!(disk.files()[Path::new(JOURNAL)], whole[..cut], "damage is left as it is");
            continue;
        }
        let kept = journal(records);
        let torn = (cut - kept.len()) as u64;
        let listed = store.list().unwrap().remove(0);
        let (head, bytes) = (head_of(&kept), torn);
        let expected = if torn == 0 { Condition::Whole { head } } else { Condition::Torn { head, bytes } };
        assert_eq!(listed.condition, expected, "cut at {cut}");
        let report = store.doctor().check().unwrap().findings;
        let is_unfinished =
            |finding: &Finding| matches!(finding, Finding::UnfinishedAppend { cut, .. } if cut.bytes == torn);
        assert_eq!(report.iter().any(is_unfinished), torn > 0, "cut at {cut}: {report:?}");
        assert_eq!(store.journal_bytes(&run()).unwrap(), whole[..cut], "reading repairs nothing");

        let opened = store.open(&run()).unwrap();
        assert_eq!(opened.writer.head(), head);
        assert_eq!(opened.cut.as_ref().map_or(0, |cut| cut.bytes), torn);
        let whole_records = whole[kept.len()..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(opened.cut.as_ref().map_or(0, |cut| cut.whole_records), whole_records);
        assert_eq!(store.journal_bytes(&run()).unwrap(), kept, "cut at {cut}");
        drop(opened);
        // Records appended now must not be taken for the rest of the lost batch.
        let mut writer = store.open(&run()).unwrap().writer;
        writer.append(head, &line(records), Durability::Synced).unwrap();
        drop(writer);
        let again = store.open(&run()).unwrap();
        assert_eq!((again.cut, again.writer.head()), (None, head_of(&journal(records + 1))), "cut at {cut}");
    }
}

#[test]
fn a_note_of_another_journal_cuts_nothing() {
    // Other records of the same length, which end where the note's batch would be unfinished.
    let hash = hence_canon::Digest::of(b"another record").to_string();
    let other: Vec<u8> = (0..8)
        .flat_map(|index| {
            let line = String::from_utf8(line(index)).unwrap();
            let own = head_of(line.as_bytes()).hash.to_string();
            line.replace(&own, &hash).into_bytes()
        })
        .collect();
    assert_eq!(other.len(), journal(8).len());
    for marks in MARKS {
        let disk = disk_with_batches(marks);
        disk.overwrite(Path::new(JOURNAL), &other);
        let opened = store_on(&disk).open(&run()).unwrap();
        assert_eq!((opened.cut, opened.writer.head()), (None, head_of(&other)));
    }
}

#[test]
fn torn_tails_of_any_length_are_cut() {
    for torn in [1, 100, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 300_000] {
        let disk = with_run(2);
        let bytes = [journal(2), vec![b'x'; torn]].concat();
        disk.overwrite(Path::new(JOURNAL), &bytes);
        let opened = store_on(&disk).open(&run()).unwrap();
        assert_eq!(opened.cut.unwrap().bytes as usize, torn);
        assert_eq!(opened.writer.head(), head_of(&journal(2)));
    }
}
