//! `hence policy list`, `show`, `lint` and `test`: the rules themselves.

use insta::assert_snapshot;

use super::world;
use hence_testkit::cli::World;

#[test]
fn a_pack_is_never_replaced_by_a_file_of_its_name() {
    let world = world();
    world.write("budgets", r#"{"id": "mine", "formula": "F(Lint)"}"#);
    assert_snapshot!(world.cli(&["policy", "list", "budgets"]), @r"
    budgets  at-most-20-tool-calls  warning  A run that calls tools more than twenty times has lost its way.
    budgets  at-most-2-deployments  error    One deployment and one rollback; a third needs a new run.
    budgets  action-cost-bounded    error    Whatever unit costs are kept in, one action takes at most 5.
    budgets  action-tokens-bounded  warning  An action that reads or writes more than 100000 tokens should have been several.
    budgets  action-time-bounded    warning  Work that takes longer is split, or recorded as a process of its own.
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["policy", "list", "./budgets"]), @r"
    -  mine  warning  -
    [exit 0]
    ");
}

#[test]
fn a_policy_is_shown_in_both_alphabets_with_its_words() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "show", "no-force-push"]), @r#"
    policy     no-force-push
    name       No forced push
    severity   error
    statement  History that others may have is never overwritten.
    formula    G(¬(GitPush ∧ forced ∧ ¬failed))
    ascii      G(not (GitPush /\ forced /\ not failed))
    where      forced = request.force = true ∨ "--force" ∈ request.arguments ∨ "-f" ∈ request.arguments ∨ "--force-with-lease" ∈ request.arguments
    level      structural
    examples   4
    sha256     <digest>
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["policy", "show", "tests-first", "--policy", "rules.toml"]), @r"
    policy     tests-first
    name       tests-first
    severity   error
    statement  No commit without passing tests.
    formula    G(GitCommit → P(RunTests ∧ completed))
    ascii      G(GitCommit -> P(RunTests /\ completed))
    level      pure_temporal
    examples   2
    sha256     <digest>
    [exit 0]
    ");
    assert_snapshot!(world.refused(&["policy", "show", "nothing"]), @r#"
    --- stderr
    error[E0403]: no policy "nothing"
    hint: `hence policy list` lists the built-in ones; --policy names other files; `hence explain E0403` says more
    [exit 2]
    "#);
}

#[test]
fn lint_reports_what_cannot_be_evaluated_and_oddities() {
    let world = world();
    world.write(
        "odd.json",
        r#"[{"id": "open", "formula": "G("}, {"id": "guess", "formula": "G(GitCommit -> P(looks_fine))"}]"#,
    );
    assert_snapshot!(world.cli(&["policy", "lint", "odd.json"]), @r"
    error open: expected a formula, found the end of the formula at column 3
    warning guess: `looks_fine` is not a standard atom; it is looked for in the texts of actions, which is a guess at column 18
    2 policies: 1 error, 1 warning
    [exit 1]
    ");
    assert_snapshot!(world.cli(&["policy", "lint", "rules.toml", "engineering"]), @r"
    9 policies: 0 errors, 0 warnings
    [exit 0]
    ");
}

#[test]
fn a_policy_is_tested_on_its_own_examples() {
    let world = world();
    world.write(
        "wrong.yaml",
        r#"id: wrong
formula: F(Lint)
examples:
  - {about: no lint, expect: passed, actions: [{type: RunTests}]}
"#,
    );
    world.write("bare.json", r#"{"id": "bare", "formula": "F(Lint)"}"#);
    assert_snapshot!(world.cli(&["policy", "test", "rules.toml"]), @r"
    none deploys-approved: it brings no examples
    2 examples pass, 0 fail, 1 policy has none
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["policy", "test", "wrong.yaml", "bare.json"]), @r"
    FAIL wrong, no lint: expected passed, found failed (no action satisfies `Lint` (1 looked at))
    none bare: it brings no examples
    0 examples pass, 1 fail, 1 policy has none
    [exit 1]
    ");
    assert_snapshot!(world.cli(&["policy", "test", "bare.json"]), @r"
    none bare: it brings no examples
    0 examples pass, 0 fail, 1 policy has none
    [exit 1]
    ");
}

#[test]
fn every_built_in_pack_passes_its_own_tests() {
    let packs = ["engineering", "reasoning", "data-flow", "oversight", "budgets", "records"];
    let answer = World::new().ask(&[&["policy", "test", "--json"], packs.as_slice()].concat());
    let report = answer.json();
    assert_eq!((answer.code, &report["failed"], &report["untested"]), (0, &0.into(), &serde_json::json!([])));
    assert!(report["passed"].as_u64().unwrap() > 50);
}
