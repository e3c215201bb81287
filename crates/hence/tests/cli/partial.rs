//! Runs that complete although steps or parts of steps failed: every view says so, and the exit code is 5.

use hence_testkit::cli::World;
use serde_json::{Value, json};

fn divide(id: &str, right: &str, more: &str) -> String {
    format!(
        "  - id: {id}\n    uses: number.calculate\n    input: {{left: 1, right: {right}, operator: divide}}\n    output: {{value: vars.{id}}}\n    config: {{depends_on: []{more}}}\n"
    )
}

fn skill(id: &str, inputs: &str, steps: &str) -> String {
    format!(
        "id: {id}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{{inputs}}}\noutputs: {{}}\nsteps:\n{steps}"
    )
}

/// Checks that every view of a run calls it partial, and returns the rows of its log.
fn every_view_says_partial(world: &World, run: &str, step_status: &str) -> Vec<Value> {
    let ask = |words: &[&str]| world.ask(&[words, &["--json"]].concat()).json();
    let runs = ask(&["runs"]);
    let row = runs["runs"].as_array().unwrap().iter().find(|row| row["run"] == run).unwrap();
    assert_eq!(row["status"], "partial");
    assert_eq!(ask(&["why", run])["standing"], "partial");
    assert_eq!(ask(&["stats", run])["by_status"][step_status], 1);
    world.out(&format!("trace export {run} --out run.trace.json --force"));
    let trace: Value = serde_json::from_slice(&world.read("run.trace.json")).unwrap();
    assert!(
        trace["outcome"]["summary"].as_str().unwrap().starts_with("The run completed in part"),
        "{trace}"
    );
    assert_eq!(world.ask(&["verify", run]).code, 0);
    ask(&["log", run])["records"].as_array().unwrap().clone()
}

