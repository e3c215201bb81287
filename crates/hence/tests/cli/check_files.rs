//! `hence check` reads the files a skill names, and lists all findings at once.

use insta::assert_snapshot;

use hence_testkit::cli::World;

const SKILL: &str = "\
id: s
version: 1.0.0
name: S
description: D
inputs: {}
outputs: {}
capabilities: [good.yaml, broken.yaml, gone.yaml]
skills: [nowhere.yaml]
policies: [engineering, gone.toml, broken.json]
steps:
  - {id: a, uses: tickets.open, input: {title: vars.nobody}, output: {number: vars.n}}
  - {id: b, uses: text.join, input: {parts: [x]}, output: {text: vars.n}}
";

fn world() -> World {
    let world = World::new();
    let command = "provider: {kind: command, command: [./open]}";
    world
        .write("flow/skill.yaml", SKILL)
        .write(
            "flow/good.yaml",
            format!("capabilities:\n  tickets.open:\n    description: Opens\n    {command}\n"),
        )
        .write("flow/broken.yaml", "capabilities:\n  other:\n    provider: {kind: telex}\n")
        .write("flow/broken.json", r#"{"id": "b", "severity": "error", "formula": "G("}"#);
    world
}

#[test]
fn all_findings_of_a_skill_and_its_files_are_listed_at_once() {
    let world = world();
    assert_snapshot!(world.cli(&["check", "flow/skill.yaml"]));
    // Once the files exist, their declarations are checked; before, calls are not.
    world.write("flow/broken.yaml", "capabilities: {}\n").write("flow/gone.yaml", "capabilities: {}\n");
    world
        .write("flow/gone.toml", "[[policy]]\nid = \"b\"\nseverity = \"error\"\nformula = \"F(RunTests)\"\n");
    world.write("flow/broken.json", r#"{"id": "b", "severity": "error", "formula": "F(RunTests)"}"#);
    world.write(
        "flow/skill.yaml",
        SKILL.replace("skills: [nowhere.yaml]\n", "").replace("tickets.open", "tickets.opn"),
    );
    let said = world.cli(&["check", "flow/skill.yaml"]);
    assert!(said.contains("unknown-capability") && said.contains("already defined"), "{said}");
    world.write("flow/skill.yaml", SKILL.replace("skills: [nowhere.yaml]\n", "").replace("vars.nobody", "t"));
    world.write("flow/broken.json", r#"{"id": "c", "severity": "error", "formula": "F(RunTests)"}"#);
    let said = world.ask(&["check", "flow/skill.yaml"]);
    assert_eq!(said.code, 0, "{}", String::from_utf8_lossy(&said.stdout));
}

#[test]
fn a_file_named_on_the_command_line_is_not_a_finding_of_the_skill() {
    let world = world();
    world.write(
        "plain.yaml",
        SKILL
            .lines()
            .filter(|line| !line.contains('[') || line.contains("id:"))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    assert!(world.refused(&["check", "plain.yaml", "--capabilities", "gone.yaml"]).contains("gone.yaml"));
    assert!(world.refused(&["check", "plain.yaml", "--skill", "gone.yaml"]).contains("gone.yaml"));
}
