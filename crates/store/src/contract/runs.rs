//! Creating, reading, listing and finding runs.

use std::io::Read;

use hence_canon::Digest;
use hence_journal::RecordIndex;

use super::{Place, assert_journal, create, head_after, name, new_run, run_id};
use crate::testing::{journal, labelled_line, line, lines};
use crate::{
    AttachmentName, CANDIDATES_MAX, Condition, Durability, InvalidLines, NewRun, RUN_ID_BYTES_MAX, RunId,
    StoreError,
};

pub(super) fn a_created_run_reads_back(place: &dyn Place) {
    let store = place.open();
    let attachments = vec![
        (name("problem.json"), b"{}".to_vec()),
        (name("empty"), Vec::new()),
        (name("bytes"), (0..=255).collect()),
    ];
    let new = NewRun { id: run_id("r"), attachments: attachments.clone(), lines: journal(3) };
    let writer = store.create(new).expect("a new run is created");
    assert_eq!((writer.run(), writer.head()), (&run_id("r"), head_after(3)));
    for store in [&store, &place.open()] {
        assert_journal(&**store, "r", &journal(3));
        let mut names: Vec<AttachmentName> = attachments.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        assert_eq!(store.attachments(&run_id("r")).expect("attachments are listed"), names);
        for (name, bytes) in &attachments {
            assert_eq!(&store.attachment(&run_id("r"), name).expect("an attachment reads back"), bytes);
        }
    }
}

pub(super) fn runs_that_are_created_together_are_there_with_their_blobs(place: &dyn Place) {
    let store = place.open();
    store.create_all(Vec::new(), &[]).expect("nothing is created");
    drop(create(&*store, "there", 2));
    let ids = ["a/1", "a", "there"];
    let runs = || ids.iter().map(|id| new_run(id, 2)).collect::<Vec<_>>();
    let blobs = [b"first".to_vec(), Vec::new(), b"first".to_vec()];
    // Twice, as after a crash: what is there already counts as created.
    for _ in 0..2 {
        store.create_all(runs(), &blobs).expect("the runs are created");
        for id in ids {
            assert_journal(&*place.open(), id, &journal(2));
            assert!(store.was_made_here(&run_id(id)).expect("the run is there"));
            // Nobody holds their leases.
            drop(store.open(&run_id(id)).expect("the run can be written"));
        }
        for blob in &blobs {
            assert_eq!(&store.blob(&Digest::of(blob)).expect("the blob is there"), blob);
        }
    }
    // A run that began otherwise is refused, and stays as it was.
    let other = NewRun { lines: [labelled_line(0, "other"), line(1)].concat(), ..new_run("a", 2) };
    let refused = store.create_all(vec![other], &[]);
    assert!(matches!(refused, Err(StoreError::RunConflict { .. })), "{refused:?}");
    assert_journal(&*store, "a", &journal(2));
}

pub(super) fn creating_a_run_twice_says_whether_it_is_the_same(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    writer.append(head_after(1), &line(1), Durability::Synced).expect("an append");
    let refused = |new: NewRun| store.create(new).expect_err("a run is created once");
    let same = refused(new_run("r", 1));
    assert!(matches!(&same, StoreError::AlreadyCreated { head, .. } if *head == head_after(2)), "{same}");

    let other_journal = refused(NewRun { lines: labelled_line(0, "other"), ..new_run("r", 1) });
    assert!(matches!(&other_journal, StoreError::RunConflict { differs, .. } if differs == "journal"));
    let mut other = new_run("r", 1);
    other.attachments = vec![(name("problem.json"), b"other".to_vec())];
    let differs = refused(other).to_string();
    assert_eq!(differs, "run r exists already with different content: attachment problem.json differs");
    assert_journal(&*store, "r", &journal(2));
    let problem = store.attachment(&run_id("r"), &name("problem.json")).expect("still there");
    assert_eq!(problem, br#"{"id":"p"}"#);
}

pub(super) fn a_refused_run_leaves_nothing(place: &dyn Place) {
    let store = place.open();
    for lines in [Vec::new(), b"\n".to_vec(), b"{}\n".to_vec(), line(1), b"{\"index\":0".to_vec()] {
        let refused = store.create(NewRun { lines, ..new_run("r", 1) }).expect_err("no journal begins so");
        assert!(matches!(refused, StoreError::InvalidLines { .. }), "{refused}");
    }
    let mut twice = new_run("r", 1);
    twice.attachments.push((name("problem.json"), Vec::new()));
    let refused = store.create(twice).expect_err("an attachment is given once");
    assert!(matches!(refused, StoreError::DuplicateAttachment { .. }), "{refused}");
    assert!(store.list().expect("runs are listed").is_empty());
    let missing = store.journal_bytes(&run_id("r")).expect_err("no run was made");
    assert!(matches!(missing, StoreError::NoSuchRun { .. }), "{missing}");
    // The reason reaches the reader.
    let refused = store.create(NewRun { lines: Vec::new(), ..new_run("r", 1) }).expect_err("no lines");
    assert!(matches!(refused, StoreError::InvalidLines { reason: InvalidLines::Empty, .. }));
}

pub(super) fn of_many_that_create_one_run_exactly_one_does(place: &dyn Place) {
    let stores: Vec<_> = (0..8).map(|_| place.open()).collect();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            stores.iter().map(|store| scope.spawn(|| store.create(new_run("r", 2)).map(|_| ()))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(error, StoreError::AlreadyCreated { .. }), "{error}");
    }
    assert_journal(&*place.open(), "r", &journal(2));
}

