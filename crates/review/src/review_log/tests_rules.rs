//! Decisions and their taking back, claims accepted unchecked, what the trace itself came with, and urgency.

use hence_canon::{Object, Value, parse};

use super::tests::{about, approve, comment, confirmed, header, item, journal, stamp, trace};
use super::*;
use crate::model::{
    ActionId, ArtifactId, CheckEvent, CheckOutcome, DecisionEvent, GapEvent, ResidualId, ReviewEvent,
    SubjectType, TargetPart,
};
use crate::validate::validate;
use crate::vocabulary::{ResidualKind, ResidualSeverity, ResidualStatus};
use crate::wire::Trace;

fn said(note: Option<&str>) -> DecisionEvent {
    DecisionEvent { note: note.map(Into::into), extra: Object::new() }
}

fn gap(id: &str, statement: &str, target: TargetPart) -> ReviewEvent {
    ReviewEvent::Gap(GapEvent {
        residual_id: ResidualId::new(id),
        kind: ResidualKind::Unverified,
        severity: ResidualSeverity::Low,
        statement: statement.into(),
        target: target.into(),
        suggested_check: None,
        extra: Object::new(),
    })
}

fn check(outcome: CheckOutcome, note: Option<&str>) -> ReviewEvent {
    ReviewEvent::Check(CheckEvent {
        artifact_id: ArtifactId::new("r"),
        outcome,
        note: note.map(Into::into),
        extra: Object::new(),
    })
}

fn fold(trace: &Value, events: &[ReviewEvent]) -> Result<Review, Refusal> {
    let mut review = Review::new(header(trace), trace);
    for event in events {
        review.admit(ReviewEntry { stamp: stamp(), event: event.clone() })?;
    }
    Ok(review)
}

fn approved() -> Vec<ReviewEvent> {
    vec![
        ReviewEvent::Waive(about(SubjectType::Residual, "g")),
        ReviewEvent::Acknowledge(about(SubjectType::Residual, "undeclared-src/ledger.rs")),
        confirmed("r"),
        approve(),
    ]
}

#[test]
fn a_decision_can_be_taken_back_and_the_review_goes_on() {
    let trace = trace();
    let mut events = approved();
    events.push(ReviewEvent::Rescind(said(Some("a test was missed"))));
    let review = fold(&trace, &events).unwrap();
    assert_eq!((review.decision(), review.stage()), (None, Stage::ReadyForApproval));
    events.push(item("late"));
    assert_eq!(fold(&trace, &events).unwrap().stage(), Stage::UnderReview);
    let nothing = [ReviewEvent::Rescind(said(Some("why not")))];
    assert_eq!(fold(&trace, &nothing).unwrap_err(), Refusal::NothingDecided);
    let mut silent = approved();
    silent.push(ReviewEvent::Rescind(said(None)));
    assert!(matches!(fold(&trace, &silent), Err(Refusal::Silent { .. })));
}

#[test]
fn changes_and_a_persons_word_are_asked_for_with_a_reason() {
    let trace = trace();
    type Ask = (fn(DecisionEvent) -> ReviewEvent, DecisionKind, Stage);
    let asks: [Ask; 3] = [
        (ReviewEvent::RequestChanges, DecisionKind::ChangesRequested, Stage::ChangesRequired),
        (ReviewEvent::Escalate, DecisionKind::Escalated, Stage::UnderReview),
        (ReviewEvent::Reject, DecisionKind::Rejected, Stage::Rejected),
    ];
    for (event, kind, stage) in asks {
        let review = fold(&trace, &[event(said(Some("because")))]).unwrap();
        assert_eq!((review.decision().unwrap().kind, review.stage()), (kind, stage));
        assert!(matches!(fold(&trace, &[event(said(Some(" ")))]), Err(Refusal::Silent { .. })));
    }
    // They are decisions, not ends: the journal can go on to an approval.
    let mut events = vec![ReviewEvent::RequestChanges(said(Some("explain")))];
    events.extend(approved());
    assert_eq!(fold(&trace, &events).unwrap().stage(), Stage::Approved);
}

#[test]
fn a_claim_is_accepted_unchecked_only_with_a_reason_and_a_divergence_blocks() {
    let trace = trace();
    let silent = fold(&trace, &[check(CheckOutcome::Accepted, None)]);
    assert!(matches!(silent, Err(Refusal::Silent { .. })));
    let blocks = |outcome| {
        let review = fold(&trace, &[check(outcome, Some("seen in CI"))]).unwrap();
        review.judgement().obstacles.iter().any(|found| found.subject == "r")
    };
    assert!(!blocks(CheckOutcome::Accepted) && !blocks(CheckOutcome::Confirmed));
    assert!(blocks(CheckOutcome::Diverged));
}

