//! `hence policy check`: verdicts, in every form.

use insta::assert_snapshot;

use super::{BROKEN, world};

/// The forms a check can be written in.
const FORMATS: [&str; 5] = ["text", "json", "sarif", "junit", "github"];

#[test]
fn a_check_names_the_action_that_broke_the_rule_and_why() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "check", "broken.json", "--policy", "rules.toml"]), @r"
    broken.json: does not pass
      FAIL tests-first [guessed from words: completed]: action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests ∧ completed` (1 looked at); action 1 (RunTests): `RunTests` holds; `completed` does not hold
      n/a  deploys-approved: `Deploy` never holds
      0 proven, 0 absent, 1 failed, 1 vacuous, 0 unknown; 1 rest on words looked for in texts
    [exit 1]
    ");
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "rules.toml"]), @r"
    kept.yaml: passes
      pass tests-first [guessed from words: completed]
      n/a  deploys-approved: `Deploy` never holds
      1 proven, 0 absent, 0 failed, 1 vacuous, 0 unknown; 1 rest on words looked for in texts
    [exit 0]
    ");
}

#[test]
fn several_traces_are_counted_together_and_vacuous_is_not_proven() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "broken.json", "--policy", "rules.toml"]), @r"
    kept.yaml: passes
      pass tests-first [guessed from words: completed]
      n/a  deploys-approved: `Deploy` never holds
      1 proven, 0 absent, 0 failed, 1 vacuous, 0 unknown; 1 rest on words looked for in texts
    broken.json: does not pass
      FAIL tests-first [guessed from words: completed]: action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests ∧ completed` (1 looked at); action 1 (RunTests): `RunTests` holds; `completed` does not hold
      n/a  deploys-approved: `Deploy` never holds
      0 proven, 0 absent, 1 failed, 1 vacuous, 0 unknown; 1 rest on words looked for in texts
    1 of 2 traces pass: 1 proven, 0 absent, 1 failed, 2 vacuous, 0 unknown; 2 rest on words looked for in texts
    [exit 1]
    ");
}

#[test]
fn a_policy_that_applies_to_nothing_is_reported_as_proving_nothing() {
    let world = world();
    world.write("idle.json", r#"{"actions": []}"#);
    assert_snapshot!(world.cli(&["policy", "check", "idle.json", "--policy", "rules.toml"]), @r"
    idle.json: passes, nothing proven
      n/a  tests-first: `GitCommit` never holds
      n/a  deploys-approved: `Deploy` never holds
      0 proven, 0 absent, 0 failed, 2 vacuous, 0 unknown
    --- stderr
    note: nothing was proven; nothing in the traces is what the policies speak of
    [exit 0]
    ");
}

#[test]
fn an_undecided_policy_fails_a_check_like_a_violated_one_of_its_severity() {
    let world = world();
    world.write(
        "open.json",
        r#"{"id": "open", "severity": "error", "formula": "G(GitCommit -> Diff in type)"}"#,
    );
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "open.json"]), @r"
    kept.yaml: does not pass
      UNKNOWN open: undecided: `type` is not a set, first at action 2 (GitCommit)
      0 proven, 0 absent, 0 failed, 0 vacuous, 1 unknown
    [exit 1]
    ");
    world.write(
        "open.json",
        r#"{"id": "open", "severity": "info", "formula": "G(GitCommit -> Diff in type)"}"#,
    );
    assert!(
        world
            .cli(&["policy", "check", "kept.yaml", "--policy", "open.json"])
            .trim_end()
            .ends_with("[exit 0]")
    );
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "open.json", "--fail-on", "unknown"]), @r"
    kept.yaml: does not pass
      UNKNOWN open: undecided: `type` is not a set, first at action 2 (GitCommit)
      0 proven, 0 absent, 0 failed, 0 vacuous, 1 unknown
    [exit 1]
    ");
}

#[test]
fn a_check_can_be_narrowed_to_a_policy_or_a_pack() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "rules.toml", "--policy", "budgets", "--only", "tests-first"]), @r"
    kept.yaml: passes
      pass tests-first [guessed from words: completed]
      1 proven, 0 absent, 0 failed, 0 vacuous, 0 unknown; 1 rest on words looked for in texts
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "rules.toml", "--policy", "budgets", "--only", "budgets", "--only", "action-cost-bounded"]), @r"
    kept.yaml: passes, nothing proven: no rule was exercised
      absent at-most-20-tool-calls (At most twenty calls of tools): nothing in the trace is what it speaks of
      absent at-most-2-deployments (At most two deployments): nothing in the trace is what it speaks of
      n/a  action-cost-bounded (No action costs more than 5): `execution.cost ≠ ∅` never holds
      n/a  action-tokens-bounded (No action takes more than 100000 tokens): `execution.tokens ≠ ∅` never holds
      n/a  action-time-bounded (No action takes more than ten minutes): `execution.duration_ms ≠ ∅` never holds
      0 proven, 2 absent, 0 failed, 3 vacuous, 0 unknown
    --- stderr
    note: nothing was proven; nothing in the traces is what the policies speak of
    [exit 0]
    ");
    assert_snapshot!(world.refused(&["policy", "check", "kept.yaml", "--policy", "rules.toml", "--only", "nothing"]), @r#"
    --- stderr
    error[E0403]: no policy or pack "nothing"
    hint: `hence policy list` lists the built-in ones; --policy names other files; `hence explain E0403` says more
    [exit 2]
    "#);
}

