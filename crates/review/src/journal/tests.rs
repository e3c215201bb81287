use hence_canon::{Object, Value, parse};

use super::*;
use crate::model::{ArtifactId, CommentId, Residual, ResidualId, ReviewItemId, Target, TargetPart};
use crate::validate::validate;
use crate::vocabulary::{ResidualKind, ResidualSeverity, ResidualStatus};

fn trace() -> Value {
    parse(
        br#"{"trace_id": "t", "spec_version": "1.6", "high_stakes_paths": ["pay/"],
            "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"}, "files_modified": ["pay/a.py"],
            "actions": [
                {"id": 1, "category": "activity", "type": "RunTests", "label": "t", "rationale": "r", "outputs": ["c"]},
                {"id": 2, "category": "activity", "type": "EditFile", "label": "e", "rationale": "r",
                 "evidence": [{"type": "FileRef", "ref": "pay/a.py"}], "outputs": ["d"]}],
            "artifacts": [{"artifact_id": "c", "artifact_type": "CommandResult", "producer_action_id": 1},
                {"artifact_id": "d", "artifact_type": "Diff", "producer_action_id": 2}],
            "residuals": [{"residual_id": "r1", "kind": "assumption", "severity": "high", "statement": "s"}]}"#,
    )
    .unwrap()
}

fn whole() -> Target {
    TargetPart::Trace.into()
}

fn note(text: Option<&str>) -> Note {
    Note { note: text.map(Into::into), extra: Object::new() }
}

fn item(id: &str) -> Entry {
    Entry::RaiseItem(RaiseItem {
        review_item_id: ReviewItemId::new(id),
        title: "look".into(),
        body: None,
        target: whole(),
        blocking: true,
        assignee: None,
        extra: Object::new(),
    })
}

fn about_item(id: &str, text: Option<&str>) -> ItemNote {
    ItemNote { review_item_id: ReviewItemId::new(id), note: text.map(Into::into), extra: Object::new() }
}

fn about_gap(id: &str, text: Option<&str>) -> ResidualNote {
    ResidualNote { residual_id: ResidualId::new(id), note: text.map(Into::into), extra: Object::new() }
}

fn recheck(id: &str, outcome: RecheckOutcome) -> Entry {
    Entry::Recheck(Recheck { artifact_id: ArtifactId::new(id), outcome, note: None, extra: Object::new() })
}

fn gap(id: &str, statement: &str) -> Entry {
    Entry::AddResidual(AddResidual {
        residual: Residual {
            residual_id: ResidualId::new(id),
            kind: ResidualKind::Unverified,
            statement: statement.into(),
            severity: Some(ResidualSeverity::Medium),
            target: None,
            related_artifact_ids: Vec::new(),
            rationale: None,
            suggested_check: None,
            source: None,
            status: None,
            introduced_by_action_id: None,
            tags: Vec::new(),
            extra: Object::new(),
        },
        extra: Object::new(),
    })
}

fn say(journal: &mut Journal, entry: Entry) -> Result<(), Refusal> {
    journal.append("ada", "2026-01-01T00:00:00Z", entry).map(|_| ())
}

/// A review that goes through items, gaps and checks to an approval.
fn approved() -> Journal {
    let mut journal = Journal::open(&trace());
    let comment = CommentEntry {
        comment_id: CommentId::new("c1"),
        body: "why not a lock?".into(),
        target: whole(),
        thread_parent_id: None,
        extra: Object::new(),
    };
    for entry in [
        Entry::Comment(comment),
        item("i1"),
        Entry::AcknowledgeItem(about_item("i1", None)),
        Entry::ResolveItem(about_item("i1", Some("done"))),
        Entry::AcknowledgeResidual(about_gap("r1", None)),
        recheck("c", RecheckOutcome::Confirmed),
        gap("r2", "pay/a.py was changed after the tests ran"),
        Entry::Approve(note(None)),
    ] {
        say(&mut journal, entry).unwrap();
    }
    journal
}

#[test]
fn an_approval_names_everything_that_stands_against_it() {
    let mut journal = Journal::open(&trace());
    say(&mut journal, item("i1")).unwrap();
    let Err(Refusal::Obstacles(found)) = say(&mut journal, Entry::Approve(note(None))) else {
        panic!("refused")
    };
    assert_eq!(
        found,
        [
            Obstacle::BlockingItem("i1".to_owned()),
            Obstacle::OpenResidual("r1".to_owned()),
            Obstacle::Unchecked("c".to_owned()),
            Obstacle::UndeclaredGap("pay/a.py".to_owned()),
        ]
    );
    // A refused entry leaves no record.
    assert_eq!(journal.head().length, 1);
    assert_eq!(approved().review().disposition(), Some(Disposition::Approved));
}

