//! Problems that are worked out: conclusions that cite, checks that check, and what is said when nothing was checked.

use hence_testkit::cli::World;
use serde_json::{Value, json};

/// Runs a problem and returns its exit code, its report, and the screen.
fn run(world: &World, problem: &Value) -> (i32, Value, String) {
    world.write("problem.json", problem.to_string());
    let id = problem["id"].as_str().unwrap();
    let answer = world.ask(&["run", "problem.json", "--run-id", id, "--json"]);
    let report = serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr));
    let shown = world.ask(&["run", "problem.json", "--run-id", id]);
    (answer.code, report, String::from_utf8(shown.stdout).unwrap())
}

fn bridge(evidence: Value, settings: Value) -> Value {
    json!({
        "version": "1.0.0", "id": "bridge", "created_at": "2026-11-02T09:00:00Z",
        "inputs": {"prompt": "Is the bridge safe?", "context": {"evidence": evidence}},
        "settings": settings
    })
}

#[test]
fn cats_do_not_verify_a_bridge() {
    let cats = || json!([{"id": "cats", "claim": "I like cats"}]);
    let paths = json!([{"name": "steel inspected"}, {"name": "bolts inspected"}]);
    for (evidence, settings, code, status) in [
        (cats(), json!({"verification_paths": paths}), 5, "unjudged"),
        (cats(), json!({}), 5, "unjudged"),
        (cats(), json!({"evidence_required": true}), 5, "unjudged"),
        (cats(), json!({"evidence_required": true, "verification_paths": paths}), 1, "failed"),
        (json!([]), json!({"evidence_required": true}), 1, "failed"),
        // Evidence that shares a word with the question decides nothing either.
        (json!([{"claim": "the bridge is red"}]), json!({"verification_paths": paths}), 5, "unjudged"),
        // Evidence that a path names is there; nothing about it was checked.
        (cats(), json!({"verification_paths": [{"name": "steel", "evidence": ["cats"]}]}), 5, "unjudged"),
        (
            cats(),
            json!({"verification_paths": [{"name": "steel", "expression": "evidence.cats.strength ?? 0 > 40"}]}),
            1,
            "failed",
        ),
        (
            cats(),
            json!({"verification_paths": [{"name": "steel", "expression": "evidence.cats.strength > 40"}]}),
            5,
            "unjudged",
        ),
        (
            cats(),
            json!({"verification_paths": [{"name": "steel", "expression": "evidence.cats.claim"}]}),
            5,
            "unjudged",
        ),
    ] {
        let world = World::new();
        let (found, report, screen) = run(&world, &bridge(evidence, settings.clone()));
        assert_eq!((found, report["verification"].as_str().unwrap()), (code, status), "{settings}: {screen}");
        assert!(screen.contains(&format!("verification  {status}")), "{screen}");
        assert!(!screen.contains("passed"), "{screen}");
        assert!(
            screen.contains("Not decided: Is the bridge safe (no method is declared for it)"),
            "{screen}"
        );
        assert_eq!(world.ask(&["verify", "bridge"]).code, 0);
        // The trace declares what was not established.
        assert_eq!(world.ask(&["trace", "export", "bridge", "--out", "t.json", "--force"]).code, 0);
        assert!(String::from_utf8(world.read("t.json")).unwrap().contains("undecided-goal_1"));
    }
    // A constant is refused as a check.
    let world = World::new();
    let constant = json!({"verification_paths": [{"name": "steel", "expression": "1 == 1"}]});
    world.write("problem.json", bridge(cats(), constant).to_string());
    let refused = world.ask(&["run", "problem.json"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("names nothing"), "{}", refused.stderr);
}

/// Returns the problem of the page about problems.
fn documented() -> Value {
    let page = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/problems.md"),
    );
    let page = page.unwrap();
    let block = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    serde_json::from_str(block).unwrap()
}

