use std::path::Path;
use std::sync::Arc;

use hence_canon::{Float, Value, parse};
use hence_cognition::capability::Registry as _;
use hence_cognition::run::{Call, CallError, CallPlace, CallPurpose};
use hence_skills::Host as _;

use crate::{Declarations, Kinds, Library, Source};

/// A declared command, and the time limit of its calls.
struct World<'a> {
    folder: &'a Path,
    provider: String,
    more: &'a str,
    seconds: f64,
}

impl World<'_> {
    fn call(&self, input: &str) -> Result<Value, CallError> {
        let World { folder, provider, more, .. } = self;
        let document =
            format!(r#"{{"capabilities": {{"c": {{"description": "d", "provider": {provider}{more}}}}}}}"#);
        let source = Source { document: parse(document.as_bytes()).unwrap(), folder: (*folder).to_owned() };
        let declared = Declarations::read(vec![source], &Kinds::standard()).unwrap();
        let (capability, input): (Arc<str>, Value) = ("c".into(), parse(input.as_bytes()).unwrap());
        let call = Call {
            capability: &capability,
            input: &input,
            purpose: CallPurpose::Step,
            skill_id: &"s".into(),
            step_id: &"step".into(),
            place: &CallPlace::default(),
            attempt: 1,
            timeout_seconds: Float::new(self.seconds).unwrap(),
        };
        // The call goes through the worker, as in a run.
        let library = Library::with(declared);
        assert!(library.capability("c").is_some());
        assert_eq!(library.determinism("c"), hence_skills::Determinism::Recorded);
        library.worker().call(&call).map(|reply| reply.output)
    }
}

fn call(provider: &str, input: &str) -> Result<Value, CallError> {
    call_with(provider, "", input)
}

fn call_with(provider: &str, more: &str, input: &str) -> Result<Value, CallError> {
    let folder = tempfile::tempdir().unwrap();
    World { folder: folder.path(), provider: provider.to_owned(), more, seconds: 20.0 }.call(input)
}

fn class(result: Result<Value, CallError>) -> String {
    match result {
        Err(CallError::Failed { class, .. }) => class.to_string(),
        Err(CallError::TimedOut(_)) => "TimedOut".to_owned(),
        Err(CallError::Undecided(_)) => "Undecided".to_owned(),
        other => panic!("expected a failure, found {other:?}"),
    }
}