pub(super) fn ids_of_every_kind_name_different_runs(place: &dyn Place) {
    let store = place.open();
    let long = "x".repeat(RUN_ID_BYTES_MAX);
    let emoji = "🦀".repeat(300);
    let ids = [
        "a",
        "A",
        "a.",
        ".a",
        ".",
        "..",
        "../a",
        "/",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a\nb",
        "a\0b",
        " ",
        "a ",
        "é",
        "e\u{301}",
        "🦀",
        "%",
        "%61",
        "%%",
        "~",
        "con",
        "tmp",
        "lock",
        "CON",
        "\u{202e}x",
        &long,
        &long[1..],
        &emoji,
    ];
    for (at, id) in ids.iter().enumerate() {
        let lines = labelled_line(0, &format!("run {at}"));
        store.create(NewRun { lines, ..new_run(id, 1) }).expect("any text names a run");
    }
    for (at, id) in ids.iter().enumerate() {
        assert_journal(&*place.open(), id, &labelled_line(0, &format!("run {at}")));
        assert_eq!(store.find(id).expect("a whole id finds its run"), run_id(id));
        drop(store.open(&run_id(id)).expect("a run of any name opens"));
    }
    let mut expected: Vec<RunId> = ids.iter().map(|id| run_id(id)).collect();
    expected.sort();
    let listed: Vec<RunId> = store.list().expect("runs are listed").into_iter().map(|run| run.run).collect();
    assert_eq!(listed, expected);
}

pub(super) fn a_missing_run_is_named_by_every_operation(place: &dyn Place) {
    let store = place.open();
    create(&*store, "other", 1);
    let run = run_id("missing");
    let errors = [
        store.open(&run).map(|_| ()),
        store.lease(&run).map(|_| ()),
        store.summary(&run).map(|_| ()),
        store.read_journal(&run, RecordIndex::HEADER).map(|_| ()),
        store.read_journal_at(&run, 0).map(|_| ()),
        store.attachment(&run, &name("problem.json")).map(|_| ()),
        store.attachments(&run).map(|_| ()),
    ];
    for error in errors {
        assert_eq!(error.expect_err("there is no such run").to_string(), "no run missing");
    }
}

