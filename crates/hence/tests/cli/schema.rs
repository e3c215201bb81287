//! Every `--json` output is JSON with exactly the members its schema names.

use serde_json::Value;

use hence_testkit::cli::{World, problem};

/// Checks a value against the parts of a schema that reports use: references, choices, members, elements.
fn check(value: &Value, schema: &Value, root: &Value, place: &str) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).ok_or(format!("no {reference}"))?;
        return check(value, target, root, place);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let mut reasons = Vec::new();
        for choice in choices {
            match check(value, choice, root, place) {
                Ok(()) => return Ok(()),
                Err(reason) => reasons.push(reason),
            }
        }
        return Err(format!("{place}: fits none of its forms: {reasons:#?}"));
    }
    if let Some(types) = schema.get("type") {
        let types = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        let found = type_name(value);
        if !types.iter().any(|name| name == found || (name == "number" && found == "integer")) {
            return Err(format!("{place}: {value} is none of {types:?}"));
        }
    }
    if let (Some(object), Some(required)) = (value.as_object(), schema["required"].as_array()) {
        let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
        let mut named: Vec<&str> = required.iter().map(|name| name.as_str().unwrap()).collect();
        found.sort_unstable();
        named.sort_unstable();
        if found != named {
            return Err(format!("{place}: found {found:?}, expected {named:?}"));
        }
        for (key, member) in object {
            check(member, &schema["properties"][key], root, &format!("{place}/{key}"))?;
        }
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        for item in items {
            check(item, schema, root, &format!("{place}/-"))?;
        }
    }
    Ok(())
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

