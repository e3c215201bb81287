//! `hence checkpoint` and `hence rollback` on runs of every kind.

use hence_testkit::cli::World;

const PROBLEM: &str = r#"{"version":"1.0.0","id":"choice","created_at":"2026-02-02T00:00:00Z",
    "inputs":{"prompt":"which vendor","context":{"evidence":[{"id":"e1","text":"cheap"},{"id":"e2","text":"fast"}]},
        "tasks":[{"id":"vendor","goal":"which vendor","method":"evidence.e1.text"}],"constraints":["cheap"],
        "constraint_checks":[{"constraint":"cheap","expression":"tasks.vendor == 'cheap'"}]}}"#;

const SKILL: &str = r#"{"id":"parts","version":"1.0.0","name":"Parts","description":"Joins","inputs":{},"outputs":{},
    "steps":[{"id":"first","uses":"text.join","input":{"parts":["a","b"]},"output":{"text":"vars.first"}},
             {"id":"second","uses":"text.join","input":{"parts":["vars.first","c"]},"output":{"text":"outputs.text"}}]}"#;

/// A run of a problem that was killed after the step Synthesize.
fn stopped() -> World {
    let world = World::new();
    world.write("problem.json", PROBLEM);
    world.out("run problem.json");
    world.cut("choice", 2);
    world
}

#[test]
fn a_run_rolls_back_to_a_checkpoint_and_continues_from_there() {
    let world = stopped();
    let before = world.out("state choice --at Compute /artifacts");
    insta::assert_snapshot!(world.all(&[
        "checkpoint choice computed --at Compute",
        "state choice /step_index",
        "rollback choice computed",
        "log choice",
        "runs",
        "state choice /status",
        "state choice /step_index",
        "verify choice --level spec",
    ]));
    assert_eq!(world.out("state choice /artifacts"), before);
    insta::assert_snapshot!(
        "a_run_rolled_back_completes",
        world.all(&[
            "resume choice",
            "verify choice",
            "replay choice",
            "checkpoint choice done",
            "verify choice --level replay",
            "stats choice",
        ])
    );
}

#[test]
fn a_skill_rolls_back_to_a_checkpoint_and_continues_from_there() {
    let world = World::new();
    world.write("skill.json", SKILL);
    world.out("run skill.json --run-id parts --now 2026-02-02T00:00:00Z");
    world.cut("parts", 1);
    insta::assert_snapshot!(world.all(&[
        "checkpoint parts halfway --at first",
        "rollback parts halfway",
        "state parts /status",
        "verify parts --level spec",
        "resume parts",
        "log parts",
        "verify parts",
        "replay parts",
        "trace export parts --out t.json",
        "state parts /step_index",
        "rollback parts halfway",
    ]));
}

#[test]
fn errors_stay_and_the_step_index_grows_through_a_rollback() {
    let world = World::new();
    world.write("problem.json", PROBLEM);
    world.write("never.json", r#"{"id": "never", "severity": "error", "formula": "G(!RunTests)"}"#);
    assert_eq!(world.ask(&["run", "problem.json", "--policy", "never.json"]).code, 1, "blocked");
    let state = |pointer: &str| world.out(&format!("state choice {pointer}"));
    let (errors, index) = (state("/errors"), state("/step_index"));
    assert!(errors.contains("policy_violation"), "{errors}");
    for round in 1..4 {
        world.out("rollback choice initial_state");
        let after: u64 = state("/step_index").trim().parse().unwrap();
        assert_eq!(after, index.trim().parse::<u64>().unwrap() + round);
        assert_eq!((state("/errors"), state("/status")), (errors.clone(), "\"running\"\n".to_owned()));
        assert_eq!(state("/artifacts"), "{}\n");
        world.out("verify choice --level replay");
    }
    assert_eq!(world.ask(&["resume", "choice"]).code, 1, "blocked again");
    assert_eq!(state("/errors").matches("policy_violation").count(), 2);
    world.out("verify choice --level replay");
}

#[test]
fn the_end_of_a_run_is_final() {
    let world = World::new();
    world.write("problem.json", PROBLEM).write("skill.json", SKILL);
    let failing = SKILL.replace(r#""inputs":{}"#, r#""inputs":{"x":{"type":"any"}}"#);
    world.write("failing.json", failing.replace(r#"["vars.first","c"]"#, r#""inputs.x""#));
    world.out("run problem.json");
    world.out("run skill.json --run-id done");
    assert_eq!(world.ask(&["run", "failing.json", "--run-id", "broken", "--input", "x=7"]).code, 1);
    let runs = ["choice", "done", "broken"];
    let before = runs.map(|run| world.journal(run));
    insta::assert_snapshot!(world.all(&[
        "rollback choice initial_state",
        "rollback done initial_state",
        "rollback broken initial_state --yes",
        "--json rollback broken initial_state",
    ]));
    assert_eq!(runs.map(|run| world.journal(run)), before);
}

#[test]
fn variables_have_the_same_two_commands() {
    let world = World::new();
    world.out("vars init audit 'count' --now 2026-02-09T10:00:00Z");
    world.out("vars set audit n 1 -t number");
    insta::assert_snapshot!(world.all(&[
        "checkpoint audit one --if-mutation-count 1",
        "checkpoint audit one --if-mutation-count 2 --now 2026-02-09T10:00:02Z",
        "vars set audit n 2 -t number",
        "rollback audit one --now 2026-02-09T10:00:04Z",
        "vars get audit n --peek",
        "checkpoint audit two --at 1",
        "rollback audit one --state state-00000009",
    ]));
}

#[test]
fn an_impossible_checkpoint_is_refused_and_records_nothing() {
    let world = stopped();
    world.out("checkpoint choice a");
    world.out("run problem.json --profile compat --trace-id other");
    let before = std::fs::read(world.path(".hence/runs/choice/trace.ndjson")).unwrap();
    insta::assert_snapshot!(world.all(&[
        "rollback choice never",
        "checkpoint choice a",
        "checkpoint choice initial_state",
        "checkpoint choice ''",
        "checkpoint choice b --at 99",
        "checkpoint choice b --at Nothing",
        "checkpoint choice b --state state-00000001",
        "checkpoint nobody b",
        "checkpoint other b",
        "--json rollback choice never",
    ]));
    assert_eq!(std::fs::read(world.path(".hence/runs/choice/trace.ndjson")).unwrap(), before);
}

#[test]
fn an_altered_rollback_is_detected() {
    let world = stopped();
    world.out("checkpoint choice a --at Normalize");
    world.out("rollback choice a");
    let path = world.path(".hence/runs/choice/trace.ndjson");
    let journal = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, journal.replacen("\"to\":1", "\"to\":2", 1)).unwrap();
    let found = world.hence("verify choice");
    assert!(found.contains("broken at record") && found.contains("record_hash_mismatch"), "{found}");
    for line in ["resume choice", "rollback choice a", "checkpoint choice b"] {
        assert!(world.hence(line).contains("error[E0301]"), "{line}");
    }
}

#[test]
fn a_checkpoint_in_a_run_that_has_ended_says_what_works_instead() {
    let world = World::with_run("refund-42");
    let answer = world.ask(&["checkpoint", "refund-42", "late"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(
        answer.stderr,
        "hint: the run is completed, and that is final: the checkpoint names a state, and no rollback returns to it; `hence log refund-42` lists its steps\n"
    );
    assert!(world.refused(&["rollback", "refund-42", "late"]).contains("E0503"));
}
