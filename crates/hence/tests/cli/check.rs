//! The findings of `hence check`, and the order of mappings.

use serde_json::Value;

use hence_testkit::cli::World;

const HEAD: &str = "id: s\nversion: 1.0.0\nname: N\ndescription: D\n";

fn skill(inputs: &str, steps: &str) -> String {
    format!("{HEAD}inputs: {inputs}\noutputs: {{}}\nsteps:\n{steps}")
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

/// Returns rule, line, column and message of every finding.
fn findings(world: &World, document: &str) -> Vec<(String, u64, u64, String)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let count = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let report = json(world, &["check", document]);
    let rows = report["findings"].as_array().unwrap();
    rows.iter()
        .map(|row| (text(row, "rule"), count(row, "line"), count(row, "column"), text(row, "message")))
        .collect()
}

#[test]
fn every_kind_of_mistake_is_found_at_once_where_it_stands() {
    let world = World::new();
    let document = "id: s\nversion: 1.0.0\nname: N\nstatus: draft\ninputs: {limit: {type: strng}, limit: {type: number}}\n\
        outputs: {}\nstps: 1\nsteps:\n  \
        - {id: a, uses: number.calculate, input: {left: 1, right: 2, operator: plus}, output: {valu: vars.sum}}\n  \
        - {id: b, uses: text.join, input: {parts: [], seperator: x}, output: {text: vars.t}, config: {condition: 'inputs.limt > 3'}}\n  \
        - {id: c, uses: data.filter, input: {items: vars.sums, where: {$literal: 'frame.goal == vars.x'}}, output: {items: vars.kept}}\n  \
        - {id: d, uses: text.join, input: {separator: item}, config: {foreach: {items: inputs.limit}}}\n  \
        - {id: e, uses: text.join, input: {parts: []}, output: {text.join.text: vars.u}, config: {scatter: {capabilities: [text.join, text.lines]}}}\n  \
        - {id: f, uses: text.template, input: {template: 'Dear {{nmae}}', values: {name: inputs.limit}}}\n  \
        - {uses: text.jion, config: {depends_on: [z]}}\n  \
        - 7\n";
    world.write("bad.yaml", document);
    let found = findings(&world, "bad.yaml");
    let has = |rule: &str, line: u64, part: &str| {
        assert!(
            found
                .iter()
                .any(|(found, at, _, message)| found == rule && *at == line && message.contains(part)),
            "{rule} at {line} with {part}: {found:#?}"
        );
    };
    has("shape", 1, "`description`");
    has("ignored", 4, "`status`");
    has("unknown-type", 5, "did you mean `string`?");
    has("duplicate-key", 5, "\"limit\" occurs twice");
    has("unknown-key", 7, "did you mean `steps`?");
    has("contract", 9, "`operator` is one of add, subtract, multiply, divide, found `plus`");
    has("contract", 9, "has no output `valu`; its outputs are `value`; did you mean `value`?");
    has(
        "contract",
        10,
        "has no input `seperator`; its inputs are `parts`, `separator`; did you mean `separator`?",
    );
    has("dangling-reference", 10, "`inputs.limt` is not a declared input; did you mean `limit`?");
    has("dangling-reference", 11, "no earlier step writes `vars.sums`; did you mean `sum`?");
    has("contract", 11, "`frame.goal` names nothing here");
    has("item-text", 12, "\"item\" is a text here");
    has("contract", 12, "no input `item` for the loop");
    has("contract", 13, "`text.join.text` is none of them");
    has("contract", 14, "the template names `nmae`, which is not given; did you mean `name`?");
    has("shape", 15, "`id` is a non-empty string");
    has("unknown-capability", 15, "did you mean `text.join`?");
    has("unknown-dependency", 15, "`z`");
    has("shape", 16, "a step is an object");
    // The caret stands under the value, not under the bracket around it.
    let line = document.lines().nth(9).unwrap();
    let column = line.find("'inputs.limt").unwrap() as u64 + 1;
    assert!(
        found
            .iter()
            .any(|(rule, at, found, _)| rule == "dangling-reference" && (*at, *found) == (10, column))
    );
}

#[test]
fn a_skill_of_the_upstream_registry_is_read_with_warnings() {
    let world = World::new();
    let steps = "  - {id: a, uses: text.join, description: Join, depends_on: [], timeout_seconds: 5, input: {parts: [a]}, output: {text: vars.t}}\n";
    let registry =
        "status: active\nchannel: official\ndomain: text\nslug: join\nclassification: {role: x}\ntags: [a]\n";
    world.write("up.yaml", format!("\u{feff}{registry}{}", skill("{}", steps)));
    let report = json(&world, &["check", "up.yaml"]);
    assert_eq!(
        (&report["runs"], &report["errors"], &report["warnings"]),
        (&true.into(), &0.into(), &9.into()),
        "{report}"
    );
    assert_eq!(world.ask(&["run", "up.yaml"]).code, 0);
}