/// Returns the schema that the words of a command line name: those of the command, and of no argument.
fn schema_of_command(world: &World, arguments: &[&str]) -> Value {
    let words = (1..=3.min(arguments.len())).rev().map(|count| arguments[..count].join("-"));
    let found = words.map(|name| world.ask(&["schema", &name])).find(|answer| answer.code == 0);
    found.unwrap_or_else(|| panic!("no schema for {arguments:?}")).json()
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
        ("run-problem", &["run", "problem.json"]),
        ("run-problem", &["resume", "one"]),
        ("init", &["init"]),
        ("new", &["new", "policy", "rules-of-the-house"]),
        ("capabilities-list", &["capabilities"]),
        ("capabilities-import", &["capabilities", "import", "registry"]),
        ("runs", &["runs"]),
        ("log", &["log", "one"]),
        ("show", &["show", "one", "Verify"]),
        ("show", &["show", "one", "0"]),
        ("state", &["state", "one"]),
        ("verify-run", &["verify", "one"]),
        ("store-verify", &["verify", "--all"]),
        ("verify-run", &["verify", "copy/broken.ndjson"]),
        ("replay", &["replay", "one"]),
        ("diff", &["diff", "one", "one"]),
        ("diff", &["diff", "one", "two"]),
        ("export", &["export", "one", "out"]),
        ("rm", &["rm", "one"]),
        ("gc", &["gc", "--plan"]),
        ("watch", &["watch", "one"]),
        ("import-bundle", &["import", "out"]),
        ("import-log", &["import", "log.jsonl", "--out", "imported.json"]),
        ("view-page", &["view", "one", "--html", "page.html"]),
        ("hash-digest", &["hash", "problem.json"]),
        ("document", &["hash", "problem.json", "--canonical"]),
        ("stats-store", &["stats"]),
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
        ("trace-file", &["trace", "export", "one", "--out", "t.json"]),
        ("trace-file", &["trace", "export", "one", "--format", "otlp", "--out", "otlp.json"]),
        ("document", &["trace", "export", "one", "--format", "prov"]),
        ("trace-validate", &["trace", "validate", "t.json", "problem.json"]),
        ("trace-show", &["trace", "show", "t.json"]),
        ("trace-hash", &["trace", "hash", "t.json"]),
        ("trace-lineage", &["trace", "lineage", "t.json", "problem", "--up"]),
        ("trace-grade", &["trace", "grade", "t.json"]),
        ("trace-report", &["trace", "report", "t.json"]),
        ("trace-goals", &["trace", "goals", "t.json"]),
        ("trace-gaps", &["trace", "residuals", "t.json"]),
        ("trace-chain", &["trace", "chain", "t.json"]),
        ("trace-edit", &["trace", "meta", "drop", "t.json", "iteration-1", "--out", "t2.json"]),
        ("trace-meta", &["trace", "meta", "list", "t.json"]),
        ("trace-reproduce", &["trace", "reproduce", "t.json"]),
        ("trace-bound", &["trace", "bind", "t.json", "--check"]),
        ("trace-diff", &["trace", "diff", "t.json", "t.json"]),
        ("review-open", &["review", "open", "t.json", "--author", "ada"]),
        ("review-entry", &["review", "comment", "one", "x", "--author", "ada"]),
        ("review-one", &["review", "status", "one"]),
        ("review-list", &["review", "status"]),
        ("review-handoff", &["review", "handoff", "one"]),
        ("review-export", &["review", "export", "one"]),
        ("run-skill", &["run", "skill.yaml", "--run-id", "three"]),
        ("check", &["check", "skill.yaml"]),
        ("lineage", &["blame", "three", "outputs.text"]),
        ("lineage", &["impact", "three", "join"]),
        ("run-skill", &["fork", "three", "--from", "join"]),
        ("run-problem", &["fork", "one", "--from", "Verify"]),
        ("run-skill", &["resume", "three"]),
        ("run-skill", &["run", "ask.yaml", "--run-id", "four"]),
        ("runs", &["runs", "--waiting"]),
        ("why", &["why", "four"]),
        ("answer-given", &["answer", "four", "ask", "--value", "1"]),
        ("run-skill", &["resume", "four"]),
        ("run-skill", &["run", "ask.yaml", "--run-id", "five"]),
        ("run-skill", &["answer", "five", "ask", "--value", "1", "--resume"]),
        ("run-skill", &["run", "ask.yaml", "--run-id", "seven"]),
        ("run-skill", &["run", "fails.yaml", "--run-id", "six"]),
        ("run-skill", &["retry", "six"]),
        ("watch", &["watch", "four"]),
        ("state", &["state", "four", "--cognition"]),
        ("state", &["state", "one", "status"]),
        ("runs", &["runs", "--graph"]),
        ("why", &["why", "one"]),
        ("position", &["checkpoint", "one", "c"]),
        ("position", &["rollback", "seven", "initial_state"]),
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
        ("vars-change", &["vars", "spawn", "v", "part3", "Do a part"]),
        ("position", &["checkpoint", "v", "d"]),
        ("position", &["fork", "v", "--from", "3"]),
        ("schema", &["schema"]),
        ("schema", &["schema", "run"]),
        ("vars-watch", &["vars", "watch", "v", "--from", "1", "--count", "1"]),
        ("vars-export", &["vars", "export", "v", "below"]),
    ];
    let steps = r#"[{"id": "join", "uses": "text.join", "input": {"parts": ["a"]}, "output": {"text": "outputs.text"}}]"#;
    world.write("skill.yaml", format!("{{id: x, version: 1.0.0, name: X, description: Joins, inputs: {{}}, outputs: {{}}, steps: {steps}}}"));
    let asks = r#"[{"id": "ask", "uses": "human.ask", "input": {"question": "Why?"}}]"#;
    world.write("ask.yaml", format!("{{id: y, version: 1.0.0, name: Y, description: Asks, inputs: {{}}, outputs: {{}}, steps: {asks}}}"));
    let fails = r#"[{"id": "query", "uses": "data.get", "input": {"from": {}, "pointer": "/absent"}}]"#;
    world.write("fails.yaml", format!("{{id: z, version: 1.0.0, name: Z, description: Fails, inputs: {{}}, outputs: {{}}, steps: {fails}}}"));
    let names = world.ask(&["schema", "--json"]).json();
    for name in names.as_array().unwrap() {
        // Documents, not reports; their own crates check those schemas.
        let text = name.as_str().unwrap();
        let is_document =
            ["error", "trace", "problem", "skill", "capabilities-file", "policy"].contains(&text);
        // A server prints its report and goes on; the tests of `hence serve` read it.
        // A run of `hence solve` needs a model; the tests in `tests/solve` read its report and its documents.
        let is_elsewhere = ["serve", "solve", "task"].contains(&text);
        // A command with several forms: each of them is checked, and its own schema in the loop below.
        let is_union = schema(&world, text).get("anyOf").is_some();
        let is_tried = commands.iter().any(|(form, _)| name == form);
        assert!(is_tried || is_document || is_elsewhere || is_union, "no output was checked against {name}");
    }
    for (form, arguments) in commands {
        let answer = world.ask(&[*arguments, &["--json"]].concat());
        assert!(answer.stderr.is_empty(), "{arguments:?}: {}", answer.stderr);
        for schema in [schema(&world, form), schema_of_command(&world, arguments)] {
            check(&answer.json(), &schema, &schema, form)
                .unwrap_or_else(|reason| panic!("{arguments:?}: {reason}"));
        }
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
        check(&error, &schema, &schema, "error").unwrap();
    }
}
