//! Every shipped policy, violated by a run of a skill and by an imported log.
//!
//! The list of policies comes from the packs: a new policy without both examples fails the test. A policy that one of
//! the two cannot violate says why: what hence writes then has that property by construction.

use serde_json::{Value, json};

use hence_testkit::cli::World;
use hence_testkit::endpoint::Endpoint;
use hence_testkit::providers::{Voice, json_reply};

/// An example of a violation, or the reason why there can be none.
enum Example {
    /// A skill: the steps with their action types and inputs.
    Steps(Vec<(&'static str, Value)>),
    /// A skill of built-in functions, which can be computed again: its steps as written, and its metadata.
    Computed { steps: &'static str, metadata: &'static str },
    /// A skill whose first step asks a person, who gives this answer under this name.
    Asked { answer: &'static str, by: Option<&'static str>, then: Vec<(&'static str, Value)> },
    /// A skill that asks a model, whose tokens cost this much a million.
    Model { price: &'static str, prompt_tokens: u64 },
    /// A log of Claude Code: the tools with their inputs and results.
    Claude(Vec<(&'static str, Value, &'static str)>),
    /// Spans: their names and attributes.
    Spans(Vec<(&'static str, Value)>),
    /// Nothing that hence writes can violate it.
    Never(&'static str),
}

use Example::{Asked, Claude, Computed, Model, Never, Spans, Steps};

fn steps<const N: usize>(steps: [(&'static str, Value); N]) -> Example {
    Steps(steps.into())
}

fn bash(command: &str, result: &'static str) -> (&'static str, Value, &'static str) {
    ("Bash", json!({"command": command}), result)
}

fn edit(path: &str) -> (&'static str, Value, &'static str) {
    ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"}), "done")
}

/// The result of a call that the log ends before.
const UNANSWERED: &str = "";
const COMMIT: &str = "git commit -am change";
const SECRET: &str = "GITHUB_TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz";

/// Returns the violations of a policy by a run and by a log.
fn violations(policy: &str) -> Option<(Example, Example)> {
    let many = |count: usize, step: (&'static str, Value)| Steps(vec![step; count]);
    let committed = || Claude(vec![edit("/p/a.py"), bash(COMMIT, "[main 1] change")]);
    Some(match policy {
        "at-most-20-tool-calls" => {
            (many(21, ("ToolCall", json!({"n": 1}))), Claude(vec![bash("ls -la", "a.py"); 21]))
        }
        "at-most-2-deployments" => {
            (many(3, ("Deploy", json!({"n": 1}))), Spans(vec![("deploy shop", json!({})); 3]))
        }
        "action-cost-bounded" => (
            Model { price: "1000000", prompt_tokens: 10 },
            Spans(vec![("chat gpt", json!({"gen_ai.usage.cost": 15.4}))]),
        ),
        "action-tokens-bounded" => (
            Model { price: "1", prompt_tokens: 200_000 },
            Spans(vec![(
                "chat gpt",
                json!({"gen_ai.usage.input_tokens": 200_000, "gen_ai.usage.output_tokens": 9000}),
            )]),
        ),
        "action-time-bounded" => (
            steps([("RunTests", json!({"exit_code": 0, "duration_ms": 600_001}))]),
            Spans(vec![("chat gpt", json!({"seconds": 601}))]),
        ),
        "inputs-produced-once" => (
            Never("a run's artifact is made once, by the action that is recorded before its readers"),
            Spans(vec![
                ("chat first", json!({"ponens.inputs": ["report"]})),
                ("chat second", json!({"ponens.outputs": ["report"]})),
            ]),
        ),
        "outputs-recorded" => (
            Never("each output of an action of a run is made together with its artifact"),
            Never("each output of an imported action is made together with its artifact"),
        ),
        "goals-have-models" => (
            Never("a goal without a model in its sources is exported as a note"),
            Never("no importer makes a goal"),
        ),
        "generated-tests-grounded" => (
            Never("tests without an analysis in their sources are exported as a note"),
            Never("no importer makes generated tests"),
        ),
        "files-modified-true" => (
            Never("the list is computed from the same evidence"),
            Never("the list is computed from the same evidence"),
        ),
        "tests-pass-before-commit" => (
            steps([
                ("EditFile", json!({"path": "a.py"})),
                ("RunTests", json!({"summary": "3 failed, 2 passed", "exit_code": 1})),
                ("GitCommit", json!({"message": "change"})),
            ]),
            Claude(vec![
                edit("/p/a.py"),
                bash("pytest -q || true", "3 failed, 2 passed"),
                bash(COMMIT, "[main 1] change"),
            ]),
        ),
        "lint-before-commit" | "types-before-commit" | "research-before-edit" => (
            steps([("EditFile", json!({"path": "a.py"})), ("GitCommit", json!({"message": "change"}))]),
            committed(),
        ),
        "no-secrets-committed" => (
            steps([
                ("CreateFile", json!({"path": ".env", "content": SECRET})),
                ("GitCommit", json!({"message": "change"})),
            ]),
            Claude(vec![
                ("Write", json!({"file_path": "/p/.env", "content": SECRET}), "done"),
                bash("git add -A && git commit -m change", "[main 1] change"),
            ]),
        ),
        "no-force-push" => (
            steps([("GitPush", json!({"arguments": ["origin", "+main"]}))]),
            Claude(vec![bash("cd /p && git push -f origin main", "forced update")]),
        ),
        "destructive-actions-confirmed" => (
            steps([("DeleteFile", json!({"path": "data/orders.db"}))]),
            Claude(vec![bash("rm -rf data", "removed")]),
        ),
        "approval-before-consequence" | "two-people-for-release" => {
            (steps([("Release", json!({"version": "1.2"}))]), Spans(vec![("release 1.2", json!({}))]))
        }
        "rejection-stands" => (
            Asked { answer: "no", by: Some("eve"), then: vec![("Deploy", json!({"n": 1}))] },
            Spans(vec![
                ("approve release", json!({"ponens.result": "rejected by eve"})),
                ("deploy shop", json!({})),
            ]),
        ),
        "no-open-critical-at-approval" => (
            Never("no exporter calls a gap critical; people do (`hence trace residuals add`)"),
            Never("no importer calls a gap critical; people do (`hence trace residuals add`)"),
        ),
        "high-gaps-acknowledged-before-commit" => (
            steps([("RunTests", json!({"passed": false})), ("GitCommit", json!({"message": "change"}))]),
            Claude(vec![
                ("Write", json!({"file_path": "/p/a.py", "content": "x"}), UNANSWERED),
                bash(COMMIT, "[main 1] change"),
            ]),
        ),
        "decisions-justified" => (
            Never("each decision of a run follows from a rule of its skill, which is its reason"),
            Spans(vec![("decision on refund", json!({}))]),
        ),
        "verify-after-formalise" => (
            steps([("Formalize", json!({"text": "model"}))]),
            Never("no importer makes a formalisation: no log of these formats has one"),
        ),
        "counterexample-leads-to-fix" => {
            (Steps(refuted()), Never("no importer reads the result of a verification"))
        }
        "no-commit-on-counterexample" => {
            let mut all = refuted();
            all.push(("GitCommit", json!({"message": "change"})));
            (Steps(all), Never("no importer reads the result of a verification"))
        }
        "proof-on-high-stakes-paths" => (
            steps([("EditFile", json!({"path": "payments/refund.py"}))]),
            Claude(vec![edit("/p/payments/refund.py")]),
        ),
        "gaps-declared" => (
            Computed { steps: CHECKED_EDIT, metadata: "{actions: {edit: EditFile}}" },
            Claude(vec![edit("/p/a.py")]),
        ),
        "assumptions-located" => (
            Never("each assumption of a run is about its problem"),
            Never("importers declare no assumptions"),
        ),
        "unverified-has-check" => (
            Never("each gap of a run is written with its check"),
            Never("importers declare no unverified gaps"),
        ),
        "beginning-and-end-recorded" => (
            Never("the header is the beginning, and the export says how far the run is"),
            Never("an importer states the first instruction and how the log ends"),
        ),
        "reasons-recorded" => (
            Never("each step of a run states the rule of the skill it follows"),
            Claude(vec![bash("ls", "a.py")]),
        ),
        "tools-recorded" => (
            Never("each action of a run names what it called"),
            Never("importers write reasoning only for tools that are named"),
        ),
        "actors-recorded" => (
            Asked { answer: "yes", by: None, then: vec![] },
            Spans(vec![("approve release", json!({"ponens.result": "rejected"}))]),
        ),
        "evaluations-recorded" => (
            Never("an export evaluates each policy the run was under"),
            Never("an imported trace carries no policies"),
        ),
        "endings-recorded" => (
            steps([("Lint", json!({"text": "looked at 12 files"}))]),
            Claude(vec![bash("ruff check .", UNANSWERED)]),
        ),
        _ => return None,
    })
}

/// A change whose result is computed, then checked: nothing is left open that a run would declare.
const CHECKED_EDIT: &str = "  - {id: edit, uses: text.join, input: {parts: [a, b]}, output: {text: vars.text}}\n  - {id: test, uses: rules.check, input: {records: [{text: vars.text}], rules: [{id: r, expect: {$literal: \"inputs.text == 'ab'\"}}]}}\n";

/// A model, a goal about it, and a verification that refutes the goal.
fn refuted() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Formalize",
            json!({"status": "transparent", "src_lang": "python", "src_code": "x", "formal_code": "x"}),
        ),
        (
            "DefineVerificationGoal",
            json!({"on": "vars.s0", "kind": "theorem", "description": "safe", "src": "x"}),
        ),
        ("Verify", json!({"on": "vars.s1", "status": "refuted", "counterexample": "x = 1"})),
    ]
}

const CAPABILITIES: &str = "\
capabilities:
  echo.it:
    description: Gives its input back
    provider: {kind: command, command: [/bin/cat]}
";

/// Writes a skill with these steps after the `first` ones. Each step writes its id to `vars.sN`, so that others can read it.
fn write_skill(world: &World, first: &str, steps: &[(&'static str, Value)]) {
    let mut text = String::from(first);
    let mut actions = String::new();
    for (place, (action, input)) in steps.iter().enumerate() {
        let mut input = input.clone();
        input["id"] = format!("s{place}").into();
        actions.push_str(&format!("s{place}: {action}, "));
        text.push_str(&format!(
            "  - {{id: s{place}, uses: echo.it, input: {input}, output: {{id: vars.s{place}}}}}\n"
        ));
    }
    world.write("capabilities.yaml", CAPABILITIES).write(
        "skill.yaml",
        format!(
            "id: x\nversion: 1.0.0\nname: X\ndescription: Does things\ninputs: {{}}\noutputs: {{}}\ncapabilities: capabilities.yaml\nmetadata: {{actions: {{{actions}}}}}\nsteps:\n{text}"
        ),
    );
}

const RUN: [&str; 6] = ["run", "skill.yaml", "--run-id", "r", "--on-failure", "continue"];

/// A question whose answers mean something.
const QUESTION: &str = "  - {id: ask, uses: human.ask, input: {question: Go?, options: ['yes', 'no'], approves: ['yes'], rejects: ['no']}}\n";

/// Makes the example; returns the run or the file to check.
fn make(world: &World, example: &Example) -> Option<&'static str> {
    match example {
        Never(_) => None,
        Steps(steps) => {
            write_skill(world, "", steps);
            let ran = world.ask(&RUN);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            Some("r")
        }
        Computed { steps, metadata } => {
            write_skill(world, steps, &[]);
            let skill = String::from_utf8(world.read("skill.yaml")).unwrap();
            world.write(
                "skill.yaml",
                skill.replace("metadata: {actions: {}}", &format!("metadata: {metadata}")),
            );
            let ran = world.ask(&RUN);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            Some("r")
        }
        Asked { answer, by, then } => {
            write_skill(world, QUESTION, then);
            assert_eq!(world.ask(&RUN).code, 3);
            let mut answered = vec!["answer", "r", "ask", "--value", answer, "--resume"];
            answered.extend(by.iter().flat_map(|by| ["--by", by]));
            let ran = world.ask(&answered);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            Some("r")
        }
        Model { price, prompt_tokens } => {
            let body = json!({
                "id": "c1", "object": "chat.completion", "model": "m-1",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{\"topic\": \"x\"}"}}],
                "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": prompt_tokens + 1},
            });
            let endpoint = Endpoint::with(vec![json_reply("200 OK", body.to_string())]);
            write_skill(world, "  - {id: judge, uses: mail.judge, input: {mail: Please pay}}\n", &[]);
            world.write(
                "capabilities.yaml",
                format!(
                    "capabilities:\n  mail.judge:\n    description: Judge a mail\n    effects: reads\n    output: {{type: object, required: [topic], properties: {{topic: {{type: string}}}}}}\n    provider:\n      kind: llm\n      api: {}\n      model: m-1\n      endpoint: {}\n      stream: false\n      price: {{currency: EUR, input: {price}, output: {price}}}\n      prompt: 'What is this about? {{{{mail}}}}'\n",
                    Voice::OpenAi.api(),
                    endpoint.url()
                ),
            );
            let ran = world.ask(&RUN);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            Some("r")
        }
        Claude(calls) => {
            let mut log =
                json!({"type": "user", "sessionId": "s", "cwd": "/p", "message": {"content": "Do it"}})
                    .to_string();
            for (place, (tool, input, result)) in calls.iter().enumerate() {
                let id = place.to_string();
                let called = json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}});
                let ended = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}});
                log.push_str(&format!("\n{called}"));
                if *result != UNANSWERED {
                    log.push_str(&format!("\n{ended}"));
                }
            }
            world.write("log.jsonl", log);
            imported(world, "claude-code")
        }
        Spans(spans) => {
            let attribute = |(key, value): (&String, &Value)| {
                let value = match value {
                    Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
                    Value::Number(number) => json!({"intValue": number.to_string()}),
                    Value::Array(items) => {
                        let values: Vec<Value> =
                            items.iter().map(|item| json!({"stringValue": item})).collect();
                        json!({"arrayValue": {"values": values}})
                    }
                    other => json!({"stringValue": other}),
                };
                json!({"key": key, "value": value})
            };
            let span = |(place, (name, attributes)): (usize, &(&str, Value))| {
                let start = 1_784_721_600 + place as u64 * 10;
                let end = start + attributes["seconds"].as_u64().unwrap_or(1);
                let attributes: Vec<Value> = attributes
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(key, _)| *key != "seconds")
                    .map(attribute)
                    .collect();
                json!({"traceId": "t", "spanId": format!("s{place}"), "name": name, "attributes": attributes,
                    "startTimeUnixNano": format!("{start}000000000"), "endTimeUnixNano": format!("{end}000000000")})
            };
            let spans: Vec<Value> = spans.iter().enumerate().map(span).collect();
            world.write(
                "log.jsonl",
                json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string(),
            );
            imported(world, "otlp")
        }
    }
}