#[test]
fn the_documented_problem_gives_the_documented_answer() {
    let world = World::new();
    let (code, report, screen) = run(&world, &documented());
    assert_eq!(code, 0, "{screen}");
    let answer = "Tonnes that the bridge carries: 44 [survey].\nThe bolts are in order: yes [bolts].";
    assert_eq!(report["answer"]["summary"], answer);
    assert!(screen.contains("verification  passed"), "{screen}");
    let state = |pointer: &str| {
        let answer = world.ask(&["state", "bridge", pointer, "--json"]);
        serde_json::from_slice::<Value>(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
    };
    assert!(state("/assumptions").to_string().contains("papers"));
    assert!(state("/artifacts/audit/report/notes").to_string().contains("assumed, not checked"));
    assert_eq!(world.ask(&["replay", "bridge"]).code, 0);
    assert_eq!(world.ask(&["verify", "bridge"]).code, 0);
    assert_eq!(world.ask(&["check", "problem.json"]).code, 0);
}

#[test]
fn every_way_in_which_an_answer_falls_short_is_said_and_exits_otherwise() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut problem = documented();
        change(&mut problem);
        run(&World::new(), &problem)
    };
    let (code, _, screen) = changed(&|problem| problem["inputs"]["context"]["truck_tonnes"] = json!(45));
    assert_eq!(code, 1, "{screen}");
    assert!(screen.contains("Constraint broken: The bridge carries the truck"), "{screen}");
    let (code, _, screen) = changed(&|problem| problem["inputs"]["constraint_checks"] = json!([]));
    assert_eq!(code, 5, "{screen}");
    assert!(
        screen.contains("Constraint not judged: The bridge carries the truck (no check is declared for it)")
    );
    let (code, _, screen) = changed(&|problem| {
        problem["inputs"]["tasks"][1]["method"] = json!("evidence.bolts.loose ?? null");
    });
    assert_eq!(code, 5, "{screen}");
    assert!(screen.contains("Not decided: The bolts are in order (its method gives null)"), "{screen}");
    let (code, _, screen) =
        changed(&|problem| problem["inputs"]["context"]["evidence"][1]["tight"] = json!(119));
    assert_eq!(code, 1, "{screen}");
    assert!(screen.contains("path bolts: `tasks.bolts_ok` does not hold"), "{screen}");
    let (code, _, screen) = changed(&|problem| {
        problem["inputs"]["tasks"][1]["needs"] = json!(["load"]);
        problem["inputs"]["tasks"][0]["needs"] = json!(["bolts_ok"]);
    });
    assert_eq!(code, 5, "{screen}");
    assert!(screen.contains("it needs a task that needs it"), "{screen}");
    let (code, _, screen) = changed(&|problem| {
        let method = json!({"capability": "number.calculate", "input": {"left": {"at": "/evidence/survey/tonnes"},
            "operator": {"value": "divide"}, "right": {"value": 0}}, "output": "/value"});
        problem["inputs"]["tasks"][0]["method"] = method;
    });
    assert_eq!(code, 5, "{screen}");
    assert!(screen.contains("Not decided: Tonnes that the bridge carries (`number.calculate`:"), "{screen}");
}

#[test]
fn a_finding_names_its_place_and_what_was_meant() {
    for (change, pointer, said) in [
        ("/inputs/tasks/0/method", json!("evidnce.survey.tonnes"), "did you mean `evidence`?"),
        ("/inputs/tasks/0/method", json!("evidence.survei.tonnes"), "did you mean `survey`?"),
        ("/inputs/tasks/0/method", json!("evidence.survey.tonnes +"), "is no expression"),
        ("/inputs/tasks/0/method", json!({"capability": "data.srot"}), "there is no capability `data.srot`"),
        ("/inputs/tasks/0/method", json!({"capability": "human.ask"}), "is no built-in pure function"),
        ("/inputs/tasks/0/id", json!("two words"), "a letter, then letters"),
        ("/inputs/tasks/0/goal", json!(" "), "more than white space"),
        ("/inputs/tasks/0/needs", json!(["survej"]), "expected the id of a task or of evidence"),
        ("/inputs/constraint_checks/0/constraint", json!("Another"), "word for word"),
        ("/inputs/constraint_checks/0/expression", json!("tasks.loda > 1"), "did you mean `load`?"),
        ("/inputs/context/evidence/0/supports", json!(["laod"]), "did you mean `load`?"),
        ("/inputs/context/evidence/0/id", json!("bolts"), "two items of evidence have the id `bolts`"),
        ("/inputs/assumptions", json!([""]), "assumptions"),
        ("/settings/verification_paths/0/evidence", json!(["bolds"]), "did you mean `bolts`?"),
        ("/settings/verification_paths/0/expresion", json!("x"), "did you mean `expression`?"),
    ]
    .map(|(place, value, said)| (value, place, said))
    {
        let world = World::new();
        let mut problem = documented();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = problem.pointer_mut(parent).unwrap();
        match parent {
            Value::Object(object) => drop(object.insert(key.to_owned(), change.clone())),
            other => other[key.parse::<usize>().unwrap()] = change.clone(),
        }
        world.write("problem.json", problem.to_string());
        for command in ["check", "run"] {
            let answer = world.ask(&[command, "problem.json"]);
            let text = String::from_utf8(answer.stdout).unwrap() + &answer.stderr;
            assert_eq!(answer.code, 1, "{command} {pointer}: {text}");
            assert!(text.contains(said), "{command} {pointer}: {text}");
        }
        assert!(!world.path(".hence").exists(), "a refused problem leaves nothing");
    }
}