#[test]
fn items_and_comments_the_trace_came_with_are_part_of_the_review() {
    let text = trace().to_string().replacen(
        '{',
        r#"{"review_items": [{"review_item_id": "own", "author": "bot", "created_at": "x", "title": "ask legal",
            "target": {"target_type": "trace"}, "status": "open", "blocking": true}],
            "comments": [{"comment_id": "k", "author": "bot", "created_at": "x", "body": "b", "target": {"target_type": "trace"}}],"#,
        1,
    );
    let trace = parse(text.as_bytes()).unwrap();
    let mut events = approved();
    assert!(matches!(fold(&trace, &events), Err(Refusal::NotApprovable { .. })));
    assert_eq!(fold(&trace, &[item("own")]).unwrap_err(), Refusal::Taken("own".to_owned()));
    assert_eq!(fold(&trace, &[comment("k", "x")]).unwrap_err(), Refusal::Taken("k".to_owned()));
    events.insert(0, ReviewEvent::Resolve(about(SubjectType::Item, "own")));
    events.insert(0, ReviewEvent::Resolve(about(SubjectType::Comment, "k")));
    let read = read_review(&journal(&trace, &events), &trace);
    let merged = merged(&read.review.unwrap(), read.head.unwrap());
    assert_eq!(validate(&merged).errors().count(), 0);
    let at = |pointer: &str| merged.pointer(&pointer.parse().unwrap()).cloned().unwrap_or_default();
    assert_eq!((at("/review_items/0/status"), at("/review_items/1")), ("resolved".into(), Value::Null));
    assert_eq!(at("/review_items/0/resolved_by"), "ada".into());
    assert_eq!((at("/comments/0/status"), at("/comments/1")), ("resolved".into(), Value::Null));
    assert_eq!(at("/review/decision"), "approved".into());
    assert_eq!(at("/review/records"), 7.into());
    // What nobody declared and a reviewer settled is told as well.
    assert_eq!(at("/residuals/1/residual_id"), "undeclared-src/ledger.rs".into());
    assert_eq!(at("/residuals/1/status"), "acknowledged".into());
}

#[test]
fn a_gap_of_a_reviewer_replaces_the_undeclared_gaps_it_names() {
    let trace = trace();
    for event in [
        gap("n", "src/ledger.rs was changed after the tests ran", TargetPart::Trace),
        gap("n", "not tested", TargetPart::Action(ActionId(1))),
        gap("n", "not tested", TargetPart::Artifact(ArtifactId::new("d1"))),
    ] {
        let review = fold(&trace, &[event]).unwrap();
        assert_eq!(review.gap("undeclared-src/ledger.rs").unwrap().status, ResidualStatus::Acknowledged);
    }
    let elsewhere = fold(&trace, &[gap("n", "no docs", TargetPart::Trace)]).unwrap();
    assert_eq!(elsewhere.gap("undeclared-src/ledger.rs").unwrap().status, ResidualStatus::Open);
}

const TOUCHED: &str = r#"{"trace_id": "t", "high_stakes_paths": ["payments/"], "trace_lineage": {"parent_trace_id": "t0"},
    "actions": [
        {"id": 1, "type": "EditFile", "evidence": [{"type": "FileRef", "ref": "payments/a.py"}], "outputs": ["a1"]},
        {"id": 2, "type": "EditFile", "evidence": [{"type": "FileRef", "ref": "b.py"}], "outputs": ["a2"]},
        {"id": 3, "type": "EditFile", "evidence": [{"type": "FileRef", "ref": "c.py"}], "outputs": ["a3"]},
        {"id": 4, "type": "RunTests", "inputs": ["a2"], "outputs": ["a4"], "result_summary": "9 passed", "execution": {"tool": "pytest"}}
    ],
    "artifacts": [{"artifact_id": "a1", "artifact_type": "Diff"}, {"artifact_id": "a2", "artifact_type": "Diff"},
        {"artifact_id": "a3", "artifact_type": "Diff"},
        {"artifact_id": "a4", "artifact_type": "CommandResult", "name": "tests", "derived_from": ["a2"]}],
    "residuals": [
        {"residual_id": "r1", "kind": "unverified", "severity": "medium", "statement": "c is not tested", "related_artifact_ids": ["a3"]},
        {"residual_id": "r2", "kind": "assumption", "severity": "medium", "statement": "x", "target": {"target_type": "artifact", "target_id": "a1"}},
        {"residual_id": "r3", "kind": "limitation", "severity": "high", "status": "waived", "statement": "y"},
        {"residual_id": "r4", "kind": "limitation", "severity": "low", "statement": "z"}]}"#;

fn found(text: &str) -> Vec<(String, Urgency)> {
    let trace = parse(text.as_bytes()).unwrap();
    let review = Review::new(header(&trace), &trace);
    review.gaps().iter().map(|gap| (gap.id.clone(), gap.urgency())).collect()
}

#[test]
fn gaps_on_high_stakes_paths_block_and_light_ones_take_a_comment() {
    let expected = [
        ("r1", Urgency::ReviewItem),
        ("r2", Urgency::Blocking),
        ("r4", Urgency::Comment),
        ("r3", Urgency::ReviewItem),
    ];
    let expected: Vec<(String, Urgency)> =
        expected.into_iter().map(|(id, urgency)| (id.to_owned(), urgency)).collect();
    assert_eq!(found(TOUCHED), expected);
}

