//! Policies of a run judge the calls inside the skills it nests, before each of them is made.

use serde_json::Value;

use hence_testkit::cli::World;

use crate::guard::json;

fn skill(id: &str, steps: &str) -> String {
    format!(
        "id: {id}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{n: {{type: integer, required: false}}}}\noutputs: {{}}\ncapabilities: capabilities.yaml\nsteps:\n{steps}"
    )
}

/// Every deed leaves its input in a file of its own.
const CAPABILITIES: &str = r#"
capabilities:
  tests.run:
    description: Run the tests
    action: RunTests
    effects: reads
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; cat tests.json"]}
  git.commit:
    description: Commit the change
    action: GitCommit
    provider: {kind: command, command: [/bin/sh, -c, "cat >> committed; echo '{\"status\":\"done\"}'"]}
  bucket.delete:
    description: Delete a bucket
    action: DeleteFile
    provider: {kind: command, command: [/bin/sh, -c, "cat >> deleted; echo '{\"status\":\"done\"}'"]}
  bucket.purge:
    description: Delete a bucket, once a person has confirmed it
    action: DeleteFile
    confirmation: required
    provider: {kind: command, command: [/bin/sh, -c, "cat >> deleted; echo '{\"status\":\"done\"}'"]}
  notes.write:
    description: Write a note
    action: CreateFile
    provider: {kind: command, command: [/bin/sh, -c, "cat >> written; echo >> written; echo '{\"status\":\"done\"}'"]}
  shell.run:
    description: Run a command
    provider: {kind: command, command: [/bin/sh, -c, "cat >> shell; echo '{}'"]}
"#;

const LENIENT: &str = r#"{"id": "few", "severity": "error", "formula": "count(action) <= 50"}"#;

