//! Documents and policies that `hence policy check` refuses.

use insta::assert_snapshot;

use super::world;

#[test]
fn a_document_that_is_not_a_trace_is_refused_not_passed() {
    let world = world();
    world.write("empty.json", r#"{}"#);
    world.write("list.json", r#"[]"#);
    world.write("half.yaml", r#"actions: ["#);
    assert_snapshot!(world.refused(&["policy", "check", "empty.json", "--policy", "rules.toml"]), @r"
    --- stderr
    error[E0602]: empty.json: expected a trace, found no `actions`
    hint: name a review trace: an object whose `actions` are a list; `hence explain E0602` says more
    [exit 1]
    ");
    assert_snapshot!(world.refused(&["policy", "check", "list.json", "--policy", "rules.toml"]), @r"
    --- stderr
    error[E0602]: list.json: expected a trace, which is an object, found list
    hint: name a review trace: an object whose `actions` are a list; `hence explain E0602` says more
    [exit 1]
    ");
    assert_snapshot!(world.refused(&["policy", "check", "half.yaml", "--policy", "rules.toml"]), @r"
    --- stderr
    error[E0101]: half.yaml: unclosed bracket '[' at line 1, column 10
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
}

#[test]
fn policies_that_cannot_be_loaded_are_refused_with_their_place() {
    let world = world();
    world.write("none.json", r#"{"policies": []}"#);
    world.write("again.json", r#"[{"id": "tests-first", "formula": "F(Lint)"}]"#);
    world.write("half.toml", r#"x = [1,"#);
    assert_snapshot!(world.refused(&["policy", "check", "kept.yaml", "--policy", "none.json"]), @r"
    --- stderr
    error[E0601]: none.json: no policies here; expected a policy, a list of policies, or an object with `policies`
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["policy", "check", "kept.yaml", "--policy", "rules.toml", "--policy", "again.json"]), @r"
    --- stderr
    error[E0601]: again.json, `/0`: policy `tests-first` is already defined in rules.toml, `/policy/0`
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["policy", "check", "kept.yaml", "--policy", "half.toml"]), @r"
    --- stderr
    error[E0601]: half.toml: TOML parse error at line 1, column 8
        |
      1 | x = [1,
        |        ^
      unclosed array, expected `]`
    hint: fix the policies at that place; nothing was checked; `hence explain E0601` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["policy", "check", "kept.yaml", "--policy", "enginering"]), @r"
    --- stderr
    error[E0401]: cannot open enginering: it does not exist; did you mean `engineering`?
    hint: name a file, or one of the built-in packs: engineering, reasoning, data-flow, oversight, budgets, records; `hence explain E0401` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["policy", "check", "kept.yaml"]), @r"
    --- stderr
    error[E0601]: kept.yaml carries no policies of its own, and no --policy is given
    hint: name a file, or one of the built-in packs: engineering, reasoning, data-flow, oversight, budgets, records; `hence explain E0601` says more
    [exit 2]
    ");
}
