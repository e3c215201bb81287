//! `hence policy new`: a policy with examples that hold.

use insta::assert_snapshot;

use super::world;

#[test]
fn a_new_policy_comes_with_examples() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "new", "tests-first", "--formula", "G(GitCommit -> P(RunTests /\\ completed))", "--statement", "No commit without \"passing\" tests.", "--severity", "error"]), @r#"
    [[policy]]
    id = "tests-first"
    severity = "error"
    statement = "No commit without \"passing\" tests."
    formula = "G(GitCommit → P(RunTests ∧ completed))"

    [[policy.example]]
    about = "a shortest trace that passes"
    expect = "passed"
    actions = [
      { id = 1, type = "RunTests", category = "activity", result_summary = "passed" },
      { id = 2, type = "GitCommit", category = "activity" },
    ]

    [[policy.example]]
    about = "a shortest trace that fails"
    expect = "failed"
    actions = [
      { id = 1, type = "GitCommit", category = "activity" },
    ]
    [exit 0]
    "#);
}

#[test]
fn a_new_policy_passes_its_own_test() {
    let world = world();
    let formulas = [
        "G(GitCommit -> P_target(RunTests))",
        "G(EditFile -> P_chain(VerificationResult(proved)))",
        "G(Deploy -> not P(Reject))",
        "count(Deploy) <= 2",
    ];
    for formula in formulas {
        world.write("new.toml", world.ask(&["policy", "new", "x", "--formula", formula]).stdout);
        let answer = world.ask(&["policy", "test", "new.toml", "--json"]);
        assert_eq!((answer.code, &answer.json()["passed"]), (0, &2.into()), "{formula}");
    }
}

#[test]
fn a_new_policy_names_missing_examples_and_oddities() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "new", "x", "--formula", "G(EditFile -> EditFile)"]), @r#"
    [[policy]]
    id = "x"
    severity = "warning"
    formula = "G(EditFile → EditFile)"

    [[policy.example]]
    about = "a shortest trace that passes"
    expect = "passed"
    actions = [
      { id = 1, type = "EditFile", category = "activity" },
    ]
    --- stderr
    note: no example that is failed: there is none, of any length
    warning: every action satisfies `EditFile → EditFile`
    [exit 0]
    "#);
    assert_snapshot!(world.refused(&["policy", "new", "x", "--formula", "G("]), @r"
    --- stderr
    error[E0601]: --formula: expected a formula, found the end of the formula at column 3
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["policy", "new", "x", "--formula", "F(Lint)", "--severity", "fatal"]), @r#"
    --- stderr
    error: invalid value 'fatal' for '--severity <info|warning|error>': policy severity is one of info, warning, error; found "fatal"

    For more information, try '--help'.
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["policy", "new", " ", "--formula", "F(Lint)"]), @r"
    --- stderr
    error[E0601]: the id of a policy must not be empty
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
}
