//! `hence capabilities`, and the page about the built-in functions.

use serde_json::Value;

use hence_testkit::cli::World;

fn list(world: &World, arguments: &[&str]) -> Vec<Value> {
    let answer = world.ask(&[&["capabilities"], arguments, &["--json"]].concat());
    let report: Value =
        serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr));
    report["capabilities"].as_array().unwrap().clone()
}

#[test]
fn the_page_about_built_in_functions_says_what_the_binary_says() {
    let page = include_str!("../../../../docs/functions.md");
    let all = list(&World::new(), &[]);
    assert_eq!(page.matches("\n## ").count(), all.len());
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    for one in &all {
        let id = text(one, "id");
        let part =
            page.split(&format!("## `{id}`\n")).nth(1).unwrap_or_else(|| panic!("{id} is not on the page"));
        let part = part.split("\n## ").next().unwrap();
        assert!(part.contains(&text(one, "description")), "{id}");
        for (what, key, need) in [("takes", "inputs", "required"), ("gives", "outputs", "always")] {
            for member in one[key].as_array().unwrap() {
                let need = if member["required"] == true { need } else { "optional" };
                let (name, kind) = (text(member, "name"), text(member, "type"));
                let about = text(member, "description").replace('|', "\\|");
                let row = format!("| {what} | `{name}` | {kind} | {need} | {about} |");
                assert!(part.contains(&row), "{id}: {row}");
            }
        }
        let Some(example) = one["example"].as_object() else { continue };
        let block = part.split("```\n").nth(1).unwrap();
        let mut lines = block.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let shown = (lines.next(), lines.next());
        assert_eq!(
            (shown.0.as_ref(), shown.1.as_ref()),
            (example.get("input"), example.get("output").filter(|output| !output.is_null())),
            "{id}"
        );
    }
}

#[test]
fn one_capability_is_shown_with_its_contract_and_an_example() {
    let world = World::new();
    let shown = world.cli(&["capabilities", "text.join"]);
    for part in ["text.join: Join texts", "separator", "uses: text.join", r#"{"text":"a, b, 3"}"#] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let [one] = &*list(&world, &["number.calculate"]) else { panic!("one was asked for") };
    assert_eq!(one["inputs"][1]["one_of"], serde_json::json!(["add", "subtract", "multiply", "divide"]));
    let unknown = world.ask(&["capabilities", "text.jion"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean `text.join`?"), "{}", unknown.stderr);
}

#[test]
fn declared_capabilities_are_listed_too() {
    let world = World::new();
    world.write(
        "caps.yaml",
        "capabilities:\n  mail.send:\n    description: Send a mail\n    input: {type: object, required: [to], properties: {to: {type: string}}}\n    \
         provider: {kind: command, command: [sh, -c, cat]}\n",
    );
    let [one] = &*list(&world, &["mail.send", "--capabilities", "caps.yaml"]) else {
        panic!("one was asked for")
    };
    assert_eq!((&one["source"], &one["inputs"][0]["name"]), (&"declared".into(), &"to".into()));
}
