//! What was known when something was committed, and what was committed with it.

use hence_canon::Value;

use super::at;
use super::truth::{Claude, actions, trace as imported};
use crate::import::Format;

/// Returns whether the commit of a log says that it holds a secret.
fn commit_holds_secret(trace: &Value) -> bool {
    let all = at(trace, "/actions").as_array().unwrap_or(&[]);
    let commit = all.iter().rfind(|action| at(action, "/type").as_str() == Some("GitCommit"));
    *at(commit.expect("a commit"), "/request/contains_secret") == Value::from(true)
}

const SECRET: &str = "AWS_SECRET_ACCESS_KEY=q8ZrT1xWvB3nM5kL9pQ2sD4fG6hJ8zXc7vBn1mAs";
const COMMITTED: &str = "[main abc1234] x\n 1 file changed";

#[test]
fn a_commit_says_that_it_holds_a_secret_that_the_log_shows() {
    let token = "ghp_a8Kd93jfKSLd93jfkw02Lsdk39fjDKs0dkf3";
    let created = "[main abc1234] x\n create mode 100644 .env";
    let message = format!("git commit -m 'token {token}'");
    let in_body = format!("git commit -F - <<'EOF'\ntoken {token}\nEOF");
    let added = format!("diff --git a/c.py b/c.py\n+++ b/c.py\n+{SECRET}");
    let plus = format!("+{SECRET}");
    let variable = format!("GH_TOKEN={token} git commit -m x");
    let removed = format!("-{SECRET}");
    let cases: &[(&[(&str, &str)], bool)] = &[
        (&[(&message, COMMITTED)], true),
        (&[(&in_body, COMMITTED)], true),
        (&[("git diff --cached", &plus), ("git commit -m x", COMMITTED)], true),
        (&[("git diff --cached", &added), ("git commit -m x", COMMITTED)], true),
        (&[("cat .env", SECRET), ("git add -A && git commit -m x", created)], true),
        (&[("cat .env", SECRET), ("git add .env && git commit -m x", COMMITTED)], true),
        (&[("cat .env", SECRET), ("cp .env cfg && git add cfg && git commit -m x", COMMITTED)], true),
        (&[("git diff --cached", &removed), ("git commit -m x", COMMITTED)], false),
        (&[("git diff --cached", &added), ("sed -i d c.py", ""), ("git commit -am x", COMMITTED)], false),
        (&[("git diff --cached", &plus), ("git reset", ""), ("git commit -m x", COMMITTED)], false),
        (&[("cat .env", SECRET), ("git commit -am x", COMMITTED)], false),
        (&[(&variable, COMMITTED)], false),
        (&[("git commit -m x", COMMITTED)], false),
        // Names of private files whose texts the log does not show.
        (&[("git add .env && git commit -m x", COMMITTED)], true),
        (&[("git add config/.env.production deploy/id_ed25519", ""), ("git commit -m x", COMMITTED)], true),
        (&[("git add -A && git commit -m x", created)], true),
        (&[("git commit -m x -- certs/server.key", COMMITTED)], true),
        (&[("git add .env.example && git commit -m x", COMMITTED)], false),
        (&[("git commit -am .env", COMMITTED)], false),
        (&[("git add .gitignore && git commit -m 'ignore .env'", COMMITTED)], false),
        (&[("git add .env && git rm --cached .env && git commit -m x", COMMITTED)], false),
        (&[("cat .env", "PORT=3000"), ("git add .env && git commit -m x", COMMITTED)], false),
        (&[("echo PORT=3000 > .env && git add .env && git commit -m x", COMMITTED)], false),
    ];
    for (calls, expected) in cases {
        let mut claude = Claude::asked("Commit it, please");
        for (command, output) in *calls {
            claude.bash(command, output, false);
        }
        let trace = claude.trace();
        assert_eq!(commit_holds_secret(&trace), *expected, "{calls:?}");
        assert!(!trace.to_string().contains("q8ZrT1xW"), "{calls:?}");
    }
    let mut claude = Claude::asked("Commit it, please");
    claude.calls("Read", r#"{"file_path": "/p/.env"}"#).result(SECRET, false).bash(
        "git add .env && git commit -m x",
        COMMITTED,
        false,
    );
    assert!(commit_holds_secret(&claude.trace()));
    // What was judged by its name alone is named.
    let trace = claude.bash("git add .env.local && git commit -m x", COMMITTED, false).trace();
    assert!(trace.to_string().contains(r#""private_files":[".env.local"]"#), "{trace}");
}

const BEGUN: &str = r#"{"command": "pytest", "run_in_background": true}"#;
const PASSED: &str = "<status>completed</status>\n<exit_code>0</exit_code>\n<stdout>5 passed</stdout>";

fn begun() -> Claude {
    let mut claude = Claude::asked("Test it, please");
    claude.calls("Bash", BEGUN).result("Command running in background with ID: bash_1", false);
    claude
}

#[test]
fn tests_count_from_where_their_result_is_known() {
    let poll = r#"{"bash_id": "bash_1"}"#;
    let mut claude = begun();
    claude.bash("git commit -am x", COMMITTED, false).calls("BashOutput", poll).result(PASSED, false);
    let found = actions(&claude.trace());
    let place = |word: &str| found.iter().position(|action| action.starts_with(word)).expect("an action");
    assert!(place("GitCommit") < place("RunTests"), "{found:?}");

    let mut claude = begun();
    claude.calls("BashOutput", poll).result(PASSED, false).bash("git commit -am x", COMMITTED, false);
    assert_eq!(actions(&claude.trace())[0], "RunTests completed");

    let mut claude = begun();
    claude
        .calls("Edit", r#"{"file_path": "/p/a.py", "old_string": "a", "new_string": "b"}"#)
        .result("updated", false)
        .bash("git commit -am x", COMMITTED, false)
        .calls("BashOutput", poll)
        .result(PASSED, false);
    let trace = claude.trace();
    assert_eq!(actions(&trace)[0], "RunTests unknown");
    assert!(crate::ending::of(&crate::wire::Trace::read(&trace).actions()[0]).is_none());
}

#[test]
fn results_in_another_order_than_their_calls_count_in_their_own() {
    let call = |id: &str, command: &str| {
        format!(
            r#"{{"type": "tool_use", "id": "{id}", "name": "Bash", "input": {{"command": "{command}"}}}}"#
        )
    };
    let answer = |id: &str, text: &str| {
        format!(
            r#"{{"type": "user", "message": {{"content": [{{"type": "tool_result", "tool_use_id": "{id}", "content": "{text}"}}]}}}}"#
        )
    };
    let head = r#"{"type": "user", "sessionId": "s", "message": {"content": "Test and commit it"}}"#;
    let both = format!(
        r#"{{"type": "assistant", "message": {{"model": "m", "content": [{}, {}]}}}}"#,
        call("a", "pytest"),
        call("b", "git commit -am x")
    );
    let (tested, committed) = (answer("a", "5 passed"), answer("b", "[main abc1234] x"));
    let late = imported(&[head, &both, &committed, &tested].join("\n"), Format::ClaudeCode);
    assert_eq!(actions(&late), ["GitCommit completed", "RunTests completed"]);
    let in_order = imported(&[head, &both, &tested, &committed].join("\n"), Format::ClaudeCode);
    assert_eq!(actions(&in_order), ["RunTests completed", "GitCommit completed"]);
    // A row that occurs twice is one.
    let twice = imported(&[head, &both, &tested, &committed, &both, &tested].join("\n"), Format::ClaudeCode);
    assert_eq!(actions(&twice), ["RunTests completed", "GitCommit completed"]);
}

#[test]
fn a_script_that_a_shell_is_given_to_read_is_run() {
    for input in [
        r#"{"command": "bash -s", "input": "git push -f"}"#,
        r#"{"command": "bash -s", "stdin": "git push -f"}"#,
    ] {
        let mut claude = Claude::asked("Push it, please");
        claude.calls("Bash", input).result("done", false);
        let trace = claude.trace();
        assert_eq!(*at(&trace, "/actions/0/type"), "GitPush".into(), "{input}");
        assert_eq!(*at(&trace, "/actions/0/request/force"), true.into(), "{input}");
    }
    let mut claude = Claude::asked("Read it, please");
    claude.calls("Bash", r#"{"command": "cat", "input": "git push -f"}"#).result("git push -f", false);
    assert_ne!(*at(&claude.trace(), "/actions/0/type"), "GitPush".into());
}

fn span(id: u8, command: &str, result: &str, start: u64, end: u64) -> String {
    format!(
        r#"{{"traceId": "t", "spanId": "{id}", "name": "execute_tool bash", "startTimeUnixNano": "{start}000000000", "endTimeUnixNano": "{end}000000000",
            "attributes": [{{"key": "gen_ai.tool.name", "value": {{"stringValue": "bash"}}}},
                {{"key": "gen_ai.tool.call.arguments", "value": {{"stringValue": "{{\"command\": \"{command}\"}}"}}}},
                {{"key": "gen_ai.tool.call.result", "value": {{"stringValue": "{result}"}}}}]}}"#
    )
}

fn spans(list: &[String]) -> Value {
    let text = format!(r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{}]}}]}}]}}"#, list.join(","));
    imported(&text, Format::Otlp)
}

