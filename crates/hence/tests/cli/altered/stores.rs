//! A store with a run of every kind, made by the binary.

use hence_testkit::cli::{World, verified};
use hence_testkit::endpoint::Endpoint;
use hence_testkit::providers::Voice;
use serde_json::{Value, json};

fn command(effects: &str, script: &str) -> Value {
    json!({"description": "d", "effects": effects,
        "provider": {"kind": "command", "command": ["/bin/sh", "-c", format!("cat >/dev/null; {script}")]}})
}

fn step(id: &str, uses: &str, input: Value, output: Value, config: Value) -> Value {
    json!({"id": id, "uses": uses, "input": input, "output": output, "config": config})
}

fn skill(id: &str, steps: &[Value], nested: &[&str]) -> String {
    json!({
        "id": id, "version": "1.0.0", "name": "N", "description": "D", "capabilities": "capabilities.json",
        "skills": nested,
        "inputs": {"xs": {"type": "array", "default": [1, 2]}, "n": {"type": "integer", "default": 3}},
        "outputs": {"n": {"type": "integer"}}, "steps": steps,
    })
    .to_string()
}

/// Runs a command, which must end with one of these codes.
fn made(world: &World, codes: &[i32], arguments: &[&str]) {
    let answer = world.ask(arguments);
    assert!(codes.contains(&answer.code), "{arguments:?}: {} {}", answer.code, answer.stderr);
}

/// The runs of the store by groups: those of one group are linked, so they are altered one at a time.
pub(super) const GROUPS: [&[&str]; 11] = [
    &["runs/main", "runs/main%2fdown", "runs/forked"],
    &["runs/frail", "runs/frail-retry-1"],
    &["runs/rolled"],
    &["runs/v"],
    &["runs/waiting"],
    &["runs/bound"],
    &["runs/gone"],
    &["runs/gated"],
    &["runs/plain"],
    &["scopes/runs/global"],
    &["reviews/runs/main"],
];

