//! Deeds of lines that failed later, that were stopped, or that were done in part.

use hence_canon::Value;

use super::at;
use super::truth::{Claude, actions, trace as imported};
use crate::import::Format;

/// The actions of one command of a Claude Code log.
fn did(command: &str, output: &str, is_error: bool) -> Vec<String> {
    let mut claude = Claude::asked("Ship it, please");
    claude.bash(command, output, is_error);
    actions(&claude.trace())
}

#[test]
fn only_the_command_that_failed_has_the_exit_code_of_the_line() {
    let mut claude = Claude::asked("Ship it, please");
    claude.bash(
        "git push -f && pytest",
        "Exit code 1\n + 1a2...3b4 main -> main (forced update)\n1 failed",
        true,
    );
    let trace = claude.trace();
    assert_eq!(actions(&trace), ["GitPush completed", "RunTests failed"]);
    assert_eq!(*at(&trace, "/actions/0/evidence/0/exit_code"), Value::Null);
    assert_eq!(*at(&trace, "/actions/0/result/exit_code"), Value::Null);
    assert_eq!(*at(&trace, "/actions/1/result/exit_code"), 1.into());
    assert_eq!(
        crate::ending::of(&crate::wire::Trace::read(&trace).actions()[0]).map(|end| end.well),
        Some(true)
    );
    let mut claude = Claude::asked("Check it, please");
    claude.bash("pytest -q && ruff check .", "Exit code 1\n5 passed\nFound 1 error.", true);
    let trace = claude.trace();
    assert_eq!(actions(&trace), ["RunTests completed", "Lint failed"]);
    assert_eq!(
        crate::ending::of(&crate::wire::Trace::read(&trace).actions()[0]).map(|end| end.well),
        Some(true)
    );
    for (line, output) in [
        ("git commit -am x && npm test", "Exit code 1\n[main 1a2b3c4] x\n1 failed"),
        ("git commit -am x && make deploy && npm test", "Exit code 2\n[main 1a2b3c4] x\n3 failing"),
    ] {
        assert_eq!(did(line, output, true)[0], "GitCommit completed", "{line}");
    }
    assert_eq!(
        did("rm -rf data && pytest", "Exit code 1\n1 failed", true),
        ["DeleteFile completed", "RunTests failed"]
    );
    assert_eq!(did("rm -rf data && make thing", "Exit code 2", true)[0], "DeleteFile unknown");
}

#[test]
fn a_deed_that_was_stopped_may_be_done_and_a_check_is_not() {
    let aborted = "To x\n + 1a2...3b4 main -> main (forced update)\n<error>Command was aborted before completion</error>";
    for (output, is_error) in [
        (aborted, true),
        ("<error>Command was aborted before completion</error>", true),
        ("[Request interrupted by user for tool use]", true),
        ("Exit code 124", true),
        ("Exit code 130", true),
        ("Exit code 137\n + 1a2...3b4 main -> main (forced update)", true),
        ("Exit code 143", true),
        ("Command timed out after 2m 0.0s", true),
    ] {
        assert_eq!(did("git push -f", output, is_error), ["GitPush unknown"], "{output}");
    }
    assert_eq!(
        did("pytest -q && git push -f", "Exit code 137", true),
        ["RunTests unknown", "GitPush unknown"]
    );
    assert_eq!(did("pytest -q", "Exit code 137", true), ["RunTests failed"]);
    assert_eq!(did("pytest -q", "[Request interrupted by user for tool use]", true), ["RunTests cancelled"]);
    assert_eq!(
        did("ssh h 'git push -f'", "Exit code 255\nConnection to h closed.", true),
        ["GitPush unknown"]
    );
    let unreached = "Exit code 255\nssh: connect to host h port 22: Connection refused";
    assert_eq!(did("ssh h 'git push -f'", unreached, true), ["GitPush failed"]);
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    assert_eq!(did("git push -f", refused, true), ["GitPush refused"]);
    assert_eq!(
        did("rm -rf a b", "Exit code 1\nrm: cannot remove 'b': Permission denied", true)[0],
        "DeleteFile unknown"
    );
}

