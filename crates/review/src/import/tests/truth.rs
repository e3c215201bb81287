//! An imported trace says what the log says: no more, and no less.
//!
//! One file, because all tests share the session that they write row by row and the check of the finished trace.

use hence_canon::{Object, Value, parse};

use super::super::{Format, Surroundings, import};
use super::at;
use crate::validate::{Rule, validate};

/// One row of a Claude Code log.
fn row(text: &str) -> String {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}")).to_string()
}

/// A Claude Code session: the user's task, then calls with their results.
pub(super) struct Claude {
    rows: Vec<String>,
    calls: usize,
}

impl Claude {
    pub(super) fn asked(task: &str) -> Self {
        let mut claude = Self { rows: Vec::new(), calls: 0 };
        claude.user(task);
        claude
    }

    fn push(&mut self, members: &[(&str, Value)]) -> &mut Self {
        let row: Object = members.iter().map(|(key, value)| (*key, value.clone())).collect();
        self.rows.push(Value::from(row).to_string());
        self
    }

    fn user(&mut self, text: &str) -> &mut Self {
        let message = Object::from_iter([("content", Value::from(text))]);
        self.push(&[("type", "user".into()), ("message", message.into())])
    }

    fn says(&mut self, text: &str) -> &mut Self {
        let block = Object::from_iter([("type", "text"), ("text", text)]);
        let message = Object::from_iter([("content", Value::from(vec![block]))]);
        self.push(&[("type", "assistant".into()), ("message", message.into())])
    }

    pub(super) fn calls(&mut self, tool: &str, input: &str) -> &mut Self {
        self.calls += 1;
        let block = Object::from_iter([
            ("type", Value::from("tool_use")),
            ("id", format!("c{}", self.calls).into()),
            ("name", tool.into()),
            ("input", parse(input.as_bytes()).unwrap()),
        ]);
        let message = Object::from_iter([("model", Value::from("m-1")), ("content", vec![block].into())]);
        self.push(&[("type", "assistant".into()), ("message", message.into())])
    }

    pub(super) fn result(&mut self, text: &str, is_error: bool) -> &mut Self {
        let block = Object::from_iter([
            ("type", Value::from("tool_result")),
            ("tool_use_id", format!("c{}", self.calls).into()),
            ("content", text.into()),
            ("is_error", is_error.into()),
        ]);
        let message = Object::from_iter([("content", Value::from(vec![block]))]);
        self.push(&[("type", "user".into()), ("message", message.into())])
    }

    pub(super) fn bash(&mut self, command: &str, output: &str, is_error: bool) -> &mut Self {
        let input = Object::from_iter([("command", command)]);
        self.calls("Bash", &Value::from(input).to_string()).result(output, is_error)
    }

    pub(super) fn trace(&self) -> Value {
        trace(&self.rows.join("\n"), Format::ClaudeCode)
    }
}

