//! Every shipped policy, violated by a run of a skill and by an imported log.
//!
//! The list of policies comes from the packs: a new policy without both examples fails the test. A policy that one of
//! the two cannot violate says so itself, with the reason: what hence writes has that property by construction.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use hence_testkit::cli::World;
use hence_testkit::endpoint::Endpoint;
use hence_testkit::providers::{Voice, json_reply};

/// An example of a violation, or the reason why there can be none.
enum Example {
    /// A skill: the steps with their action types and inputs.
    Steps(Vec<(&'static str, Value)>),
    /// A skill that declares gaps and, before it ends, may ask a person, who approves.
    Gaps { gaps: &'static str, asks: bool },
    /// A skill whose first step asks a person, who gives this answer under this name.
    Asked { answer: &'static str, by: Option<&'static str>, then: Vec<(&'static str, Value)> },
    /// A skill that asks a model, whose tokens cost this much a million.
    Model { price: &'static str, prompt_tokens: u64 },
    /// A log of Claude Code: the tools with their inputs and results.
    Claude(Vec<(&'static str, Value, &'static str)>),
    /// Spans: their names and attributes.
    Spans(Vec<(&'static str, Value)>),
    /// A problem whose step Compute this capability carries out.
    Problem(&'static str),
    /// Nothing that hence writes can violate it, and the policy says so.
    Never,
}

use Example::{Asked, Claude, Gaps, Model, Never, Problem, Spans, Steps};

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
            Never,
            Spans(vec![
                ("chat first", json!({"ponens.inputs": ["report"]})),
                ("chat second", json!({"ponens.outputs": ["report"]})),
            ]),
        ),
        "outputs-recorded" => (Never, Never),
        "goals-have-models" => (
            Never,
            Spans(vec![(
                "state a goal",
                json!({"ponens.action_type": "DefineVerificationGoal", "ponens.outputs": ["g"],
                    "ponens.artifact_type": "VerificationGoal",
                    "ponens.payload": r#"{"goal_id": 1, "kind": "theorem", "description": "safe", "target_artifact_id": "text"}"#}),
            )]),
        ),
        "generated-tests-grounded" => (
            Never,
            Spans(vec![(
                "generate tests",
                json!({"ponens.action_type": "GenerateTests", "ponens.outputs": ["t"],
                    "ponens.artifact_type": "GeneratedTests", "ponens.payload": r#"{"language": "python"}"#}),
            )]),
        ),
        "files-modified-true" => (Never, Never),
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
                bash("git add .env deploy/id_rsa && git commit -m change", "[main 1] change"),
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
            Gaps { gaps: "[{kind: unverified, severity: critical, statement: Nobody looked}]", asks: true },
            Spans(vec![(
                "approve release",
                json!({"ponens.action_type": "Approve",
                    "ponens.residuals": r#"[{"kind": "unverified", "severity": "critical", "statement": "nobody looked"}]"#}),
            )]),
        ),
        "high-gaps-acknowledged-before-commit" => (
            steps([("RunTests", json!({"passed": false})), ("GitCommit", json!({"message": "change"}))]),
            Claude(vec![
                ("Write", json!({"file_path": "/p/a.py", "content": "x"}), UNANSWERED),
                bash(COMMIT, "[main 1] change"),
            ]),
        ),
        "decisions-justified" => (Never, Spans(vec![("decision on refund", json!({}))])),
        "verify-after-formalise" => (
            steps([("Formalize", json!({"text": "model"}))]),
            Spans(vec![("write the model", json!({"ponens.action_type": "Formalize"}))]),
        ),
        "counterexample-leads-to-fix" => (Steps(refuted()), Spans(vec![refuted_span()])),
        "no-commit-on-counterexample" => {
            let mut all = refuted();
            all.push(("GitCommit", json!({"message": "change"})));
            (Steps(all), Spans(vec![refuted_span(), ("commit change", json!({}))]))
        }
        "proof-on-high-stakes-paths" => (
            steps([("EditFile", json!({"path": "payments/refund.py"}))]),
            Claude(vec![edit("/p/payments/refund.py")]),
        ),
        "gaps-declared" => (Never, Claude(vec![edit("/p/a.py")])),
        "assumptions-located" => (
            Gaps { gaps: "[{kind: assumption, statement: Clocks agree}]", asks: false },
            Spans(vec![(
                "chat gpt",
                json!({"ponens.residuals": r#"[{"kind": "assumption", "statement": "clocks agree"}]"#}),
            )]),
        ),
        "unverified-has-check" => (
            Gaps { gaps: "[{kind: unverified, statement: Not load tested}]", asks: false },
            Spans(vec![(
                "chat gpt",
                json!({"ponens.residuals": r#"[{"kind": "unverified", "statement": "not load tested"}]"#}),
            )]),
        ),
        "answer-after-failed-check" => (
            steps([("RunTests", json!({"passed": false})), ("Explain", json!({"text": "all is well"}))]),
            Spans(vec![
                ("pytest", json!({"ponens.action_type": "RunTests", "ponens.result": "failed"})),
                ("answer", json!({"ponens.action_type": "Explain"})),
            ]),
        ),
        "claims-stand" => (
            Problem(r#"{"conclusions": [{"task": "goal_1", "value": "yes", "evidence": ["nowhere"]}]}"#),
            Never,
        ),
        "beginning-and-end-recorded" => (Never, Never),
        "reasons-recorded" => (Never, Claude(vec![bash("ls", "a.py")])),
        "tools-recorded" => (Never, Spans(vec![("prove it", json!({"ponens.action_type": "Verify"}))])),
        "actors-recorded" => (
            Asked { answer: "yes", by: None, then: vec![] },
            Spans(vec![("approve release", json!({"ponens.result": "rejected"}))]),
        ),
        "evaluations-recorded" => (Never, Never),
        "endings-recorded" => (
            steps([("Lint", json!({"text": "looked at 12 files"}))]),
            Claude(vec![bash("ruff check .", UNANSWERED)]),
        ),
        _ => return None,
    })
}

/// A verification in telemetry that refutes its goal.
fn refuted_span() -> (&'static str, Value) {
    let payload = r#"{"goal_id": 1, "status": "refuted", "result": {"refuted": {"counterexample": "x = 1"}}, "engine": "z3"}"#;
    let attributes = json!({"ponens.action_type": "Verify", "ponens.outputs": ["r"],
        "ponens.artifact_type": "VerificationResult", "ponens.payload": payload});
    ("verify the model", attributes)
}

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
        Never => None,
        Problem(reply) => {
            let capability = json!({"description": "d", "effects": "reads",
                "provider": {"kind": "command", "command": ["/bin/sh", "-c", format!("cat >/dev/null; echo '{reply}'")]}});
            world.write("capabilities.json", json!({"capabilities": {"propose": capability}}).to_string());
            let problem = json!({"version": "1.0.0", "id": "r", "created_at": "2026-02-02T00:00:00Z",
                "inputs": {"prompt": "Is it so?", "goals": ["Is it so?"]},
                "settings": {"bindings": {"Compute": {"capability": "propose"}}}});
            world.write("problem.json", problem.to_string());
            let ran = world.ask(&["run", "problem.json", "--capabilities", "capabilities.json"]);
            assert_eq!(ran.code, 1, "{}", ran.stderr);
            Some("r")
        }
        Steps(steps) => {
            write_skill(world, "", steps);
            let ran = world.ask(&RUN);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            Some("r")
        }
        Gaps { gaps, asks } => {
            write_skill(world, if *asks { QUESTION } else { "" }, &[("ToolCall", json!({"n": 1}))]);
            let skill = String::from_utf8(world.read("skill.yaml")).unwrap();
            world.write("skill.yaml", skill.replace("metadata: {", &format!("metadata: {{gaps: {gaps}, ")));
            let mut ran = world.ask(&RUN);
            if *asks {
                ran = world.ask(&["answer", "r", "ask", "--value", "yes", "--by", "eve", "--resume"]);
            }
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
                json!({"type": "user", "sessionId": "s", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z", "message": {"content": "Do it"}})
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

/// The number of examples that there cannot be. A new one needs a reason in its pack, and a change of this number.
const NEVER: usize = 16;

fn trace_of(world: &World, made: &str) -> Value {
    match made {
        "r" => world.ask(&["trace", "export", "r", "--json"]).json(),
        file => serde_json::from_slice(&world.read(file)).unwrap(),
    }
}

#[test]
fn a_run_and_a_log_violate_every_shipped_policy() {
    let packs = World::new().ask(&["policy", "list", "--json"]).json();
    let mut never = 0;
    let mut wrong = Vec::new();
    let mut written = Written::default();
    for policy in packs["policies"].as_array().unwrap() {
        let (id, pack) = (policy["policy_id"].as_str().unwrap(), policy["pack"].as_str().unwrap());
        let (run, log) = violations(id).unwrap_or_else(|| panic!("{id} has no example of a violation"));
        for (source, example) in [("run of a skill", run), ("imported log", log)] {
            let said = format!("no {source} violates it: ");
            let stated = policy["by_construction"].as_array().unwrap().iter();
            let is_stated = stated.filter_map(Value::as_str).any(|text| text.starts_with(&said));
            if matches!(example, Never) != is_stated {
                wrong.push(format!("{id} by a {source}: the policy says that it cannot be: {is_stated}"));
            }
            if matches!(example, Never) {
                never += 1;
                continue;
            }
            let world = World::new();
            let made = make(&world, &example).unwrap();
            let trace = trace_of(&world, made);
            written.add(&trace);
            let checked =
                world.ask(&["policy", "check", made, "--policy", pack, "--only", id, "--json"]).json();
            let verdict = &checked["traces"][0]["verdicts"][0];
            if verdict["status"] != "failed" {
                let actions = trace["actions"].as_array().unwrap().iter();
                let types: Vec<&Value> = actions.map(|action| &action["type"]).collect();
                wrong
                    .push(format!("{id} by a {source}: {} {} {types:?}", verdict["status"], verdict["note"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(never, NEVER);
    more_written(&mut written);
    written.compare();
}

/// The members that traces of runs and logs have, by the object they are members of.
#[derive(Default)]
struct Written(BTreeMap<&'static str, BTreeSet<String>>);

impl Written {
    fn add(&mut self, trace: &Value) {
        for action in trace["actions"].as_array().unwrap() {
            self.members("execution", &action["execution"]);
            self.members("request", &action["request"]);
        }
        for artifact in trace["artifacts"].as_array().into_iter().flatten() {
            self.members("metadata", &artifact["metadata"]);
        }
    }

    fn members(&mut self, name: &'static str, object: &Value) {
        let keys = object.as_object().into_iter().flat_map(|object| object.keys().cloned());
        self.0.entry(name).or_default().extend(keys);
    }

    /// Compares what was written with what the lint takes for written, in both directions.
    fn compare(&self) {
        for (name, listed) in hence_policy::lint::WRITTEN {
            let listed: BTreeSet<String> = listed.iter().map(|member| (*member).to_owned()).collect();
            let found = self.0.get(name).cloned().unwrap_or_default();
            let unlisted: Vec<&String> = found.difference(&listed).collect();
            let unwritten: Vec<&String> = listed.difference(&found).collect();
            assert!(unlisted.is_empty(), "`{name}`: written, and the lint does not know it: {unlisted:?}");
            assert!(unwritten.is_empty(), "`{name}`: the lint says that it is written: {unwritten:?}");
        }
    }
}

/// Adds traces that show the members which no violation needs.
fn more_written(written: &mut Written) {
    let world = World::new();
    write_skill(
        &world,
        QUESTION.replace("question: Go?", "question: Go?, context: {why: now}").as_str(),
        &[],
    );
    assert_eq!(world.ask(&RUN).code, 3);
    assert_eq!(world.ask(&["answer", "r", "ask", "--value", "yes", "--resume"]).code, 0);
    written.add(&trace_of(&world, "r"));
    let world = World::new();
    let made = make(&world, &Spans(vec![("chat", json!({"gen_ai.request.model": "m-1"}))])).unwrap();
    written.add(&trace_of(&world, made));
    for calls in [
        vec![bash("pytest -q && git push origin main", "done"), ("mcp__x__y", json!({"a": 1}), "done")],
        vec![("Write", json!({"file_path": "/p/a.py", "content": "x"}), "done")],
    ] {
        let world = World::new();
        let made = make(&world, &Claude(calls)).unwrap();
        written.add(&trace_of(&world, made));
    }
}

#[test]
fn a_shipped_policy_asks_for_nothing_that_is_never_written() {
    for pack in ["budgets", "data-flow", "engineering", "oversight", "reasoning", "records"] {
        let linted = World::new().ask(&["policy", "lint", pack, "--json"]).json();
        assert_eq!((&linted["errors"], &linted["warnings"]), (&json!(0), &json!(0)), "{linted}");
    }
}

#[test]
fn a_misspelt_type_or_member_of_a_policy_is_refused_everywhere_unless_it_is_declared() {
    let world = World::new();
    let rule =
        |more: &str| format!(r#"{{"id": "x", "severity": "error", {more} "formula": "G(¬GitComit)"}}"#);
    world.write("type.json", rule(""));
    world.write("declared.json", rule(r#""custom_actions": ["GitComit"],"#));
    world.write("member.json", r#"{"id": "x", "sevrity": "error", "formula": "G(¬GitCommit)"}"#);
    write_skill(&world, "", &[("RunCommand", json!({"n": 1}))]);
    assert_eq!(world.ask(&["run", "skill.yaml", "--run-id", "r"]).code, 0);
    for (file, meant) in [("type.json", "`GitCommit`"), ("member.json", "`severity`")] {
        for words in
            [&["policy", "lint", file][..], &["check", file], &["policy", "check", "r", "--policy", file]]
        {
            let said = world.cli(words);
            assert!(
                said.contains("did you mean") && said.contains(meant) && said.contains("[exit 1]"),
                "{said}"
            );
        }
        let refused = world.refused(&["run", "skill.yaml", "--run-id", "other", "--policy", file]);
        assert!(refused.contains("error[E0601]") && refused.contains(meant), "{refused}");
    }
    let said = world.cli(&["policy", "check", "r", "--policy", "declared.json"]);
    assert!(said.contains("[exit 0]") && !said.contains("did you mean"), "{said}");
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
