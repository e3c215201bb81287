//! Reviews from opening to approval, and what is found when somebody alters one.

use hence_canon::{Object, Value, parse};

use super::*;
use crate::ContentHash;
use crate::model::{
    CheckEvent, CheckOutcome, CommentEvent, CommentId, DecisionEvent, ItemEvent, ReviewEvent, ReviewItemId,
    SubjectEvent, SubjectType, TargetPart,
};
use crate::validate::validate;

pub(super) fn trace() -> Value {
    parse(
        br#"{"trace_id": "t", "spec_version": "1.6", "assistant": "a", "model": "m", "timestamp": "2026-01-01T00:00:00Z",
            "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"},
            "high_stakes_paths": ["ledger"], "files_modified": ["src/ledger.rs", "src/note.rs"],
            "actions": [
              {"id": 1, "category": "activity", "type": "EditFile", "label": "edit", "rationale": "because", "outputs": ["d1"],
               "evidence": [{"type": "FileRef", "ref": "src/ledger.rs"}]},
              {"id": 2, "category": "activity", "type": "EditFile", "label": "edit", "rationale": "because", "outputs": ["d2"],
               "evidence": [{"type": "FileRef", "ref": "src/note.rs"}]},
              {"id": 3, "category": "activity", "type": "RunTests", "label": "test", "rationale": "because", "inputs": ["d2"],
               "outputs": ["r"], "result_summary": "3 passed"}],
            "artifacts": [
              {"artifact_id": "d1", "artifact_type": "Diff", "producer_action_id": 1},
              {"artifact_id": "d2", "artifact_type": "Diff", "producer_action_id": 2},
              {"artifact_id": "r", "artifact_type": "CommandResult", "producer_action_id": 3, "derived_from": ["d2"]}],
            "residuals": [{"residual_id": "g", "kind": "limitation", "severity": "high", "statement": "bounded <b>\u001b[31m",
              "status": "open", "source": "agent_declared"}]}"#,
    )
    .unwrap()
}

pub(super) fn stamp() -> Stamp {
    Stamp { author: "ada".into(), at: "2026-01-02T00:00:00Z".into(), time_source: TimeSource::Given }
}

pub(super) fn header(trace: &Value) -> ReviewHeader {
    ReviewHeader {
        review_id: "t".into(),
        trace_id: "t".into(),
        content_hash: ContentHash::of(trace),
        stamp: stamp(),
    }
}

pub(super) fn comment(id: &str, body: &str) -> ReviewEvent {
    ReviewEvent::Comment(CommentEvent {
        comment_id: CommentId::new(id),
        target: TargetPart::Trace.into(),
        body: body.into(),
        thread_parent_id: None,
        extra: Object::new(),
    })
}

pub(super) fn item(id: &str) -> ReviewEvent {
    ReviewEvent::Item(ItemEvent {
        review_item_id: ReviewItemId::new(id),
        target: TargetPart::Trace.into(),
        title: "explain the rounding".into(),
        body: None,
        assignee: None,
        blocking: true,
        extra: Object::new(),
    })
}

pub(super) fn about(subject_type: SubjectType, id: &str) -> SubjectEvent {
    SubjectEvent { subject_type, subject_id: id.into(), note: Some("seen".into()), extra: Object::new() }
}

pub(super) fn confirmed(id: &str) -> ReviewEvent {
    ReviewEvent::Check(CheckEvent {
        artifact_id: crate::model::ArtifactId::new(id),
        outcome: CheckOutcome::Confirmed,
        note: None,
        extra: Object::new(),
    })
}

pub(super) fn approve() -> ReviewEvent {
    ReviewEvent::Approve(DecisionEvent { note: None, extra: Object::new() })
}