#[test]
fn a_failed_step_of_a_run_that_continues_is_failed_in_every_view() {
    let world = World::new();
    let steps = divide("bad", "0", "")
        + &divide("good", "2", "")
        + &divide("after", "1", ", depends_on: [bad]").replace("depends_on: [], ", "");
    world.write("s.yaml", skill("part", "", &steps));
    let run = ["run", "s.yaml", "--run-id", "part", "--on-failure", "continue", "--json"];
    let first = world.ask(&run);
    assert_eq!(first.code, 5, "{}", first.stderr);
    let report = first.json();
    assert_eq!(report["status"], "partial");
    let status = |step: &str| {
        let rows = report["steps"].as_array().unwrap();
        rows.iter().find(|row| row["step"] == step).unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!([status("bad"), status("good"), status("after")], ["failed", "completed", "skipped"]);
    // The second time nothing is run, and the answer is the same.
    let again = world.ask(&run);
    assert_eq!((again.code, again.json()["start"].as_str()), (5, Some("already_ended")));
    let said = world.ask(&run[..run.len() - 1]).stderr;
    assert!(said.contains("already partial"), "{said}");

    let log = every_view_says_partial(&world, "part", "failed");
    assert_eq!(log[1]["status"], "failed");
    assert_eq!(log[2]["status"], "success");
    let shown = world.ask(&["show", "part", "bad", "--json"]).json();
    assert_eq!(
        (&shown["status"], &shown["record"]["result"]["status"]),
        (&json!("failed"), &json!("success"))
    );
    let why = world.ask(&["why", "part", "--json"]).json();
    assert_eq!(why["failures"], json!(["step bad failed: `number.calculate`: nothing can be divided by 0"]));
    assert_eq!(why["commands"][0], "hence retry part");
    let cognition = world.ask(&["state", "part", "/step_results/bad/status", "--cognition"]);
    assert_eq!(String::from_utf8(cognition.stdout).unwrap().trim(), "\"failed\"");
}

#[test]
fn failed_items_and_branches_are_kept_with_their_messages_and_make_the_run_partial() {
    let world = World::new();
    let each =
        divide("each", "inputs.none", ", foreach: {items: \"[1, 0, 2]\", as: right, on_error: continue}")
            .replace("right: inputs.none, ", "");
    world.write("s.yaml", skill("each", "", &each));
    let report = world.ask(&["run", "s.yaml", "--run-id", "each", "--json"]);
    assert_eq!(report.code, 5, "{}", report.stderr);
    let message = "`number.calculate`: nothing can be divided by 0";
    let item = json!({"part": "item 1", "index": 1, "class": "CapabilityExecutionError", "message": message});
    assert_eq!(report.json()["steps"][0]["failed"], json!([item]));
    assert_eq!(every_view_says_partial(&world, "each", "partial")[1]["status"], "partial");

    let boom = json!({"description": "Fails",
        "provider": {"kind": "command", "command": ["/bin/sh", "-c", "cat >/dev/null; echo no >&2; exit 3"]}});
    world.write("caps.json", json!({"capabilities": {"boom": boom}}).to_string());
    let both = divide("both", "2", ", scatter: {capabilities: [number.calculate, boom], merge: collect}");
    world.write("b.yaml", skill("both", "", &both.replace("{value: vars.both}", "{}")));
    let report = world.ask(&["run", "b.yaml", "--run-id", "both", "--capabilities", "caps.json", "--json"]);
    assert_eq!(report.code, 5, "{}", report.stderr);
    let failed = &report.json()["steps"][0]["failed"][0];
    assert_eq!(
        (&failed["part"], &failed["class"]),
        (&json!("branch boom"), &json!("CapabilityExecutionError"))
    );
    assert!(failed["message"].as_str().unwrap().contains("boom"), "{failed}");
    every_view_says_partial(&world, "both", "partial");
}

#[test]
fn a_nested_skill_that_completed_in_part_makes_its_parent_partial() {
    let world = World::new();
    world.write("inner.yaml", skill("inner", "", &(divide("bad", "0", "") + &divide("good", "2", ""))));
    let call = "  - id: call\n    uses: skill:inner\n    input: {}\n    output: {}\n";
    world.write("outer.yaml", skill("outer", "", call));
    let words = ["run", "outer.yaml", "--skill", "inner.yaml", "--on-failure", "continue", "--json"];
    let report = world.ask(&[&words[..], &["--run-id", "outer"]].concat());
    assert_eq!(report.code, 5, "{}", report.stderr);
    assert_eq!(report.json()["steps"][0]["failed"][0]["part"], "skill inner: bad");
    every_view_says_partial(&world, "outer", "partial");
    every_view_says_partial(&world, "outer/call", "failed");
}

#[test]
fn a_loop_without_failures_completes() {
    let world = World::new();
    let each = divide("each", "inputs.none", ", foreach: {items: \"[1, 2]\", as: right, on_error: continue}")
        .replace("right: inputs.none, ", "");
    world.write("s.yaml", skill("each", "", &each));
    let report = world.ask(&["run", "s.yaml", "--json"]);
    assert_eq!((report.code, report.json()["status"].as_str()), (0, Some("completed")));
}

#[test]
fn a_failure_that_was_rolled_back_makes_no_run_partial() {
    let world = World::new();
    world.write("caps.json", json!({"capabilities": {"check": {"description": "Checks",
        "provider": {"kind": "command", "command": ["/bin/sh", "-c", "cat >/dev/null; test -f ok && echo '{}'"]}}}}).to_string());
    let steps = "  - id: a\n    uses: check\n    input: {}\n    output: {}\n  - id: ask\n    uses: human.ask\n    input: {question: Go on?}\n    output: {}\n    config: {depends_on: []}\n";
    world.write("s.yaml", skill("back", "", steps));
    let run =
        ["run", "s.yaml", "--run-id", "back", "--capabilities", "caps.json", "--on-failure", "continue"];
    assert_eq!(world.ask(&run).code, 3);
    assert_eq!(world.ask(&["log", "back", "--json"]).json()["records"][1]["status"], "failed");
    world.write("ok", "");
    world.out("rollback back initial_state --yes");
    let resumed = world.ask(&["resume", "back"]);
    assert_eq!(resumed.code, 3, "{}", resumed.stderr);
    let answered =
        world.ask(&["answer", "back", "ask", "--value", "yes", "--by", "ada", "--resume", "--json"]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    let runs = world.ask(&["runs", "--json"]).json();
    assert_eq!(runs["runs"][0]["status"], "completed");
}
