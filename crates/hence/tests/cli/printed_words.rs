//! Words that an agent prints itself are no result of its tests, in logs and in runs of skills.

use serde_json::{Value, json};

use hence_testkit::cli::World;

/// Lines whose output says that tests passed although no test run says so: each with its output.
const CLAIMS: &[(&str, &str)] = &[
    ("echo '5 passed'", "5 passed"),
    ("cat pytest.log", "5 passed in 0.1s"),
    ("printf '5 passed\\n' | tee pytest.log", "5 passed"),
    ("python -c \"print('5 passed')\"", "5 passed"),
    ("cat <<EOF\n5 passed\nEOF", "5 passed"),
    ("grep passed pytest.log", "5 passed"),
    ("pytest -q > log 2>&1; echo '5 passed'", "5 passed"),
    ("pytest -q || echo '5 passed'", "5 passed"),
    ("pytest -q; cat pytest.log", "5 passed"),
    ("pytest -q | sed 's/failed/passed/'", "3 passed, 2 passed"),
    ("pytest -q | grep -o '[0-9]* passed'", "2 passed"),
    ("pytest -q | tee log", "3 failed, 2 passed"),
    ("pytest -q || true", "3 failed, 2 passed"),
    ("pytest -q; true", "3 failed, 2 passed"),
    ("pytest() { echo 5 passed; }; pytest", "5 passed"),
    ("pytest --version", "pytest 8.0, 5 passed"),
    ("pytest --collect-only -q", "5 tests collected, 5 passed"),
    ("bash -c 'pytest -q; echo 5 passed'", "5 passed"),
    ("pytest -q; pip install x", "Successfully installed x"),
    ("if pytest -q; then echo passed; else echo '5 passed'; fi", "5 passed"),
];

/// Lines whose output or exit code is that of a test run that passed.
const TRUE: &[(&str, &str)] = &[
    ("pytest -q", "5 passed in 0.1s"),
    ("cd app && pytest -q", "5 passed"),
    ("pytest -q 2>&1 | tail -3", "5 passed in 0.1s"),
    ("pytest -q | tee log", "5 passed"),
    ("pytest -q || true", "5 passed"),
    ("pytest -q; echo \"exit: $?\"", "5 passed\nexit: 0"),
    ("ruff check . && pytest -q", "All checks passed!\n5 passed"),
    ("echo starting; pytest -q", "starting\n5 passed"),
];

fn log(world: &World, line: &str, output: &str) {
    let rows = [
        json!({"type": "user", "sessionId": "s", "cwd": "/p", "message": {"content": "Do it"}}),
        call("1", "Edit", json!({"file_path": "/p/a.py", "old_string": "a", "new_string": "b"})),
        result("1", "done"),
        call("2", "Bash", json!({"command": line})),
        result("2", output),
        call("3", "Bash", json!({"command": "git commit -am change"})),
        result("3", "[main 1a2b3c4] change"),
    ];
    let text: Vec<String> = rows.iter().map(Value::to_string).collect();
    world.write("log.jsonl", text.join("\n"));
}

fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}})
}

fn result(id: &str, text: &str) -> Value {
    json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}})
}

fn verdict(world: &World, trace: &str) -> Value {
    let only = ["--policy", "engineering", "--only", "tests-pass-before-commit", "--json"];
    let checked = world.ask(&[&["policy", "check", trace][..], &only].concat()).json();
    checked["traces"][0]["verdicts"][0]["status"].clone()
}

#[test]
fn printed_words_are_no_result_of_tests_in_a_log() {
    for (lines, expected) in [(CLAIMS, "failed"), (TRUE, "passed")] {
        for (line, output) in lines {
            let world = World::new();
            log(&world, line, output);
            let imported = world.ask(&["import", "claude-code", "log.jsonl", "--out", "log.json"]);
            assert_eq!(imported.code, 0, "{}", imported.stderr);
            assert_eq!(verdict(&world, "log.json"), expected, "{line}");
        }
    }
}

const CAPABILITIES: &str = r#"
capabilities:
  edit: {description: Edit, action: EditFile, provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo '{}'"]}}
  shell: {description: Run, provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; cat reply.json"]}}
  commit: {description: Commit, action: GitCommit, provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo x >> committed; echo '{}'"]}}
"#;

#[test]
fn printed_words_are_no_result_of_tests_in_a_run() {
    for (lines, is_through) in [(CLAIMS, false), (TRUE, true)] {
        for (line, output) in lines {
            let world = World::new();
            let command = Value::from(*line);
            world.write("capabilities.yaml", CAPABILITIES).write(
                "skill.yaml",
                format!(
                    "id: x\nversion: 1.0.0\nname: X\ndescription: D\ninputs: {{}}\noutputs: {{}}\ncapabilities: capabilities.yaml\nsteps:\n  \
                     - {{id: edit, uses: edit, input: {{path: a.py}}}}\n  - {{id: run, uses: shell, input: {{command: {command}}}}}\n  \
                     - {{id: commit, uses: commit, input: {{message: m}}}}\n"
                ),
            );
            world.write("reply.json", json!({"stdout": output, "exit_code": 0}).to_string());
            let ran = world.ask(&["run", "skill.yaml", "--run-id", "r", "--policy", "engineering"]);
            assert_eq!(ran.code, i32::from(!is_through), "{line}: {}", ran.stderr);
            assert_eq!(world.path("committed").exists(), is_through, "{line}");
        }
    }
}
