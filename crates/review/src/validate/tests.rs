use std::collections::BTreeSet;

use hence_canon::{Object, parse};
use proptest::prelude::*;

use super::*;

fn rules(text: &str) -> Vec<(&'static str, String)> {
    let report = validate(&parse(text.as_bytes()).unwrap());
    report.findings().iter().map(|finding| (finding.rule.id(), finding.pointer.to_string())).collect()
}

/// A small trace with no finding at all, and room for one member more.
fn sound(extra: &str) -> String {
    format!(
        r#"{{"trace_id": "t1", "spec_version": "1.7", "timestamp": "2026-01-01T00:00:00Z",
            "trigger": {{"type": "TaskReceived"}}, "outcome": {{"type": "ProcessCompleted"}},
            "actions": [
                {{"id": 1, "category": "activity", "type": "ReadFile", "label": "read", "rationale": "to know",
                  "outputs": ["a1"], "meta_action_id": "m1"}},
                {{"id": 2, "category": "activity", "type": "RunTests", "label": "test", "rationale": "to be sure",
                  "inputs": ["a1"], "meta_action_id": "m1"}}
            ],
            "meta_actions": [{{"id": "m1", "title": "all", "action_ids": [1, 2]}}],
            "artifacts": [{{"artifact_id": "a1", "artifact_type": "SourceCode", "producer_action_id": 1}}]
            {extra}}}"#
    )
}

#[test]
fn a_sound_trace_has_no_findings() {
    assert_eq!(rules(&sound("")), []);
}

#[test]
fn a_document_that_is_not_an_object_has_one_finding() {
    for text in ["null", "3", "[]", r#""trace""#] {
        assert_eq!(rules(text), [("trace.type", String::new())]);
    }
}

#[test]
fn all_findings_come_at_once_with_their_places() {
    let found = rules(&sound(
        r#", "residuals": [{"kind": "hope", "target": {"target_type": "action", "target_id": "9"}}],
            "trace_links": [{"link_id": "l", "from_trace_id": "x", "to_trace_id": "y", "relationship": "reruns"}]"#,
    ));
    let expected = [
        ("residual.id", "/residuals/0/residual_id"),
        ("residual.kind", "/residuals/0/kind"),
        ("residual.statement", "/residuals/0/statement"),
        ("ref.target", "/residuals/0/target/target_id"),
        ("link.endpoint", "/trace_links/0"),
    ];
    assert_eq!(found, expected.map(|(rule, at)| (rule, at.to_owned())));
}

#[test]
fn a_producer_is_one_of_those_that_output_the_artifact() {
    let text = r#"{"trace_id": "t", "spec_version": "1.6", "actions": [
        {"id": 1, "outputs": ["a", "a", "b"]}, {"id": 2, "outputs": ["a"]}, {"id": 3}], "artifacts": [
        {"artifact_id": "a", "producer_action_id": 2}, {"artifact_id": "a", "producer_action_id": 1},
        {"artifact_id": "a", "producer_action_id": 3}, {"artifact_id": "b", "producer_action_id": 2},
        {"artifact_id": "b", "producer_action_id": 1}, {"artifact_id": "c", "producer_action_id": 1}]}"#;
    let flow: Vec<(&str, String)> =
        rules(text).into_iter().filter(|(rule, _)| rule.starts_with("flow.")).collect();
    let expected = [
        ("flow.producer.unique", "/actions/1/outputs"),
        ("flow.producer.mismatch", "/artifacts/2/producer_action_id"),
        ("flow.producer.mismatch", "/artifacts/3/producer_action_id"),
        ("flow.producer.mismatch", "/artifacts/5/producer_action_id"),
    ];
    assert_eq!(flow, expected.map(|(rule, at)| (rule, at.to_owned())));
}

#[test]
fn units_that_enclose_each_other_are_reported_and_bystanders_are_not() {
    let text = r#"{"trace_id": "t", "actions": [], "meta_actions": [
        {"id": "a", "title": "a", "parent_id": "b"}, {"id": "b", "title": "b", "parent_id": "a"},
        {"id": "c", "title": "c", "parent_id": "a"}, {"id": "d", "title": "d", "parent_id": "ghost"}]}"#;
    let circles: Vec<String> =
        rules(text).into_iter().filter(|(rule, _)| *rule == "meta.parent.cycle").map(|(_, at)| at).collect();
    assert_eq!(circles, ["/meta_actions/0/parent_id", "/meta_actions/1/parent_id"]);
}