#[test]
fn an_error_of_a_policy_is_reported_in_every_format() {
    let world = world();
    world.write("fatal.json", r#"{"id": "x", "severity": "fatal", "formula": "F(GitCommit)"}"#);
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "fatal.json", "--format", "text"]), @r#"
    kept.yaml: does not pass
      pass x
      policy x: `severity` is "fatal"; expected info, warning, error
      1 proven, 0 absent, 0 failed, 0 vacuous, 0 unknown
    [exit 1]
    "#);
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "fatal.json", "--format", "junit"]), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="hence policy check" tests="1" failures="0" errors="0" skipped="0">
      <testsuite name="kept.yaml" tests="1" failures="0" errors="0" skipped="0">
        <testcase classname="policy" name="x"/>
      </testsuite>
    </testsuites>
    --- stderr
    policy x: `severity` is "fatal"; expected info, warning, error
    [exit 1]
    "#);
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "fatal.json", "--format", "github"]), @r#"
    ::error file=kept.yaml,title=policy x::`severity` is "fatal"; expected info, warning, error
    [exit 1]
    "#);
}

#[test]
fn sarif_has_a_run_for_each_trace() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "broken.json", "--policy", "rules.toml", "--format", "sarif"]), @r#"
    {"$schema":"https://json.schemastore.org/sarif-2.1.0.json","runs":[{"columnKind":"unicodeCodePoints","results":[{"kind":"pass","level":"none","locations":[{"physicalLocation":{"artifactLocation":{"uri":"kept.yaml"}}}],"message":{"text":"tests-first passed"},"ruleId":"tests-first","ruleIndex":0},{"kind":"notApplicable","level":"none","locations":[{"physicalLocation":{"artifactLocation":{"uri":"kept.yaml"}}}],"message":{"text":"`Deploy` never holds"},"ruleId":"deploys-approved","ruleIndex":1}],"tool":{"driver":{"name":"hence","rules":[{"defaultConfiguration":{"level":"error"},"id":"tests-first"},{"defaultConfiguration":{"level":"warning"},"id":"deploys-approved"}],"version":"0.1.0"}}},{"columnKind":"unicodeCodePoints","results":[{"kind":"fail","level":"error","locations":[{"logicalLocations":[{"fullyQualifiedName":"/actions/1","kind":"member","name":"action 2 (GitCommit)"}],"physicalLocation":{"artifactLocation":{"uri":"broken.json"}}}],"message":{"text":"action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests ∧ completed` (1 looked at); action 1 (RunTests): `RunTests` holds; `completed` does not hold"},"ruleId":"tests-first","ruleIndex":0},{"kind":"notApplicable","level":"none","locations":[{"physicalLocation":{"artifactLocation":{"uri":"broken.json"}}}],"message":{"text":"`Deploy` never holds"},"ruleId":"deploys-approved","ruleIndex":1}],"tool":{"driver":{"name":"hence","rules":[{"defaultConfiguration":{"level":"error"},"id":"tests-first"},{"defaultConfiguration":{"level":"warning"},"id":"deploys-approved"}],"version":"0.1.0"}}}],"version":"2.1.0"}
    [exit 1]
    "#);
}

#[test]
fn junit_has_a_suite_for_each_trace() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "broken.json", "--policy", "rules.toml", "--format", "junit"]), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="hence policy check" tests="4" failures="1" errors="0" skipped="2">
      <testsuite name="kept.yaml" tests="2" failures="0" errors="0" skipped="1">
        <testcase classname="policy" name="tests-first"/>
        <testcase classname="policy" name="deploys-approved">
          <skipped message="not applicable: `Deploy` never holds"/>
        </testcase>
      </testsuite>
      <testsuite name="broken.json" tests="2" failures="1" errors="0" skipped="1">
        <testcase classname="policy" name="tests-first">
          <failure type="error" message="action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests ∧ completed` (1 looked at); action 1 (RunTests): `RunTests` holds; `completed` does not hold"/>
        </testcase>
        <testcase classname="policy" name="deploys-approved">
          <skipped message="not applicable: `Deploy` never holds"/>
        </testcase>
      </testsuite>
    </testsuites>
    [exit 1]
    "#);
}