/// Imports a log of one session, which validates but for reasons that nobody wrote and types of policy packs.
pub(super) fn trace(log: &str, format: Format) -> Value {
    let around = Surroundings { working_directory: Some("/p".to_owned()), home: None };
    let imported = import(log.as_bytes(), format, &around).unwrap();
    let [trace] = imported.traces.as_slice() else { panic!("one trace") };
    let report = validate(trace);
    let expected = [Rule::ActionRationale, Rule::ActionTypeUnknown, Rule::ActionsEmpty];
    let wrong: Vec<_> =
        report.findings().iter().filter(|finding| !expected.contains(&finding.rule)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let dated = trace.as_object().unwrap().with("timestamp", "2026-01-01T00:00:00Z");
    crate::model::decode(&dated.into()).unwrap_or_else(|findings| panic!("{findings:?}"));
    trace.clone()
}

pub(super) fn actions(trace: &Value) -> Vec<String> {
    let told = |action: &Value| {
        let status = at(action, "/result/status").as_str().unwrap_or("-").to_owned();
        format!("{} {status}", at(action, "/type").as_str().unwrap_or(""))
    };
    at(trace, "/actions").as_array().unwrap_or(&[]).iter().map(told).collect()
}

fn artifacts(trace: &Value) -> Vec<String> {
    let word = |artifact: &Value| at(artifact, "/artifact_type").as_str().unwrap_or("").to_owned();
    let all = at(trace, "/artifacts").as_array().unwrap_or(&[]).iter().map(word);
    all.filter(|word| word != "UserInstruction").collect()
}

#[test]
fn a_line_of_several_commands_is_several_actions_that_share_its_evidence() {
    let mut claude = Claude::asked("Test, commit and push it");
    claude.bash("cd sub && pytest -q && git commit -am x && git push -f origin main", "5 passed", false);
    let trace = claude.trace();
    assert_eq!(actions(&trace), ["RunTests completed", "GitCommit completed", "GitPush completed"]);
    let push = at(&trace, "/actions/2");
    assert_eq!(*at(push, "/request/force"), true.into());
    assert_eq!(at(push, "/request/arguments").to_string(), r#"["push","-f","origin","main"]"#);
    assert_eq!(*at(push, "/label"), "git push -f origin main".into());
    let line = "cd sub && pytest -q && git commit -am x && git push -f origin main";
    assert_eq!(*at(push, "/detail"), line.into());
    assert_eq!(*at(push, "/evidence/0/ref"), line.into());
    assert_eq!(*at(push, "/reproducibility/status"), "not_reproducible".into());
    assert_eq!(*at(&trace, "/actions/0/reproducibility/procedure/command"), "cd sub && pytest -q".into());
    assert_eq!(*at(&trace, "/actions/0/reproducibility/status"), "reproducible".into());
    assert_eq!(*at(&trace, "/actions/1/execution/determinism"), Value::Null);
}

#[test]
fn what_did_not_run_after_a_failure_is_no_action() {
    let mut claude = Claude::asked("Test it and commit it");
    claude.bash("pytest -q && git commit -am x", "Exit code 1\n3 failed, 2 passed", true);
    let trace = claude.trace();
    assert_eq!(actions(&trace), ["RunTests failed"]);
    assert_eq!(*at(&trace, "/actions/0/evidence/0/exit_code"), 1.into());
    let note = at(&trace, "/actions/0/observations/0/statement").as_str().unwrap();
    assert!(note.contains("git commit -am x"), "{note}");
    assert_eq!(artifacts(&trace), ["CommandResult"]);
}

#[test]
fn every_action_on_a_file_names_it_in_its_request() {
    let mut claude = Claude::asked("Change it");
    for (tool, input) in [
        ("Read", r#"{"file_path": "/p/a.py"}"#),
        ("Write", r#"{"file_path": "/p/b.py", "content": "x"}"#),
        ("Edit", r#"{"file_path": "/p/c.py", "old_string": "a", "new_string": "b"}"#),
        ("mcp__github__delete_file", r#"{"path": "d.py"}"#),
    ] {
        claude.calls(tool, input).result("ok", false);
    }
    claude.bash("rm e.py && sed -i s/a/b/ f.py", "", false);
    let trace = claude.trace();
    let paths: Vec<&str> = at(&trace, "/actions")
        .as_array()
        .unwrap()
        .iter()
        .map(|action| at(action, "/request/path").as_str().unwrap_or("none").trim_start_matches("/p/"))
        .collect();
    assert_eq!(paths, ["a.py", "b.py", "c.py", "d.py", "e.py", "f.py"]);
}

#[test]
fn an_exit_code_that_belongs_to_another_command_is_not_that_of_the_tests() {
    for line in ["pytest -q || true", "pytest -q | tail -3", "pytest -q; echo done"] {
        let mut claude = Claude::asked("Run the tests please");
        claude.bash(line, "Exit code 0\n3 failed, 2 passed", false);
        let trace = claude.trace();
        assert_eq!(actions(&trace), ["RunTests unknown"], "{line}");
        assert_eq!(*at(&trace, "/actions/0/evidence/0/exit_code"), Value::Null, "{line}");
    }
}

#[test]
fn what_may_not_have_run_is_an_action_of_which_nothing_comes() {
    let mut claude = Claude::asked("Commit it if it builds");
    claude.bash("if make; then git commit -qam x && sed -i s/a/b/ x.py; fi", "", false).bash(
        "git diff --quiet || git commit -am x",
        "[main 1a2b3c4] x",
        false,
    );
    let trace = claude.trace();
    assert_eq!(
        actions(&trace),
        [
            "RunCommand unknown",
            "GitCommit unknown",
            "EditFile unknown",
            "GitDiff unknown",
            "GitCommit completed"
        ]
    );
    assert_eq!(artifacts(&trace), ["Commit"]);
    assert_eq!(at(&trace, "/files_modified").to_string(), "[]");
    assert_eq!(*at(&trace, "/actions/2/request/path"), "x.py".into());
    assert_eq!(*at(&trace, "/actions/1/observations/0/confidence"), "low".into());
}

#[test]
fn a_result_belongs_to_the_call_that_waits_for_it_even_if_ids_are_used_again() {
    let mut claude = Claude::asked("Run the tests twice");
    claude.bash("pytest", "1 failed", true);
    claude.calls = 0;
    claude.bash("pytest", "1 passed", false);
    assert_eq!(actions(&claude.trace()), ["RunTests failed", "RunTests completed"]);
}

#[test]
fn commands_that_change_files_are_changes() {
    let mut claude = Claude::asked("Change some of the files");
    claude
        .bash("sed -i s/a/b/ src/x.py", "", false)
        .bash("echo hi > notes.txt", "", false)
        .bash("rm -rf /p/build", "", false)
        .bash("mv a.py b.py", "", false)
        .bash("cat notes.txt src/x.py", "hi", false);
    let trace = claude.trace();
    assert_eq!(
        actions(&trace),
        [
            "EditFile completed",
            "CreateFile completed",
            "DeleteFile completed",
            "RenameFile completed",
            "ReadFile completed"
        ]
    );
    assert_eq!(
        at(&trace, "/files_modified").to_string(),
        r#"["a.py","b.py","build","notes.txt","src/x.py"]"#
    );
    assert_eq!(artifacts(&trace), ["SourceCode", "SourceCode", "SourceCode"]);
    assert_eq!(*at(&trace, "/actions/4/evidence/1/ref"), "src/x.py".into());
}

#[test]
fn refused_and_failed_changes_make_nothing() {
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a \
                   file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n\
                   use a decimal instead";
    let mut claude = Claude::asked("Fix the cart, please");
    claude
        .calls("Edit", r#"{"file_path": "/p/cart.py", "new_string": "x"}"#)
        .result(refusal, true)
        .calls("Write", r#"{"file_path": "/p/new.py", "content": "x"}"#)
        .result("<tool_use_error>File has not been read yet.</tool_use_error>", true)
        .bash("git commit -am x", "Exit code 1\nOn branch main\nnothing to commit, working tree clean", true)
        .bash("git push", "Permission to use Bash with command git push has been denied.", true);
    let trace = claude.trace();
    assert_eq!(
        actions(&trace),
        ["EditFile refused", "CreateFile failed", "GitCommit failed", "GitPush refused"]
    );
    assert_eq!(artifacts(&trace), [""; 0]);
    assert_eq!(at(&trace, "/files_modified").to_string(), "[]");
    assert_eq!(*at(&trace, "/actions/0/request/path"), "cart.py".into());
    let error = at(&trace, "/actions/2/result/error").as_str().unwrap();
    assert!(error.contains("nothing to commit"), "{error}");
    assert_eq!(*at(&trace, "/artifacts/1/summary"), "use a decimal instead".into());
}

#[test]
fn a_command_that_runs_on_or_was_ended_has_no_known_end() {
    let started = "Command running in background with ID: bash_1";
    let late = "Command timed out after 2m 0.0s";
    let mut claude = Claude::asked("Ship it, please");
    claude
        .bash("pytest -q", started, false)
        .bash("npm publish", started, false)
        .bash("pytest -q", late, true)
        .bash("git push -f", late, true)
        .bash("git commit -am x", "Exit code 124", true)
        .calls("Edit", r#"{"file_path": "/p/cart.py", "new_string": "x"}"#)
        .result("<tool_use_error>File has not been read yet.</tool_use_error>", false);
    let trace = claude.trace();
    assert_eq!(
        actions(&trace),
        [
            "RunTests unknown",
            "Release unknown",
            "RunTests failed",
            "GitPush unknown",
            "GitCommit unknown",
            "EditFile failed"
        ]
    );
    assert_eq!(at(&trace, "/files_modified").to_string(), "[]");
}

#[test]
fn cancelled_calls_of_gemini_and_failed_ones_of_codex_make_nothing() {
    let gemini = r#"{"sessionId": "g", "messages": [
        {"type": "user", "content": "Write the loader for me"},
        {"type": "gemini", "content": "", "toolCalls": [
            {"name": "write_file", "args": {"file_path": "/p/load.py", "content": "x"}, "status": "cancelled", "resultDisplay": "no"},
            {"name": "run_shell_command", "args": {"command": "npm publish"}, "status": "executing"},
            {"name": "run_shell_command", "args": {"command": "pytest"}, "status": "success", "result": [{"functionResponse": {"response": {"output": "Output: 1 failed\nExit Code: 1"}}}]}]}]}"#;
    let trace_of_gemini = trace(gemini, Format::Gemini);
    assert_eq!(actions(&trace_of_gemini), ["CreateFile cancelled", "Release -", "RunTests failed"]);
    assert_eq!(artifacts(&trace_of_gemini), ["CommandResult"]);
    let codex = [
        r#"{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Commit what is there"}]}"#,
        r#"{"type": "function_call", "name": "shell", "arguments": "{\"command\": [\"git\", \"commit\", \"-m\", \"a && git push -f\"]}", "call_id": "1"}"#,
        r#"{"type": "function_call_output", "call_id": "1", "output": "{\"output\": \"nothing to commit\", \"metadata\": {\"exit_code\": 1, \"duration_seconds\": 0.25}}"}"#,
        r#"{"type": "custom_tool_call", "name": "apply_patch", "call_id": "2", "input": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"}"#,
        r#"{"type": "custom_tool_call_output", "call_id": "2", "output": "apply_patch verification failed: no such lines"}"#,
        r#"{"type": "function_call", "name": "shell", "arguments": "{\"command\": \"apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: a.py\\n*** Move to: b.py\\n*** End Patch\\nEOF\"}", "call_id": "3"}"#,
        r#"{"type": "function_call_output", "call_id": "3", "output": "{\"output\": \"Success\", \"metadata\": {\"exit_code\": 0}}"}"#,
        r#"{"type": "function_call", "name": "shell_command", "arguments": "{\"command\": \"rm -rf x\"}", "call_id": "4"}"#,
        r#"{"type": "function_call_output", "call_id": "4", "output": "exec command rejected by user"}"#,
    ];
    let trace_of_codex = trace(&codex.join("\n"), Format::Codex);
    assert_eq!(
        actions(&trace_of_codex),
        ["GitCommit failed", "EditFile failed", "RenameFile completed", "DeleteFile refused"]
    );
    assert_eq!(at(&trace_of_codex, "/files_modified").to_string(), r#"["a.py","b.py"]"#);
    assert_eq!(artifacts(&trace_of_codex), ["SourceCode"]);
    assert_eq!(*at(&trace_of_codex, "/actions/0/execution/duration_ms"), 250.into());
    assert_eq!(at(&trace_of_codex, "/actions/0/request/arguments/2").as_str(), Some("a && git push -f"));
}

#[test]
fn a_reason_is_what_the_agent_wrote_for_the_call_and_otherwise_absent() {
    let mut claude = Claude::asked("Look at the cart code first");
    claude
        .says("I read it.")
        .calls("Read", r#"{"file_path": "/p/cart.py"}"#)
        .result("code", false)
        .calls("Edit", r#"{"file_path": "/p/cart.py"}"#)
        .result("ok", false)
        .says("Fixed: cart totals.")
        .user("Now push it with force.")
        .bash("git push -f", "", false);
    let trace = claude.trace();
    let reasons: Vec<&Value> =
        (0..3).map(|place| at(&trace, &format!("/actions/{place}/rationale"))).collect();
    assert_eq!(reasons, [&Value::from("I read it."), &"".into(), &"".into()]);
    let report = validate(&trace);
    assert_eq!(report.warnings().filter(|finding| finding.rule == Rule::ActionRationale).count(), 2);
    let instructions: Vec<&Value> =
        (0..3).map(|place| at(&trace, &format!("/artifacts/{place}/summary"))).collect();
    assert_eq!(
        instructions[1..],
        [&Value::from("Look at the cart code first"), &"Now push it with force.".into()]
    );
    assert_eq!(*at(&trace, "/meta_actions/1/title"), "Now push it with force.".into());
}

#[test]
fn rows_of_one_message_share_its_text_and_its_tokens() {
    let message = |id: &str, block: &str, tokens: u32| {
        row(&format!(
            r#"{{"type": "assistant", "message": {{"id": "{id}", "model": "m-1", "content": [{block}],
                "usage": {{"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": {tokens}}}}}}}"#
        ))
    };
    let call = |id: &str| {
        format!(
            r#"{{"type": "tool_use", "id": "{id}", "name": "Read", "input": {{"file_path": "/p/{id}"}}}}"#
        )
    };
    let result = |id: &str| {
        row(&format!(
            r#"{{"type": "user", "message": {{"content": [{{"type": "tool_result", "tool_use_id": "{id}", "content": "x"}}]}},
                "toolUseResult": {{"durationMs": 40}}}}"#
        ))
    };
    let log = [
        row(r#"{"type": "user", "message": {"content": "Compare the two files"}}"#),
        message("a", r#"{"type": "text", "text": "Both at once."}"#, 1),
        message("a", &call("1"), 5),
        result("1"),
        message("a", &call("2"), 20),
        result("2"),
        message("b", &call("3"), 7),
        result("3"),
    ];
    let trace = trace(&log.join("\n"), Format::ClaudeCode);
    let of = |key: &str| -> Vec<String> {
        (0..3).map(|place| at(&trace, &format!("/actions/{place}/{key}")).to_string()).collect()
    };
    assert_eq!(of("rationale"), [r#""Both at once.""#, r#""Both at once.""#, r#""""#]);
    assert_eq!(of("execution/tokens"), ["1020", "null", "1007"]);
    assert_eq!(of("execution/duration_ms"), ["40", "40", "40"]);
    assert_eq!(*at(&trace, "/metrics/tokens"), 2027.into());
    assert_eq!(*at(&trace, "/metrics/tokens_out"), 27.into());
}

#[test]
fn rows_that_a_program_writes_are_neither_the_task_nor_an_instruction() {
    let mut claude = Claude::asked("<command-name>/clear</command-name>\n<command-args></command-args>");
    claude
        .user("<local-command-stdout></local-command-stdout>")
        .user("<system-reminder>Be brief.</system-reminder>")
        .user("<bash-input>git push -f</bash-input>")
        .user("<bash-stdout>ok</bash-stdout>")
        .user("<ide_opened_file>The user opened a.py</ide_opened_file>")
        .user("This session is being continued from a previous conversation that ran out of context.")
        .user("Fix the bug in the pager")
        .user("[Request interrupted by user]");
    let trace = claude.trace();
    assert_eq!(*at(&trace, "/trigger/description"), "Fix the bug in the pager".into());
    assert_eq!(*at(&trace, "/title"), "Session: Fix the bug in the pager".into());
    assert_eq!(at(&trace, "/artifacts").as_array().map(<[Value]>::len), Some(1));
    assert_eq!(*at(&trace, "/outcome/type"), "ProcessInterrupted".into());
}

#[test]
fn a_sub_agent_lends_no_reason_and_its_task_is_its_own() {
    let rows = [
        r#"{"type": "user", "uuid": "u", "message": {"content": "Find both of the leaks"}}"#,
        r#"{"type": "assistant", "message": {"content": [{"type": "text", "text": "I delegate."},
            {"type": "tool_use", "id": "a", "name": "Task", "input": {"description": "Search memory", "prompt": "pa"}},
            {"type": "tool_use", "id": "b", "name": "Task", "input": {"description": "Search files", "prompt": "pb"}}]}}"#,
        r#"{"type": "user", "isSidechain": true, "agentId": "x", "message": {"content": "pa"}}"#,
        r#"{"type": "user", "isSidechain": true, "agentId": "y", "message": {"content": "pb"}}"#,
        r#"{"type": "assistant", "isSidechain": true, "agentId": "x", "message": {"model": "m-2", "content": [{"type": "text", "text": "x looks."},
            {"type": "tool_use", "id": "1", "name": "Grep", "input": {"pattern": "malloc"}}]}}"#,
        r#"{"type": "assistant", "isSidechain": true, "agentId": "y", "message": {"content": [
            {"type": "tool_use", "id": "2", "name": "Grep", "input": {"pattern": "open"}}]}}"#,
        r#"{"type": "assistant", "message": {"model": "m-1", "content": [
            {"type": "tool_use", "id": "3", "name": "Read", "input": {"file_path": "/p/a"}}]}}"#,
    ];
    let log: Vec<String> = rows.iter().map(|text| row(text)).collect();
    let trace = trace(&log.join("\n"), Format::ClaudeCode);
    let told: Vec<String> = at(&trace, "/actions")
        .as_array()
        .unwrap()
        .iter()
        .map(|action| {
            format!("{} {} {}", at(action, "/type"), at(action, "/agent"), at(action, "/rationale"))
        })
        .collect();
    assert_eq!(
        told,
        [
            r#""DecomposeTask" null "I delegate.""#,
            r#""DecomposeTask" null "I delegate.""#,
            r#""SearchCode" "x" "x looks.""#,
            r#""SearchCode" "y" """#,
            r#""ReadFile" null "I delegate.""#,
        ]
    );
    let titles: Vec<&str> = at(&trace, "/meta_actions")
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|unit| at(unit, "/title").as_str())
        .collect();
    assert_eq!(titles, ["Find both of the leaks", "Search memory", "Search files", "Find both of the leaks"]);
    assert_eq!(*at(&trace, "/model"), "m-1".into());
    assert_eq!(*at(&trace, "/actions/2/execution/model"), "m-2".into());
}