#[test]
fn an_action_in_two_units_is_reported_where_it_is_claimed_again() {
    let text = sound("")
        .replace(r#"[{"id": "m1""#, r#"[{"id": "m0", "title": "first", "action_ids": [1]}, {"id": "m1""#);
    let found = rules(&text);
    assert!(found.contains(&("meta.overlap", "/meta_actions/1/action_ids/0".to_owned())), "{found:?}");
}

#[test]
fn names_of_version_one_follow_data_flow_without_artifacts() {
    let text = r#"{"trace_id": "t", "actions": [
        {"id": 1, "type": "ReadFile", "inputs": ["late", "never"], "outputs": ["early"]},
        {"id": 2, "type": "ReadFile", "inputs": ["early"], "outputs": ["late"]}]}"#;
    let flow: Vec<_> = rules(text)
        .into_iter()
        .filter(|(rule, _)| rule.starts_with("flow") || rule.starts_with("ref"))
        .collect();
    assert_eq!(
        flow,
        [
            ("flow.order", "/actions/0/inputs/0".to_owned()),
            ("flow.unproduced", "/actions/0/inputs/1".to_owned())
        ]
    );
}

#[test]
fn every_rule_has_its_own_id() {
    let ids: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(ids.len(), Rule::ALL.len());
}

/// Words that make rules look closer.
const WORDS: &[&str] = &[
    "a1",
    "1",
    "m1",
    "trace",
    "action",
    "VerificationResult",
    "VerificationGoal",
    "Verify",
    "ReadFile",
    "gateway",
    "reasoning",
    "proved",
    "open",
    "addressed",
    "ExclusiveDecision",
    "TaskReceived",
    "FileRef",
    "",
];

/// Members that rules look at.
const KEYS: &[&str] = &[
    "actions",
    "artifacts",
    "meta_actions",
    "residuals",
    "goals",
    "policies",
    "policy_evaluations",
    "comments",
    "review_items",
    "trace_links",
    "trace_lineage",
    "reproducibility",
    "metrics",
    "id",
    "type",
    "category",
    "inputs",
    "outputs",
    "artifact_id",
    "artifact_type",
    "derived_from",
    "producer_action_id",
    "payload",
    "status",
    "result",
    "action_ids",
    "parent_id",
    "meta_action_id",
    "target",
    "target_type",
    "target_id",
    "acceptance",
    "binding",
    "options",
    "evidence",
    "trigger",
    "outcome",
    "total_actions",
    "spec_version",
    "timestamp",
    "execution",
    "supersedes",
    "policy_id",
    "residual_id",
    "from_trace_id",
    "to_trace_id",
    "trace_id",
];

/// Any value, built from the member names and words traces use so that the rules are reached.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..4).prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    let key = prop::sample::select(KEYS);
    leaf.prop_recursive(5, 120, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..10)
                .prop_map(|members| Value::from(members.into_iter().collect::<Object>())),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_makes_validation_panic(value in any_value()) {
        let report = validate(&value);
        // Every pointer leads to a place in the document, or to a member that should be in one.
        for finding in report.findings() {
            let tokens: Vec<&str> = finding.pointer.tokens().collect();
            let parent: JsonPointer = tokens.iter().take(tokens.len().saturating_sub(1)).collect();
            let grandparent: JsonPointer = tokens.iter().take(tokens.len().saturating_sub(2)).collect();
            prop_assert!(value.pointer(&parent).is_some() || value.pointer(&grandparent).is_some(), "{finding}");
        }
    }
}

#[test]
fn warnings_of_interchange_are_errors_of_the_model() {
    let value = parse(
        br#"{"trace_id": "t", "spec_version": "1.6", "assistant": "a", "model": "m", "timestamp": "2026-01-01",
            "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"}, "actions": [
            {"id": 1, "category": "activity", "type": "Release", "rationale": "r"}]}"#,
    )
    .unwrap();
    assert!(validate(&value).is_valid());
    let report = validate_canonical(&value);
    let errors: Vec<(&str, String)> =
        report.errors().map(|finding| (finding.rule.id(), finding.pointer.to_string())).collect();
    assert_eq!(
        errors,
        [
            ("action.type.unknown", "/actions/0/type".to_owned()),
            ("action.label", "/actions/0/label".to_owned()),
        ]
    );
}

#[test]
fn defects_without_a_rule_of_their_own_are_reported_too() {
    let report = validate_canonical(&parse(br#"{"trace_id": "t", "actions": []}"#).unwrap());
    let decoding: Vec<&str> = report
        .errors()
        .filter(|finding| finding.rule == Rule::Canonical)
        .map(|finding| finding.subject.as_str())
        .collect();
    assert_eq!(decoding, ["/assistant", "/model", "/timestamp", "/trigger", "/outcome"]);
}