#[test]
fn a_name_that_is_missing_when_it_is_evaluated_fails_the_step() {
    let world = World::new();
    let filter = |text: &str| {
        skill(
            "{rows: {type: array, default: [{p99_ms: 5}]}, limit: {type: number}}",
            &format!(
                "  - {{id: f, uses: data.filter, input: {{items: inputs.rows, where: {{$literal: '{text}'}}}}, output: {{items: vars.kept}}}}\n"
            ),
        )
    };
    world.write("s.yaml", filter("inputs.p99_ms > inputs.limit"));
    let answer = world.ask(&["run", "s.yaml", "--run-id", "a"]);
    assert_eq!(answer.code, 1);
    let why = world.cli(&["why", "a"]);
    assert!(why.contains("item 0: `inputs.limit` names nothing; `inputs.limit ?? DEFAULT`"), "{why}");
    world.write("t.yaml", filter("inputs.p99_ms > inputs.limit ?? 3"));
    assert_eq!(world.ask(&["run", "t.yaml", "--run-id", "b"]).code, 0);
    assert_eq!(
        json(&world, &["state", "b", "/vars/kept", "--cognition"]),
        serde_json::json!([{"p99_ms": 5}])
    );
    // A declared input that was not given is null.
    let step = "  - {id: j, uses: text.join, input: {parts: [a]}, output: {text: vars.t}, config: {condition: 'inputs.limit == null'}}\n";
    world.write("u.yaml", skill("{limit: {type: number}}", step));
    assert_eq!(world.ask(&["run", "u.yaml", "--run-id", "c"]).code, 0);
    assert_eq!(json(&world, &["state", "c", "/vars/t", "--cognition"]), "a");
    // What a skipped step would have written is missing.
    let steps = "  - {id: a, uses: text.join, input: {parts: [a]}, output: {text: vars.t}, config: {condition: 'inputs.limit != null'}}\n  \
        - {id: b, uses: text.join, input: {parts: [b]}, output: {text: vars.u}, config: {condition: 'vars.t == 1'}}\n";
    world.write("v.yaml", skill("{limit: {type: number}}", steps));
    assert_eq!(world.ask(&["check", "v.yaml"]).code, 0);
    assert_eq!(world.ask(&["run", "v.yaml", "--run-id", "d"]).code, 1);
    assert!(world.cli(&["why", "d"]).contains("`vars.t` names nothing"), "{}", world.cli(&["why", "d"]));
    assert_eq!(world.ask(&["verify", "d"]).code, 0);
}

#[test]
fn append_reads_and_writes_follow_the_document() {
    let world = World::new();
    let steps = |output: &str| {
        format!(
            "  - {{id: a, uses: data.value, input: {{value: {{z: [{{t: first}}], a: [{{t: second}}]}}}}, output: {output}, config: {{merge_strategy: append}}}}\n  \
             - {{id: b, uses: data.value, input: {{value: {{y: inputs.two, x: inputs.one}}}}, output: {{value: vars.v}}}}\n"
        )
    };
    let inputs = "{one: {type: number, default: 1}, two: {type: number, default: 2}}";
    let mut digests = Vec::new();
    for (run, output, expected) in [
        ("r1", "{value.z: working.messages, value.a: working.messages}", ["first", "second"]),
        ("r2", "{value.a: working.messages, value.z: working.messages}", ["second", "first"]),
    ] {
        world.write("s.yaml", skill(inputs, &steps(output)));
        assert_eq!(world.ask(&["run", "s.yaml", "--run-id", run, "--now", "2026-02-02T00:00:00Z"]).code, 0);
        let messages = json(&world, &["state", run, "/working/messages", "--cognition"]);
        let texts: Vec<&str> =
            messages.as_array().unwrap().iter().map(|one| one["t"].as_str().unwrap()).collect();
        assert_eq!(texts, expected);
        let reads = &json(&world, &["show", run, "b"])["output"]["reads"];
        assert_eq!(*reads, serde_json::json!(["inputs.two", "inputs.one"]));
        for command in ["verify", "replay"] {
            assert_eq!(world.ask(&[command, run]).code, 0, "{}", world.cli(&[command, run]));
        }
        let problem: Value =
            serde_json::from_slice(&world.read(&format!(".hence/runs/{run}/problem.json"))).unwrap();
        digests.push(problem["settings"]["skill"]["sha256"].to_string());
        // The pinned skill is a skill: run again, it pins the same.
        world.write("again.json", world.read(&format!(".hence/runs/{run}/skill.json")));
        assert_eq!(world.ask(&["run", "again.json", "--run-id", &format!("{run}-again")]).code, 0);
        let again: Value =
            serde_json::from_slice(&world.read(&format!(".hence/runs/{run}-again/problem.json"))).unwrap();
        assert_eq!(again["settings"]["skill"]["sha256"], problem["settings"]["skill"]["sha256"]);
        // A fork and a rollback keep the order too.
        assert_eq!(world.ask(&["fork", run, "--from", "a", "--run-id", &format!("{run}-fork")]).code, 0);
        let forked = json(&world, &["state", &format!("{run}-fork"), "/working/messages", "--cognition"]);
        assert_eq!(forked, messages);
    }
    assert_ne!(digests[0], digests[1]);
}

#[test]
fn the_order_of_hints_survives_too() {
    let world = World::new();
    world.write(
        "caps.yaml",
        "capabilities:\n  two:\n    description: d\n    effects: none\n    determinism: deterministic\n    \
         provider: {kind: command, command: [sh, -c, 'echo ''{\"z\": [{\"t\": 1}], \"a\": [{\"t\": 2}]}''']}\n    \
         hints: {produces: {z: {target: working.messages}, a: {target: working.messages}}}\n",
    );
    world.write("s.yaml", skill("{}", "  - {id: a, uses: two, config: {merge_strategy: append}}\n"));
    assert_eq!(world.ask(&["run", "s.yaml", "--capabilities", "caps.yaml", "--run-id", "r"]).code, 0);
    let messages = json(&world, &["state", "r", "/working/messages", "--cognition"]);
    assert_eq!(messages, serde_json::json!([{"t": 1}, {"t": 2}]));
    assert_eq!(world.ask(&["verify", "r"]).code, 0, "{}", world.cli(&["verify", "r"]));
}