#[test]
fn other_agents_stop_commands_too() {
    let gemini = |status: &str, text: &str| {
        let log = format!(
            r#"{{"sessionId": "g", "messages": [{{"type": "user", "content": "Ship it, please"}},
                {{"type": "gemini", "content": "", "toolCalls": [{{"name": "run_shell_command", "args": {{"command": "git push -f"}},
                "status": "{status}", "result": [{{"functionResponse": {{"response": {{"output": "{text}"}}}}}}]}}]}}]}}"#
        );
        actions(&imported(&log, Format::Gemini)).remove(0)
    };
    assert_eq!(gemini("success", r"Output: x\nExit Code: (none)\nSignal: 9"), "GitPush unknown");
    assert_eq!(gemini("success", r"Output: x\nExit Code: (none)\nSignal: (none)"), "GitPush unknown");
    assert_eq!(gemini("cancelled", "[Operation Cancelled] Reason: User cancelled"), "GitPush unknown");
    assert_eq!(
        gemini("cancelled", "[Operation Cancelled] Reason: User did not allow tool call"),
        "GitPush refused"
    );
    assert_eq!(gemini("success", r"Output: x\nExit Code: 1"), "GitPush failed");
    let codex = |output: &str| {
        let log = [
            r#"{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Ship it, please"}]}"#.to_owned(),
            r#"{"type": "function_call", "name": "shell_command", "arguments": "{\"command\": \"git push -f\"}", "call_id": "1"}"#.to_owned(),
            format!(r#"{{"type": "function_call_output", "call_id": "1", "output": "{output}"}}"#),
        ];
        actions(&imported(&log.join("\n"), Format::Codex)).remove(0)
    };
    assert_eq!(codex("aborted by user after 9.1s"), "GitPush unknown");
    assert_eq!(codex(r#"{\"output\": \"x\", \"metadata\": {\"exit_code\": 137}}"#), "GitPush unknown");
    assert_eq!(codex("exec command rejected by user"), "GitPush refused");
    let span = |error: &str| {
        let log = format!(
            r#"{{"spans": [{{"traceId": "t", "spanId": "1", "name": "bash", "status": {{"code": 2, "message": "{error}"}},
                "attributes": [{{"key": "gen_ai.tool.name", "value": {{"stringValue": "bash"}}}},
                {{"key": "gen_ai.tool.call.arguments", "value": {{"stringValue": "{{\"command\": \"git push -f\"}}"}}}}]}}]}}"#
        );
        actions(&imported(&log, Format::Otlp)).remove(0)
    };
    assert_eq!(span("context deadline exceeded: timed out"), "GitPush unknown");
    assert_eq!(span("remote said no"), "GitPush failed");
}

/// The actions of one shell call of a Codex log, with their paths.
fn codex(arguments: &str, output: &str) -> Value {
    let call = hence_canon::Object::from_iter([
        ("type", "function_call"),
        ("name", "shell_command"),
        ("arguments", arguments),
        ("call_id", "1"),
    ]);
    let result = hence_canon::Object::from_iter([
        ("type", "function_call_output"),
        ("call_id", "1"),
        ("output", output),
    ]);
    let user = r#"{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it, please"}]}"#;
    imported(&format!("{user}\n{}\n{}", Value::from(call), Value::from(result)), Format::Codex)
}