fn world(outer: &str, inner: &str) -> World {
    let world = World::new();
    world
        .write("work.yaml", skill("work", outer))
        .write("inner.yaml", skill("inner", inner))
        .write("middle.yaml", skill("middle", "  - {id: down, uses: \"skill:inner\"}\n"))
        .write("capabilities.yaml", CAPABILITIES)
        .write("tests.json", r#"{"summary": "5 passed", "exit_code": 0}"#)
        .write("lenient.json", LENIENT);
    world
}

const RUN: [&str; 10] = [
    "run",
    "work.yaml",
    "--skill",
    "inner.yaml",
    "--skill",
    "middle.yaml",
    "--run-id",
    "r",
    "--policy",
    "engineering",
];

fn assert_verifies(world: &World, run: &str) {
    for command in ["verify", "replay"] {
        assert_eq!(world.ask(&[command, run]).code, 0, "{}", world.cli(&[command, run]));
    }
}

fn types(world: &World) -> Vec<String> {
    let trace = json(world, &["trace", "export", "r"]);
    let actions = trace["actions"].as_array().unwrap().iter();
    actions.map(|action| action["type"].as_str().unwrap().to_owned()).collect()
}

const DELETE: &str = "  - {id: gone, uses: bucket.delete, input: {path: data/prod}}\n";

#[test]
fn a_deed_inside_a_nested_skill_is_held_back_whatever_the_way_to_it() {
    for (outer, inner) in [
        ("  - {id: sub, uses: \"skill:inner\"}\n", DELETE),
        ("  - {id: sub, uses: \"skill:middle\"}\n", DELETE),
        (
            "  - {id: sub, uses: notes.write, config: {router: {on: \"'x'\", cases: {x: \"skill:inner\"}}}}\n",
            DELETE,
        ),
        (
            "  - {id: sub, uses: notes.write, config: {scatter: {capabilities: [\"skill:inner\", tests.run]}}}\n",
            DELETE,
        ),
        ("  - {id: sub, uses: \"skill:inner\", config: {foreach: {items: \"[1, 2]\", as: n}}}\n", DELETE),
        (
            "  - {id: sub, uses: \"skill:inner\", config: {foreach: {items: \"[1, 2]\", as: n, parallel: 2, on_error: continue}}}\n",
            DELETE,
        ),
        ("  - {id: sub, uses: \"skill:inner\", config: {retry: {max_attempts: 3}}}\n", DELETE),
        (
            "  - {id: sub, uses: \"skill:inner\"}\n",
            "  - {id: gone, uses: bucket.delete, input: {path: x}, config: {foreach: {items: \"['a', 'b']\", as: path, parallel: 2}}}\n",
        ),
        (
            "  - {id: sub, uses: \"skill:inner\"}\n",
            "  - {id: gone, uses: shell.run, input: {command: rm -rf data}}\n",
        ),
    ] {
        let world = world(outer, inner);
        let refused = world.ask(&RUN);
        assert_eq!(refused.code, 1, "{outer}{inner}{}", refused.stderr);
        assert!(refused.stderr.contains("destructive-actions-confirmed"), "{outer}{}", refused.stderr);
        assert!(!world.path("deleted").exists() && !world.path("shell").exists(), "{outer}{inner}");
        let why = json(&world, &["why", "r"]);
        assert_eq!(why["standing"], "blocked", "{why}");
        assert_verifies(&world, "r");
        // Nothing changes while the policies are the same.
        assert_eq!(world.ask(&["resume", "r"]).code, 1);
        assert!(!world.path("deleted").exists() && !world.path("shell").exists(), "{outer}{inner}");
        // Other policies let it through, once.
        let resumed = world.ask(&["resume", "r", "--policy", "lenient.json"]);
        assert_eq!(resumed.code, 0, "{outer}{inner}{}", resumed.stderr);
        assert!(world.path("deleted").exists() || world.path("shell").exists());
        assert!(types(&world).contains(&"DeleteFile".to_owned()), "{outer}: {:?}", types(&world));
        assert_verifies(&world, "r");
    }
}

#[test]
fn calls_before_the_one_that_is_held_back_are_on_record_and_not_repeated() {
    let inner = format!("  - {{id: note, uses: notes.write, input: {{path: a}}}}\n{DELETE}");
    let world = world("  - {id: sub, uses: \"skill:inner\"}\n", &inner);
    let refused = world.ask(&RUN);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("step gone of skill:inner: policy destructive-actions-confirmed"),
        "{}",
        refused.stderr
    );
    let written = world.read("written");
    let why = json(&world, &["why", "r"]);
    assert_eq!(why["executed"][0]["capability"], "notes.write", "{why}");
    assert_eq!(world.ask(&["resume", "r"]).code, 1);
    // The record alone answers the call.
    std::fs::remove_file(world.path(".hence/runs/r/calls.ndjson")).ok();
    assert_eq!(world.ask(&["resume", "r", "--policy", "lenient.json"]).code, 0);
    assert_eq!(world.read("written"), written, "the note was written once");
    assert_verifies(&world, "r");
    assert_verifies(&world, "r/sub");
}

#[test]
fn what_the_run_did_before_and_what_the_nested_skill_did_count_together() {
    let commit = "  - {id: commit, uses: git.commit, input: {message: done}}\n";
    let tested = format!("  - {{id: tests, uses: tests.run}}\n{commit}");
    let sub = "  - {id: sub, uses: \"skill:inner\"}\n";
    let failing = r#"{"summary": "2 failed", "exit_code": 1}"#;
    for (outer, inner, tests, code) in [
        // The nested skill tests and commits.
        (sub.to_owned(), tested.clone(), "", 0),
        (sub.to_owned(), tested.clone(), failing, 1),
        // The run tests, the nested skill commits.
        (format!("  - {{id: tests, uses: tests.run}}\n{sub}"), commit.to_owned(), "", 0),
        (format!("  - {{id: tests, uses: tests.run}}\n{sub}"), commit.to_owned(), failing, 1),
        (sub.to_owned(), commit.to_owned(), "", 1),
        // Tests and the nested skill are branches of one step, one after the other.
        (
            "  - {id: sub, uses: notes.write, config: {scatter: {capabilities: [tests.run, \"skill:inner\"]}}}\n"
                .to_owned(),
            commit.to_owned(),
            "",
            0,
        ),
        (
            "  - {id: sub, uses: notes.write, config: {scatter: {capabilities: [\"skill:inner\", tests.run]}}}\n"
                .to_owned(),
            commit.to_owned(),
            "",
            1,
        ),
        // The nested skill tests, or changes something after the tests, and the run commits.
        (format!("{sub}{commit}"), "  - {id: tests, uses: tests.run}\n".to_owned(), "", 1),
        (
            format!("  - {{id: tests, uses: tests.run}}\n{sub}{commit}"),
            "  - {id: note, uses: notes.write, input: {path: a}}\n".to_owned(),
            "",
            1,
        ),
        (
            format!("{sub}  - {{id: tests, uses: tests.run}}\n{commit}"),
            "  - {id: note, uses: notes.write, input: {path: a}}\n".to_owned(),
            "",
            0,
        ),
    ] {
        let world = world(&outer, &inner);
        if !tests.is_empty() {
            world.write("tests.json", tests);
        }
        let ran = world.ask(&RUN);
        assert_eq!(ran.code, code, "{outer}| {inner}| {tests} {}", ran.stderr);
        assert_eq!(world.path("committed").exists(), code == 0, "{outer}| {inner}");
        assert_verifies(&world, "r");
    }
}