#[test]
fn spans_that_overlap_count_where_they_end() {
    let commit = span(2, "git commit -am x", "[main abc1234] x", 3, 4);
    let types = |trace: &Value| -> Vec<String> {
        let all = at(trace, "/actions").as_array().unwrap_or(&[]).iter();
        all.map(|action| at(action, "/type").as_str().unwrap_or("").to_owned()).collect()
    };
    let overlapping = spans(&[span(1, "pytest", "5 passed", 1, 10), commit.clone()]);
    assert_eq!(types(&overlapping), ["GitCommit", "RunTests"]);
    let apart = spans(&[span(1, "pytest", "5 passed", 1, 2), commit]);
    assert_eq!(types(&apart), ["RunTests", "GitCommit"]);
}

#[test]
fn the_exit_code_in_the_result_of_a_span_is_its_end() {
    for (result, expected) in [
        (r#"{\\\"exit_code\\\": 0}"#, Some(true)),
        (r#"{\\\"exit_code\\\": 0, \\\"stdout\\\": \\\"5 passed\\\"}"#, Some(true)),
        (r#"{\\\"returncode\\\": 0, \\\"stdout\\\": \\\"\\\"}"#, Some(true)),
        (r#"{\\\"exit_code\\\": 1}"#, Some(false)),
        (r#"{\\\"exit_code\\\": \\\"2\\\", \\\"stdout\\\": \\\"5 passed\\\"}"#, Some(false)),
        ("Exit code 1", Some(false)),
        ("{'exit_code': 1}", Some(false)),
        ("done", None),
    ] {
        let result = result.replace(r#"\\\""#, r#"\""#);
        let trace = spans(&[span(1, "pytest", &result, 1, 2)]);
        let read = crate::wire::Trace::read(&trace);
        assert_eq!(crate::ending::of(&read.actions()[0]).map(|end| end.well), expected, "{result}");
    }
}

#[test]
fn a_failed_span_keeps_the_exit_code_it_states_unless_that_says_otherwise() {
    for (code, expected) in [("1", 1.into()), ("0", Value::Null)] {
        let result = format!(r#"{{\"exit_code\": {code}}}"#);
        let failed = span(1, "pytest", &result, 1, 2);
        let failed = format!(r#"{}, "status": {{"code": 2}}}}"#, failed.strip_suffix('}').unwrap());
        let trace = spans(&[failed]);
        assert_eq!(*at(&trace, "/actions/0/result/status"), "failed".into());
        assert_eq!(*at(&trace, "/actions/0/result/exit_code"), expected, "{code}");
    }
}

#[test]
fn calls_that_never_began_change_nothing() {
    for text in [
        "<tool_use_error>Cancelled: parallel tool call Bash errored</tool_use_error>",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "<tool_use_error>InputValidationError: Bash failed</tool_use_error>",
        "Error: No such tool available: Bash",
        "Error: PreToolUse:Bash hook blocking error from command: guard: no",
    ] {
        for command in
            ["rm -rf x y", "rm a.py", "mv a.py b.py && git commit -am x", "git push -f", "sed -i d a b"]
        {
            let mut claude = Claude::asked("Clean it up, please");
            claude.bash(command, text, true);
            let trace = claude.trace();
            assert_eq!(at(&trace, "/files_modified").to_string(), "[]", "{command}: {text}");
            for action in actions(&trace) {
                let ended = ["failed", "refused", "cancelled"].iter().any(|status| action.ends_with(status));
                assert!(ended, "{command}: {text}: {action}");
            }
        }
    }
    let rows = [
        r#"{"type": "session_meta", "payload": {"id": "c", "cwd": "/p"}}"#,
        r#"{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Clean it"}]}}"#,
        r#"{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{\"command\": [\"bash\", \"-lc\", \"rm -rf x y\"]}", "call_id": "1"}}"#,
        r#"{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1", "output": "failed in sandbox: LandlockRestrict"}}"#,
    ];
    let trace = imported(&rows.join("\n"), Format::Codex);
    assert_eq!(actions(&trace), ["DeleteFile failed", "DeleteFile failed"]);
}

#[test]
fn an_error_of_the_service_explains_no_call() {
    let rows = [
        r#"{"type": "user", "message": {"content": "List it, please"}}"#,
        r#"{"type": "assistant", "isApiErrorMessage": true, "message": {"id": "m1", "content": [{"type": "text", "text": "API Error: 529 overloaded"}]}}"#,
        r#"{"type": "assistant", "message": {"id": "m2", "model": "m", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}]}}"#,
        r#"{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}}"#,
    ];
    let trace = imported(&rows.join("\n"), Format::ClaudeCode);
    assert_eq!(at(&trace, "/actions/0/rationale").as_str(), Some(""));
}

#[test]
fn a_total_that_is_no_sum_is_not_stated() {
    let log = r#"{"sessionId": "g", "messages": [{"type": "user", "content": "List it, please"},
        {"type": "gemini", "content": "so", "tokens": {"input": 10, "output": 5, "thoughts": 2, "total": 17},
         "toolCalls": [{"name": "run_shell_command", "args": {"command": "ls"}, "status": "success"}]}]}"#;
    let trace = imported(log, Format::Gemini);
    assert_eq!(*at(&trace, "/metrics/tokens_in"), 10.into());
    assert_eq!(*at(&trace, "/metrics/tokens_out"), 5.into());
    assert_eq!(*at(&trace, "/metrics/tokens"), 17.into());
}

#[test]
fn runs_of_tests_that_print_failures_or_skip_everything_have_not_passed() {
    for (line, output) in [
        ("npm test", "# tests 5\n# pass 4\n# fail 1"),
        ("make test", "rspec || true\n5 examples, 1 failure"),
        ("make test", "mix test || true\n5 tests, 1 failure"),
        ("make test", "make: [Makefile:2: test] Error 1 (ignored)"),
        ("dotnet test", "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5"),
        ("swift test", "Executed 5 tests, with 1 failure (0 unexpected) in 0.1"),
        ("mvn -B test", "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS"),
        ("make test", "5 tests didn't pass"),
        ("make test", "passed 3 of 5"),
        ("pytest", "5 skipped in 0.1s"),
        ("npx jest", "Tests:       5 skipped, 5 total"),
        ("npx vitest run", "Tests  5 skipped (5)"),
        ("rspec", "5 examples, 0 failures, 5 pending"),
        ("go test -v ./...", "--- SKIP: TestX\nPASS\nok  \tx\t0.1s"),
        ("python -m unittest", "Ran 5 tests in 0.1s\n\nOK (skipped=5)"),
    ] {
        let mut claude = Claude::asked("Test it, please");
        claude.bash(line, output, false);
        let trace = claude.trace();
        let end = crate::ending::of(&crate::wire::Trace::read(&trace).actions()[0]);
        assert_ne!(end.map(|end| end.well), Some(true), "{line}: {output}");
    }
}