fn imported(world: &World, format: &str) -> Option<&'static str> {
    let imported = world.ask(&["import", format, "log.jsonl", "--out", "log.json"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    Some("log.json")
}

/// The number of examples that there cannot be. A new one needs a reason, and a change of this number.
const NEVER: usize = 26;

#[test]
fn a_run_and_a_log_violate_every_shipped_policy() {
    let packs = World::new().ask(&["policy", "list", "--json"]).json();
    let mut never = 0;
    let mut wrong = Vec::new();
    for policy in packs["policies"].as_array().unwrap() {
        let (id, pack) = (policy["policy_id"].as_str().unwrap(), policy["pack"].as_str().unwrap());
        let (run, log) = violations(id).unwrap_or_else(|| panic!("{id} has no example of a violation"));
        for (source, example) in [("run", run), ("log", log)] {
            if let Never(reason) = &example {
                assert!(!reason.is_empty());
                never += 1;
                continue;
            }
            let world = World::new();
            let made = make(&world, &example).unwrap();
            let checked =
                world.ask(&["policy", "check", made, "--policy", pack, "--only", id, "--json"]).json();
            let verdict = &checked["traces"][0]["verdicts"][0];
            if verdict["status"] != "failed" {
                let types: Vec<Value> = match made {
                    "r" => world.ask(&["trace", "export", "r", "--json"]).json()["actions"].clone(),
                    file => serde_json::from_slice::<Value>(&world.read(file)).unwrap()["actions"].clone(),
                }
                .as_array()
                .unwrap()
                .iter()
                .map(|action| action["type"].clone())
                .collect();
                wrong
                    .push(format!("{id} by a {source}: {} {} {types:?}", verdict["status"], verdict["note"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(never, NEVER);
}

#[test]
fn a_shipped_policy_asks_for_nothing_that_is_never_written() {
    for pack in ["budgets", "data-flow", "engineering", "oversight", "reasoning", "records"] {
        let linted = World::new().ask(&["policy", "lint", pack, "--json"]).json();
        assert_eq!((&linted["errors"], &linted["warnings"]), (&json!(0), &json!(0)), "{linted}");
    }
}

#[test]
fn a_rule_about_something_that_nothing_writes_is_named_before_a_check_and_a_run() {
    let world = World::new();
    world.write("rules.json", r#"{"id": "fast", "severity": "warning", "formula": "G(execution.latency ≠ ∅ → execution.latency ≤ 5)"}"#);
    write_skill(&world, "", &[("RunCommand", json!({"n": 1}))]);
    let ran = world.ask(&["run", "skill.yaml", "--run-id", "r", "--policy", "rules.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("warning: policy fast: nothing that hence runs or imports writes `execution.latency`"),
        "{}",
        ran.stderr
    );
    let checked = world.ask(&["policy", "check", "r", "--policy", "rules.json"]);
    assert!(checked.stderr.contains("execution.latency"), "{}", checked.stderr);
}