#[test]
fn a_tool_that_no_list_knows_is_a_tool_call_with_its_arguments() {
    let mut claude = Claude::asked("Book the meeting room");
    claude
        .calls("mcp__rooms__book", r#"{"room": "4.01", "password": "hunter2hunter2"}"#)
        .result("booked", false);
    let trace = claude.trace();
    assert_eq!(actions(&trace), ["ToolCall completed"]);
    assert_eq!(*at(&trace, "/actions/0/request/arguments/room"), "4.01".into());
    assert_eq!(*at(&trace, "/actions/0/execution/tool"), "mcp__rooms__book".into());
}

#[test]
fn tokens_and_cost_of_the_other_agents_are_kept() {
    let pi = [
        r#"{"type": "message", "message": {"role": "user", "content": "Read the file, please"}}"#,
        r#"{"type": "message", "id": "1", "message": {"role": "assistant", "model": "m", "content": [{"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a"}}],
            "usage": {"input": 10, "output": 5, "cacheRead": 85, "cacheWrite": 0, "totalTokens": 100, "cost": {"total": 0.25}}}}"#,
        r#"{"type": "message", "message": {"role": "toolResult", "toolCallId": "1", "content": [{"type": "text", "text": "x"}], "isError": false}}"#,
    ];
    let pi: Vec<String> = pi.iter().map(|text| row(text)).collect();
    let trace_of_pi = trace(&pi.join("\n"), Format::Pi);
    assert_eq!(*at(&trace_of_pi, "/actions/0/execution/tokens"), 100.into());
    assert_eq!(at(&trace_of_pi, "/actions/0/execution/cost").to_string(), "0.25");
    let codex = [
        r#"{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the folder"}]}}"#,
        r#"{"type": "response_item", "payload": {"type": "function_call", "name": "shell_command", "arguments": "{\"command\": \"ls\"}", "call_id": "1"}}"#,
        r#"{"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 209000, "output_tokens": 10, "total_tokens": 209010}}}}"#,
        r#"{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1", "output": "Exit code: 0\nWall time: 1.5 seconds\nOutput:\na b"}}"#,
    ];
    let trace_of_codex = trace(&codex.join("\n"), Format::Codex);
    assert_eq!(actions(&trace_of_codex), ["ExploreDirectory completed"]);
    assert_eq!(*at(&trace_of_codex, "/actions/0/execution/tokens"), 209_010.into());
    assert_eq!(*at(&trace_of_codex, "/actions/0/execution/duration_ms"), 1500.into());
    assert_eq!(*at(&trace_of_codex, "/actions/0/evidence/0/exit_code"), 0.into());
    let gemini = r#"{"sessionId": "g", "messages": [{"type": "user", "content": "Read the file, please"},
        {"type": "gemini", "content": "x", "tokens": {"input": 7, "output": 3, "cached": 2, "total": 10},
         "toolCalls": [{"name": "read_file", "args": {"file_path": "/p/a"}, "status": "success"}]}]}"#;
    assert_eq!(*at(&trace(gemini, Format::Gemini), "/actions/0/execution/tokens"), 10.into());
}