pub(super) fn a_journal_reads_from_every_record(place: &dyn Place) {
    let store = place.open();
    drop(create(&*store, "r", 7));
    for from in 0..9 {
        let mut found = Vec::new();
        let mut reader = store.read_journal(&run_id("r"), RecordIndex::new(from)).expect("a reader");
        reader.read_to_end(&mut found).expect("readable");
        assert_eq!(found, lines(from.min(7), 7));
    }
    let whole = lines(0, 7);
    for offset in [0, 1, whole.len() / 2, whole.len(), whole.len() + 1] {
        let mut found = Vec::new();
        let mut reader =
            store.read_journal_at(&run_id("r"), u64::try_from(offset).expect("small")).expect("a reader");
        reader.read_to_end(&mut found).expect("readable");
        assert_eq!(found, whole.get(offset..).unwrap_or_default());
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

pub(super) fn a_run_that_came_from_elsewhere_is_told_apart(place: &dyn Place) {
    let store = place.open();
    drop(create(&*store, "made", 2));
    drop(store.create_foreign(new_run("foreign", 2)).expect("a foreign run is created"));
    assert!(store.was_made_here(&run_id("made")).expect("the run exists"));
    assert!(!store.was_made_here(&run_id("foreign")).expect("the run exists"));
    assert!(matches!(store.was_made_here(&run_id("none")), Err(StoreError::NoSuchRun { .. })));
    assert!(store.has_run(&run_id("made")).expect("a look at a run"));
    assert!(!store.has_run(&run_id("none")).expect("a look at no run"));
}

pub(super) fn parts_of_an_attachment_are_read_with_its_size(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "run", 1);
    writer.attach(&name("note"), b"0123456789", Durability::Synced).expect("an attachment is stored");
    let read =
        |start, end| store.attachment_range(&run_id("run"), &name("note"), start, end).expect("a part");
    assert_eq!(read(0, 0), (Vec::new(), 10));
    assert_eq!(read(2, 5), (b"234".to_vec(), 10));
    assert_eq!(read(8, 99), (b"89".to_vec(), 10));
    assert_eq!(read(99, u64::MAX), (Vec::new(), 10));
    let missing = store.attachment_range(&run_id("run"), &name("none"), 0, 1);
    assert!(matches!(missing, Err(StoreError::NoSuchAttachment { .. })));
}

pub(super) fn a_removed_run_leaves_its_tombstone(place: &dyn Place) {
    let store = place.open();
    drop(create(&*store, "old", 2));
    drop(create(&*store, "other", 2));
    assert_eq!(store.tombstone(&run_id("old")).expect("a look for a tombstone"), None);
    store.remove_run(&run_id("old"), b"it was").expect("the run is removed");
    assert!(matches!(store.journal_bytes(&run_id("old")), Err(StoreError::NoSuchRun { .. })));
    assert!(matches!(store.remove_run(&run_id("old"), b"again"), Err(StoreError::NoSuchRun { .. })));
    let again = place.open();
    assert_eq!(again.tombstone(&run_id("old")).expect("the tombstone is read"), Some(b"it was".to_vec()));
    assert_eq!(again.tombstones().expect("tombstones are listed"), [run_id("old")]);
    store.keep_tombstone(&run_id("older"), b"elsewhere").expect("a tombstone is stored");
    store.keep_tombstone(&run_id("older"), b"another").expect("a tombstone that is there stays");
    assert_eq!(
        again.tombstone(&run_id("older")).expect("the tombstone is read"),
        Some(b"elsewhere".to_vec())
    );
    let listed: Vec<RunId> = again.list().expect("runs are listed").into_iter().map(|run| run.run).collect();
    assert_eq!(listed, [run_id("other")]);
    // An id names one run, also after its removal. What is imported under it was made elsewhere.
    let refused = store.create(new_run("old", 3)).err();
    assert!(matches!(refused, Some(StoreError::RunRemoved { .. })), "{refused:?}");
    let refused = store.create_all(vec![new_run("old", 3)], &[]);
    assert!(matches!(refused, Err(StoreError::RunRemoved { .. })), "{refused:?}");
    assert!(!again.has_run(&run_id("old")).expect("a look for a run"));
    drop(store.create_foreign(new_run("old", 3)).expect("an imported run is created"));
    assert_journal(&*again, "old", &journal(3));
}

pub(super) fn a_run_in_use_is_not_removed(place: &dyn Place) {
    let store = place.open();
    let writer = create(&*store, "busy", 2);
    assert!(matches!(store.remove_run(&run_id("busy"), b"it was"), Err(StoreError::Leased { .. })));
    assert_eq!(store.tombstone(&run_id("busy")).expect("a look for a tombstone"), None);
    assert_journal(&*store, "busy", &journal(2));
    drop(writer);
}

pub(super) fn a_section_is_a_store_of_its_own(place: &dyn Place) {
    let store = place.open();
    drop(create(&*store, "run", 2));
    assert!(store.section("reviews").expect("a look for a section").is_none());
    let section = store.section_or_new("reviews").expect("a section is created");
    drop(create(&*section, "run", 3));
    assert_journal(&*store, "run", &journal(2));
    assert_journal(&*section, "run", &journal(3));
    assert_eq!(store.list().expect("runs are listed").len(), 1);
    let again = place.open().section("reviews").expect("the section is opened").expect("the section exists");
    assert_journal(&*again, "run", &journal(3));
    assert!(place.open().section("scopes").expect("a look for a section").is_none());
}

pub(super) fn a_stamp_changes_when_what_it_is_of_changes(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "run", 1);
    let stamps = || store.stamps(&run_id("run"), &["problem.json", "note"]);
    let first = stamps();
    assert_eq!(first, stamps(), "nothing changed");
    assert!(first.journal.is_some() && matches!(*first.attachments, [Some(_), None]), "{first:?}");
    writer.append(writer.head(), &lines(1, 2), Durability::Synced).expect("a record is appended");
    let second = stamps();
    assert_ne!(first.journal, second.journal);
    assert_eq!(first.attachments, second.attachments);
    writer.attach(&name("note"), b"one", Durability::Synced).expect("an attachment is stored");
    let third = stamps();
    assert_eq!(second.journal, third.journal);
    writer.attach(&name("note"), b"two, longer", Durability::Synced).expect("an attachment is replaced");
    let fourth = stamps();
    assert_eq!(third.attachments.first(), fourth.attachments.first());
    assert_ne!(third.attachments.last(), fourth.attachments.last());
}
