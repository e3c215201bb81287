use hence_canon::{Object, Value, parse};
use proptest::prelude::*;

use super::field::Field as _;
use super::*;

/// A finite source of choices; when it runs dry every choice is the first.
pub(crate) struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    pub(crate) fn pick<'b, T>(&mut self, items: &'b [T]) -> &'b T {
        &items[self.below(items.len())]
    }

    pub(crate) fn text(&mut self) -> Text {
        let texts = ["", "a1", "m1", "9", "≤ \"quoted\"\n", "null"];
        (*self.pick(&texts)).into()
    }

    pub(crate) fn object(&mut self) -> Object {
        let count = self.below(3);
        (0..count).map(|index| (format!("k{index}"), Value::from(self.text()))).collect()
    }

    /// Members no record of the specification has.
    pub(crate) fn extra(&mut self) -> Object {
        let count = self.below(4).saturating_sub(2);
        (0..count).map(|index| (format!("x-{index}"), Value::from(self.text()))).collect()
    }
}

/// Draws a trace whose verification results have the status they are tagged with.
fn sampled(bytes: &[u8]) -> Trace {
    let mut trace = Trace::sample(&mut Choices(bytes));
    for artifact in &mut trace.members.artifacts {
        if let ArtifactContent::VerificationResult(payload) = &mut artifact.content {
            payload.status = payload.result.status();
        }
    }
    trace
}

proptest! {
    #[test]
    fn an_encoded_trace_decodes_to_itself(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        let trace = sampled(&bytes);
        let document = encode(&trace);
        prop_assert_eq!(decode(&document), Ok(trace.clone()));
        // And through text, as files do.
        prop_assert_eq!(decode(&parse(document.to_string().as_bytes()).unwrap()), Ok(trace));
    }

    #[test]
    fn a_canonical_document_is_written_back_as_it_was(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let document = encode(&sampled(&bytes));
        prop_assert_eq!(encode(&decode(&document).unwrap()), document);
    }
}

fn value(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

/// A small canonical trace around some artifacts.
fn with_artifacts(artifacts: &str) -> Value {
    value(&format!(
        r#"{{"trace_id": "t", "spec_version": "1.6", "assistant": "a", "model": "m", "timestamp": "2026-01-01",
            "trigger": {{"type": "TaskReceived"}}, "outcome": {{"type": "ProcessCompleted"}},
            "actions": [], "artifacts": [{artifacts}]}}"#
    ))
}

fn defects(document: &Value) -> Vec<String> {
    let findings = decode(document).unwrap_err().findings;
    findings.iter().map(|finding| format!("`{}`: {}", finding.pointer, finding.message())).collect()
}

#[test]
fn all_defects_are_named_not_just_the_first() {
    let found = defects(&value(
        r#"{"trace_id": 3, "trigger": {"type": "ProcessCompleted"}, "outcome": [], "timestamp": "now",
            "actions": [{"id": "1", "type": "Verify", "category": "activity", "label": "l", "rationale": "r"}]}"#,
    ));
    assert_eq!(
        found,
        [
            "`/trace_id`: expected a text, found integer",
            "`/assistant`: assistant is required",
            "`/model`: model is required",
            "`/trigger/type`: trigger type is one of TaskReceived, TriggeredByEvent; found \"ProcessCompleted\"",
            "`/actions/0/id`: expected an integer of 64 bits, found string",
            "`/actions/0/category`: Verify belongs to reasoning, found activity",
            "`/outcome`: expected an object, found list",
        ]
    );
}

#[test]
fn a_payload_must_belong_to_its_constructor() {
    let plain = with_artifacts(r#"{"artifact_id": "a", "artifact_type": "SourceCode", "payload": {"x": 1}}"#);
    assert_eq!(defects(&plain), ["`/artifacts/0/payload`: SourceCode carries no payload"]);
    let torn = with_artifacts(
        r#"{"artifact_id": "a", "artifact_type": "VerificationResult", "payload": {"goal_id": 1,
            "goal_artifact_id": "g", "status": "refuted", "result": {"proved": {"proof_pp": "p"}}}}"#,
    );
    assert_eq!(
        defects(&torn),
        ["`/artifacts/0/payload/status`: the result is tagged proved, found status refuted"]
    );
}

#[test]
fn names_of_version_1_1_become_current_ones() {
    let older = with_artifacts(
        r#"{"artifact_id": "a", "artifact_type": "IMLModel", "payload": {"iml_code": "let x = 1", "symbols": ["x"]}}"#,
    );
    let written = encode(&decode(&older).unwrap());
    let payload = written.pointer(&"/artifacts/0/payload".parse().unwrap()).unwrap();
    assert_eq!(*payload, value(r#"{"formal_code": "let x = 1", "model_language": "iml", "symbols": ["x"]}"#));
    assert_eq!(written.pointer(&"/artifacts/0/artifact_type".parse().unwrap()), Some(&"FormalModel".into()));
}

#[test]
fn payloads_of_version_1_0_move_to_the_artifact() {
    let document = value(
        r#"{"trace_id": "t", "assistant": "a", "model": "m", "timestamp": "2026-01-01",
            "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"},
            "actions": [{"id": 1, "type": "Verify", "label": "l", "rationale": "r", "inputs": ["goal"], "outputs": ["proof"],
                "vg_result": {"goal_id": 1, "goal_artifact_id": "goal", "status": "unknown", "result": {"unknown": {}}}}]}"#,
    );
    let trace = decode(&document).unwrap();
    let [proof] = trace.members.artifacts.as_slice() else { panic!("one artifact") };
    assert!(matches!(&proof.content, ArtifactContent::VerificationResult(result)
        if matches!(result.result, VerificationOutcome::Unknown(_))));
    assert_eq!(proof.common.derived_from, [ArtifactId::new("goal")]);
    assert_eq!(trace.members.actions[0].extra, Object::new());
}

#[test]
fn unknown_members_survive() {
    let document = with_artifacts(r#"{"artifact_id": "a", "artifact_type": "Diff", "x-lines": [1, 2]}"#);
    let written = encode(&decode(&document).unwrap());
    assert_eq!(written.pointer(&"/artifacts/0/x-lines".parse().unwrap()), Some(&value("[1, 2]")));
}

#[test]
fn goals_decide_the_written_version() {
    let trace = decode(&with_artifacts("")).unwrap();
    assert_eq!(encode(&trace).get("spec_version"), Some(&"1.6".into()));
    let goal = value(
        r#"[{"goal_id": "g", "intent": "i", "status": "GoalActive", "acceptance": [
        {"acceptance_id": "s", "kind": "Gap", "label": "l", "binding": {"residual_id": "r"}}]}]"#,
    );
    let Value::Object(document) = with_artifacts("") else { panic!("an object") };
    let written = encode(&decode(&document.with("goals", goal).into()).unwrap());
    assert_eq!(written.get("spec_version"), Some(&"1.7".into()));
    assert_eq!(written.pointer(&"/goals/0/acceptance/0/kind".parse().unwrap()), Some(&"gap".into()));
}

#[test]
fn the_schema_describes_every_object_by_name() {
    let schema = json_schema();
    for name in ["Trace", "Action", "Artifact", "VerificationResultPayload", "Residual", "Goal"] {
        assert!(schema.get("$defs").and_then(|defs| defs.get(name)).is_some(), "{name}");
    }
    let required = schema.pointer(&"/$defs/Residual/required".parse().unwrap()).unwrap();
    assert_eq!(*required, value(r#"["residual_id", "kind", "statement"]"#));
}
