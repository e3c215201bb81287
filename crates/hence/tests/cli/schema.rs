//! Every `--json` output is JSON with exactly the members its schema names.

use serde_json::Value;

use hence_testkit::cli::{World, problem};

/// Checks a value against the parts of a schema that reports use: references, members, elements.
fn check(value: &Value, schema: &Value, root: &Value, place: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return check(value, target, root, place);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fitting = choices.iter().find(|choice| (choice["type"] == "null") == value.is_null());
        return check(value, fitting.unwrap(), root, place);
    }
    if let Some(types) = schema.get("type") {
        let types = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        assert!(types.iter().any(|name| name == type_name(value)), "{place}: {value} is none of {types:?}");
    }
    if let (Some(object), Some(required)) = (value.as_object(), schema["required"].as_array()) {
        let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
        let mut named: Vec<&str> = required.iter().map(|name| name.as_str().unwrap()).collect();
        found.sort_unstable();
        named.sort_unstable();
        assert_eq!(found, named, "{place}");
        for (key, member) in object {
            check(member, &schema["properties"][key], root, &format!("{place}/{key}"));
        }
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        items.iter().for_each(|item| check(item, schema, root, &format!("{place}/-")));
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn schema(world: &World, name: &str) -> Value {
    world.ask(&["schema", name]).json()
}

#[test]
fn every_command_matches_its_schema() {
    let world = World::with_run("one");
    let mut other = problem("two");
    other["settings"]["loop"]["max_iterations"] = 1.into();
    world.write("problem.json", other.to_string());
    world.write("copy/broken.ndjson", "{}\n");
    world.write("trace.json", r#"{"trace_id": "t", "actions": [{"id": 1, "type": "GitCommit"}]}"#);
    world.write("odd.json", r#"{"actions": 3}"#);
    let rules =
        r#"[{"id": "broken", "formula": "G("}, {"id": "kept", "formula": "G(GitCommit -> P(RunTests))"}]"#;
    world.write("rules.json", rules);
    world.write("registry/one.yaml", "id: a.b\ndescription: x\ninputs: {}\noutputs: {}\n");
    world.write("log.jsonl", r#"{"type": "user", "message": {"content": "Mend the loader, please"}}"#);
    let commands: &[(&str, &[&str])] = &[
        ("run", &["run", "problem.json"]),
        ("resume", &["resume", "one"]),
        ("init", &["init"]),
        ("new", &["new", "policy", "rules-of-the-house"]),
        ("capabilities-list", &["capabilities"]),
        ("capabilities-import", &["capabilities", "import", "registry"]),
        ("runs", &["runs"]),
        ("log", &["log", "one"]),
        ("show", &["show", "one", "Verify"]),
        ("show", &["show", "one", "0"]),
        ("state", &["state", "one"]),
        ("verify", &["verify", "one"]),
        ("verify", &["verify", "copy/broken.ndjson"]),
        ("replay", &["replay", "one"]),
        ("diff", &["diff", "one", "one"]),
        ("diff", &["diff", "one", "two"]),
        ("export", &["export", "one", "out"]),
        ("rm", &["rm", "one"]),
        ("gc", &["gc", "--plan"]),
        ("watch", &["watch", "one"]),
        ("import", &["import", "out"]),
        ("import-log", &["import", "log.jsonl", "--out", "imported.json"]),
        ("view", &["view", "one", "--html", "page.html"]),
        ("hash", &["hash", "problem.json"]),
        ("stats", &["stats"]),
        ("stats-run", &["stats", "one"]),
        ("doctor", &["doctor"]),
        ("store-copy", &["store", "copy", ".hence", "other-store"]),
        ("store-migrate", &["store", "migrate"]),
        ("store-verify", &["store", "verify"]),
        ("submit", &["submit", "problem.json", "--run-id", "queued"]),
        ("queue-jobs", &["queue", "jobs"]),
        ("worker", &["worker", "--until-idle", "--quiet"]),
        ("cancel", &["cancel", "queued"]),
        ("queue-list", &["queue", "list"]),
        ("queue-schedules", &["queue", "schedules"]),
        ("fleet", &["fleet"]),
        ("explain", &["explain"]),
        ("explain", &["explain", "E0101"]),
        ("completions", &["completions", "bash"]),
        ("man", &["man", "manual"]),
        ("trace-author", &["trace", "init", "reported", "a task", "--agent", "bot"]),
        ("policy-check", &["policy", "check", "trace.json", "--policy", "engineering"]),
        ("policy-check", &["policy", "check", "trace.json", "odd.json", "--policy", "rules.json"]),
        ("policy-list", &["policy", "list"]),
        ("policy-actions", &["policy", "actions"]),
        ("policy-show", &["policy", "show", "no-force-push"]),
        ("policy-show", &["policy", "show", "broken", "--policy", "rules.json"]),
        ("policy-lint", &["policy", "lint", "rules.json"]),
        ("policy-test", &["policy", "test", "rules.json", "records"]),
        ("policy-explain", &["policy", "explain", "rules.json"]),
        ("policy-new", &["policy", "new", "x", "--formula", "G(GitCommit -> P(looks_fine))"]),
        ("trace-export", &["trace", "export", "one", "--out", "t.json"]),
        ("trace-validate", &["trace", "validate", "t.json", "problem.json"]),
        ("trace-show", &["trace", "show", "t.json"]),
        ("trace-hash", &["trace", "hash", "t.json"]),
        ("trace-lineage", &["trace", "lineage", "t.json", "problem", "--up"]),
        ("trace-grade", &["trace", "grade", "t.json"]),
        ("trace-report", &["trace", "report", "t.json"]),
        ("trace-goals", &["trace", "goals", "t.json"]),
        ("trace-residuals", &["trace", "residuals", "t.json"]),
        ("trace-chain", &["trace", "chain", "t.json"]),
        ("trace-edit", &["trace", "meta", "drop", "t.json", "iteration-1", "--out", "t2.json"]),
        ("trace-meta", &["trace", "meta", "list", "t.json"]),
        ("trace-reproduce", &["trace", "reproduce", "t.json"]),
        ("trace-bind", &["trace", "bind", "t.json", "--check"]),
        ("trace-diff", &["trace", "diff", "t.json", "t.json"]),
        ("review-open", &["review", "open", "t.json", "--author", "ada"]),
        ("review-entry", &["review", "comment", "one", "x", "--author", "ada"]),
        ("review-status", &["review", "status", "one"]),
        ("review-list", &["review", "status"]),
        ("review-handoff", &["review", "handoff", "one"]),
        ("review-export", &["review", "export", "one"]),
        ("run-skill", &["run", "skill.yaml", "--run-id", "three"]),
        ("check", &["check", "skill.yaml"]),
        ("blame", &["blame", "three", "outputs.text"]),
        ("impact", &["impact", "three", "join"]),
        ("fork", &["fork", "three", "--from", "join"]),
        ("retry", &["retry", "three"]),
        ("run-skill", &["run", "ask.yaml", "--run-id", "four"]),
        ("runs", &["runs", "--waiting"]),
        ("why", &["why", "four"]),
        ("answer", &["answer", "four", "ask", "--value", "1"]),
        ("why", &["why", "one"]),
        ("checkpoint", &["checkpoint", "one", "c"]),
        ("rollback", &["rollback", "four", "initial_state"]),
        ("vars-change", &["vars", "init", "v", "task", "--tree", "tree-00000001"]),
        ("vars-change", &["vars", "init", "v", "part", "--parent", "state-5ab336c5"]),
        ("vars-change", &["vars", "set", "v", "N", "1", "--type", "number"]),
        ("vars-change", &["vars", "checkpoint", "v", "c"]),
        ("vars-change", &["vars", "rm", "v", "N"]),
        ("vars-change", &["vars", "rollback", "v", "c"]),
        ("vars-change", &["vars", "final", "v", "x", "--state", "state-a6769c55"]),
        ("vars-get", &["vars", "get", "v", "N"]),
        ("vars-get", &["vars", "result", "v", "state-a6769c55"]),
        ("vars-list", &["vars", "list", "v"]),
        ("vars-checkpoints", &["vars", "checkpoints", "v"]),
        ("vars-status", &["vars", "status", "v"]),
        ("vars-history", &["vars", "history", "v"]),
        ("vars-diff", &["vars", "diff", "v", "initial_state"]),
        ("vars-tree", &["vars", "tree", "v"]),
        ("vars-watch", &["vars", "watch", "v", "--from", "1", "--count", "1"]),
        ("vars-export", &["vars", "export", "v", "below"]),
    ];
    let steps = r#"[{"id": "join", "uses": "text.join", "input": {"parts": ["a"]}, "output": {"text": "outputs.text"}}]"#;
    world.write("skill.yaml", format!("{{id: x, version: 1.0.0, name: X, description: Joins, inputs: {{}}, outputs: {{}}, steps: {steps}}}"));
    let asks = r#"[{"id": "ask", "uses": "human.ask", "input": {"question": "Why?"}}]"#;
    world.write("ask.yaml", format!("{{id: y, version: 1.0.0, name: Y, description: Asks, inputs: {{}}, outputs: {{}}, steps: {asks}}}"));
    let names = world.ask(&["schema", "--json"]).json();
    for name in names.as_array().unwrap() {
        // Documents, not reports; their own crates check those schemas.
        let text = name.as_str().unwrap();
        let is_document = ["error", "trace", "problem", "skill", "capabilities", "policy"].contains(&text);
        // A server prints its report and goes on; the tests of `hence serve` read it.
        // A run of `hence solve` needs a model; the tests in `tests/solve` read its report.
        let is_server = ["serve", "solve"].contains(&text);
        let is_tried = commands.iter().any(|(command, _)| name == command) || is_document || is_server;
        assert!(is_tried, "no output was checked against {name}");
    }
    for (name, arguments) in commands {
        let answer = world.ask(&[*arguments, &["--json"]].concat());
        assert!(answer.stderr.is_empty(), "{arguments:?}: {}", answer.stderr);
        let schema = schema(&world, name);
        check(&answer.json(), &schema, &schema, name);
    }
}

#[test]
fn schemas_are_printed_with_their_members_sorted() {
    fn is_sorted(value: &hence_canon::Value) -> bool {
        match value {
            hence_canon::Value::Array(items) => items.iter().all(is_sorted),
            hence_canon::Value::Object(object) => {
                object.keys().is_sorted() && object.iter().all(|(_, value)| is_sorted(value))
            }
            _ => true,
        }
    }
    let world = World::new();
    for name in world.ask(&["schema", "--json"]).json().as_array().unwrap() {
        for arguments in
            [vec!["schema", name.as_str().unwrap()], vec!["schema", name.as_str().unwrap(), "--json"]]
        {
            let printed = hence_canon::parse(&world.ask(&arguments).stdout).unwrap();
            assert!(is_sorted(&printed), "{name}");
        }
    }
}

#[test]
fn errors_match_their_schema() {
    let world = World::with_run("one");
    world.write("bad.json", "{\"id\": 1}").write("worse.json", "{");
    let schema = schema(&world, "error");
    let commands: [&[&str]; 6] = [
        &["run", "bad.json"],
        &["run", "worse.json"],
        &["log", "nothing"],
        &["show", "one", "99"],
        &["import", "nowhere"],
        &["explain", "E9999"],
    ];
    for arguments in commands {
        let answer = world.ask(&[arguments, &["--json"]].concat());
        assert!(answer.stdout.is_empty() && answer.code != 0, "{arguments:?}");
        let error: Value = serde_json::from_str(&answer.stderr).unwrap();
        check(&error, &schema, &schema, "error");
    }
}
