//! `hence policy explain`: traces that violate policies, and traces that satisfy them.

use insta::assert_snapshot;

use super::world;

#[test]
fn explain_finds_a_trace_that_violates_a_policy_and_one_that_satisfies_all() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "explain", "rules.toml"]), @r#"
    policy tests-first
      G(GitCommit → P(RunTests ∧ completed))
      violation: a shortest has 1 action
        {"category":"activity","id":1,"type":"GitCommit"}
    policy deploys-approved
      G(Deploy → P(Approve))
      violation: a shortest has 1 action
        {"category":"activity","id":1,"type":"Deploy"}
    together: a shortest has 4 actions
        {"category":"governance","id":1,"type":"Approve"}
        {"category":"activity","id":2,"type":"Deploy"}
        {"category":"activity","id":3,"result_summary":"passed","type":"RunTests"}
        {"category":"activity","id":4,"type":"GitCommit"}
    bound: 24 actions in a trace, 4096 candidates for each, 20000 states, 1000000 steps; candidates come from the words in the formulas, applies_when is ignored
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["policy", "explain", "rules.toml", "--only", "tests-first"]), @r#"
    policy tests-first
      G(GitCommit → P(RunTests ∧ completed))
      violation: a shortest has 1 action
        {"category":"activity","id":1,"type":"GitCommit"}
    together: a shortest has 2 actions
        {"category":"activity","id":1,"result_summary":"passed","type":"RunTests"}
        {"category":"activity","id":2,"type":"GitCommit"}
    bound: 24 actions in a trace, 4096 candidates for each, 20000 states, 1000000 steps; candidates come from the words in the formulas, applies_when is ignored
    [exit 0]
    "#);
}

#[test]
fn explain_reports_contradicting_rules_and_the_limits_of_its_search() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "explain", "--formula", "G(Deploy -> P(Approve))", "--formula", "G(Deploy -> not P(Approve))"]), @r#"
    policy --formula 1
      G(Deploy → P(Approve))
      violation: a shortest has 1 action
        {"category":"activity","id":1,"type":"Deploy"}
    policy --formula 2
      G(Deploy → ¬P(Approve))
      violation: a shortest has 2 actions
        {"category":"governance","id":1,"type":"Approve"}
        {"category":"activity","id":2,"type":"Deploy"}
    together: no trace of any length: they cannot all be satisfied once triggered
    bound: 24 actions in a trace, 4096 candidates for each, 20000 states, 1000000 steps; candidates come from the words in the formulas, applies_when is ignored
    [exit 1]
    "#);
    assert_snapshot!(world.cli(&["policy", "explain", "engineering", "--only", "no-secrets-committed"]), @r"
    policy no-secrets-committed
      G(GitCommit ∧ ¬failed → ¬held ∧ ¬P_chain(leak) ∧ ¬P((EditFile ∨ CreateFile ∨ Change) ∧ leak))
      violation: not searched: no candidate actions are known for `∃ x ∈ outputs(a) . x.metadata.contains_secret = true`
    together: not searched: no policy can be searched
      without no-secrets-committed
    bound: 24 actions in a trace, 4096 candidates for each, 20000 states, 1000000 steps; candidates come from the words in the formulas, applies_when is ignored
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["policy", "explain", "--formula", "count(ToolCall) <= 1000"]), @r#"
    policy --formula 1
      count(ToolCall) ≤ 1000
      violation: none within the bound: 26 states were visited, traces of up to 24 actions
    together: a shortest has 1 action
        {"id":1,"type":"Other"}
    bound: 24 actions in a trace, 4096 candidates for each, 20000 states, 1000000 steps; candidates come from the words in the formulas, applies_when is ignored
    [exit 0]
    "#);
    assert_snapshot!(world.refused(&["policy", "explain", "--formula", "G(a ->"]), @r"
    --- stderr
    error[E0601]: --formula 1: expected a formula, found the end of the formula at column 7
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["policy", "explain", "rules.toml", "--only", "nothing"]), @r#"
    --- stderr
    error[E0403]: no policy or pack "nothing"
    hint: `hence policy list` lists the built-in ones; --policy names other files; `hence explain E0403` says more
    [exit 2]
    "#);
}