/// A question inside the nested skill.
const QUESTION: &str = "  - {id: ask, uses: human.ask, input: {question: Delete?, options: ['yes', 'no'], approves: ['yes'], rejects: ['no']}, output: {value: vars.answer}}\n";

#[test]
fn an_answer_inside_the_nested_skill_or_before_it_decides() {
    let between = "  - {id: t, uses: text.join, input: {parts: [x]}, output: {text: vars.t}}\n";
    let read = DELETE.replace("}}\n", "}, config: {condition: \"vars.answer != 'later'\"}}\n");
    let sub = "  - {id: sub, uses: \"skill:inner\"}\n";
    let purge = "  - {id: gone, uses: bucket.purge, input: {path: data/prod}}\n";
    for (outer, inner, step) in [
        (sub.to_owned(), format!("{QUESTION}{DELETE}"), "sub"),
        (sub.to_owned(), format!("{QUESTION}{between}{read}"), "sub"),
        (format!("{QUESTION}{sub}"), DELETE.to_owned(), "ask"),
        (sub.to_owned(), purge.to_owned(), "sub"),
    ] {
        for (answer, code) in [("yes", 0), ("no", 1)] {
            let world = world(&outer, &inner);
            assert_eq!(world.ask(&RUN).code, 3, "{outer}{inner}");
            let given = world.ask(&["answer", "r", step, "--value", answer, "--by", "eve", "--resume"]);
            assert_eq!(given.code, code, "{outer}{inner}{answer}: {}", given.stderr);
            assert_eq!(world.path("deleted").exists(), answer == "yes", "{outer}{inner}{answer}");
            if answer == "yes" {
                let trace = json(&world, &["trace", "export", "r"]);
                let approved: Vec<&Value> = trace["actions"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|action| action["type"] == "Approve" && action["agent"] == "eve")
                    .collect();
                assert_eq!(approved.len(), 1, "{trace}");
            }
            assert_verifies(&world, "r");
        }
    }
    // An answer to another question of the nested skill approves nothing.
    let other = format!("{QUESTION}{between}{DELETE}");
    let world = world(sub, &other);
    assert_eq!(world.ask(&RUN).code, 3);
    assert_eq!(world.ask(&["answer", "r", "sub", "--value", "yes", "--resume"]).code, 1);
    assert!(!world.path("deleted").exists());
}

#[test]
fn a_run_without_policies_shows_what_its_nested_skills_did_to_a_later_check() {
    let world = world("  - {id: sub, uses: \"skill:middle\"}\n", DELETE);
    assert_eq!(world.ask(&RUN[..8]).code, 0);
    let checked = json(
        &world,
        &["policy", "check", "r", "--policy", "engineering", "--only", "destructive-actions-confirmed"],
    );
    assert_eq!(checked["traces"][0]["verdicts"][0]["status"], "failed", "{checked}");
    let trace = json(&world, &["trace", "export", "r"]);
    let action = &trace["actions"][1];
    assert_eq!((&action["type"], &action["request"]["path"]), (&"DeleteFile".into(), &"data/prod".into()));
    assert_eq!(action["label"], "sub > skill:middle > down > skill:inner > gone: bucket.delete");
    let valid = world.write("t.json", trace.to_string()).ask(&["trace", "validate", "t.json"]);
    assert_eq!(valid.code, 0, "{}", valid.stderr);
    assert_verifies(&world, "r");
}