#[test]
fn a_patch_is_one_command_of_its_line() {
    let patch = r"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch\nEOF\n";
    let done = "Exit code: 0\nOutput:\nSuccess";
    let trace = codex(&format!(r#"{{"command": "{patch}git commit -am x && git push -f"}}"#), done);
    assert_eq!(
        actions(&trace),
        ["EditFile unknown", "CreateFile unknown", "GitCommit completed", "GitPush completed"]
    );
    let trace = codex(&format!(r#"{{"command": "cd sub && {patch}"}}"#), done);
    assert_eq!(at(&trace, "/files_modified").to_string(), r#"["sub/a.py","sub/b.py"]"#);
    let trace = codex(&format!(r#"{{"command": "cd sub && {patch}rm -rf build"}}"#), done);
    assert_eq!(actions(&trace), ["EditFile unknown", "CreateFile unknown", "DeleteFile completed"]);
    assert_eq!(*at(&trace, "/actions/0/evidence/0/ref"), "sub/a.py".into());
    assert_eq!(*at(&trace, "/actions/2/evidence/0/ref"), "sub/build".into());
    let trace = codex(&format!(r#"{{"command": "{patch}", "workdir": "/p/deep"}}"#), done);
    assert_eq!(at(&trace, "/files_modified").to_string(), r#"["deep/a.py","deep/b.py"]"#);
    let trace = codex(&format!(r#"{{"command": "pytest -q && {patch}"}}"#), done);
    assert_eq!(actions(&trace), ["RunTests completed", "EditFile completed", "CreateFile completed"]);
}

/// Returns how the first action of a log ended, as rules see it.
fn well(trace: &Value) -> Option<bool> {
    crate::ending::of(&crate::wire::Trace::read(trace).actions()[0]).map(|end| end.well)
}

#[test]
fn tests_end_as_their_output_says() {
    let long = format!("1..60\n{}not ok 60 last", "ok 1 a test with a long name\n".repeat(60));
    for (line, output, expected) in [
        ("npx jest --passWithNoTests", "No tests found, exiting with code 0", None),
        ("go test ./...", "?   \tex.com/x\t[no test files]", None),
        ("go test ./...", "ok  \tex.com/y\t0.1s\n?   \tex.com/x\t[no test files]", Some(true)),
        (
            "go test -run No ./...",
            "testing: warning: no tests to run\nPASS\nok  \tex.com/x\t0.1s [no tests to run]",
            None,
        ),
        (
            "cargo test nope",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 12 filtered out",
            None,
        ),
        (
            "cargo test | grep 'test result'",
            "test result: ok. 3 passed; 0 failed\ntest result: ok. 0 passed; 0 failed",
            Some(true),
        ),
        (
            "cargo test",
            "test result: ok. 3 passed; 0 failed\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed",
            Some(true),
        ),
        ("npx mocha", "  0 passing (1ms)", None),
        ("rspec", "0 examples, 0 failures", None),
        ("rspec | cat", "5 examples, 0 failures", Some(true)),
        ("python -m unittest", "Ran 0 tests in 0.000s\n\nOK", None),
        ("ctest", "No tests were found!!!", None),
        ("mvn test", "No tests to run.\nBUILD SUCCESS", None),
        ("phpunit", "No tests executed!", None),
        ("dotnet test", "No test is available in x.dll.", None),
        ("npx vitest run --passWithNoTests", "No test files found, exiting with code 0", None),
        ("bats t | cat", "1..2\nok 1 a\nnot ok 2 b", Some(false)),
        ("bats t || true", "ok 1 a\nnot ok 2 b", Some(false)),
        ("bats t | cat", &long, Some(false)),
        ("bats t", &long, Some(false)),
        ("pytest -q; echo $?", "5 passed in 1s\n1", Some(false)),
        ("pytest -q; echo \"rc=$?\"", "5 passed in 1s\nrc=0", Some(true)),
        ("make -i test", "make: [Makefile:3: test] Error 1 (ignored)", Some(false)),
        ("make -i test", "all of it", None),
        ("pytest", "<error>Exit code 1</error>\n5 passed", Some(false)),
    ] {
        let mut claude = Claude::asked("Test it, please");
        claude.bash(line, output, false);
        let trace = claude.trace();
        assert_eq!(*at(&trace, "/actions/0/type"), "RunTests".into(), "{line}");
        assert_eq!(well(&trace), expected, "{line}: {output}\n{}", at(&trace, "/actions/0"));
    }
}

#[test]
fn commands_that_only_list_tests_run_none() {
    for line in [
        "cargo test -- --list",
        "tox -l",
        "nox -l",
        "npx vitest list",
        "./gradlew test -x test",
        "nox --list-sessions",
        "ctest --show-only",
        "tox list",
        "gradle check -x check",
    ] {
        assert_ne!(did(line, "a\nb", false), ["RunTests completed"], "{line}");
    }
    assert_eq!(did("./gradlew test -x lint", "BUILD SUCCESSFUL", false), ["RunTests completed"]);
}

#[test]
fn a_command_in_the_background_ends_as_a_later_call_says() {
    for (code, expected) in [("0", Some(true)), ("1", Some(false))] {
        let mut claude = Claude::asked("Test it, please");
        claude
            .calls("Bash", r#"{"command": "pytest -q", "run_in_background": true}"#)
            .result(
                "Command running in background with ID: bash_1. Output is being written to: /tmp/x",
                false,
            )
            .calls("BashOutput", r#"{"bash_id": "bash_1"}"#)
            .result(
                &format!(
                    "<status>completed</status>\n<exit_code>{code}</exit_code>\n<stdout>5 passed</stdout>"
                ),
                false,
            );
        assert_eq!(well(&claude.trace()), expected);
    }
    let mut claude = Claude::asked("Test it, please");
    claude
        .calls("Bash", r#"{"command": "pytest -q", "run_in_background": true}"#)
        .result("Command running in background with ID: bash_1", false)
        .calls("BashOutput", r#"{"bash_id": "bash_2"}"#)
        .result("<exit_code>0</exit_code>", false);
    assert_eq!(well(&claude.trace()), None);
}

#[test]
fn tools_of_logs_and_telemetry_do_what_their_names_say() {
    let mut claude = Claude::asked("Ship it, please");
    claude
        .calls("mcp__filesystem__write_file", r#"{"path": "/p/a.py", "content": "x"}"#)
        .result("ok", false)
        .calls(
            "str_replace_based_edit_tool",
            r#"{"command": "str_replace", "path": "/p/b.py", "new_str": "b"}"#,
        )
        .result("ok", false)
        .calls("mcp__git__git_commit", r#"{"message": "m"}"#)
        .result("ok", false)
        .calls("mcp__git__git_push", r#"{"force": true}"#)
        .result("ok", false);
    let trace = claude.trace();
    assert_eq!(
        actions(&trace),
        ["CreateFile completed", "EditFile completed", "GitCommit completed", "GitPush completed"]
    );
    assert_eq!(at(&trace, "/files_modified").to_string(), r#"["a.py","b.py"]"#);
    assert_eq!(*at(&trace, "/actions/3/request/force"), true.into());
    assert_eq!(*at(&trace, "/actions/3/request/input/force"), true.into());
    assert!(at(&trace, "/actions/3/request/arguments").as_array().is_some());
    let span = |id: &str, tool: &str, arguments: &str| {
        format!(
            r#"{{"traceId": "t", "spanId": "{id}", "name": "execute_tool {tool}", "startTimeUnixNano": "{id}000000000",
                "attributes": [{{"key": "gen_ai.tool.name", "value": {{"stringValue": "{tool}"}}}},
                {{"key": "gen_ai.tool.call.arguments", "value": {{"stringValue": "{arguments}"}}}}]}}"#
        )
    };
    let spans = [
        span("1", "git_push", r#"{\"force\": true}"#),
        span("2", "delete_file", r#"{\"path\": \"a.py\"}"#),
        span("3", "book_room", r#"{\"room\": 4}"#),
    ];
    let trace = imported(&format!(r#"{{"spans": [{}]}}"#, spans.join(",")), Format::Otlp);
    let types: Vec<&str> =
        (0..3).map(|place| at(&trace, &format!("/actions/{place}/type")).as_str().unwrap_or("")).collect();
    assert_eq!(types, ["GitPush", "DeleteFile", "ToolCall"]);
    assert_eq!(*at(&trace, "/actions/0/request/force"), true.into());
    assert_eq!(*at(&trace, "/actions/1/request/path"), "a.py".into());
}
