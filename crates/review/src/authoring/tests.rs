use hence_canon::{Value, parse};

use super::{Draft, Operation};

fn operation(text: &str) -> Operation {
    Operation::from_value(&parse(text.as_bytes()).unwrap()).unwrap()
}

fn at(second: u32, rest: &str) -> Operation {
    operation(&format!(r#"{{"at":"2026-02-09T10:00:{second:02}Z",{rest}}}"#))
}

fn init() -> Operation {
    at(0, r#""op":"init","assistant":"bot","model":"none""#)
}

fn act(second: u32, id: i64, inputs: &str, output: Option<&str>) -> Operation {
    let (outputs, artifacts) = match output {
        Some(name) => (
            format!("[{name:?}]"),
            format!(
                r#"[{{"artifact_id":{name:?},"artifact_type":"SourceCode","producer_action_id":{id},"revision":1}}]"#
            ),
        ),
        None => ("[]".to_owned(), "[]".to_owned()),
    };
    let action = format!(
        r#"{{"id":{id},"type":"EditFile","label":"edit","rationale":"because","inputs":{inputs},"outputs":{outputs}}}"#
    );
    at(second, &format!(r#""op":"act","action":{action},"artifacts":{artifacts}"#))
}

fn residual(second: u32, id: &str) -> Operation {
    at(
        second,
        &format!(
            r#""op":"residual","residual":{{"residual_id":{id:?},"kind":"unverified","statement":"s"}}"#
        ),
    )
}

fn status(second: u32, word: &str, by: &str) -> Operation {
    at(second, &format!(r#""op":"status","residual_id":"r1","status":{word:?}{by}"#))
}

fn begun() -> Draft {
    let mut draft = Draft::new("t");
    draft.apply(&init()).unwrap();
    draft.apply(&act(1, 2, r#"["problem"]"#, Some("src"))).unwrap();
    draft
}

#[test]
fn operations_read_back_as_they_were_written() {
    for operation in [init(), act(1, 2, "[]", Some("a1")), residual(2, "r1"), status(3, "waived", "")] {
        assert_eq!(Operation::from_value(&operation.to_value()).unwrap(), operation);
    }
    let unknown =
        parse(br#"{"op":"init","at":"2026-02-09T10:00:00Z","assistant":"b","model":"m","x":1}"#).unwrap();
    assert!(Operation::from_value(&unknown).unwrap_err().to_string().contains("no member \"x\""));
    assert!(Operation::from_value(&Value::Null).is_err());
}

#[test]
fn a_refused_operation_names_what_was_expected_and_changes_nothing() {
    let before = begun();
    for (operation, expected) in [
        (init(), "expected init once"),
        (act(0, 3, "[]", None), "expected a time from 2026-02-09T10:00:01Z on"),
        (act(2, 7, "[]", None), "expected action 3, found 7"),
        (act(2, 3, r#"["srv"]"#, None), "found \"srv\"; did you mean `src`?"),
        (act(2, 3, "[]", Some("src")), "which is taken"),
        (status(2, "waived", ""), "expected a declared gap of the trace, found \"r1\""),
        (
            at(2, r#""op":"observe","action_id":1,"observation":{"statement":"s"}"#),
            "expected an action of the trace, 2 to 2, found 1",
        ),
        (
            at(
                2,
                r#""op":"artifact","artifact":{"artifact_id":"c","artifact_type":"ConformanceResult","producer_action_id":2,
                   "payload":{"reference_artifact_id":"spec","target_artifact_id":"src","status":"passed"}}"#,
            ),
            "expected a reference artifact of the trace, found \"spec\"",
        ),
        (
            at(
                2,
                r#""op":"link","trace_link":{"link_id":"l","from_trace_id":"t","to_trace_id":"t","relationship":"reruns"}"#,
            ),
            "expected a link from this trace",
        ),
    ] {
        let mut draft = before.clone();
        let refusal = draft.apply(&operation).unwrap_err().to_string();
        assert!(refusal.contains(expected), "{refusal}");
        assert_eq!(format!("{draft:?}"), format!("{before:?}"));
    }
    let refusal = Draft::new("t").apply(&residual(1, "r1")).unwrap_err().to_string();
    assert_eq!(refusal, "expected the operation init first, found residual");
}

#[test]
fn a_gap_goes_through_its_lifecycle() {
    let mut draft = begun();
    draft.apply(&residual(2, "r1")).unwrap();
    draft.apply(&status(3, "acknowledged", "")).unwrap();
    assert!(
        draft
            .apply(&status(4, "addressed", ""))
            .unwrap_err()
            .to_string()
            .contains("the action that addressed")
    );
    draft.apply(&status(4, "addressed", r#","action_id":2"#)).unwrap();
    let refusal = draft.apply(&status(5, "waived", "")).unwrap_err().to_string();
    assert_eq!(refusal, "gap \"r1\": expected one of open after addressed, found waived");
    draft.apply(&status(5, "open", "")).unwrap();
    let gap = draft.residual("r1").unwrap();
    assert!(gap.extra.get("addressed_by_action_id").is_none());
    draft.apply(&at(6, r#""op":"complete","outcome":{"type":"ProcessCompleted"}"#)).unwrap();
    assert!(draft.apply(&residual(7, "r2")).unwrap_err().to_string().contains("the trace has ended"));
}
