//! Forks, blame and impact of problems and of variables.

use hence_testkit::cli::World;
use serde_json::Value;

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

fn steps(report: &Value) -> Vec<&str> {
    report["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect()
}

#[test]
fn a_problem_is_forked_with_other_settings_and_shares_what_does_not_depend_on_them() {
    let world = World::with_run("refund-42");
    let fork = ["fork", "refund-42", "--from", "Audit", "--set", "settings.max_steps=40", "--run-id", "f"];
    let answer = world.ask(&fork);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let verified = json(&world, &["verify", "f"]);
    assert_eq!((&verified["holds"], &verified["links"][0]["verdict"]), (&true.into(), &"holds".into()));
    assert_eq!(
        world.ask(&["fork", "refund-42", "--from", "Audit", "--set", "settings.max_steps=40"]).code,
        0
    );
    // The prompt is read by a step before.
    let refused = world.refused(&["fork", "refund-42", "--from", "Audit", "--set", "inputs.prompt=other"]);
    assert!(refused.contains("E0311") && refused.contains("gives another result"), "{refused}");
    assert!(world.refused(&["fork", "refund-42", "--from", "Audit", "--set", "vars.x=1"]).contains("E0311"));
    assert!(world.refused(&["fork", "refund-42", "--from", "nowhere"]).contains("E0403"));
}

#[test]
fn blame_and_impact_of_a_problem_follow_its_artifacts() {
    let world = World::with_run("refund-42");
    let blamed = json(&world, &["blame", "refund-42", "/artifacts/verification/status"]);
    assert_eq!(steps(&blamed).first(), Some(&"Verify"), "{blamed}");
    let dependants = json(&world, &["impact", "refund-42", "Decompose"]);
    assert!(steps(&dependants).contains(&"Compute"), "{dependants}");
    assert!(world.refused(&["blame", "refund-42", "nothing"]).contains("E0403"));
}

#[test]
fn variables_are_forked_from_a_record_and_blamed() {
    let world = World::new();
    for arguments in [
        &["vars", "init", "v", "count", "--now", "2026-02-02T00:00:00Z"][..],
        &["vars", "set", "v", "count", "1"],
        &["vars", "set", "v", "count", "2"],
    ] {
        let answer = world.ask(arguments);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }
    let answer = world.ask(&["fork", "v", "--from", "3", "--set", "count=7", "--run-id", "w"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(answer.stderr, "run w shares 2 results with v and continues at 3\n");
    assert_eq!(json(&world, &["vars", "get", "w", "count"])["value"], 7);
    let verified = json(&world, &["verify", "w"]);
    assert_eq!((&verified["holds"], &verified["links"][0]["verdict"]), (&true.into(), &"holds".into()));
    assert_eq!(steps(&json(&world, &["blame", "v", "vars.count"])).first(), Some(&"vars.set"));
}
