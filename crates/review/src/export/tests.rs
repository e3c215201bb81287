use hence_canon::{Value, canonical_bytes, parse};

use super::*;
use crate::import::{Format, Surroundings, import};
use crate::lineage::Lineage;
use crate::wire::Trace;

fn document() -> Value {
    parse(
        br#"{"trace_id": "t", "assistant": "agent-x", "timestamp": "2026-01-01T00:00:00Z", "commit_sha": "abc", "repo": "o/r",
            "trigger": {"type": "TaskReceived", "description": "do it"},
            "actions": [
                {"id": 1, "type": "ReadFile", "label": "read", "rationale": "know", "outputs": ["a"], "meta_action_id": "m1"},
                {"id": 2, "type": "EditFile", "label": "edit", "rationale": "mend", "inputs": ["a"], "outputs": ["b"],
                 "result_summary": "ERROR: no", "timestamp": "2026-01-01T00:00:05Z", "meta_action_id": "m1"}],
            "meta_actions": [{"id": "m1", "title": "all", "action_ids": [1, 2]}],
            "artifacts": [{"artifact_id": "a", "artifact_type": "SourceCode", "name": "x.py", "producer_action_id": 1},
                {"artifact_id": "b", "artifact_type": "Diff", "producer_action_id": 2, "derived_from": ["a"]}]}"#,
    )
    .unwrap()
}

fn at(value: &Value, pointer: &str) -> Value {
    value.pointer(&pointer.parse().unwrap()).cloned().unwrap_or_default()
}

#[test]
fn provenance_names_entities_activities_and_how_they_relate() {
    let trace = Trace::read(&document());
    let prov = prov_json(&trace, &Lineage::of(&trace));
    assert_eq!(at(&prov, "/entity/trace:artifact~1a/prov:label"), "x.py".into());
    assert_eq!(at(&prov, "/used/_:u1/prov:entity"), "trace:artifact/a".into());
    assert_eq!(at(&prov, "/wasGeneratedBy/_:g2/prov:activity"), "trace:action/2".into());
    assert_eq!(at(&prov, "/wasDerivedFrom/_:d1/prov:usedEntity"), "trace:artifact/a".into());
    let strange =
        parse(br#"{"trace_id": "t", "actions": [], "artifacts": [{"artifact_id": "a b#1"}]}"#).unwrap();
    let strange = Trace::read(&strange);
    let prov = prov_json(&strange, &Lineage::of(&strange));
    assert_eq!(at(&prov, "/entity/trace:artifact~1a%20b%231/prov:label"), "a b#1".into());
}

#[test]
fn a_statement_names_the_content_and_the_commit() {
    let statement = in_toto_statement(&document());
    let hash = crate::ContentHash::of(&document()).digest().to_string();
    assert_eq!(at(&statement, "/subject/0/digest/sha256"), hash.into());
    assert_eq!(at(&statement, "/subject/1/digest/gitCommit"), "abc".into());
    assert_eq!(at(&statement, "/predicate"), document());
}

#[test]
fn spans_can_be_imported_again_with_the_same_flow() {
    let spans = otlp_json(&Trace::read(&document()));
    let imported = import(&canonical_bytes(&spans), Format::Otlp, &Surroundings::default()).unwrap();
    let [trace] = imported.traces.as_slice() else { panic!("one trace") };
    assert_eq!(at(trace, "/trigger/description"), "do it".into());
    assert_eq!(at(trace, "/actions/1/rationale"), "mend".into());
    assert_eq!(at(trace, "/actions/1/inputs"), vec!["a"].into());
    assert_eq!(at(trace, "/actions/1/timestamp"), "2026-01-01T00:00:05.000Z".into());
    assert_eq!(at(trace, "/meta_actions/1/title"), "all".into());
    assert_eq!(at(trace, "/meta_actions/1/status"), "partial".into());
}

#[test]
fn a_date_that_does_not_exist_is_no_time() {
    let action = |id: u64, at: &str| format!(r#"{{"id": {id}, "type": "ReadFile", "timestamp": "{at}"}}"#);
    let actions = [
        action(1, "2026-02-28T00:00:01Z"),
        action(2, "2026-02-31T00:00:00Z"),
        action(3, "2026-03-03T00:00:00Z"),
    ];
    let document = format!(r#"{{"trace_id": "t", "actions": [{}]}}"#, actions.join(", "));
    let spans = otlp_json(&Trace::read(&parse(document.as_bytes()).unwrap()));
    let start = |place: usize| {
        at(&spans, &format!("/resourceSpans/0/scopeSpans/0/spans/{place}/startTimeUnixNano")).to_string()
    };
    assert_eq!(
        [start(1), start(2), start(3)],
        ["\"1772236801000000000\"", "\"1772236801000000000\"", "\"1772496000000000000\""]
    );
}
