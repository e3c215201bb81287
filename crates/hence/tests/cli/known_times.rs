//! Views say only what is known: when variables changed, whether their task has ended, what lies next to a journal.

use hence_testkit::cli::World;
use serde_json::{Value, json};

const AT: &str = "2026-02-02T00:00:00Z";

fn skill(id: &str, steps: &Value, more: &Value) -> String {
    let mut skill = json!({
        "id": id, "version": "1.0.0", "name": "N", "description": "D",
        "inputs": {}, "outputs": {"n": {"type": "integer"}}, "steps": steps,
    });
    more.as_object().unwrap().iter().for_each(|(key, value)| skill[key] = value.clone());
    skill.to_string()
}

fn step(id: &str, uses: &str, input: &Value, output: &Value) -> Value {
    json!({"id": id, "uses": uses, "input": input, "output": output})
}

/// A world with a skill that writes variables, one after the other.
fn world() -> World {
    let world = World::new();
    let sum = |id: &str, to: &str| step(id, "number.sum", &json!({"values": [1, 2]}), &json!({"sum": to}));
    let steps =
        json!([sum("first", "vars.first_sum"), sum("second", "vars.second_sum"), sum("last", "outputs.n")]);
    world.write("skill.json", skill("sums", &steps, &json!({})));
    world.write("inner.json", skill("inner", &json!([sum("only", "outputs.n")]), &json!({})));
    let nested = json!([step("down", "skill:inner", &json!({}), &json!({"n": "outputs.n"}))]);
    world.write("outer.json", skill("outer", &nested, &json!({"skills": ["inner.json"]})));
    world
}

fn run(world: &World, file: &str, id: &str) {
    let made = world.ask(&["run", file, "--run-id", id, "--now", AT]);
    assert_eq!(made.code, 0, "{}", made.stderr);
}

#[test]
fn logical_times_of_variables_are_never_shown_as_dates() {
    let world = world();
    run(&world, "skill.json", "r");
    let views = ["vars list r", "vars history r", "vars status r", "vars tree r", "vars watch r --from 0"];
    for view in views {
        let shown = world.out(view);
        assert!(!shown.contains("2026-02-02T"), "{view}: {shown}");
    }
    assert!(world.out("vars list r").contains("UPDATED (MEASURED)"));
    let listed = world.ask(&["vars", "list", "r", "--json"]).json();
    assert_eq!(listed["clock"], "logical");
    let rows = listed["variables"].as_array().unwrap();
    let second = rows.iter().find(|row| row["name"] == "second_sum").unwrap();
    assert_eq!(second["updated"]["record"], 2, "{second}");
    assert!(second["updated"]["measured_at"].is_string(), "{second}");
    let history = world.ask(&["vars", "history", "r", "--json"]).json();
    assert_eq!(history["moments"].as_array().unwrap().len(), history["mutations"].as_array().unwrap().len());
    // Without measurements the record is what is known.
    std::fs::remove_file(world.path(".hence/runs/r/times.ndjson")).unwrap();
    for view in views {
        assert!(!world.out(view).contains("2026-02-02T"), "{view}");
    }
    assert!(world.out("vars list r").contains("record 2"), "{}", world.out("vars list r"));
    assert!(world.out("vars status r").contains("record 2"), "{}", world.out("vars status r"));
}

#[test]
fn the_times_of_a_caller_are_shown_as_given() {
    let world = World::new();
    world.out("vars init v 'Do it' --now 2026-02-09T10:00:00Z");
    world.out("vars set v count_a 1 --now 2026-02-09T10:00:05Z");
    assert_eq!(world.ask(&["vars", "list", "v", "--json"]).json()["clock"], "caller");
    assert!(world.out("vars list v").contains("2026-02-09T10:00:05Z"));
}

#[cfg(unix)]
#[test]
fn status_and_tree_say_the_same_about_a_task() {
    let world = world();
    run(&world, "skill.json", "r");
    run(&world, "outer.json", "o");
    for id in ["r", "o", "o/down"] {
        let status = world.ask(&["vars", "status", id, "--json"]).json()["status"].clone();
        assert_eq!(status, "complete", "{id}");
    }
    let tree = world.ask(&["vars", "tree", "o", "--json"]).json();
    assert_eq!((&tree["status"], &tree["children"][0]["status"]), (&json!("complete"), &json!("complete")));
    let fails = json!({"description": "d", "effects": "reads",
        "provider": {"kind": "command", "command": ["/bin/sh", "-c", "exit 4"]}});
    world.write("c.json", json!({"capabilities": {"fx.fails": fails}}).to_string());
    let failing = json!([step("bad", "fx.fails", &json!({}), &json!({"n": "outputs.n"}))]);
    world.write("failing.json", skill("failing", &failing, &json!({"capabilities": "c.json"})));
    world.ask(&["run", "failing.json", "--run-id", "f", "--now", AT]);
    let of = |view: &str| world.ask(&["vars", view, "f", "--json"]).json()["status"].clone();
    assert_eq!(of("status"), of("tree"));
}

#[test]
fn a_nested_run_is_listed_with_the_time_at_which_it_was_stored() {
    let world = world();
    run(&world, "outer.json", "o");
    let runs = world.ask(&["runs", "--json"]).json();
    for row in runs["runs"].as_array().unwrap() {
        assert!(row["measured_at"].is_string(), "{row}");
    }
    assert!(!world.out("runs").contains("not measured"), "{}", world.out("runs"));
}