/// Makes the store: nested skills, loops, people, large values, models, forks, retries, positions, bound steps, variables
/// with a snapshot and a shared scope, policies, an import, a review.
pub(super) fn world() -> World {
    let endpoint = Endpoint::with(vec![Voice::OpenAi.whole(r#"{"topic": "money"}"#)]);
    let world = World::new().env("PATH", "/usr/bin:/bin");
    let ok = r#"printf '{"ok": true}'"#;
    let capabilities = json!({"capabilities": {
        "fx.read": command("reads", r#"printf '{"n": 3}'"#),
        "fx.write": command("writes", ok),
        "fx.big": command("reads", r#"printf '{"n": "'; head -c 20000 /dev/zero | tr '\0' x; printf '"}'"#),
        "fx.fails": command("writes", &format!("if [ -e fixed ]; then {ok}; else exit 4; fi")),
        "mail.judge": {"description": "d", "effects": "reads",
            "output": {"type": "object", "required": ["topic"], "properties": {"topic": {"type": "string"}}},
            "provider": {"kind": "llm", "api": Voice::OpenAi.api(), "model": "m-1", "stream": false,
                "endpoint": endpoint.url(), "prompt": "About? {{mail}}"}},
    }});
    let none = || json!({});
    let last =
        step("last", "number.sum", json!({"values": ["inputs.n", 1]}), json!({"sum": "outputs.n"}), none());
    let ask = step("ask", "human.ask", json!({"question": "Go on?"}), json!({"value": "vars.a"}), none());
    let look = step("look", "fx.read", json!({"n": "inputs.n"}), json!({"n": "outputs.n"}), none());
    let each = json!({"foreach": {"items": "inputs.xs", "as": "item"}});
    world.write("capabilities.json", capabilities.to_string());
    world.write("inner.json", skill("inner", &[look], &[]));
    let main = [
        step("down", "skill:inner", json!({"n": "inputs.n"}), json!({"n": "vars.d"}), none()),
        step("each", "fx.read", none(), json!({"n": "vars.ns"}), each),
        step("big", "fx.big", none(), json!({"n": "vars.big"}), none()),
        step("judge", "mail.judge", json!({"mail": "vars.big"}), json!({"topic": "vars.t"}), none()),
        ask.clone(),
        step("write", "fx.write", json!({"a": "vars.a"}), json!({"ok": "vars.ok"}), none()),
        last.clone(),
    ];
    world.write("main.json", skill("main", &main, &["inner.json"]));
    let frail = [
        step("send", "fx.write", none(), none(), none()),
        step("fail", "fx.fails", none(), none(), none()),
        last.clone(),
    ];
    world.write("frail.json", skill("frail", &frail, &[]));
    world.write("waits.json", skill("waits", &[ask, last], &[]));
    world.write(
        "policies.toml",
        "[[policy]]\nid = \"looked\"\nseverity = \"error\"\nformula = \"G(GitCommit → P(RunTests ∧ completed))\"\n",
    );
    made(&world, &[3], &["run", "main.json", "--run-id", "main"]);
    drop(endpoint);
    made(&world, &[0], &["checkpoint", "main", "here"]);
    made(&world, &[0], &["answer", "main", "ask", "--value", "yes", "--by", "ada", "--resume"]);
    made(&world, &[0], &["fork", "main", "--from", "write", "--run-id", "forked", "--yes"]);
    made(&world, &[1], &["run", "frail.json", "--run-id", "frail"]);
    world.write("fixed", "");
    made(&world, &[0], &["retry", "frail", "--yes"]);
    made(&world, &[3], &["run", "waits.json", "--run-id", "rolled"]);
    made(&world, &[0], &["checkpoint", "rolled", "start"]);
    made(&world, &[0], &["answer", "rolled", "ask", "--value", "yes", "--by", "ada"]);
    made(&world, &[0], &["rollback", "rolled", "start", "--yes"]);
    made(&world, &[3], &["run", "waits.json", "--run-id", "waiting"]);
    problems(&world);
    made(&world, &[0], &["run", "inner.json", "--run-id", "gated", "--policy", "policies.toml"]);
    variables(&world);
    made(&world, &[0], &["run", "inner.json", "--run-id", "gone"]);
    made(&world, &[0], &["export", "gone", "bundle"]);
    std::fs::remove_dir_all(world.path(".hence/runs/gone")).unwrap();
    made(&world, &[0], &["import", "bundle"]);
    made(&world, &[0], &["review", "open", "main", "--author", "ada"]);
    made(&world, &[0], &["runs"]);
    made(&world, &[0], &["review", "status"]);
    made(&world, &[0], &["verify", "--all"]);
    made(&world, &[0], &["doctor"]);
    world
}

/// A problem without bound steps, and one whose step is bound to a command.
fn problems(world: &World) {
    let problem = |id: &str, settings: Value| {
        let problem = json!({"version": "1.0.0", "id": id, "created_at": "2026-03-02T09:00:00Z", "settings": settings,
            "inputs": {"prompt": "Ship?", "goals": ["a"], "context": {"evidence": [{"claim": "x"}]}}});
        verified(problem).to_string()
    };
    let calc = command("writes", r#"printf '{"conclusions":[]}'"#);
    world.write("calc.json", json!({"capabilities": {"calc": calc}}).to_string());
    world.write("bound.json", problem("bound", json!({"bindings": {"Compute": {"capability": "calc"}}})));
    world.write("plain.json", problem("plain", json!({})));
    made(world, &[0, 1], &["run", "bound.json", "--run-id", "bound", "--capabilities", "calc.json"]);
    made(world, &[0, 1], &["run", "plain.json", "--run-id", "plain"]);
}

/// A run of variables that is long enough for a snapshot, with a large value and a shared one.
fn variables(world: &World) {
    made(world, &[0], &["vars", "init", "v", "Do it"]);
    let sets: String = (0..70).map(|number| format!("set abc {number}\n")).collect();
    let answer = world.ask_with_input(&["repl", "v"], sets.as_bytes());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    world.write("large", "y".repeat(20_000));
    made(world, &[0], &["vars", "set", "v", "big_value", "@large"]);
    made(world, &[0], &["vars", "set", "v", "shared", "1", "--scope", "global"]);
    assert!(world.path(".hence/runs/v/snapshot").is_file());
}