#[test]
fn a_claim_that_did_not_hold_stands_against_an_approval() {
    let mut journal = Journal::open(&trace());
    say(&mut journal, recheck("c", RecheckOutcome::Diverged)).unwrap();
    assert!(obstacles(journal.review()).contains(&Obstacle::Diverged("c".to_owned())));
    assert_eq!(say(&mut journal, recheck("c", RecheckOutcome::Accepted)), Err(Refusal::NoteMissing));
}

#[test]
fn what_cannot_be_said_is_refused() {
    let mut journal = Journal::open(&trace());
    let unknown = |kind, id: &str| Refusal::Unknown { kind, id: id.to_owned() };
    assert_eq!(say(&mut journal, Entry::ResolveItem(about_item("x", None))), Err(unknown("item", "x")));
    assert_eq!(say(&mut journal, recheck("x", RecheckOutcome::Confirmed)), Err(unknown("artifact", "x")));
    assert_eq!(
        say(&mut journal, Entry::WaiveResidual(about_gap("r1", Some(" ")))),
        Err(Refusal::NoteMissing)
    );
    assert_eq!(say(&mut journal, Entry::Rescind(note(Some("no")))), Err(Refusal::NothingToRescind));
    assert_eq!(journal.append(" ", "now", item("i")).map(|_| ()), Err(Refusal::NoAuthor));
    say(&mut journal, item("i")).unwrap();
    say(&mut journal, Entry::WaiveItem(about_item("i", Some("not now")))).unwrap();
    let closed = Refusal::Closed { kind: "item", id: "i".to_owned() };
    assert_eq!(say(&mut journal, Entry::AcknowledgeItem(about_item("i", None))), Err(closed));
    let mut done = approved();
    assert_eq!(say(&mut done, item("late")), Err(Refusal::Approved));
    say(&mut done, Entry::Rescind(note(Some("found something")))).unwrap();
    say(&mut done, item("late")).unwrap();
}

#[test]
fn a_journal_verifies_and_is_the_same_after_reading() {
    let journal = approved();
    let read = verify(&journal.bytes(), &trace()).unwrap();
    assert_eq!(read.records(), journal.records());
    assert_eq!(read.head(), journal.head());
}

#[test]
fn every_changed_byte_is_found() {
    let bytes = approved().bytes();
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        assert!(verify(&damaged, &trace()).is_err(), "byte {place}");
    }
}

#[test]
fn an_altered_comment_is_named_with_both_hashes() {
    let text = String::from_utf8(approved().bytes()).unwrap().replace("why not a lock?", "looks fine.....");
    let damage = verify(text.as_bytes(), &trace()).unwrap_err();
    assert!(matches!(damage, Damage { line: 1, kind: DamageKind::Hash { .. } }), "{damage}");
}

#[test]
fn a_missing_record_a_torn_line_and_another_trace_are_found() {
    let bytes = approved().bytes();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let without_second: String = text
        .lines()
        .enumerate()
        .filter(|(index, _)| *index != 1)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    assert_eq!(
        verify(without_second.as_bytes(), &trace()).unwrap_err(),
        Damage { line: 2, kind: DamageKind::Chain }
    );
    assert_eq!(verify(&bytes[..bytes.len() - 1], &trace()).unwrap_err().kind, DamageKind::Torn);
    let other = parse(br#"{"trace_id": "u"}"#).unwrap();
    assert!(matches!(verify(&bytes, &other).unwrap_err().kind, DamageKind::Trace { .. }));
}

#[test]
fn a_forged_approval_with_right_hashes_is_still_refused() {
    let journal = Journal::open(&trace());
    let record = Record {
        index: 0,
        prev_hash: None,
        trace: journal.trace(),
        author: "mallory".into(),
        at: "2026-01-01T00:00:00Z".into(),
        entry: Entry::Approve(note(None)),
    };
    let mut bytes = hence_canon::canonical_bytes(&record.value());
    bytes.push(b'\n');
    let damage = verify(&bytes, &trace()).unwrap_err();
    assert!(matches!(damage.kind, DamageKind::Refused(Refusal::Obstacles(_))), "{damage}");
}

#[test]
fn the_merged_document_is_a_valid_trace_with_the_review_in_it() {
    let merged = merged_document(&trace(), &approved());
    assert!(validate(&merged).is_valid(), "{:?}", validate(&merged).findings());
    let at = |pointer: &str| merged.pointer(&pointer.parse().unwrap()).cloned().unwrap_or_default();
    assert_eq!(at("/residuals/0/status"), ResidualStatus::Acknowledged.into());
    assert_eq!(at("/residuals/1/source"), "reviewer_added".into());
    assert_eq!(at("/review_items/0/status"), "resolved".into());
    assert_eq!(at("/review_items/0/resolved_by"), "ada".into());
    assert_eq!(at("/review/disposition"), "approved".into());
}
