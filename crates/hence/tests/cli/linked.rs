//! Linked runs: nested skills and forks.

use insta::assert_snapshot;
use serde_json::Value;

use hence_testkit::cli::World;

const NOW: [&str; 2] = ["--now", "2026-02-02T00:00:00Z"];

fn document(id: &str, more: &str, steps: &str) -> String {
    format!(
        "id: {id}\nversion: 1.0.0\nname: {id}\ndescription: {id}\ninputs: {{n: {{type: integer, default: 1}}}}\noutputs: {{n: {{type: integer, required: true}}}}\n{more}steps:\n{steps}"
    )
}

fn add(id: &str, from: &str, to: &str) -> String {
    format!(
        "  - id: {id}\n    uses: number.sum\n    input: {{values: [{from}, 1]}}\n    output: {{sum: {to}}}\n"
    )
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

fn nested() -> World {
    let world = World::new();
    let down = "  - id: down\n    uses: skill:inner\n    input: {n: inputs.n}\n    output: {n: vars.n}\n";
    world.write(
        "skill.yaml",
        document(
            "outer",
            "skills: parts/inner.yaml\n",
            &format!("{down}{}", add("end", "vars.n", "outputs.n")),
        ),
    );
    world.write(
        "parts/inner.yaml",
        document(
            "inner",
            "skills: [deep.yaml]\n",
            "  - id: deeper\n    uses: skill:deep\n    input: {n: inputs.n}\n    output: {n: outputs.n}\n",
        ),
    );
    world.write("parts/deep.yaml", document("deep", "", &add("one", "inputs.n", "outputs.n")));
    world
}

#[test]
fn nested_skills_are_found_pinned_and_have_runs_of_their_own() {
    let world = nested();
    let run = [&["run", "skill.yaml", "--run-id", "r"][..], &NOW].concat();
    let report = json(&world, &run);
    assert_eq!((&report["status"], &report["outputs"]["n"]), (&"completed".into(), &3.into()));
    let rows = json(&world, &["runs"]);
    let mut rows: Vec<(&str, &Value)> = rows["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["run"].as_str().unwrap(), &row["parent"]))
        .collect();
    // The newest come first, and nested runs are stored after the one around them.
    rows.sort_by_key(|(run, _)| *run);
    assert_eq!(rows, [("r", &Value::Null), ("r/down", &"r".into()), ("r/down/deeper", &"r/down".into())]);
    for run in ["r", "r/down", "r/down/deeper"] {
        assert_eq!(world.ask(&["verify", run]).code, 0, "{}", world.cli(&["verify", run]));
        assert_eq!(world.ask(&["replay", run]).code, 0, "{}", world.cli(&["replay", run]));
        assert_eq!(json(&world, &["why", run])["standing"], "completed");
    }
    assert!(world.cli(&["show", "r", "down"]).contains("r/down"), "the parent names its child");
    let problem: Value = serde_json::from_slice(&world.read(".hence/runs/r/problem.json")).unwrap();
    assert!(problem["settings"]["skill"]["nested"]["deep"]["sha256"].is_string());
    // The pinned skill runs, even if the files change.
    world.write("parts/deep.yaml", "nothing");
    let whole = world.journal("r");
    world.set_journal("r", whole.split_inclusive(|byte| *byte == b'\n').next().unwrap());
    assert_eq!(world.ask(&["resume", "r"]).code, 0);
    assert!(world.journal("r") == whole);
}

#[test]
fn a_nested_skill_comes_from_the_folder_of_the_document_or_is_named() {
    let world = nested();
    world.write(
        "other/skill.yaml",
        document("outer", "skills: ../parts/inner.yaml\n", &add("end", "inputs.n", "outputs.n")),
    );
    assert_snapshot!(world.refused(&["run", "other/skill.yaml"]), @r"
    --- stderr
    error[E0310]: cannot read the nested skill other/../parts/inner.yaml: it leads out of the root
    hint: a skill names files below its own folder; name others with --skill FILE; `hence explain E0310` says more
    [exit 1]
    ");
    let named = document(
        "outer",
        "",
        "  - id: down\n    uses: skill:inner\n    input: {n: inputs.n}\n    output: {n: outputs.n}\n",
    );
    world.write("other/named.yaml", named);
    assert!(world.refused(&["run", "other/named.yaml"]).contains("1 finding"));
    assert_eq!(world.ask(&["check", "other/named.yaml", "--skill", "parts/inner.yaml"]).code, 0);
    assert_eq!(world.ask(&["run", "other/named.yaml", "--skill", "parts/inner.yaml"]).code, 0);
    world.write("twice.yaml", document("inner", "", &add("x", "inputs.n", "outputs.n")));
    let twice = ["run", "other/named.yaml", "--skill", "parts/inner.yaml", "--skill", "twice.yaml"];
    assert!(world.refused(&twice).contains("E0310"));
    world.write(
        "broken.yaml",
        document("inner", "", "  - id: x\n    uses: no.such\n    output: {n: outputs.n}\n"),
    );
    assert!(
        world
            .refused(&["run", "other/named.yaml", "--skill", "broken.yaml"])
            .contains("broken.yaml is refused")
    );
}

#[test]
fn skills_nest_only_to_the_depth_limit() {
    let world = World::new();
    let again =
        "  - id: again\n    uses: skill:endless\n    input: {n: inputs.n}\n    output: {n: outputs.n}\n";
    world.write("endless.yaml", document("endless", "", again));
    let report = json(&world, &["run", "endless.yaml", "--skill", "endless.yaml", "--run-id", "r"]);
    assert_eq!(
        (&report["status"], &report["failure"]["code"]),
        (&"failed".into(), &"upstream_failure".into())
    );
    assert!(
        report["failure"]["message"].as_str().unwrap().contains("skills nest deeper than 10"),
        "{report}"
    );
    let deepest = format!("r{}", "/again".repeat(10));
    assert_eq!(world.ask(&["replay", &deepest]).code, 0, "{}", world.cli(&["replay", &deepest]));
    // Another depth is pinned, and readers of the journal use it.
    for (depth, deepest) in
        [("0", "s0"), ("2", "s2/again/again"), ("32", &format!("s32{}", "/again".repeat(32)))]
    {
        let id = format!("s{depth}");
        let run = ["run", "endless.yaml", "--skill", "endless.yaml", "--run-id", &id, "--max-depth", depth];
        let message = json(&world, &run)["failure"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!("skills nest deeper than {depth}")), "{message}");
        for run in [id.as_str(), deepest] {
            assert_eq!(world.ask(&["replay", run]).code, 0, "{}", world.cli(&["replay", run]));
            assert_eq!(world.ask(&["verify", run]).code, 0);
        }
    }
    let answer = world.ask(&["run", "endless.yaml", "--max-depth", "33"]);
    assert_eq!(answer.code, 2, "{}", answer.stderr);
}

fn line() -> World {
    let world = World::new();
    let steps =
        [add("a", "inputs.n", "vars.a"), add("b", "vars.a", "vars.b"), add("c", "vars.b", "outputs.n")];
    world.write("skill.yaml", document("line", "", &steps.concat()));
    let run = [&["run", "skill.yaml", "--run-id", "r"][..], &NOW].concat();
    assert_eq!(world.ask(&run).code, 0);
    world
}

#[test]
fn a_fork_shares_earlier_steps_and_names_its_origin() {
    let world = line();
    assert_snapshot!(world.cli(&["fork", "r", "--from", "c", "--set", "vars.b=10", "--run-id", "f"]), @r"
    n:
      11

    status  completed
    run     f
    head    <digest>:5
    record  .hence/runs/f/trace.ndjson
    --- stderr
    run f shares 2 results with r and continues at c
    [exit 0]
    ");
    assert_eq!(json(&world, &["run", "skill.yaml", "--run-id", "r"])["outputs"]["n"], 4);
    let problem: Value = serde_json::from_slice(&world.read(".hence/runs/f/problem.json")).unwrap();
    let origin = &problem["settings"]["origin"];
    assert_eq!((&origin["run"], &origin["record"], &origin["from"]), (&"r".into(), &2.into(), &"c".into()));
    let third: Value =
        serde_json::from_slice(world.journal("r").split(|byte| *byte == b'\n').nth(2).unwrap()).unwrap();
    assert_eq!(origin["hash"], third["record_hash"]);
    assert_eq!(world.ask(&["replay", "f"]).code, 0, "{}", world.cli(&["replay", "f"]));
    assert_eq!(json(&world, &["runs"])["runs"][0]["origin"], "r");
    // The same fork is the same run.
    let again = json(&world, &["fork", "r", "--from", "c", "--set", "/vars/b=10", "--run-id", "f"]);
    assert_eq!((&again["start"], &again["outputs"]["n"]), (&"already_ended".into(), &11.into()));
    let input = json(&world, &["fork", "r", "--from", "a", "--set", "inputs.n=5"]);
    assert_eq!(input["outputs"]["n"], 8);
}

#[test]
fn a_fork_with_another_skill_or_a_wrong_place_is_checked() {
    let world = line();
    let text = String::from_utf8(world.read("skill.yaml")).unwrap();
    world.write("more.yaml", text.replace("values: [vars.b, 1]", "values: [vars.b, 100]"));
    assert_eq!(json(&world, &["fork", "r", "--from", "c", "--with", "more.yaml"])["outputs"]["n"], 103);
    world.write("early.yaml", text.replace("values: [inputs.n, 1]", "values: [inputs.n, 100]"));
    assert_snapshot!(world.refused(&["fork", "r", "--from", "c", "--with", "early.yaml"]), @r"
    --- stderr
    error[E0311]: run r: step `a` comes before `c` and is not the same in both skills
    hint: fork from that step or an earlier one; `hence explain E0311` says more
    [exit 1]
    ");
    assert_snapshot!(world.refused(&["fork", "r", "--from", "nowhere"]), @r"
    --- stderr
    error[E0311]: run r: the skill has no step `nowhere`
    hint: `hence log r` lists its steps; `hence explain E0311` says more
    [exit 1]
    ");
    assert!(world.refused(&["fork", "r", "--from", "c", "--set", "frame.goal=1"]).contains("E0311"));
    assert!(world.refused(&["fork", "r", "--from", "c", "--set", "vars"]).contains("E0103"));
    assert_eq!(world.ask(&["fork", "r"]).code, 2);
}

/// Rewrites the first records of a run with another input, so that every hash in it is correct.
fn retold(world: &World, run: &str) {
    let answer = world.ask(&[&["run", "skill.yaml", "--run-id", run, "--input", "n=7"][..], &NOW].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
}

/// Returns the report of `hence verify` on the linked runs.
fn linked(world: &World, run: &str) -> String {
    let shown = world.cli(&["verify", run, "--level", "spec"]);
    let (_, behind) = shown.split_once("linked runs:\n").unwrap();
    behind.split_once("\nhead ").unwrap().0.trim().to_owned()
}

#[test]
fn verifying_a_fork_compares_its_shared_records_with_its_origin() {
    let world = line();
    let fork = ["fork", "r", "--from", "c", "--set", "vars.b=10", "--run-id", "f"];
    assert_eq!(world.ask(&fork).code, 0);
    assert_snapshot!(linked(&world, "f"), @"origin  r  holds  its records up to 2 are those named, and the 2 results in effect there stand here");
    let link = |world: &World| json(world, &["verify", "f"])["links"][0].clone();
    assert_eq!(link(&world)["verdict"], "holds");
    // A checkpoint after the shared records, or more records, change nothing.
    assert_eq!(world.ask(&["checkpoint", "r", "end"]).code, 0);
    world.cut("r", 2);
    assert_eq!(world.ask(&["rollback", "r", "initial_state"]).code, 0);
    assert_eq!(link(&world)["verdict"], "holds");
    // A byte of what is shared.
    let whole = world.journal("r");
    let damaged = String::from_utf8(whole.clone()).unwrap().replacen("number.sum", "number.sun", 1);
    world.set_journal("r", damaged);
    let found = link(&world);
    assert!(found["detail"].as_str().unwrap().contains("record 1 does not hold"), "{found}");
    assert_eq!(world.ask(&["verify", "f"]).code, 1);
    // Too few records.
    let cut: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').take(2).collect();
    world.set_journal("r", cut.concat());
    assert!(link(&world)["detail"].as_str().unwrap().contains("it has 2 records, and 3 are named"));
    // Another run under the same name, every hash of which is right.
    std::fs::remove_dir_all(world.path(".hence/runs/r")).unwrap();
    retold(&world, "r");
    assert!(linked(&world, "f").starts_with("origin  r  broken  its record 2 has the hash "));
    assert_eq!(world.ask(&["verify", "f"]).code, 1);
    // No such run.
    std::fs::remove_dir_all(world.path(".hence/runs/r")).unwrap();
    assert_eq!(world.ask(&["verify", "f"]).code, 0);
    assert_snapshot!(linked(&world, "f"), @"origin  r  not checked  r is not in this store");
}

#[test]
fn verifying_checks_nested_runs_and_their_parent() {
    let world = nested();
    assert_eq!(world.ask(&[&["run", "skill.yaml", "--run-id", "r"][..], &NOW].concat()).code, 0);
    let links = |run: &str| {
        let report = json(&world, &["verify", run]);
        let rows = report["links"].as_array().unwrap();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.iter()
            .map(|row| format!("{} {} {}", text(row, "relation"), text(row, "run"), text(row, "verdict")))
            .collect::<Vec<_>>()
    };
    assert_eq!(links("r"), ["nested r/down holds"]);
    assert_eq!(links("r/down"), ["parent r holds", "nested r/down/deeper holds"]);
    assert_snapshot!(linked(&world, "r/down"), @r"
    parent  r              holds  its step down names this run by its head
      nested  r/down/deeper  holds  as step deeper names them by head, with the results it records; each verified by itself
    ");
    // A child with more records than its parent names is still that child.
    assert_eq!(world.ask(&["checkpoint", "r/down", "end"]).code, 0);
    assert_eq!(
        (links("r"), links("r/down").remove(0)),
        (vec!["nested r/down holds".into()], "parent r holds".into())
    );
    // A child that is another one, every hash of which is right.
    let folder = |run: &str| world.path(format!(".hence/runs/{}", run.replace('/', "%2f")));
    assert!(folder("r/down").is_dir(), "{:?}", world.stored().keys());
    assert_eq!(world.ask(&["run", "parts/inner.yaml", "--run-id", "x", "--input", "n=9"]).code, 0);
    std::fs::copy(world.path(".hence/runs/x/trace.ndjson"), folder("r/down").join("trace.ndjson")).unwrap();
    assert_eq!(links("r"), ["nested r/down broken"]);
    assert_eq!(world.ask(&["verify", "r"]).code, 1);
    // A parent that has not recorded the step, and one that is not there.
    let journal = world.journal("r");
    world.set_journal("r", journal.split_inclusive(|byte| *byte == b'\n').next().unwrap());
    assert_eq!(links("r/down/deeper").remove(0), "parent r/down not_checked");
    std::fs::remove_dir_all(folder("r/down")).unwrap();
    assert_eq!(links("r/down/deeper"), ["parent r/down not_checked"]);
}

#[test]
fn a_step_executed_again_after_a_rollback_has_nested_runs_of_its_own() {
    let world = World::new();
    let ask = "  - id: one\n    uses: human.ask\n    input: {question: n?}\n    output: {value: outputs.n}\n";
    world.write("inner.yaml", document("inner", "", ask));
    let down = "  - id: down\n    uses: skill:inner\n    input: {n: inputs.n}\n    output: {n: outputs.n}\n";
    world.write("skill.yaml", document("outer", "skills: inner.yaml\n", down));
    assert_eq!(world.ask(&["run", "skill.yaml", "--run-id", "r"]).code, 3);
    assert_eq!(world.ask(&["answer", "r", "down", "--value", "1", "--resume"]).code, 0);
    world.cut("r", 1);
    assert_eq!(world.ask(&["rollback", "r", "initial_state"]).code, 0);
    assert_eq!(world.ask(&["resume", "r"]).code, 3, "the person is asked again");
    let answered = world.ask(&["answer", "r", "down", "--value", "2", "--resume"]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    let links = json(&world, &["verify", "r"])["links"].clone();
    for (at, run) in ["r/down", "r~1/down"].into_iter().enumerate() {
        assert_eq!((&links[at]["run"], &links[at]["verdict"]), (&run.into(), &"holds".into()), "{links}");
        assert_eq!(json(&world, &["verify", run])["links"][0]["verdict"], "holds");
        assert_eq!(world.ask(&["replay", run]).code, 0);
    }
    assert_eq!(world.ask(&["replay", "r"]).code, 0);
}