#[test]
fn a_check_without_inputs_covers_earlier_changes_but_not_on_high_stakes_paths() {
    let silent = TOUCHED.replace(r#""target_id": "a1""#, r#""target_id": "a4""#).replace(r#"["a3"]}"#, "[]}");
    let undeclared = |text: &str| -> Vec<String> {
        found(text).into_iter().map(|(id, _)| id).filter(|id| id.starts_with("undeclared")).collect()
    };
    assert_eq!(undeclared(&silent), ["undeclared-c.py", "undeclared-payments/a.py"]);
    let open = silent.replace(r#""inputs": ["a2"], "#, "");
    assert_eq!(undeclared(&open), ["undeclared-payments/a.py"]);
}

/// Returns the statements about changes that nothing verified, for one change and the checks after it.
fn unverified_after(checks: &[&str]) -> Vec<String> {
    let checks: Vec<String> = checks
        .iter()
        .enumerate()
        .map(|(place, check)| format!(r#", {{"id": {}, "inputs": ["a1"], {check}}}"#, place + 2))
        .collect();
    let text = format!(
        r#"{{"trace_id": "t", "actions": [
            {{"id": 1, "type": "EditFile", "evidence": [{{"type": "FileRef", "ref": "a.py"}}], "outputs": ["a1"]}}{}], "artifacts": [{{"artifact_id": "a1", "artifact_type": "Diff"}}]}}"#,
        checks.concat()
    );
    let trace = parse(text.as_bytes()).unwrap();
    let review = Review::new(header(&trace), &trace);
    let undeclared = review.gaps().iter().filter(|gap| gap.id.starts_with("undeclared"));
    undeclared.map(|gap| gap.statement.clone()).collect()
}

#[test]
fn a_check_that_failed_or_says_nothing_verifies_no_change() {
    let pytest = |arguments: &str, result: &str| {
        format!(
            r#""type": "RunTests", "request": {{"program": "pytest", "arguments": [{arguments}]}}, "result_summary": "{result}""#
        )
    };
    let (failed, passed) = (pytest("", "3 failed, 2 passed"), pytest("", "5 passed"));
    let lint = r#""type": "Lint", "result": {"exit_code": 0}"#;
    let said = |statement: &[String]| statement.first().cloned().unwrap_or_default();
    for (checks, expected) in [
        (vec![failed.as_str()], "failed: RunTests (action 2)"),
        (vec![lint, &failed], "failed: RunTests (action 3)"),
        (vec![&passed, &failed], "failed: RunTests (action 3)"),
        (vec![&failed, &passed], ""),
        (vec![&failed, lint], "failed: RunTests (action 2)"),
        (
            vec![&pytest(r#""tests/a.py", "-x""#, "1 failed"), &pytest(r#""tests/b.py""#, "1 passed")],
            "(action 2)",
        ),
        (vec![&pytest(r#""tests/a.py", "-x""#, "1 failed"), &pytest(r#""tests/""#, "9 passed")], ""),
        (vec![&pytest(r#""tests/a.py""#, "1 failed"), &passed], ""),
        (vec![&pytest("", "no tests ran")], "does not say how it ended: RunTests (action 2)"),
        (vec![r#""type": "RunTests", "result": {"status": "unknown"}"#], "does not say how it ended"),
        (vec![r#""type": "RunTests", "result": {"status": "refused"}"#, lint], "failed: RunTests (action 2)"),
        (vec![r#""type": "Verify", "vg_result": {"status": "refuted"}"#], "failed: Verify (action 2)"),
        (vec![], "nothing verifies it"),
    ] {
        let found = unverified_after(&checks);
        assert_eq!(found.is_empty(), expected.is_empty(), "{checks:?}: {found:?}");
        assert!(said(&found).contains(expected), "{checks:?}: {found:?}");
    }
}

#[test]
fn the_packet_lists_open_gaps_of_earlier_traces() {
    let trace = parse(TOUCHED.as_bytes()).unwrap();
    let before = parse(
        br#"{"trace_id": "t0", "residuals": [{"residual_id": "r1", "statement": "old"}, {"residual_id": "gone", "statement": "q"}]}"#,
    )
    .unwrap();
    let review = Review::new(header(&trace), &trace);
    let earlier = [Trace::read(&before)];
    let packet = handoff(&review, &earlier);
    let left = packet.get("orient").unwrap().get("left_open_before").unwrap();
    assert_eq!(left.to_string(), r#"[{"residual_id":"r1","statement":"c is not tested","trace_id":"t0"}]"#);
    let text = handoff_markdown(&review, &earlier);
    assert!(text.contains("- still open from t0: r1: c is not tested"), "{text}");
    assert!(text.contains("  - made with: pytest"), "{text}");
}