#[test]
fn a_time_that_is_none_is_refused_with_the_accepted_forms() {
    let world = world();
    world.out("vars init v 'Do it'");
    let before = world.stored();
    for time in
        ["9999", "9999-12-31T23:59:59Z", "9999-12-30T00:00:00Z", "0000-01-01T00:00:00Z", "tomorrow", ""]
    {
        let given = format!("--now={time}");
        let set = world.untimed(&["vars", "set", "v", "count_a", "1", &given]).output().unwrap();
        let said = String::from_utf8_lossy(&set.stderr).into_owned();
        assert_eq!(set.status.code(), Some(2), "{time}: {said}");
        assert!(said.contains("2026-02-09T10:00:00Z") && said.contains("1970 to 9998"), "{time}: {said}");
        let made = world.untimed(&["run", "skill.json", "--run-id", "x", &given]).output().unwrap();
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert_eq!(made.status.code(), Some(2), "{time}: {said}");
        assert!(said.contains("--now") && said.contains("Z"), "{time}: {said}");
    }
    hence_testkit::cli::assert_unchanged(&before, &world.stored());
}

#[cfg(unix)]
#[test]
fn members_that_no_run_stores_are_named_in_stored_capabilities() {
    let world = World::new();
    let look = json!({"description": "d", "effects": "reads",
        "provider": {"kind": "command", "command": ["/bin/sh", "-c", "printf '{\"n\":3}'"]}});
    world.write("c.json", json!({"capabilities": {"fx.read": look}}).to_string());
    let steps = json!([step("a", "fx.read", &json!({}), &json!({"n": "outputs.n"}))]);
    world.write("skill.json", skill("s", &steps, &json!({"capabilities": "c.json"})));
    run(&world, "skill.json", "r");
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
    let file = ".hence/runs/r/capabilities.json";
    let honest = String::from_utf8(world.read(file)).unwrap();
    for (altered, named) in [
        (honest.replacen("{\"files\":", "{\"evil\":1,\"files\":", 1), "`evil`"),
        (honest.replacen("\"folder\":", "\"evil\":1,\"folder\":", 1), "`files[0].evil`"),
    ] {
        world.write(file, &altered);
        let report = world.ask(&["verify", "r"]);
        let said = String::from_utf8_lossy(&report.stdout).into_owned();
        assert_eq!(report.code, 1, "{said}");
        assert!(said.contains("capabilities.json") && said.contains(named), "{said}");
        assert_eq!(world.ask(&["doctor"]).code, 1);
    }
    world.write(file, &honest);
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
}

#[test]
fn an_export_with_large_values_is_imported_from_where_it_lies() {
    let world = World::new();
    world.write("big.txt", "large ".repeat(5000));
    world.out("vars init v 'Do it'");
    world.out("vars set v notes_a @big.txt");
    world.out("vars export v out");
    let state = std::fs::read_dir(world.path("out/.aiwg/rlm/states")).unwrap().next().unwrap().unwrap();
    let document = state.path().join("state.json").display().to_string();
    // Into another store, from the folder of the export.
    let answer = world.ask(&["vars", "import", "w", &document, "--store", "other"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(world.ask(&["verify", "w", "--store", "other"]).code, 0);
    // The document alone: this store has the value.
    std::fs::copy(&document, world.path("alone.json")).unwrap();
    let answer = world.ask(&["vars", "import", "x", "alone.json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    // Nobody has it: the exact command is named, and nothing is stored.
    let answer = world.ask(&["vars", "import", "y", "alone.json", "--store", "third"]);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    assert!(answer.stderr.contains("hence vars import y alone.json --root FOLDER"), "{}", answer.stderr);
    assert!(!world.path("third").exists());
    let answer = world.ask(&["vars", "import", "y", "alone.json", "--store", "third", "--root", "out"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
}

#[test]
fn a_check_of_a_problem_reports_all_layers_at_once() {
    let world = World::new();
    let problem = json!({
        "id": "p", "created_at": "2026-02-02T00:00:00Z",
        "inputs": {
            "prompt": "q", "context": {"limit": 3, "deep": {"a": 1}},
            "tasks": [
                {"id": "one", "goal": "g", "method": "context.limti"},
                {"id": "two", "goal": "g", "method": "context.deep.b"},
                {"id": "three", "goal": "g", "method": "context.gone ?? 1"},
                {"id": "four", "goal": "g", "method": "tasks.one"},
                {"id": "five", "goal": "g", "method": "context.evidence"},
            ],
            "constraints": ["c"],
            "constraint_checks": [{"constraint": "c", "expression": "context.limit > context.nothing"}],
        },
        "settings": {"evidence_batch": 0, "verification_paths": [{"name": "v", "expression": "task.one"}]},
    });
    world.write("p.json", problem.to_string());
    let report = world.ask(&["check", "p.json", "--json"]);
    assert_eq!(report.code, 1, "{}", report.stderr);
    let report = report.json();
    let messages: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["message"].as_str().unwrap())
        .collect();
    for expected in [
        "`version`: ",
        "an integer above 0",
        "no `context.limti`; did you mean `limit`?",
        "no `context.deep.b`",
        "`evidence.ID` names an item",
        "no `context.nothing`",
        "`task` is no name here",
    ] {
        assert!(messages.iter().any(|message| message.contains(expected)), "{expected}: {messages:#?}");
    }
    assert_eq!(messages.len(), 7, "{messages:#?}");
    // A problem whose context has the names can run.
    let text = problem.to_string().replace("context.limti", "context.limit");
    let text = text.replace("context.deep.b", "context.deep.a").replace("context.nothing", "context.deep.a");
    let text = text.replace("\"context.evidence\"", "\"context.limit\"").replace("task.one", "tasks.one > 1");
    let mut good: Value = serde_json::from_str(&text).unwrap();
    good["version"] = "1.0.0".into();
    good["settings"]["evidence_batch"] = 1.into();
    world.write("p.json", good.to_string());
    let report = world.ask(&["check", "p.json"]);
    assert_eq!(report.code, 0, "{}", String::from_utf8_lossy(&report.stdout));
}
