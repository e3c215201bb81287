//! Making runs.

use super::{Place, assert_journal, create, head_after, name, new_run, run_id};
use crate::testing::{journal, labelled_line, line};
use crate::{AttachmentName, Durability, InvalidLines, NewRun, RUN_ID_BYTES_MAX, RunId, StoreError};
use hence_journal::RecordIndex;

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
        store.attachment(&run, &name("problem.json")).map(|_| ()),
        store.attachments(&run).map(|_| ()),
    ];
    for error in errors {
        assert_eq!(error.expect_err("there is no such run").to_string(), "no run missing");
    }
}