/// Writes a journal of these events without asking whether they are allowed.
pub(super) fn journal(trace: &Value, events: &[ReviewEvent]) -> Vec<u8> {
    let sealed = seal_header(&header(trace));
    let (mut bytes, mut head) = (sealed.line, sealed.head);
    for event in events {
        let sealed = seal_entry(&ReviewEntry { stamp: stamp(), event: event.clone() }, head);
        bytes.extend(sealed.line);
        head = sealed.head;
    }
    bytes
}

fn whole_review() -> Vec<ReviewEvent> {
    vec![
        comment("c1", "why this way?"),
        item("i2"),
        ReviewEvent::Waive(about(SubjectType::Residual, "g")),
        ReviewEvent::Acknowledge(about(SubjectType::Residual, "undeclared-src/ledger.rs")),
        confirmed("r"),
        ReviewEvent::Resolve(about(SubjectType::Item, "i2")),
        approve(),
    ]
}

#[test]
fn a_review_goes_from_obstacles_to_approval() {
    let trace = trace();
    let mut review = Review::new(header(&trace), &trace);
    let subjects = |review: &Review| -> Vec<String> {
        review.judgement().obstacles.iter().map(|found| found.subject.clone()).collect()
    };
    assert_eq!(subjects(&review), ["g", "undeclared-src/ledger.rs", "r"]);
    for event in whole_review() {
        if let ReviewEvent::Approve(_) = event {
            assert_eq!(review.judgement().disposition, Disposition::Approve);
        } else {
            let early = ReviewEntry { stamp: stamp(), event: approve() };
            assert!(matches!(review.admit(early), Err(Refusal::NotApprovable { .. })));
        }
        review.admit(ReviewEntry { stamp: stamp(), event }).unwrap();
    }
    assert!(review.stage() == Stage::Approved);
    let late = ReviewEntry { stamp: stamp(), event: item("i9") };
    assert_eq!(review.admit(late), Err(Refusal::AlreadyApproved));
}

#[test]
fn an_open_question_is_for_a_person() {
    let text = trace().to_string().replace("\"limitation\"", "\"open_question\"");
    let trace = parse(text.as_bytes()).unwrap();
    assert_eq!(Review::new(header(&trace), &trace).judgement().disposition, Disposition::EscalateToHuman);
}

#[test]
fn a_whole_journal_holds_and_any_altered_byte_is_found() {
    let trace = trace();
    let bytes = journal(&trace, &whole_review());
    let read = read_review(&bytes, &trace);
    assert_eq!((read.broken, read.lines), (None, 8));
    for place in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[place] ^= 1;
        let read = read_review(&altered, &trace);
        // The last line feed is the exception: without it the line was never finished, and is left out.
        assert!(read.broken.is_some() || place == bytes.len() - 1, "byte {place}");
    }
}

#[test]
fn an_altered_comment_is_detected_and_the_records_before_it_are_valid() {
    let trace = trace();
    let bytes = journal(&trace, &whole_review());
    let altered = String::from_utf8(bytes).unwrap().replace("why this way?", "looks good to me");
    let read = read_review(altered.as_bytes(), &trace);
    assert!(matches!(read.broken, Some(Broken::Line { line: 1, reason: InvalidLine::Altered { .. } })));
    assert_eq!(read.head.unwrap().records, 1);
}

#[test]
fn removed_and_reordered_records_are_detected() {
    let trace = trace();
    let bytes = journal(&trace, &whole_review());
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let without: Vec<u8> = [&lines[..2], &lines[3..]].concat().concat();
    assert!(matches!(read_review(&without, &trace).broken, Some(Broken::Line { line: 2, .. })));
    let swapped: Vec<u8> = [&lines[..1], &[lines[2], lines[1]], &lines[3..]].concat().concat();
    assert!(matches!(read_review(&swapped, &trace).broken, Some(Broken::Line { line: 1, .. })));
}

#[test]
fn an_approval_that_was_not_allowed_does_not_hold() {
    let trace = trace();
    let read = read_review(&journal(&trace, &[approve()]), &trace);
    assert!(matches!(
        read.broken,
        Some(Broken::NotAllowed { line: 1, reason: Refusal::NotApprovable { .. } })
    ));
}