#[test]
fn github_gets_one_command_for_each_failure() {
    let world = world();
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "broken.json", "--policy", "rules.toml", "--format", "github"]), @r"
    ::error file=broken.json,title=policy tests-first::action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests ∧ completed` (1 looked at); action 1 (RunTests): `RunTests` holds; `completed` does not hold
    [exit 1]
    ");
}

#[test]
fn a_failed_warning_fails_a_check_on_request_and_a_meaningless_policy_always() {
    let world = world();
    world.write(
        "warning.json",
        r#"[{"id": "w", "severity": "warning", "formula": "G(GitCommit -> P(Lint))"}]"#,
    );
    world.write(
        "no-meaning.json",
        r#"[{"id": "u", "severity": "error", "formula": "G(GitCommit -> nosuch(a))"}]"#,
    );
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "warning.json"]), @r"
    kept.yaml: passes, nothing proven
      WARN w: action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `Lint` (1 looked at)
      0 proven, 0 absent, 1 failed, 0 vacuous, 0 unknown
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "warning.json", "--fail-on", "warning"]), @r"
    kept.yaml: does not pass
      WARN w: action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `Lint` (1 looked at)
      0 proven, 0 absent, 1 failed, 0 vacuous, 0 unknown
    [exit 1]
    ");
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml", "--policy", "no-meaning.json"]), @r"
    kept.yaml: does not pass
      UNKNOWN u: undecided: there is no function `nosuch` of 1 arguments at column 16
      0 proven, 0 absent, 0 failed, 0 vacuous, 1 unknown
    [exit 1]
    ");
}

#[test]
fn the_exit_code_is_the_same_in_every_format() {
    let world = world();
    world.write("warning.json", r#"{"id": "w", "formula": "G(GitCommit -> P(Lint))"}"#);
    world.write("twice.json", r#"{"actions": [{"id": 1, "type": "Lint"}, {"id": 1, "type": "Lint"}]}"#);
    let cases: [(&[&str], i32); 7] = [
        (&["kept.yaml", "--policy", "rules.toml"], 0),
        (&["broken.json", "--policy", "rules.toml"], 1),
        (&["kept.yaml", "--policy", "warning.json"], 0),
        (&["kept.yaml", "--policy", "warning.json", "--fail-on", "warning"], 1),
        (&["twice.json", "--policy", "rules.toml"], 1),
        (&["kept.yaml", "--policy", "missing.json"], 2),
        (&["kept.yaml", "--policy", "rules.toml", "--policy", "rules.toml"], 2),
    ];
    for (arguments, code) in cases {
        for format in FORMATS {
            let call = [&["policy", "check"], arguments, &["--format", format]].concat();
            assert_eq!(world.ask(&call).code, code, "{call:?}");
        }
        assert_eq!(world.ask(&[&["policy", "check", "--json"], arguments].concat()).code, code);
    }
}

#[test]
fn a_trace_is_read_from_standard_input() {
    let world = world();
    let answer = world.ask_with_input(&["policy", "check", "-", "--policy", "rules.toml"], BROKEN.as_bytes());
    assert_eq!(answer.code, 1);
    assert!(String::from_utf8(answer.stdout).unwrap().starts_with("standard input: does not pass\n"));
}

#[test]
fn text_of_a_trace_cannot_forge_a_line() {
    let world = world();
    world.write("forged.json", r#"{"actions": [{"id": 1, "type": "GitCommit"}]}"#);
    world.write(
        "forged-rules.json",
        r#"{"id": "x\n  pass y\u001b[2J", "formula": "G(GitCommit -> P(Lint))"}"#,
    );
    for format in ["text", "github"] {
        let call = ["policy", "check", "forged.json", "--policy", "forged-rules.json", "--format", format];
        let text = String::from_utf8(world.ask(&call).stdout).unwrap();
        assert!(!text.contains('\u{1b}') && !text.contains("\n  pass y"), "{text}");
    }
}

#[test]
fn a_trace_that_cannot_be_checked_is_unknown_and_does_not_pass() {
    let world = world();
    world.write("twice.json", r#"{"actions": [{"id": 1, "type": "Lint"}, {"id": 1, "type": "Lint"}]}"#);
    assert_snapshot!(world.cli(&["policy", "check", "twice.json", "--policy", "rules.toml"]), @r"
    twice.json: does not pass
      the trace cannot be judged: id 1 occurs twice: `/actions/0` and `/actions/1`
      UNKNOWN tests-first: undecided: id 1 occurs twice: `/actions/0` and `/actions/1`
      UNKNOWN deploys-approved: undecided: id 1 occurs twice: `/actions/0` and `/actions/1`
      0 proven, 0 absent, 0 failed, 0 vacuous, 2 unknown
    [exit 1]
    ");
}

#[test]
fn a_rule_that_holds_because_nothing_it_speaks_of_occurs_is_absent_and_not_proven() {
    let world = world();
    let args = ["policy", "check", "kept.yaml", "--policy", "engineering", "--only", "no-force-push"];
    assert_snapshot!(world.cli(&args), @r"
    kept.yaml: passes, nothing proven: no rule was exercised
      absent no-force-push (No forced push): nothing in the trace is what it speaks of
      0 proven, 1 absent, 0 failed, 0 vacuous, 0 unknown
    --- stderr
    note: nothing was proven; nothing in the traces is what the policies speak of
    [exit 0]
    ");
    let json = world.cli(&[
        "--json",
        "policy",
        "check",
        "kept.yaml",
        "--policy",
        "engineering",
        "--only",
        "no-force-push",
    ]);
    for member in
        [r#""absent": true"#, r#""status": "passed""#, r#""name": "No forced push""#, r#""proven": 0"#]
    {
        assert!(json.contains(member), "{member}: {json}");
    }
}

#[test]
fn a_trace_is_judged_by_its_own_policies_unless_others_are_named() {
    let world = world();
    world.write(
        "own.json",
        r#"{"trace_id": "own", "actions": [{"id": 1, "type": "GitCommit"}], "policies": [
            {"policy_id": "p1", "name": "Tests first", "severity": "error", "scope": "trace",
            "kind": "trace_invariant", "formula": "G(GitCommit -> P(RunTests))"}]}"#,
    );
    assert_snapshot!(world.cli(&["policy", "check", "own.json"]), @r"
    own.json: does not pass
      FAIL p1 (Tests first): action 1 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests` (0 looked at)
      0 proven, 0 absent, 1 failed, 0 vacuous, 0 unknown
    [exit 1]
    ");
    assert_snapshot!(world.cli(&["policy", "check", "kept.yaml"]), @r"
    --- stderr
    error[E0601]: kept.yaml carries no policies of its own, and no --policy is given
    hint: name a file, or one of the built-in packs: engineering, reasoning, data-flow, oversight, budgets, records; `hence explain E0601` says more
    [exit 2]
    ");
}

