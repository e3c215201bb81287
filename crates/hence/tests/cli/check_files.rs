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

#[test]
fn a_problem_is_checked_as_one_and_every_finding_is_told() {
    let world = World::new();
    let wrong = r#"{"version": "1.0.0", "id": "p", "created_at": "2026-02-02T00:00:00Z",
  "inputs": {"prompt": "which?", "assumptions": ["none"]},
  "steps": [],
  "settings": {"evidence_requried": true, "evidence_required": 1, "structured_generation": 0, "limits": {"call": 1},
    "bindings": {"Compare": {"capability": "x.y"}}}}"#;
    world.write("p.json", wrong);
    let answer = world.ask(&["check", "p.json", "--json"]);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    let report = answer.json();
    let found: Vec<(String, String)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (row["severity"].as_str().unwrap().to_owned(), row["pointer"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        ("warning", "/steps"),
        ("error", "/settings/evidence_requried"),
        ("error", "/settings/evidence_required"),
        ("error", "/settings/structured_generation"),
        ("error", "/settings/limits"),
    ];
    for (severity, pointer) in expected {
        assert!(found.contains(&(severity.to_owned(), pointer.to_owned())), "{pointer}: {found:?}");
    }
    assert!(world.cli(&["check", "p.json"]).contains("did you mean `evidence_required`?"));
    // What is left is judged with the capabilities that exist.
    world.write("p.json", wrong.replace(r#""evidence_requried": true, "evidence_required": 1, "structured_generation": 0, "limits": {"call": 1},"#, ""));
    let report = world.ask(&["check", "p.json", "--json"]).json();
    assert_eq!(
        (&report["errors"], &report["findings"][1]["pointer"]),
        (&1.into(), &"/settings/bindings/Compare".into()),
        "{report}"
    );
    world.write("p.json", r#"{"version": "1.0.0", "id": "p", "created_at": "2026-02-02T00:00:00Z", "inputs": {"prompt": "which?"}}"#);
    assert_eq!(world.ask(&["check", "p.json"]).code, 0);
    // A problem with a member `steps` is not run as a skill.
    world.write("s.json", r#"{"version": "1.0.0", "id": "s", "created_at": "2026-02-02T00:00:00Z", "inputs": {"prompt": "which?"}, "steps": []}"#);
    assert_eq!(world.ask(&["run", "s.json"]).code, 5);
}

#[test]
fn a_text_that_names_no_member_of_the_input_is_refused() {
    let world = World::new();
    let skill =
        "{id: s, version: 1.0.0, name: S, description: D, inputs: {}, outputs: {}, capabilities: caps.yaml,
 steps: [{id: a, uses: x.ask, input: {document: {$literal: t}}}]}";
    let declared = |input: &str, provider: &str| {
        format!(
            "capabilities:\n  x.ask:\n    description: d\n    effects: reads\n    input: {input}\n    provider: {provider}\n"
        )
    };
    let open = "{type: object, properties: {document: {type: string}}}";
    let closed = "{type: object, properties: {document: {type: string}}, additionalProperties: false}";
    let model = |prompt: &str, system: &str| {
        format!(
            "{{kind: llm, api: openai, model: m, endpoint: 'http://127.0.0.1:9/v1', prompt: '{prompt}', system: '{system}'}}"
        )
    };
    let service = |url: &str| format!("{{kind: http, url: 'http://127.0.0.1:9/{url}'}}");
    let cases = [
        (open, model("Read {{document}}", "Be {{/document/0}}"), None),
        (open, model("Read {{dxcument}}", "x"), Some("/provider/prompt")),
        (open, model("Read {{document}}", "Be {{/documnt/0}}"), Some("/provider/system")),
        // Another member may be given where the schema allows others.
        (open, model("Read {{mood}}", "x"), None),
        (closed, model("Read {{mood}}", "x"), Some("/provider/prompt")),
        (closed, service("{{document}}"), None),
        (closed, service("{{mood}}"), Some("/provider/url")),
        (open, service("{{docxument}}"), Some("/provider/url")),
    ];
    world.write("s.yaml", skill);
    for (input, provider, expected) in cases {
        world.write("caps.yaml", declared(input, &provider));
        let said = world.cli(&["check", "s.yaml"]);
        assert_eq!(said.contains("is no member of `input`"), expected.is_some(), "{provider}: {said}");
        assert!(expected.is_none_or(|place| said.contains(place)), "{provider}: {said}");
    }
}

#[test]
fn a_document_of_another_kind_is_named_instead_of_read_as_the_expected_one() {
    let world = World::new();
    world.write("skill.yaml", "id: s\nname: N\ninputs: {}\nsteps:\n  - {id: a, uses: text.join}\n");
    world.write("caps.yaml", "capabilities:\n  a.b: {description: x}\n");
    world.write("trace.json", r#"{"trace_id": "t", "actions": []}"#);
    world.write("notes.md", "# Notes\n\n`code`: and *more*\n");
    world.write("empty.json", "{}");
    world.write("rows.csv", "a,b\n1,2\n");
    for (words, expected) in [
        ("policy explain skill.yaml", "skill.yaml is a skill: expected policies"),
        ("policy lint caps.yaml", "caps.yaml is a capabilities file: expected policies"),
        ("policy check trace.json --policy skill.yaml", "skill.yaml is a skill: expected policies"),
        ("run caps.yaml", "caps.yaml is a capabilities file: expected a problem or a skill"),
        ("run trace.json", "trace.json is a review trace: expected a problem or a skill"),
        ("run notes.md", "notes.md is neither JSON nor YAML: expected a problem or a skill"),
        ("check empty.json", "empty.json is an object without members: expected a problem, a skill"),
        ("check notes.md", "notes.md is neither JSON nor YAML: expected a problem, a skill"),
        ("check trace.json", "trace.json is a review trace, which `hence check` does not read"),
        ("verify rows.csv", "rows.csv is not a journal: it is a file in which no line is a record"),
        ("verify caps.yaml", "caps.yaml is not a journal: it is a capabilities file"),
    ] {
        let answer = world.ask(&words.split(' ').collect::<Vec<_>>());
        assert_ne!(answer.code, 0, "{words}");
        assert!(answer.stderr.contains(expected), "{words}: {}", answer.stderr);
    }
}

#[test]
fn a_policy_that_is_defined_twice_does_not_hide_what_is_wrong_with_the_others() {
    let world = World::new();
    let policies = r#"{"policies": [
  {"id": "one", "formula": "G(a -> )"},
  {"id": "one", "formula": "G(b)"},
  {"formula": "G(c)"},
  {"id": "two", "formula": "F(", "severity": "grave"}
]}"#;
    world.write("rules.json", policies);
    let answer = world.ask(&["check", "rules.json"]);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    let listed = String::from_utf8(answer.stdout).unwrap();
    for expected in [
        "policy `one` is already defined in rules.json, `/policies/0`\n --> rules.json:3:3",
        "the policy has neither `policy_id` nor `id`\n --> rules.json:4:3",
        "rules.json:5:3",
        "rules.json:2:3",
    ] {
        assert!(listed.contains(expected), "{expected}: {listed}");
    }
    // A run never begins under rules of which some were not read.
    let refused = world.ask(&["policy", "lint", "rules.json"]);
    assert!(
        refused.stderr.contains("E0601") && refused.stderr.contains("already defined"),
        "{}",
        refused.stderr
    );
}