#[test]
fn a_review_is_bound_to_the_content_of_its_trace() {
    let trace = trace();
    let bytes = journal(&trace, &[]);
    let other = parse(trace.to_string().replace("3 passed", "4 passed").as_bytes()).unwrap();
    assert!(matches!(read_review(&bytes, &other).broken, Some(Broken::OtherTrace { .. })));
}

#[test]
fn an_unfinished_append_is_left_out() {
    let trace = trace();
    let mut bytes = journal(&trace, &[comment("c1", "x")]);
    bytes.extend(b"{\"at\":\"20");
    let read = read_review(&bytes, &trace);
    assert_eq!((read.broken, read.lines), (None, 2));
}

#[test]
fn rules_of_single_entries() {
    let trace = trace();
    let refused = |events: &[ReviewEvent]| match read_review(&journal(&trace, events), &trace).broken {
        Some(Broken::NotAllowed { reason, .. }) => reason,
        other => panic!("expected a refusal, found {other:?}"),
    };
    assert_eq!(refused(&[comment("c1", "x"), comment("c1", "y")]), Refusal::Taken("c1".to_owned()));
    assert_eq!(refused(&[comment("c1", " ")]), Refusal::Silent { what: "a comment" });
    assert!(matches!(
        refused(&[ReviewEvent::Resolve(about(SubjectType::Residual, "g"))]),
        Refusal::GapNotResolved { .. }
    ));
    assert_eq!(
        refused(&[ReviewEvent::Resolve(about(SubjectType::Item, "none"))]),
        Refusal::Unknown("none".to_owned())
    );
    let twice = [
        item("i"),
        ReviewEvent::Waive(about(SubjectType::Item, "i")),
        ReviewEvent::Resolve(about(SubjectType::Item, "i")),
    ];
    assert!(matches!(refused(&twice), Refusal::Settled { .. }));
    assert!(matches!(refused(&[confirmed("nothing")]), Refusal::NoTarget(_)));
}

#[test]
fn the_merged_view_is_a_valid_trace() {
    let trace = trace();
    let read = read_review(&journal(&trace, &whole_review()), &trace);
    let merged = merged(&read.review.unwrap(), read.head.unwrap());
    let errors: Vec<String> = validate(&merged).errors().map(ToString::to_string).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(
        merged.get("residuals").unwrap().at(0).unwrap().get("status").unwrap().as_str(),
        Some("waived")
    );
    assert_eq!(merged.get("comments").unwrap().as_array().unwrap().len(), 1);
}

#[test]
fn the_packet_shows_hostile_text_as_text() {
    let trace = trace();
    let review = Review::new(header(&trace), &trace);
    let text = handoff_markdown(&review, &[]);
    assert!(text.contains("bounded &lt;b&gt;") && !text.contains('\u{1b}'), "{text}");
    let packet = handoff(&review, &[]);
    assert_eq!(packet.get("undeclared").unwrap().as_array().unwrap().len(), 1);
    assert_eq!(packet.get("verdict").unwrap().get("disposition").unwrap().as_str(), Some("request-changes"));
}

#[test]
fn the_hash_of_a_record_follows_the_format_page() {
    let header = ReviewHeader {
        review_id: "r".into(),
        trace_id: "t".into(),
        content_hash: ContentHash::of(&Value::Null),
        stamp: stamp(),
    };
    let sealed = seal_header(&header);
    let line = String::from_utf8(sealed.line).unwrap();
    let hash = sealed.head.hash.to_string();
    let plain = line.trim_end().replace(&format!("\"record_hash\":\"{hash}\","), "");
    let input = [b"hence/review-docket/v1\0".as_slice(), plain.as_bytes()].concat();
    assert_eq!(hash, hence_canon::Digest::of(&input).to_string());
}