/// A span of an export, with attributes given as texts.
fn span(id: &str, name: &str, attributes: &[(&str, &str)], rest: &str) -> String {
    let attribute = |(key, text): &(&str, &str)| {
        let value = Object::from_iter([("stringValue", *text)]);
        Value::from(Object::from_iter([("key", Value::from(*key)), ("value", value.into())])).to_string()
    };
    let attributes: Vec<String> = attributes.iter().map(attribute).collect();
    format!(
        r#"{{"traceId": "t", "spanId": "{id}", "name": "{name}", "startTimeUnixNano": "{id}000000000",
            "endTimeUnixNano": "{id}250000000", "attributes": [{}]{rest}}}"#,
        attributes.join(",")
    )
}

fn spans(spans: &[String]) -> Value {
    trace(&format!(r#"{{"spans": [{}]}}"#, spans.join(",")), Format::Otlp)
}

#[test]
fn telemetry_keeps_releases_deployments_calls_and_approvals() {
    let names = [
        ("1", "retrieve NBBO"),
        ("2", "compute order size"),
        ("3", "risk limit decision"),
        ("4", "draft answer"),
        ("5", "request approval"),
        ("6", "approve order"),
        ("7", "release child order"),
        ("8", "deploy service"),
        ("9", "http POST /orders"),
    ];
    let all: Vec<String> = names.iter().map(|(id, name)| span(id, name, &[], "")).collect();
    let trace = spans(&all);
    assert_eq!(
        actions(&trace),
        [
            "Retrieve -",
            "Compute -",
            "Decision -",
            "Draft -",
            "RequestApproval -",
            "UserApproval -",
            "Release -",
            "Deploy -",
            "ToolCall -"
        ]
    );
    assert_eq!(*at(&trace, "/actions/0/rationale"), "".into());
    assert_eq!(*at(&trace, "/actions/0/execution/duration_ms"), 250.into());
}

#[test]
fn an_approval_that_was_refused_or_failed_is_none() {
    let trace = spans(&[
        span("1", "approve order", &[("ponens.result", "rejected by ops")], ""),
        span("2", "approve order", &[("ponens.result", "not approved")], ""),
        span("3", "approve order", &[], r#", "status": {"code": 2, "message": "timeout"}"#),
        span("4", "approve order", &[("ponens.result", "approved by ops, no objections")], ""),
    ]);
    assert_eq!(actions(&trace), ["Reject -", "Reject -", "Decision failed", "UserApproval -"]);
}

#[test]
fn a_failed_span_is_a_failure_and_a_gap() {
    let event = r#", "status": {"code": 2}, "events": [{"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "card declined"}}]}]"#;
    let trace = spans(&[
        span(
            "1",
            "chat gpt-4o",
            &[
                ("gen_ai.request.model", "gpt-4o"),
                ("gen_ai.usage.input_tokens", "200000"),
                ("gen_ai.usage.output_tokens", "9000"),
                ("gen_ai.usage.cost", "15.4"),
            ],
            r#", "status": {"code": 1}"#,
        ),
        span(
            "2",
            "charge",
            &[("gen_ai.tool.name", "charge_card"), ("gen_ai.tool.call.arguments", "{\"amount\": 5}")],
            event,
        ),
    ]);
    assert_eq!(actions(&trace), ["Compute completed", "ToolCall failed"]);
    assert_eq!(*at(&trace, "/actions/1/result/error"), "card declined".into());
    assert_eq!(*at(&trace, "/actions/1/request/arguments/amount"), 5.into());
    assert_eq!(*at(&trace, "/residuals/0/statement"), "charge failed: card declined".into());
    assert_eq!(*at(&trace, "/residuals/0/target/target_id"), "2".into());
    assert_eq!(*at(&trace, "/actions/0/execution/tokens"), 209_000.into());
    assert_eq!(at(&trace, "/actions/0/execution/cost").to_string(), "15.4");
    assert_eq!(*at(&trace, "/actions/0/execution/model"), "gpt-4o".into());
    assert_eq!(*at(&trace, "/metrics/tokens"), 209_000.into());
}

#[test]
fn observations_keep_what_they_used_and_their_input_is_no_reason() {
    let log = r#"{"id": "t", "observations": [{"id": "1", "type": "GENERATION", "name": "size", "model": "m",
        "startTime": "2026-01-01T00:00:00.000Z", "endTime": "2026-01-01T00:00:01.500Z", "input": {"prompt": "42"}, "output": "x",
        "usageDetails": {"input": 10, "output": 5, "total": 15}, "costDetails": {"total": 0.02}},
        {"id": "2", "type": "TOOL", "name": "mail", "level": "ERROR", "statusMessage": "no route"}]}"#;
    let trace = trace(log, Format::Langfuse);
    assert_eq!(actions(&trace), ["ToolCall failed", "Compute -"]);
    let size = at(&trace, "/actions/1");
    assert_eq!(*at(size, "/rationale"), "".into());
    assert_eq!(*at(size, "/request/arguments/prompt"), "42".into());
    assert_eq!(*at(size, "/execution/duration_ms"), 1500.into());
    assert_eq!(*at(size, "/execution/tokens"), 15.into());
    assert_eq!(*at(&trace, "/residuals/0/statement"), "mail failed: no route".into());
}

