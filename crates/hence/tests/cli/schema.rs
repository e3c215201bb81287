//! Every `--json` output is JSON with exactly the members its schema names.

use serde_json::Value;

use crate::world::{World, problem};

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
fn every_command_keeps_to_its_schema() {
    let world = World::with_run("one");
    let mut other = problem("two");
    other["settings"]["loop"]["max_iterations"] = 1.into();
    world.write("problem.json", other.to_string());
    world.write("copy/broken.ndjson", "{}\n");
    let commands: [(&str, &[&str]); 25] = [
        ("run", &["run", "problem.json"]),
        ("resume", &["resume", "one"]),
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
        ("import", &["import", "out"]),
        ("hash", &["hash", "problem.json"]),
        ("stats", &["stats"]),
        ("stats-run", &["stats", "one"]),
        ("doctor", &["doctor"]),
        ("explain", &["explain"]),
        ("explain", &["explain", "E0101"]),
        ("completions", &["completions", "bash"]),
        ("run-skill", &["run", "skill.yaml", "--run-id", "three"]),
        ("check", &["check", "skill.yaml"]),
        ("blame", &["blame", "three", "outputs.text"]),
        ("impact", &["impact", "three", "join"]),
    ];
    let steps = r#"[{"id": "join", "uses": "text.join", "input": {"parts": ["a"]}, "output": {"text": "outputs.text"}}]"#;
    world.write("skill.yaml", format!("{{id: x, version: 1.0.0, name: X, description: Joins, inputs: {{}}, outputs: {{}}, steps: {steps}}}"));
    let names = world.ask(&["schema", "--json"]).json();
    for name in names.as_array().unwrap() {
        let is_tried =
            commands.iter().any(|(command, _)| name == command) || name == "error" || name == "skill";
        assert!(is_tried, "no output was checked against {name}");
    }
    for (name, arguments) in commands {
        let answer = world.ask(&[arguments, &["--json"]].concat());
        assert!(answer.stderr.is_empty(), "{arguments:?}: {}", answer.stderr);
        let schema = schema(&world, name);
        check(&answer.json(), &schema, &schema, name);
    }
}

#[test]
fn refusals_keep_to_theirs() {
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