fn words(words: &[&str]) -> String {
    let words: Value = words.iter().map(|word| Value::from(*word)).collect();
    format!(r#"{{"kind": "command", "command": {words}, "environment": ["PATH"]}}"#)
}

fn shell(script: &str) -> String {
    words(&["/bin/sh", "-c", script])
}

#[test]
fn a_command_takes_json_and_gives_json() {
    let echoed = call(&words(&["/bin/cat"]), r#"{"b": 1, "a": [1.0]}"#).unwrap();
    assert_eq!(echoed.to_string(), r#"{"a":[1.0],"b":1}"#);
}

#[test]
fn a_command_sees_only_the_environment_it_asked_for_and_the_name_of_its_call() {
    let output =
        call(&shell(r#"printf '{"home": "%s", "call": "%s"}' "$HOME" "$HENCE_CALL""#), "{}").unwrap();
    assert_eq!(output.to_string(), r#"{"call":"step/0.0/call/c/1","home":""}"#);
}

#[test]
fn a_command_runs_where_it_was_declared_and_lies_relative_to_its_declaration() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    std::fs::write(folder.path().join("below/data.json"), r#"{"here": true}"#).unwrap();
    std::fs::write(folder.path().join("program"), "#!/bin/sh\nexec /bin/cat data.json\n").unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("program"), executable).unwrap();
    let provider = r#"{"kind": "command", "command": ["./program"], "directory": "below"}"#.to_owned();
    let output = World { folder: folder.path(), provider, more: "", seconds: 20.0 }.call("{}").unwrap();
    assert_eq!(output.to_string(), r#"{"here":true}"#);
}

#[test]
fn every_way_to_fail_has_a_class() {
    let reads = r#", "effects": "reads""#;
    assert_eq!(class(call(&words(&["/no/such/program"]), "{}")), "CommandNotStarted");
    assert_eq!(class(call_with(&shell(r"printf '\377'"), reads, "{}")), "CommandOutputInvalid");
    assert_eq!(class(call_with(&shell("exit 0"), reads, "{}")), "CommandOutputInvalid");
    // One that acts and ended well may have acted.
    assert_eq!(class(call(&shell("exit 0"), "{}")), "Undecided");
    assert_eq!(class(call_with(&shell("kill -9 $$"), reads, "{}")), "CommandFailed");
    assert_eq!(class(call_with(&shell("kill -SEGV $$"), reads, "{}")), "CommandFailed");
    // No shell interprets the arguments.
    assert_eq!(class(call_with(&words(&["/bin/echo", "; exit 0"]), reads, "{}")), "CommandOutputInvalid");
    let said = call(&shell("echo broken >&2; exit 3"), "{}").unwrap_err().to_string();
    assert_eq!(said, "CommandFailed: /bin/sh ended with exit status: 3: broken");
}

#[test]
fn a_command_that_acts_and_whose_end_nobody_saw_is_undecided() {
    for script in ["kill -9 $$", "kill -SEGV $$", "exec yes"] {
        let limited = r#", "output_bytes_max": 4096"#;
        assert_eq!(class(call_with(&shell(script), limited, "{}")), "Undecided", "{script}");
        let reads = format!(r#", "effects": "reads"{limited}"#);
        assert_ne!(class(call_with(&shell(script), &reads, "{}")), "Undecided", "{script}");
    }
    let folder = tempfile::tempdir().unwrap();
    let timed_out = |more| {
        let provider = shell("sleep 600");
        class(World { folder: folder.path(), provider, more, seconds: 0.1 }.call("{}"))
    };
    assert_eq!(timed_out(""), "Undecided");
    assert_eq!(timed_out(r#", "effects": "reads""#), "TimedOut");
    // An exit code is a decision.
    assert_eq!(class(call(&shell("exit 3"), "{}")), "CommandFailed");
}

#[test]
fn a_command_that_read_a_part_of_its_input_has_not_answered_it() {
    let large = format!(r#"{{"text": "{}"}}"#, "x".repeat(1 << 20));
    let script = shell("head -c 10 > /dev/null; echo '{}'");
    assert_eq!(class(call_with(&script, r#", "effects": "reads""#, &large)), "CommandInputCut");
    // One that acts and ended well may have acted on the part that it read.
    assert_eq!(class(call(&script, &large)), "Undecided");
    assert!(call(&shell("echo '{}'"), &large).is_ok(), "a command that reads nothing needs no input");
}

#[test]
fn output_at_the_limit_is_read_and_one_byte_more_is_not() {
    let print = shell(r#"printf '"123456"'"#);
    assert_eq!(call_with(&print, r#", "output_bytes_max": 8"#, "{}").unwrap().as_str(), Some("123456"));
    let short = call_with(&print, r#", "effects": "reads", "output_bytes_max": 7"#, "{}");
    assert_eq!(class(short), "CommandOutputTooLarge");
}

#[test]
fn endless_output_and_unread_input_do_no_harm() {
    // The command never exits: the call returns because the output reaches its limit.
    let gigabyte = shell("exec cat /dev/zero");
    assert_eq!(
        class(call_with(&gigabyte, r#", "effects": "reads", "output_bytes_max": 100000"#, "{}")),
        "CommandOutputTooLarge"
    );
    let large = format!(r#"{{"text": "{}"}}"#, "x".repeat(1024 * 1024));
    assert_eq!(call(&shell("echo '{}'"), &large).unwrap().to_string(), "{}");
}

#[test]
fn a_command_that_hangs_is_killed_with_its_descendants_on_time() {
    let folder = tempfile::tempdir().unwrap();
    std::process::Command::new("mkfifo").arg(folder.path().join("alive")).status().unwrap();
    // The descendant holds the pipe open while it lives, and creates `ready` when it starts.
    let script = "(echo there > ready; sleep 600 > alive; echo over > finished) & exec sleep 600";
    let reader = {
        let alive = folder.path().join("alive");
        std::thread::spawn(move || std::fs::read(alive))
    };
    let world = World { folder: folder.path(), provider: shell(script), more: "", seconds: 0.3 };
    assert_eq!(class(world.call("{}")), "Undecided");
    assert!(folder.path().join("ready").exists());
    // The pipe ends only when its last holder is dead, and the descendant was killed before it finished.
    assert_eq!(reader.join().unwrap().unwrap(), b"");
    assert!(!folder.path().join("finished").exists());
}

#[test]
fn a_declaration_may_allow_less_time_than_the_step() {
    let own =
        call_with(&words(&["/bin/sleep", "600"]), r#", "effects": "reads", "timeout_seconds": 0.1"#, "{}");
    assert_eq!(own.unwrap_err().to_string(), "no reply within 0.1 seconds");
}
