//! Reading journals and attachments.

use std::io::Read;

use hence_journal::RecordIndex;

use super::{Place, create, head_after, name, run_id};
use crate::testing::{journal, labelled_line, line, lines};
use crate::{Durability, NewRun, StoreError};

pub(super) fn a_journal_reads_from_every_record(place: &dyn Place) {
    let store = place.open();
    drop(create(&*store, "r", 7));
    for from in 0..9 {
        let mut found = Vec::new();
        let mut reader = store.read_journal(&run_id("r"), RecordIndex::new(from)).expect("a reader");
        reader.read_to_end(&mut found).expect("readable");
        assert_eq!(found, lines(from.min(7), 7));
    }
    // Lines longer than any buffer.
    let long = [labelled_line(0, &"x".repeat(200_000)), labelled_line(1, &"y".repeat(200_000)), line(2)];
    let new = NewRun { id: run_id("long"), attachments: Vec::new(), lines: long.concat() };
    drop(store.create(new).expect("a run with long records"));
    for from in 0..3_usize {
        let index = RecordIndex::new(u64::try_from(from).expect("small"));
        let mut found = Vec::new();
        let mut reader = store.read_journal(&run_id("long"), index).expect("a reader");
        reader.read_to_end(&mut found).expect("readable");
        assert!(found == long.iter().skip(from).flatten().copied().collect::<Vec<u8>>(), "from {from}");
    }
}

pub(super) fn reading_does_not_need_the_lease(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let other = place.open();
    for records in 1..5 {
        writer.append(head_after(records), &line(records), Durability::Buffered).expect("an append");
        assert_eq!(other.journal_bytes(&run_id("r")).expect("readable"), journal(records + 1));
        assert!(other.attachment(&run_id("r"), &name("problem.json")).is_ok());
    }
}

pub(super) fn attachments_are_replaced_and_removed_whole(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let intent = name("intent.json");
    let missing = store.attachment(&run_id("r"), &intent).expect_err("nothing there yet");
    assert!(matches!(missing, StoreError::NoSuchAttachment { .. }), "{missing}");
    for (bytes, durability) in
        [(b"a longer one".as_slice(), Durability::Synced), (b"b", Durability::Buffered)]
    {
        writer.attach(&intent, bytes, durability).expect("an attachment is stored");
        assert_eq!(store.attachment(&run_id("r"), &intent).expect("it reads back"), bytes);
    }
    assert_eq!(store.attachments(&run_id("r")).expect("listed"), [intent.clone(), name("problem.json")]);
    writer.detach(&intent).expect("an attachment is removed");
    writer.detach(&intent).expect("removing nothing is no error");
    assert_eq!(store.attachments(&run_id("r")).expect("listed"), [name("problem.json")]);
    writer.append(head_after(1), &line(1), Durability::Synced).expect("attachments do not move the head");
}
