//! Compare-and-append.

use super::{Place, assert_journal, create, head_after, run_id};
use crate::testing::{head_of, journal, labelled_line, line, lines};
use crate::{AppendError, Durability, InvalidLines};

pub(super) fn an_append_moves_the_head(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    for index in 1..20 {
        let expected = writer.head();
        let head = writer.append(expected, &line(index), Durability::Buffered).expect("an append");
        assert_eq!((head, writer.head()), (head_after(index + 1), head_after(index + 1)));
    }
    writer.sync().expect("a sync");
    assert_journal(&*store, "r", &journal(20));
}

pub(super) fn an_append_on_another_head_changes_nothing(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 2);
    for expected in [head_after(1), head_after(3), head_of(&labelled_line(1, "other"))] {
        let error = writer.append(expected, &line(2), Durability::Synced).expect_err("another head");
        let found = head_after(2);
        assert!(
            matches!(&error, AppendError::HeadMoved { expected: e, found: f } if *e == expected && *f == found),
            "{error}",
        );
    }
    assert_journal(&*store, "r", &journal(2));
    writer.append(head_after(2), &line(2), Durability::Synced).expect("a refusal does not poison");
    assert_journal(&*store, "r", &journal(3));
}

pub(super) fn a_batch_is_taken_or_refused_whole(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 1);
    let head = writer.append(head_after(1), &lines(1, 65), Durability::Synced).expect("a batch");
    assert_eq!(head, head_after(65));
    let torn = [lines(65, 70), b"{\"index\":70".to_vec()].concat();
    let refused = writer.append(head, &torn, Durability::Synced).expect_err("an unfinished line");
    assert!(matches!(refused, AppendError::InvalidLines(InvalidLines::Unterminated)), "{refused}");
    assert_journal(&*store, "r", &journal(65));
    writer.append(head, &lines(65, 70), Durability::Buffered).expect("a buffered batch");
    writer.append(head_after(70), &line(70), Durability::Synced).expect("one record behind a batch");
    assert_journal(&*store, "r", &journal(71));
}

pub(super) fn lines_that_do_not_continue_the_journal_are_refused(place: &dyn Place) {
    let store = place.open();
    let mut writer = create(&*store, "r", 2);
    let bad = [Vec::new(), b"\n".to_vec(), b"not json\n".to_vec(), line(1), line(3), lines(2, 3).repeat(2)];
    for lines in bad {
        let refused =
            writer.append(head_after(2), &lines, Durability::Synced).expect_err("not a continuation");
        assert!(matches!(refused, AppendError::InvalidLines(_)), "{refused}");
        assert_eq!(writer.head(), head_after(2));
    }
    assert_journal(&*store, "r", &journal(2));
}

pub(super) fn both_durabilities_store_the_same_bytes(place: &dyn Place) {
    let store = place.open();
    for (id, durability) in [("buffered", Durability::Buffered), ("synced", Durability::Synced)] {
        let mut writer = create(&*store, id, 1);
        writer.append(head_after(1), &line(1), durability).expect("an append");
        writer.append(head_after(2), &lines(2, 9), durability).expect("a batch");
        assert_journal(&*store, id, &journal(9));
    }
}

pub(super) fn what_was_appended_is_seen_when_opened_again(place: &dyn Place) {
    let mut writer = create(&*place.open(), "r", 1);
    writer.append(head_after(1), &lines(1, 4), Durability::Buffered).expect("a batch");
    drop(writer);
    let store = place.open();
    let mut opened = store.open(&run_id("r")).expect("the lease is free");
    assert_eq!((opened.writer.head(), opened.cut), (head_after(4), None));
    opened.writer.append(head_after(4), &line(4), Durability::Synced).expect("an append");
    assert_journal(&*store, "r", &journal(5));
}