const AWS: &str = "q8ZrT1xWabcdefghijklmnopqrstuvwxyz012345";
const PASSWORD: &str = "S3cretPassw0rd";
const HOOK: &str = "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx";

#[test]
fn no_secret_of_a_session_is_in_its_trace_and_what_was_removed_is_counted() {
    let padding = "x ".repeat(70);
    let command = format!(
        "AWS_SECRET_ACCESS_KEY={AWS} psql postgres://admin:{PASSWORD}@db -c 'select 1' && git push -f"
    );
    let late = format!("echo {padding} && curl -d @- {HOOK} && curl -H 'Authorization: Bearer {AWS}' x");
    let mut claude = Claude::asked(&format!("Use {HOOK} for the alerts"));
    claude
        .says(&format!("I use AWS_SECRET_ACCESS_KEY={AWS} here."))
        .bash(&command, &format!("{padding}{padding}postgres://admin:{PASSWORD}@db"), false)
        .bash(&late, "ok", false)
        .calls("mcp__mail__send", &format!(r#"{{"password": "{PASSWORD}", "to": ["{HOOK}"]}}"#))
        .result(&format!("sent with {HOOK}"), false)
        .calls("Read", &format!(r#"{{"file_path": "/p/{HOOK}"}}"#))
        .result("x", false)
        .user(&format!("Now try postgres://admin:{PASSWORD}@db again"));
    let trace = claude.trace();
    let text = trace.to_string();
    for secret in [AWS, PASSWORD, "T00000000", "abcdefghijklmnop"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let removed = at(&trace, "/metadata/redactions").to_string();
    assert_eq!(removed, r#"{"assignment":2,"authorization":1,"connection_string":1,"webhook":1}"#);
    let push = at(&trace, "/actions/0");
    assert_eq!(*at(push, "/type"), "GitPush".into());
    let quoted = at(&trace, "/actions/1/reproducibility/procedure/command").as_str().unwrap();
    assert!(quoted.contains("Bearer [redacted]' x"), "{quoted}");
    assert_eq!(at(&trace, "/actions/1/reproducibility/status").as_str(), Some("partially_reproducible"));
}

#[test]
fn no_secret_of_telemetry_is_in_its_trace() {
    let rest =
        format!(r#", "status": {{"code": 2, "message": "{} postgres://a:{PASSWORD}@db"}}"#, "x".repeat(140));
    let trace = spans(&[span(
        "1",
        "call hook",
        &[
            ("ponens.rationale", HOOK),
            ("input.value", HOOK),
            ("ponens.outputs", HOOK),
            ("gen_ai.agent.name", HOOK),
        ],
        &rest,
    )]);
    let text = trace.to_string();
    assert!(!text.contains("T00000000") && !text.contains("S3cret"), "{text}");
    assert_eq!(at(&trace, "/metadata/redactions").to_string(), r#"{"connection_string":1,"webhook":1}"#);
}

#[test]
fn a_file_written_with_a_secret_is_marked_and_its_commit_descends_from_it() {
    let mut claude = Claude::asked("Add the settings file");
    claude
        .calls("Write", &format!(r#"{{"file_path": "/p/.env", "content": "AWS_SECRET_ACCESS_KEY={AWS}"}}"#))
        .result("ok", false)
        .calls("Write", r#"{"file_path": "/p/a.py", "content": "password = os.environ['X']"}"#)
        .result("ok", false)
        .bash(&format!("cat > b.env <<'EOF'\nDB_PASSWORD={PASSWORD}\nEOF"), "", false)
        .bash("git commit -am x", "[main 1a2b3c4] x", false);
    let trace = claude.trace();
    let marks: Vec<String> = (0..3)
        .map(|place| at(&trace, &format!("/artifacts/{place}/metadata/contains_secret")).to_string())
        .collect();
    assert_eq!(marks, ["true", "false", "true"]);
    assert_eq!(at(&trace, "/artifacts/3/derived_from").to_string(), r#"["art1","art2","art3"]"#);
    assert!(!trace.to_string().contains(PASSWORD));
}

#[test]
fn a_call_without_a_result_made_nothing_and_is_an_open_question() {
    let mut claude = Claude::asked("Go");
    claude.calls("Write", r#"{"file_path": "/p/a.py", "content": "x"}"#).user("And?");
    claude.bash("ls", "a.py", false);
    let trace = claude.trace();
    assert_eq!(at(&trace, "/files_modified").to_string(), "[]");
    assert_eq!(at(&trace, "/actions/0/outputs").to_string(), "[]");
    assert_eq!(at(&trace, "/residuals/0/severity").as_str(), Some("high"));
    assert_eq!(at(&trace, "/residuals/0/target/target_id").as_str(), Some("1"));
}

#[test]
fn the_subject_of_a_commit_is_no_result_of_tests() {
    let mut claude = Claude::asked("Go");
    claude.bash("pytest -q; git commit -am '12 passed'", "[main 1a2b3c4] 12 passed\n 1 file changed", false);
    let trace = claude.trace();
    assert_eq!(at(&trace, "/actions/0/type").as_str(), Some("RunTests"));
    assert_eq!(at(&trace, "/actions/0/result/status").as_str(), Some("unknown"));
    assert!(!at(&trace, "/actions/0/result_summary").to_string().contains("passed"));
}

#[test]
fn a_tool_that_no_list_knows_does_what_its_command_does() {
    let mut claude = Claude::asked("Go");
    claude.calls("mcp__box__exec", r#"{"command": "git push -f"}"#).result("ok", false);
    let trace = claude.trace();
    assert_eq!(at(&trace, "/actions/0/type").as_str(), Some("GitPush"));
    assert_eq!(at(&trace, "/actions/0/request/force"), &Value::from(true));
    let spans = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "s", "name": "execute_tool bash",
        "attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": "bash"}},
          {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": "{\"command\": \"pytest && git push -f\"}"}}]}]}]}]}"#;
    let imported = import(spans.as_bytes(), Format::Otlp, &Surroundings::default()).unwrap();
    let [trace] = imported.traces.as_slice() else { panic!("one trace") };
    assert_eq!(super::types(trace), ["RunTests", "GitPush"]);
    assert_eq!(at(trace, "/actions/1/request/force"), &Value::from(true));
}