#[test]
fn exit_codes_and_counts_decide_whether_tests_passed_and_words_are_marked_as_a_guess() {
    let world = world();
    let trace = |tests: &str| {
        format!(
            r#"{{"trace_id": "t", "actions": [{{"id": 1, "type": "RunTests", {tests}}}, {{"id": 2, "type": "GitCommit"}}]}}"#
        )
    };
    for (tests, passes) in [
        (r#""result_summary": "3 failed, 2 passed""#, false),
        (r#""result_summary": "no tests ran; bypassed""#, false),
        (r#""result": {"summary": "3 failed, 2 passed", "exit_code": 1}, "result_summary": "passed""#, false),
        (r#""result_summary": "5 passed, 0 failed""#, true),
        (r#""evidence": [{"type": "CommandOutput", "ref": "pytest", "exit_code": 0}]"#, true),
    ] {
        world.write("tests.json", trace(tests));
        let shown =
            world.cli(&["policy", "check", "tests.json", "--policy", "rules.toml", "--only", "tests-first"]);
        assert_eq!(shown.trim_end().ends_with("[exit 0]"), passes, "{tests}: {shown}");
        let guessed = shown.contains("[guessed from words: completed]");
        let said = tests.contains("exit_code") || tests.contains("no tests");
        assert_eq!(guessed, !said, "{tests}: {shown}");
    }
}

#[test]
fn a_folder_of_policies_is_all_its_files() {
    let world = hence_testkit::cli::World::new();
    world
        .write("t.json", super::BROKEN)
        .write("rules/b.toml", super::RULES)
        .write("rules/notes.txt", "no policy");
    world.write("rules/a.json", r#"{"id": "other", "severity": "warning", "formula": "F(RunTests)"}"#);
    world.write("rules/deep/c.toml", "not read");
    let checked = world.ask(&["policy", "check", "t.json", "--policy", "rules", "--json"]);
    let text = checked.json().to_string();
    assert!(text.contains("\"other\"") && text.contains("\"tests-first\""), "{text}");
    assert_eq!(checked.code, 1);
    // A file in it that is no policy is named, and an empty folder is not a pass.
    world.write("rules/broken.yaml", "id: [");
    assert!(world.refused(&["policy", "check", "t.json", "--policy", "rules"]).contains("broken.yaml"));
    world.write("none/notes.txt", "x");
    assert!(world.refused(&["policy", "check", "t.json", "--policy", "none"]).contains("found none"));
}
