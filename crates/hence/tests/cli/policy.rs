//! `hence policy`: traces against rules, in every form, and the rules themselves.

mod check;
mod explain;
mod new;
mod refusals;
mod rules;

use hence_testkit::cli::World;

/// Tests failed, then a commit all the same.
const BROKEN: &str = r#"{"trace_id": "t", "actions": [
    {"id": 1, "type": "RunTests", "result_summary": "2 failed"},
    {"id": 2, "type": "GitCommit"}
]}"#;

/// Tests passed, then a commit.
const KEPT: &str = "\
trace_id: kept
actions:
  - {id: 1, type: RunTests, result_summary: 5 passed}
  - {id: 2, type: GitCommit}
";

/// A rule with examples, and one without.
const RULES: &str = r#"
[[policy]]
id = "tests-first"
severity = "error"
statement = "No commit without passing tests."
formula = "G(GitCommit → P(RunTests ∧ completed))"

[[policy.example]]
about = "tests passed before"
expect = "passed"
actions = [{ type = "RunTests", result_summary = "5 passed" }, { type = "GitCommit" }]

[[policy.example]]
about = "no tests at all"
expect = "failed"
violating = [1]
actions = [{ type = "GitCommit" }]

[[policy]]
id = "deploys-approved"
formula = "G(Deploy → P(Approve))"
"#;

fn world() -> World {
    let world = World::new();
    world.write("broken.json", BROKEN).write("kept.yaml", KEPT).write("rules.toml", RULES);
    world
}