#[test]
fn settings_that_nothing_reads_are_on_record() {
    let mut problem = documented();
    problem["settings"]["colour_of_the_bridge"] = json!("red");
    let world = World::new();
    let (code, _, screen) = run(&world, &problem);
    assert!(code == 0 && screen.contains("nothing reads the setting `colour_of_the_bridge`"), "{screen}");
    let notes = world.cli(&["state", "bridge", "/artifacts/audit/report/notes"]);
    assert!(notes.contains("nothing reads the setting `colour_of_the_bridge`"), "{notes}");
    let checked = world.cli(&["check", "problem.json"]);
    assert!(checked.contains("nothing reads `colour_of_the_bridge`"), "{checked}");
}

#[test]
fn every_example_gives_an_answer_that_cites_and_satisfies_the_schema() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let world = World::new();
    let schema: Value = serde_json::from_slice(&world.ask(&["schema", "problem"]).stdout).unwrap();
    for (file, code) in [
        ("vendor-choice.json", 0),
        ("outage-cause.json", 0),
        ("certificate-renewal.json", 0),
        ("contractor-access.json", 1),
        ("checkout-errors/problem.json", 0),
    ] {
        let path = root.join(file);
        let problem: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let path = path.to_str().unwrap();
        let capabilities = root.join("checkout-errors/capabilities.yaml");
        let mut arguments = vec!["run", path, "--json"];
        if file.starts_with("checkout") {
            arguments.extend(["--capabilities", capabilities.to_str().unwrap()]);
        }
        let answer = world.ask(&arguments);
        assert_eq!(answer.code, code, "{file}: {}", answer.stderr);
        let report: Value = serde_json::from_slice(&answer.stdout).unwrap();
        let statements = report["answer"]["statements"].as_array().unwrap();
        let concluded: Vec<&Value> =
            statements.iter().filter(|statement| statement["kind"] == "concluded").collect();
        assert!(concluded.len() >= 2, "{file}: {report}");
        assert!(
            concluded.iter().all(|said| !said["evidence"].as_array().unwrap().is_empty()),
            "{file}: {report}"
        );
        let run = report["run"].as_str().unwrap();
        assert_eq!(world.ask(&["verify", run]).code, 0, "{file}");
        assert_eq!(world.ask(&["replay", run]).code, 0, "{file}");
        assert_eq!(world.ask(&["trace", "export", run, "--out", "trace.json", "--force"]).code, 0, "{file}");
        assert_eq!(world.ask(&["trace", "validate", "trace.json"]).code, 0, "{file}");
        // The schema is checked by the product's own validator.
        world.write("skill.json", json!({
            "id": "s", "version": "1.0.0", "name": "S", "description": "d",
            "inputs": {"value": {"type": "object"}, "schema": {"type": "object"}},
            "outputs": {"findings": {"type": "array", "required": true}},
            "steps": [{"id": "check", "uses": "data.validate", "input": {"value": "inputs.value", "schema": "inputs.schema"},
                "output": {"findings": "outputs.findings"}}]
        }).to_string());
        world.write("inputs.json", json!({"value": problem, "schema": schema}).to_string());
        let checked = world.ask(&[
            "run",
            "skill.json",
            "--inputs",
            "inputs.json",
            "--now",
            "2026-02-02T00:00:00Z",
            "--json",
        ]);
        let checked: Value =
            serde_json::from_slice(&checked.stdout).unwrap_or_else(|_| panic!("{}", checked.stderr));
        assert_eq!(checked["outputs"]["findings"], json!([]), "{file}");
    }
}

#[test]
fn blame_and_impact_lead_from_the_answer_to_the_evidence() {
    let world = World::new();
    run(&world, &documented());
    let blamed = world.cli(&["blame", "bridge", "/artifacts/synthesis/summary"]);
    assert!(blamed.contains("computation") && blamed.contains("evidence"), "{blamed}");
    let affected = world.cli(&["impact", "bridge", "AcquireEvidence"]);
    assert!(affected.contains("Synthesize"), "{affected}");
    let forked = world.ask(&["fork", "bridge", "--from", "Compute", "--run-id", "again"]);
    assert_eq!(forked.code, 0, "{}", forked.stderr);
    assert_eq!(world.ask(&["verify", "again"]).code, 0);
}
