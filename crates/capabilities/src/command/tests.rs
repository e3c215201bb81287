use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hence_canon::{Float, Value, parse};
use hence_cognition::run::{Call, CallError, CallPlace, CallPurpose};

use super::*;
use hence_cognition::capability::Registry as _;
use hence_skills::Host as _;

fn call(declaration: &str, input: &str) -> Result<Value, CallError> {
    let folder = tempfile::tempdir().unwrap();
    call_in(folder.path(), declaration, input, 20.0)
}

fn call_in(folder: &Path, declaration: &str, input: &str, seconds: f64) -> Result<Value, CallError> {
    let document = format!(r#"{{"capabilities": {{"c": {declaration}}}}}"#);
    let commands = Commands::read(&parse(document.as_bytes()).unwrap(), folder).unwrap();
    let (capability, input): (Arc<str>, Value) = ("c".into(), parse(input.as_bytes()).unwrap());
    let call = Call {
        capability: &capability,
        input: &input,
        purpose: CallPurpose::Step,
        skill_id: &"s".into(),
        step_id: &"step".into(),
        place: &CallPlace::default(),
        attempt: 1,
        timeout_seconds: Float::new(seconds).unwrap(),
    };
    // Through the worker, as a run calls it.
    let library = crate::Library::with_commands(commands);
    assert!(library.capability("c").is_some());
    assert_eq!(library.determinism("c"), hence_engine::Determinism::Recorded);
    library.worker().call(&call).map(|reply| reply.output)
}

fn class(result: Result<Value, CallError>) -> String {
    match result {
        Err(CallError::Failed { class, .. }) => class.to_string(),
        Err(CallError::TimedOut(_)) => "TimedOut".to_owned(),
        other => panic!("expected a failure, found {other:?}"),
    }
}

fn shell(script: &str) -> String {
    format!(r#"{{"command": ["/bin/sh", "-c", {}], "environment": ["PATH"]}}"#, Value::from(script))
}

#[test]
fn a_command_takes_json_and_gives_json() {
    let echoed = call(r#"{"command": ["/bin/cat"]}"#, r#"{"b": 1, "a": [1.0]}"#).unwrap();
    assert_eq!(echoed.to_string(), r#"{"a":[1.0],"b":1}"#);
}

#[test]
fn a_command_sees_only_the_environment_it_asked_for_and_the_name_of_its_call() {
    let output =
        call(&shell(r#"printf '{"home": "%s", "call": "%s"}' "$HOME" "$HENCE_CALL""#), "{}").unwrap();
    assert_eq!(output.to_string(), r#"{"call":"step/0.0/call/c/1","home":""}"#);
}

#[test]
fn a_command_runs_where_it_was_declared() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    std::fs::write(folder.path().join("below/data.json"), r#"{"here": true}"#).unwrap();
    let declaration = r#"{"command": ["/bin/cat", "data.json"], "directory": "below"}"#;
    let output = call_in(folder.path(), declaration, "{}", 20.0).unwrap();
    assert_eq!(output.to_string(), r#"{"here":true}"#);
}

#[test]
fn every_way_to_fail_has_a_class() {
    assert_eq!(class(call(r#"{"command": ["/no/such/program"]}"#, "{}")), "CommandNotStarted");
    assert_eq!(class(call(&shell(r"printf '\377'"), "{}")), "CommandOutputInvalid");
    assert_eq!(class(call(&shell("exit 0"), "{}")), "CommandOutputInvalid");
    assert_eq!(class(call(&shell("kill -9 $$"), "{}")), "CommandFailed");
    // Words are never read by a shell.
    assert_eq!(class(call(r#"{"command": ["/bin/echo", "; exit 0"]}"#, "{}")), "CommandOutputInvalid");
    let said = call(&shell("echo broken >&2; exit 3"), "{}").unwrap_err().to_string();
    assert_eq!(said, "CommandFailed: /bin/sh ended with exit status: 3: broken");
}

#[test]
fn output_at_the_limit_is_read_and_one_byte_more_is_not() {
    let declaration = |limit: usize| {
        format!(r#"{{"command": ["/bin/sh", "-c", "printf '\"123456\"'"], "output_bytes_max": {limit}}}"#)
    };
    assert_eq!(call(&declaration(8), "{}").unwrap().as_str(), Some("123456"));
    assert_eq!(class(call(&declaration(7), "{}")), "CommandOutputTooLarge");
}

#[test]
fn endless_output_and_unread_input_do_no_harm() {
    let endless =
        r#"{"command": ["/bin/sh", "-c", "while :; do echo 0123456789; done"], "output_bytes_max": 100000}"#;
    assert_eq!(class(call(endless, "{}")), "CommandOutputTooLarge");
    let large = format!(r#"{{"text": "{}"}}"#, "x".repeat(1024 * 1024));
    assert_eq!(call(&shell("echo '{}'"), &large).unwrap().to_string(), "{}");
}

#[test]
fn a_command_that_hangs_is_killed_with_its_descendants_on_time() {
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    // The descendant holds the output open, and would write a file if it lived.
    let script = shell("(sleep 3; touch alive) & sleep 30");
    assert_eq!(class(call_in(folder.path(), &script, "{}", 0.3)), "TimedOut");
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    std::thread::sleep(Duration::from_millis(3500).saturating_sub(begun.elapsed()));
    assert!(!folder.path().join("alive").exists());
    let own = r#"{"command": ["/bin/sleep", "30"], "timeout_seconds": 0.2}"#;
    assert_eq!(class(call(own, "{}")), "TimedOut");
}

#[test]
fn declarations_report_everything_that_is_wrong() {
    let document = r#"{"more": 1, "capabilities": {
        "text.split": {"command": ["x"]},
        "a": {"command": "ls", "timeout_seconds": 0, "output_bytes_max": 0, "shell": true},
        "b": 1, "c": {}}}"#;
    let wrong = Commands::read(&parse(document.as_bytes()).unwrap(), Path::new(".")).unwrap_err().0;
    assert_eq!(wrong.len(), 9, "{wrong:#?}");
    assert!(Commands::read(&Value::Null, Path::new(".")).is_err());
}
