use super::*;
use crate::testing::json;

const MINIMAL: &str = r#"{"skill_id": "s", "inputs": {"a": 1}}"#;

#[test]
fn saving_and_restoring_are_inverse() {
    let text = r#"{"skill_id": "s", "inputs": {"a": 1}, "vars": {"x": [1, {"y": null}]}, "working": {"risks": [1]},
        "output": {"summary": "s"}, "frame": {"goal": "g", "assumptions": ["p"]}, "status": "running", "iteration": 4,
        "written_targets": ["vars.b", "vars.a", "vars.b"], "started_at": "2026-01-02T03:04:05",
        "events": [{"type": "skill_start", "message": "m", "timestamp": "2026-01-02T03:04:05Z"}],
        "step_results": {"s1": {"step_id": "s1", "uses": "c", "status": "completed", "resolved_input": {}, "reads": [],
                                "service_id": "svc", "latency_ms": 1.5}},
        "trace": {"steps": [{"step_id": "s", "capability_id": "c", "status": "skipped"}], "metrics": {"tokens_in": 5}}}"#;
    let state = restore(&json(text)).unwrap();
    let saved = save(&state);
    assert_eq!(save(&restore(&saved).unwrap()), saved);
    assert_eq!(saved.get("written_targets"), Some(&json(r#"["vars.a", "vars.b"]"#)));
    assert_eq!(saved.get("started_at"), Some(&json(r#""2026-01-02T03:04:05+00:00""#)));
    assert_eq!(saved.get("step_results").unwrap().get("s1").unwrap().get("reads"), Some(&json("null")));
}

#[test]
fn another_version_is_not_guessed_at() {
    for change in
        [r#""_checkpoint_version": 2"#, r#""state_version": "9.9.9""#, r#""_checkpoint_version": 1.0"#]
    {
        let text = MINIMAL.replace(r#""skill_id""#, &format!(r#"{change}, "skill_id""#));
        assert!(matches!(restore(&json(&text)), Err(CheckpointError::UnsupportedVersion { .. })), "{change}");
    }
}

#[test]
fn nothing_is_replaced_by_a_default_because_it_could_not_be_read() {
    for change in [
        r#""frame": null"#,
        r#""frame": {"gaol": "g"}"#,
        r#""working": {"scratch": 1}"#,
        r#""working": {"risks": {}}"#,
        r#""output": {"summary": 1}"#,
        r#""vars": []"#,
        r#""status": "odd""#,
        r#""iteration": -1"#,
        r#""started_at": "yesterday""#,
        r#""written_targets": [1]"#,
        r#""events": [{"type": "t", "message": "m"}]"#,
        r#""step_results": {"s1": {"step_id": "s1"}}"#,
        r#""trace": {"metrics": {"step_count": "many"}}"#,
    ] {
        let text = MINIMAL.replace(r#""skill_id""#, &format!(r#"{change}, "skill_id""#));
        assert!(matches!(restore(&json(&text)), Err(CheckpointError::Invalid(_))), "{change}");
    }
    assert!(restore(&json(MINIMAL)).is_ok());
    assert!(restore(&json(r#"{"skill_id": "s"}"#)).is_err());
}
