use hence_canon::{Value, parse};

use super::*;
use crate::vocabulary::ResidualSeverity;

fn packet(text: &str) -> Handoff {
    let trace = Trace::read(&parse(text.as_bytes()).unwrap());
    handoff(&trace, &Lineage::of(&trace))
}

const TRACE: &str = r#"{"trace_id": "t", "high_stakes_paths": ["payments/"],
    "trigger": {"type": "TaskReceived", "description": "make it idempotent"},
    "outcome": {"type": "ProcessCompleted", "summary": "done"},
    "trace_lineage": {"parent_trace_id": "t0"},
    "actions": [
        {"id": 1, "type": "EditFile", "evidence": [{"type": "FileRef", "ref": "payments/a.py"}], "outputs": ["a1"]},
        {"id": 2, "type": "EditFile", "evidence": [{"type": "FileRef", "ref": "b.py"}], "outputs": ["a2"]},
        {"id": 3, "type": "EditFile", "evidence": [{"type": "FileRef", "ref": "c.py"}], "outputs": ["a3"]},
        {"id": 4, "type": "RunTests", "inputs": ["a2"], "outputs": ["a4"], "result_summary": "9 passed",
         "reproducibility": {"procedure": {"kind": "command", "command": "pytest -q"}}}
    ],
    "artifacts": [{"artifact_id": "a1", "artifact_type": "Diff"}, {"artifact_id": "a2", "artifact_type": "Diff"},
        {"artifact_id": "a3", "artifact_type": "Diff"},
        {"artifact_id": "a4", "artifact_type": "CommandResult", "name": "tests", "derived_from": ["a2"]}],
    "residuals": [
        {"residual_id": "r1", "kind": "unverified", "severity": "medium", "statement": "c is not tested", "related_artifact_ids": ["a3"]},
        {"residual_id": "r2", "kind": "assumption", "severity": "medium", "statement": "x", "target": {"target_type": "artifact", "target_id": "a1"}},
        {"residual_id": "r3", "kind": "limitation", "severity": "high", "status": "waived", "statement": "y"}]}"#;

#[test]
fn the_packet_orients_and_lists_what_can_be_checked() {
    let packet = packet(TRACE);
    assert_eq!((packet.task.as_str(), packet.outcome.as_str()), ("make it idempotent", "done"));
    assert_eq!(packet.predecessors, ["t0"]);
    let [claim] = packet.claims.as_slice() else { panic!("one claim") };
    assert_eq!((claim.claim.as_str(), claim.command.as_deref()), ("tests: 9 passed", Some("pytest -q")));
}

#[test]
fn gaps_on_high_stakes_paths_block_and_closed_ones_are_no_work() {
    let packet = packet(TRACE);
    let work: Vec<(&str, Urgency)> =
        packet.work.iter().map(|item| (item.residual.id().unwrap(), item.urgency)).collect();
    assert_eq!(work, [("r1", Urgency::ReviewItem), ("r2", Urgency::Blocking)]);
}

#[test]
fn what_was_touched_and_neither_verified_nor_declared_is_found() {
    // b is tested, c is declared, a is declared by its target; without that residual a is a gap of high severity.
    assert_eq!(packet(TRACE).undeclared, []);
    let silent = TRACE.replace(r#""target_id": "a1""#, r#""target_id": "a4""#);
    let found = packet(&silent).undeclared;
    assert_eq!(
        found,
        [UndeclaredGap {
            path: "payments/a.py".to_owned(),
            changed_by: vec![1],
            severity: ResidualSeverity::High
        }]
    );
}

#[test]
fn the_packet_reads_as_markdown_and_as_json() {
    let packet = packet(&TRACE.replace("make it idempotent", "<b>make it</b>"));
    let markdown = packet.markdown();
    assert!(markdown.contains("- asked: &lt;b&gt;make it&lt;/b&gt;"), "{markdown}");
    assert!(markdown.contains("  - run: pytest -q"), "{markdown}");
    let value = Value::from(&packet);
    assert_eq!(value.get("work").and_then(Value::as_array).map(<[Value]>::len), Some(2));
}
