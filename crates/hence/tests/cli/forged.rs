//! Forged records: a chain that was computed anew passes only where the report says that something was read from it.

mod forging;
mod kinds;
mod seal;

use hence_testkit::cli::World;
use serde_json::{Value, json};

use forging::{ENGINE, OPERATIONS, forge_run};

/// A command that prints a reply.
fn command(effects: &str, more: &str, script: &str) -> Value {
    let mut declared: Value = members(more);
    declared["description"] = "d".into();
    declared["effects"] = effects.into();
    declared["provider"] = json!({"kind": "command", "command": ["/bin/sh", "-c", script]});
    declared
}

fn members(more: &str) -> Value {
    if more.is_empty() { json!({}) } else { serde_json::from_str(more).unwrap() }
}

fn reply(value: &Value) -> String {
    format!("printf '{value}'")
}

fn capabilities() -> Value {
    let look = reply(&json!({"n": 3, "xs": [1]}));
    let done = reply(&json!({"ok": true}));
    json!({"capabilities": {
        "fx.read": command("reads", "", &look),
        "fx.write": command("writes", "", &done),
        "fx.pure": command("none", r#"{"determinism": "deterministic"}"#, &look),
        "fx.gate": command("reads", "", &reply(&json!({"allowed": true}))),
        "fx.gated": command("writes", r#"{"gates": {"before": ["fx.gate"]}}"#, &done),
        "fx.flaky": command("reads", "", &format!("if [ -e tried ]; then {look}; else : > tried; exit 3; fi")),
        "fx.asks": command("writes", r#"{"confirmation": "required"}"#, &done),
        "fx.fails": command("writes", "", "echo no >&2; exit 4"),
    }})
}

fn step(id: &str, uses: &str, input: Value, output: Value, config: Value) -> Value {
    json!({"id": id, "uses": uses, "input": input, "output": output, "config": config})
}

fn skill(id: &str, steps: Vec<Value>, more: &Value) -> Value {
    let mut skill = json!({
        "id": id, "version": "1.0.0", "name": "N", "description": "D",
        "inputs": {"xs": {"type": "array", "default": [1, 2]}, "n": {"type": "integer", "default": 3}},
        "outputs": {"n": {"type": "integer"}}, "steps": steps,
    });
    more.as_object().unwrap().iter().for_each(|(key, value)| skill[key] = value.clone());
    skill
}

/// A world with a run `r` of these steps, and how it was made.
fn world(steps: Vec<Value>, arguments: &[&str]) -> World {
    let world = World::new().env("PATH", "/usr/bin:/bin");
    let nested =
        vec![step("look", "fx.read", json!({"n": "inputs.n"}), json!({"n": "outputs.n"}), json!({}))];
    world.write("capabilities.json", capabilities().to_string());
    world.write("inner.json", skill("inner", nested, &json!({})).to_string());
    let deeds = vec![
        step("write", "fx.write", json!({"n": "inputs.n"}), json!({"ok": "vars.ok"}), json!({})),
        step(
            "writes",
            "fx.write",
            json!({}),
            json!({"ok": "vars.oks"}),
            json!({"foreach": {"items": "inputs.xs", "as": "n"}}),
        ),
        step("look", "fx.read", json!({"n": "inputs.n"}), json!({"n": "outputs.n"}), json!({})),
    ];
    world.write("deeds.json", skill("deeds", deeds.clone(), &json!({})).to_string());
    let mut trouble = deeds;
    trouble.push(step("fails", "fx.fails", json!({}), json!({}), json!({})));
    world.write("trouble.json", skill("trouble", trouble, &json!({})).to_string());
    let nested = ["inner.json", "deeds.json", "trouble.json"];
    let more = json!({"capabilities": "capabilities.json", "skills": nested});
    world.write("skill.json", skill("all", steps, &more).to_string());
    let made = world.ask(&[&["run", "skill.json", "--run-id", "r"], arguments].concat());
    assert!([0, 1, 3, 5].contains(&made.code), "{}", made.stderr);
    world
}

/// A place whose forgery a verification cannot find, because it is what came from outside, with the words of the report
/// that say so. The first part ends the place or stands before a slash in it; with an exclamation mark it is the place.
const READ_FROM_RECORD: [(&str, &str); 10] = [
    // The calls of gates and nested skills, which the record of a step does not list.
    ("/result/output/meta/usage", "what was used of limits"),
    // The reply itself.
    ("/result/output/produced", "the replies of"),
    ("/result/output/commits", "the replies of"),
    // The report of the provider.
    ("/result/output/meta", "the replies of"),
    // The sums of what the providers of several calls report.
    ("/result/output/metrics", "the sums of what several calls report"),
    // The reply, its report or the reason of the failure of a listed call.
    ("/result/output/calls/N/output", "the replies of"),
    ("/result/output/calls/N/meta", "the replies of"),
    ("/result/output/calls/N/failure", "the replies of"),
    // What the last call of the step failed for, which the outcome repeats.
    ("/result/outcome/calls/N/failure", "the replies of"),
    ("/result/outcome/calls/N/output", "the replies of"),
];

/// The same for a problem with bound steps: the result of a bound step is the reply.
const READ_OF_BOUND_STEPS: [(&str, &str); 4] = [
    // Any engine may be named; a replay shows only what this one makes.
    ("/engine_version", ENGINE),
    // Another member of the result, which nothing reads.
    ("/result!", "results that come from outside"),
    ("/result/output", "results that come from outside"),
    ("/result/metrics", "results that come from outside"),
];

/// The same for variables: whoever drives them may ask for anything that the rules allow.
const READ_OF_VARIABLES: [(&str, &str); 2] = [("/result/output", OPERATIONS), ("/engine_version", ENGINE)];

/// Forges every member of every record of the run `r`, and returns how many forgeries were found and how many were not.
fn forge(world: &World) -> (usize, usize) {
    forge_run(world, "r", &READ_FROM_RECORD)
}

#[test]
fn members_of_steps_that_call_once_cannot_be_forged() {
    let world = world(
        vec![
            step("once", "fx.read", json!({"a": "inputs.xs"}), json!({"n": "vars.n"}), json!({})),
            step(
                "write",
                "fx.write",
                json!({"a": "vars.n"}),
                json!({"ok": "vars.ok"}),
                json!({"condition": "vars.n > 1"}),
            ),
            step(
                "skipped",
                "fx.write",
                json!({"a": "vars.n"}),
                json!({}),
                json!({"condition": "vars.n > 100"}),
            ),
            step(
                "route",
                "fx.read",
                json!({}),
                json!({"n": "vars.r"}),
                json!({"router": {"on": "vars.n", "cases": {"3": "fx.pure"}, "default": "fx.read"}}),
            ),
            step(
                "built",
                "number.sum",
                json!({"values": ["vars.n", 1]}),
                json!({"sum": "outputs.n"}),
                json!({}),
            ),
        ],
        &[],
    );
    let (found, passed) = forge(&world);
    assert!(found > 20 * passed.max(1) / 10 && found > 100, "{found} found, {passed} passed");
}

#[test]
fn members_of_steps_that_loop_or_branch_cannot_be_forged() {
    let world = world(
        vec![
            step(
                "each",
                "fx.read",
                json!({}),
                json!({"n": "vars.ns"}),
                json!({"foreach": {"items": "inputs.xs", "as": "item"}}),
            ),
            step(
                "loop",
                "fx.read",
                json!({}),
                json!({"n": "vars.m"}),
                json!({"while": {"condition": "vars.m > 9", "max_iterations": 3}}),
            ),
            step(
                "both",
                "fx.read",
                json!({}),
                json!({"fx.read": "vars.b"}),
                json!({"scatter": {"capabilities": ["fx.read", "fx.write"]}}),
            ),
            step(
                "join",
                "fx.read",
                json!({}),
                json!({"xs": "vars.j"}),
                json!({"scatter": {"capabilities": ["fx.read", "fx.flaky"], "merge": "concat_lists"}}),
            ),
        ],
        &[],
    );
    let (found, passed) = forge(&world);
    assert!(found > passed && found > 100, "{found} found, {passed} passed");
}

#[test]
fn members_of_steps_in_trouble_cannot_be_forged() {
    let world = world(
        vec![
            step("gated", "fx.gated", json!({}), json!({"ok": "vars.g"}), json!({})),
            step(
                "flaky",
                "fx.flaky",
                json!({}),
                json!({"n": "vars.k"}),
                json!({"retry": {"max_attempts": 3}}),
            ),
            step("asks", "fx.asks", json!({"to": "inputs.n"}), json!({}), json!({})),
            step("fails", "fx.fails", json!({"to": "inputs.n"}), json!({}), json!({})),
        ],
        &["--on-failure", "continue"],
    );
    let answered = world.ask(&["answer", "r", "asks", "--value", "yes", "--by", "ada", "--resume"]);
    assert!([0, 1, 5].contains(&answered.code), "{}", answered.stderr);
    let (found, passed) = forge(&world);
    assert!(found > passed && found > 100, "{found} found, {passed} passed");
}

#[test]
fn results_of_nested_runs_cannot_be_forged_where_the_runs_are_at_hand() {
    let world = world(
        vec![
            step("down", "skill:inner", json!({"n": "inputs.n"}), json!({"n": "vars.d"}), json!({})),
            step(
                "downs",
                "skill:inner",
                json!({}),
                json!({"n": "vars.ds"}),
                json!({"foreach": {"items": "inputs.xs", "as": "n"}}),
            ),
        ],
        &[],
    );
    let (found, passed) = forge(&world);
    // What passes is the usage, as the report says: removed, emptied and altered, in two records.
    assert!(passed <= 12, "{found} found, {passed} passed");
    assert!(found > 50);
}

/// The inputs of single items, and what their providers reported, are in no record of a nested run.
const READ_OF_NESTED_RUNS: [(&str, &str); 8] = [
    ("/result/output/meta/usage", "what was used of limits"),
    ("/result/outcome/meta/usage", "what was used of limits"),
    ("/result/output/calls/N/input", "the results of nested runs"),
    ("/result/outcome/calls/N/input", "the results of nested runs"),
    ("/result/output/calls/N/meta", "the results of nested runs"),
    ("/result/outcome/calls/N/meta", "the results of nested runs"),
    // Why a nested run failed, and which run it was, where the step failed with it.
    ("/result/outcome/failure", "the results of nested runs"),
    ("/result/outcome/meta", "the results of nested runs"),
];

#[test]
fn calls_of_nested_runs_cannot_be_forged_where_the_runs_are_at_hand() {
    for nested in ["deeds", "trouble"] {
        let uses = format!("skill:{nested}");
        let world = world(vec![step("down", &uses, json!({"n": "inputs.n"}), json!({}), json!({}))], &[]);
        let (found, passed) = forge_run(&world, "r", &READ_OF_NESTED_RUNS);
        assert!(found > 10 * passed && found > 200, "{nested}: {found} found, {passed} passed");
    }
}

#[test]
fn reads_two_levels_below_are_listed_beside_a_deed_and_hold() {
    let world = World::new().env("PATH", "/usr/bin:/bin");
    world.write("capabilities.json", capabilities().to_string());
    let look = step("look", "fx.read", json!({"n": "inputs.n"}), json!({"n": "outputs.n"}), json!({}));
    world.write("inner.json", skill("inner", vec![look], &json!({})).to_string());
    let between = vec![
        step("down", "skill:inner", json!({"n": "inputs.n"}), json!({"n": "vars.n"}), json!({})),
        step("write", "fx.write", json!({"n": "inputs.n"}), json!({"ok": "vars.ok"}), json!({})),
    ];
    world.write("between.json", skill("between", between, &json!({})).to_string());
    let top = vec![step("nest", "skill:between", json!({"n": "inputs.n"}), json!({}), json!({}))];
    let more = json!({"capabilities": "capabilities.json", "skills": ["inner.json", "between.json"]});
    world.write("skill.json", skill("all", top, &more).to_string());
    let made = world.ask(&["run", "skill.json", "--run-id", "r"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let journal = String::from_utf8(world.journal("r")).unwrap();
    assert!(journal.contains("nest/0.0/between/1/down/0.0/inner/1/look/0.0/call/fx.read/1"), "{journal}");
    let verified = world.ask(&["verify", "--all"]);
    assert_eq!(verified.code, 0, "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn replies_that_their_contract_forbids_cannot_be_forged() {
    let world = World::new().env("PATH", "/usr/bin:/bin");
    let output = r#"{"output": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}}"#;
    let declared = command("reads", output, &reply(&json!({"n": 3})));
    world.write("capabilities.json", json!({"capabilities": {"fx.small": declared}}).to_string());
    let look = step("look", "fx.small", json!({}), json!({"n": "outputs.n"}), json!({}));
    world.write(
        "skill.json",
        skill("all", vec![look], &json!({"capabilities": "capabilities.json"})).to_string(),
    );
    assert_eq!(world.ask(&["run", "skill.json", "--run-id", "r"]).code, 0);
    let problem = world.read(".hence/runs/r/problem.json");
    let journal = String::from_utf8(world.journal("r")).unwrap();
    let forged = |value: &str| {
        let text = journal.replace(r#""produced":{"n":3}"#, &format!(r#""produced":{{"n":{value}}}"#));
        assert_ne!(text, journal);
        let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        world.write(".hence/runs/r/trace.ndjson", seal::seal(&records, &problem));
        let verified = world.ask(&["verify", "r"]);
        (verified.code, String::from_utf8(verified.stdout).unwrap())
    };
    // A value that the contract allows may have been the reply, and the report says that it was read.
    let (code, said) = forged("4");
    assert!(code == 0 && said.contains("the replies of `fx.small`"), "{said}");
    for value in ["6", "\"many\""] {
        let (code, said) = forged(value);
        assert!(code == 1 && said.contains("broken"), "{value}: {said}");
    }
}

#[test]
fn members_of_steps_that_try_one_after_the_other_cannot_be_forged() {
    let first = json!({"scatter": {"capabilities": ["fx.fails", "fx.read"], "merge": "first_success"}});
    let each = json!({"foreach": {"items": "inputs.xs", "as": "item", "parallel": 2}});
    let world = world(
        vec![
            step("first", "fx.read", json!({}), json!({"n": "vars.f"}), first),
            step("many", "fx.write", json!({}), json!({"ok": "vars.oks"}), each),
        ],
        &[],
    );
    let (found, passed) = forge(&world);
    assert!(found > passed && found > 50, "{found} found, {passed} passed");
}

#[test]
fn policies_and_verdicts_cannot_be_forged() {
    let policies = "[[policy]]\nid = \"tested\"\nseverity = \"error\"\nformula = \"G(GitCommit → P(RunTests ∧ completed))\"\n\n\
        [[policy]]\nid = \"few\"\nseverity = \"warning\"\nformula = \"G(RunCommand → completed)\"\n";
    let plain = World::new();
    plain.write("p.toml", policies);
    let file = plain.path("p.toml").display().to_string();
    let world = world(
        vec![
            step("once", "fx.read", json!({}), json!({"n": "vars.n"}), json!({})),
            step(
                "built",
                "number.sum",
                json!({"values": ["vars.n", 1]}),
                json!({"sum": "outputs.n"}),
                json!({}),
            ),
        ],
        &["--policy", &file],
    );
    let (found, passed) = forge(&world);
    // What passes is the reply of the command.
    assert!(found > 10 * passed.max(1) && found > 100, "{found} found, {passed} passed");
}

#[test]
fn records_of_forks_and_retries_cannot_be_forged() {
    let steps = || {
        vec![
            step("once", "fx.read", json!({"a": "inputs.xs"}), json!({"n": "vars.n"}), json!({})),
            step("flaky", "fx.flaky", json!({"a": "vars.n"}), json!({"n": "vars.k"}), json!({})),
            step(
                "sum",
                "number.sum",
                json!({"values": ["vars.n", 1]}),
                json!({"sum": "outputs.n"}),
                json!({}),
            ),
        ]
    };
    let world = world(steps(), &[]);
    let retried = world.ask(&["retry", "r", "--run-id", "again", "--yes"]);
    assert_eq!(retried.code, 0, "{}", retried.stderr);
    let forked =
        world.ask(&["fork", "again", "--from", "sum", "--set", "vars.n=5", "--run-id", "f", "--yes"]);
    assert_eq!(forked.code, 0, "{}", forked.stderr);
    for run in ["again", "f"] {
        let (found, passed) = forge_run(&world, run, &READ_FROM_RECORD);
        assert!(found > 2 * passed && found > 60, "{run}: {found} found, {passed} passed");
    }
}

#[test]
fn records_of_problems_with_bound_steps_cannot_be_forged() {
    let world = World::new().env("PATH", "/usr/bin:/bin");
    let mut problem = hence_testkit::cli::problem_with_evidence("r", 1);
    problem["settings"]["bindings"]["Compute"]["capability"] = "fx.compute".into();
    let result = format!("cat > /dev/null; {}", reply(&json!({"status": "ok", "task_count": 1})));
    let capabilities = json!({"capabilities": {"fx.compute": command("reads", "", &result)}});
    world.write("capabilities.json", capabilities.to_string()).write("problem.json", problem.to_string());
    let made = world.ask(&["run", "problem.json", "--capabilities", "capabilities.json"]);
    assert!(made.code <= 1, "{}", made.stderr);
    let (found, passed) = forge_run(&world, "r", &READ_OF_BOUND_STEPS);
    assert!(found > 10 * passed && found > 100, "{found} found, {passed} passed");
}

#[test]
fn records_of_variables_pass_only_as_other_operations() {
    let world = World::new();
    let lines = [
        "vars init r 'Do it' --session s1",
        "vars set r count_a 1 -t number",
        "vars checkpoint r first",
        "vars set r count_a 2",
        "vars set r notes text --scope temporary --ttl 60",
        "vars get r count_a",
        "vars rename r notes remarks",
        "vars rollback r first",
        "vars rm r count_a",
        "vars final r done",
    ];
    for line in lines {
        let answer = world.hence(line);
        assert!(answer.contains("[exit 0]"), "{answer}");
    }
    let (found, passed) = forge_run(&world, "r", &READ_OF_VARIABLES);
    assert!(found > passed && found > 200, "{found} found, {passed} passed");
}
