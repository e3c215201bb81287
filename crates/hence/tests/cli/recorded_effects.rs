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
