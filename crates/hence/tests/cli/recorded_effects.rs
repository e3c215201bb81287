//! Effects and failures: whatever ends a run, everything that was executed outside is in its record.

use serde_json::Value;

use hence_testkit::cli::World;

const CAPABILITIES: &str = r#"
capabilities:
  send:
    description: Writes down what it was asked for, and fails for bad until it is fixed
    provider: {kind: command, command: [/bin/sh, -c, 'in=$(cat); echo "$HENCE_IDEMPOTENCY_KEY $in" >> sent.log; case "$in" in *bad*) [ -e fixed ] || exit 3;; esac; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
  careful:
    description: Writes down what it was asked for, once a person agrees
    provider: {kind: command, command: [/bin/sh, -c, 'cat >> sent.log; printf "{\"ok\": true}"']}
    confirmation: required
  hang:
    description: Writes down what it was asked for, and does not end
    provider: {kind: command, command: [/bin/sh, -c, 'cat >> sent.log; exec sleep 30']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
  look:
    description: Reads something, and fails for bad until it is fixed
    provider: {kind: command, command: [/bin/sh, -c, 'in=$(cat); echo "$in" >> looked.log; case "$in" in *bad*) while [ ! -e others ]; do sleep 0.05; done; [ -e fixed ] || exit 3;; *) : > others;; esac; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
    effects: reads
"#;

pub(crate) fn world(skill: &str, steps: &str) -> World {
    let world = World::new();
    let head = format!(
        "id: {skill}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{}}\noutputs: {{}}\nsteps:\n"
    );
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", format!("{head}{steps}"));
    world
}

pub(crate) const RUN: [&str; 6] =
    ["run", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r"];

pub(crate) fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

/// Returns the lines that a command wrote: the key and the input of each call.
pub(crate) fn lines(world: &World, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.path(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the calls that the record of a step lists.
pub(crate) fn listed(world: &World, run: &str, step: &str) -> Vec<Value> {
    let shown = json(world, &["show", run, step]);
    shown["record"]["result"]["outcome"]["calls"].as_array().cloned().unwrap_or_default()
}

fn residuals(world: &World, run: &str) -> String {
    let trace = world.out(&format!("trace export {run}"));
    let trace: Value = serde_json::from_str(&trace).unwrap();
    trace["residuals"].to_string()
}

pub(crate) fn holds(world: &World, run: &str) {
    assert_eq!(world.ask(&["verify", run]).code, 0, "{}", world.cli(&["verify", run]));
    assert_eq!(world.ask(&["replay", run]).code, 0, "{}", world.cli(&["replay", run]));
}

const FAILING_BEFORE_SENDING: &str = "
  - id: check
    uses: look
    input: {who: bad}
    config: {depends_on: []}
  - id: other
    uses: look
    input: {who: ada}
    config: {depends_on: []}
  - id: mail
    uses: send
    input: {to: bob}
    config: {depends_on: []}
";

#[test]
fn a_step_that_acts_starts_only_when_every_step_before_it_is_recorded() {
    let world = world("s", FAILING_BEFORE_SENDING);
    let report = json(&world, &RUN);
    assert_eq!(report["status"], "failed");
    assert_eq!(lines(&world, "sent.log"), [""; 0], "the mail was not sent: a step before it failed");
    holds(&world, "r");
    let gaps = residuals(&world, "r");
    assert!(!gaps.contains("did not run"), "{gaps}");
}

#[test]
fn the_reply_of_a_step_that_read_ahead_of_a_failure_stays_next_to_the_journal() {
    let world = world("s", FAILING_BEFORE_SENDING);
    assert_eq!(json(&world, &RUN)["status"], "failed");
    assert_eq!(lines(&world, "looked.log").len(), 2);
    let calls = String::from_utf8(world.read(".hence/runs/r/calls.ndjson")).unwrap();
    assert!(calls.contains("other/0.0/call/look/1"), "{calls}");
    let gaps = residuals(&world, "r");
    assert!(gaps.contains("Step other was called and has no result on record: replied."), "{gaps}");
}

fn failing_loop(parallel: u32) -> String {
    format!(
        "
  - id: mail
    uses: send
    output: {{ok: vars.ok}}
    config: {{foreach: {{items: '[\"ada\", \"bad\", \"eve\"]', as: to, parallel: {parallel}}}}}
"
    )
}

#[test]
fn a_failed_loop_keeps_input_reply_and_key_of_every_call_it_made() {
    for (parallel, made) in [(1, 2), (3, 3)] {
        let world = world("s", &failing_loop(parallel));
        assert_eq!(json(&world, &RUN)["status"], "failed");
        let sent = lines(&world, "sent.log");
        assert_eq!(sent.len(), made);
        let listed = listed(&world, "r", "mail");
        assert_eq!(listed.len(), made);
        for (place, call) in listed.iter().enumerate() {
            assert_eq!((&call["item"], &call["capability"]), (&place.into(), &"send".into()));
            let line = format!("{} {}", call["idempotency_key"].as_str().unwrap(), call["input"]);
            assert!(sent.contains(&line), "{line} was sent: {sent:?}");
        }
        assert_eq!((&listed[0]["status"], &listed[0]["output"]["ok"]), (&"replied".into(), &true.into()));
        assert_eq!(listed[1]["status"], "failed");
        assert!(listed[1]["failure"]["message"].is_string());
        holds(&world, "r");
        let gaps = residuals(&world, "r");
        let sent = if made == 2 { "once".to_owned() } else { format!("{} times", made - 1) };
        assert!(gaps.contains(&format!("send was called {sent} and replied")), "{gaps}");
        assert!(!world.path(".hence/runs/r/calls.ndjson").exists(), "every call is recorded");
    }
}

#[test]
fn a_failed_branch_and_a_failed_nested_skill_keep_the_calls_beside_them() {
    let steps = "
  - id: spread
    uses: send
    input: {to: bad}
    config: {scatter: {capabilities: [send, look, skill:inner], merge: collect}}
  - id: after
    uses: look
    input: {who: bad}
    config: {depends_on: [spread]}
";
    let world = world("s", &format!("{steps}skills: inner.yaml\n"));
    world.write("others", "").write(
        "inner.yaml",
        "id: inner\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {to: {type: string}}\noutputs: {}\nsteps:\n  - id: deep\n    uses: send\n    input: {to: ada}\n  - id: then\n    uses: send\n    input: {to: inputs.to}\n    config: {depends_on: [deep]}\n",
    );
    assert_eq!(json(&world, &RUN)["status"], "failed");
    let listed = listed(&world, "r", "spread");
    let keys: Vec<&str> = listed.iter().map(|call| call["key"].as_str().unwrap()).collect();
    assert_eq!(
        keys,
        [
            "spread/0.0/call/send/1",
            "spread/0.1/call/look/1",
            "spread/0.2/inner/1/deep/0.0/call/send/1",
            "spread/0.2/inner/1/then/0.0/call/send/1"
        ]
    );
    assert_eq!(lines(&world, "sent.log").len(), 3);
    assert_eq!(listed[2]["output"]["ok"], true);
    holds(&world, "r");
    holds(&world, "r/spread@0.2.1");
}

/// `act` writes down that it acted and is then killed, until `mode` says otherwise: `exit` fails, `reply` replies.
const KILLED: &str = r#"
capabilities:
  act:
    description: Acts, and is killed before it can say so
    action: Deploy
    provider: {kind: command, command: [/bin/sh, ./act.sh]}
  raw:
    description: Acts, and answers with the text it is given
    provider: {kind: command, command: [/bin/sh, -c, 'read in; echo acted >> acted.log; cat answer']}
"#;

const ACT: &str = r#"cat > /dev/null
case "$(cat mode)" in exit) echo boom >&2; exit 1;; esac
echo acted >> acted.log
case "$(cat mode)" in reply) echo '{"ok": true}'; exit 0;; esac
kill -9 $$
"#;

fn killed(steps: &str) -> World {
    let world = world("s", steps);
    world.write("capabilities.yaml", KILLED).write("act.sh", ACT).write("mode", "kill");
    world.write("rule.json", r#"{"id": "none", "severity": "error", "formula": "G(¬(Deploy ∧ ¬failed))"}"#);
    world.write("one.json", r#"{"id": "one", "severity": "error", "formula": "count(Deploy) <= 1"}"#);
    world
}

const ACT_ONCE: &str = "
  - id: go
    uses: act
    input: {to: prod}
    output: {ok: vars.ok}
    config: {retry: {max_attempts: 3, backoff_seconds: 0.01}}
";

const ACT_EACH: &str = "
  - id: go
    uses: act
    output: {ok: vars.ok}
    config: {foreach: {items: '[\"prod\"]', as: to}}
";

#[test]
fn an_undecided_effect_stays_in_the_record_when_its_repetition_is_refused_or_fails() {
    for steps in [ACT_ONCE, ACT_EACH] {
        for (way, limit, begun) in [("refused", Some("1"), 1), ("failed", None, 2), ("missing", None, 2)] {
            let world = killed(steps);
            let limits: Vec<&str> = limit.into_iter().flat_map(|most| ["--max-calls", most]).collect();
            assert_eq!(world.ask(&[&RUN[..], &limits].concat()).code, 3, "{way}");
            let check = ["policy", "check", "r", "--policy", "rule.json"];
            assert_eq!(world.ask(&check).code, 1, "{way}: it may have happened");
            match way {
                "failed" => drop(world.write("mode", "exit")),
                "missing" => std::fs::remove_file(world.path("act.sh")).unwrap(),
                _ => {}
            }
            let ended = world.ask(&["answer", "r", "go", "--retry", "--by", "ada", "--resume"]);
            assert_eq!(ended.code, 1, "{way}: {}", ended.stderr);
            assert_eq!(lines(&world, "acted.log").len(), 1, "{way}");
            let listed = listed(&world, "r", "go");
            assert_eq!(listed[0]["status"], "undecided", "{way}: {listed:?}");
            assert_eq!(listed[0]["meta"]["decided_by"], "ada", "{way}: {listed:?}");
            assert_eq!(listed[0]["begun"], begun, "{way}: {listed:?}");
            assert_eq!(listed[0]["input"]["to"], "prod", "{way}: {listed:?}");
            assert!(listed[0]["idempotency_key"].is_string(), "{way}: {listed:?}");
            holds(&world, "r");
            assert_eq!(world.ask(&check).code, 1, "{way}: it may still have happened");
            let trace: Value = serde_json::from_str(&world.out("trace export r")).unwrap();
            let actions = trace["actions"].as_array().unwrap();
            let deeds: Vec<&Value> = actions.iter().filter(|action| action["type"] == "Deploy").collect();
            let unknown = deeds.iter().filter(|deed| deed["result"]["status"] == "unknown").count();
            assert_eq!(unknown, begun, "{way}: {trace}");
            let forked = world.ask(&["fork", "r", "--from", "go", "--run-id", "f"]);
            assert!(forked.stderr.contains("E0312"), "{way}: {}", forked.stderr);
            world.write("act.sh", ACT).write("mode", "reply");
            assert_eq!(world.ask(&["retry", "r"]).code, 3, "{way}: a retry asks");
            assert_eq!(lines(&world, "acted.log").len(), 1, "{way}");
        }
    }
}

#[test]
fn a_command_that_acts_and_prints_no_object_is_undecided_after_its_first_call() {
    for answer in ["[1]", "\"x\"", "3", "true", "null"] {
        let steps = "
  - id: go
    uses: raw
    input: {n: 1}
    config: {retry: {max_attempts: 3, backoff_seconds: 0.01}}
";
        let world = killed(steps);
        world.write("answer", answer);
        assert_eq!(world.ask(&RUN).code, 3, "{answer}");
        assert_eq!(lines(&world, "acted.log").len(), 1, "{answer}");
    }
}

#[test]
fn every_time_a_call_was_begun_is_counted_in_usage_trace_and_rules() {
    let world = killed(ACT_ONCE);
    assert_eq!(world.ask(&RUN).code, 3);
    assert_eq!(json(&world, &["stats", "r"])["usage"]["calls"], 1, "a call that waits is counted");
    for _ in 0..2 {
        assert_eq!(world.ask(&["answer", "r", "go", "--retry", "--resume"]).code, 3);
    }
    assert_eq!(lines(&world, "acted.log").len(), 3);
    assert_eq!(json(&world, &["stats", "r"])["usage"]["calls"], 3);
    let deeds = |world: &World| {
        let trace: Value = serde_json::from_str(&world.out("trace export r")).unwrap();
        let actions = trace["actions"].as_array().unwrap();
        let status = |action: &Value| action["result"]["status"].as_str().unwrap_or_default().to_owned();
        let deeds = actions.iter().filter(|action| action["type"] == "Deploy").map(status);
        let used = trace["derived_from_journal"]["usage"]["calls"].clone();
        (deeds.collect::<Vec<String>>(), used, trace["residuals"].to_string())
    };
    let (open, used, _) = deeds(&world);
    assert_eq!((open, used), (vec!["unknown".to_owned(); 3], 3.into()));
    assert_eq!(world.ask(&["answer", "r", "go", "--done", r#"{"ok": true}"#, "--resume"]).code, 0);
    assert_eq!(json(&world, &["stats", "r"])["usage"]["calls"], 3);
    let (ended, used, gaps) = deeds(&world);
    assert_eq!((ended, used), (["unknown", "unknown", "completed"].map(str::to_owned).to_vec(), 3.into()));
    assert!(gaps.contains("was begun 3 times"), "{gaps}");
    assert_eq!(world.ask(&["policy", "check", "r", "--policy", "one.json"]).code, 1);
    holds(&world, "r");
}

#[test]
fn a_repetition_is_judged_as_a_deed_of_its_own_before_it_is_made() {
    let world = killed(ACT_ONCE);
    assert_eq!(world.ask(&[&RUN[..], &["--policy", "one.json"]].concat()).code, 3);
    let held = world.ask(&["answer", "r", "go", "--retry", "--resume"]);
    assert_eq!(lines(&world, "acted.log").len(), 1, "a second deed would break the rule: {}", held.stderr);
    assert_ne!(held.code, 0, "{}", held.stderr);
    holds(&world, "r");
}

#[test]
fn a_deed_whose_output_a_gate_discards_is_completed_in_the_trace() {
    let steps = "
  - id: del
    uses: delete
    input: {path: prod.db}
    output: {ok: vars.ok}
";
    let world = world("s", steps);
    world.write(
        "capabilities.yaml",
        r#"
capabilities:
  delete:
    description: Deletes
    action: DeleteFile
    provider: {kind: command, command: [/bin/sh, -c, 'cat >> sent.log; printf "{\"ok\": true}"']}
    gates: {after: [{capability: no, on_denied: degrade}]}
  no:
    description: Says no
    effects: none
    provider: {kind: command, command: [/bin/sh, -c, 'cat > /dev/null; printf "{\"allowed\": false, \"reason\": \"no\"}"']}
"#,
    );
    world.ask(&RUN);
    assert_eq!(lines(&world, "sent.log").len(), 1);
    let trace: Value = serde_json::from_str(&world.out("trace export r")).unwrap();
    let deed =
        trace["actions"].as_array().unwrap().iter().find(|action| action["type"] == "DeleteFile").unwrap();
    assert_eq!(deed["result"]["status"], "completed", "{trace}");
    assert_eq!(deed["outputs"], serde_json::json!([]), "the output is discarded: {trace}");
    assert_eq!(trace["files_modified"], serde_json::json!(["prod.db"]), "{trace}");
    holds(&world, "r");
}
