//! The verdicts of `check` on small traces.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use hence_canon::{Object, Value, parse};
use hence_policy::eval::SinceReading;
use hence_policy::policy::{Policy, PolicyId};
use hence_policy::verdict::Verdict;
use hence_policy::{FailOn, Options, Report, check};
use hence_review::vocabulary::EvaluationStatus::{self, Failed, NotApplicable, Passed, Unknown};

fn policy(formula: &str) -> Policy {
    Policy::from_formula(&PolicyId::new("p").unwrap(), formula)
}

fn policy_object(json: &str) -> Policy {
    Policy::read(parse(json.as_bytes()).unwrap().as_object().unwrap()).unwrap()
}

fn report(formula: &str, trace: &str) -> Report {
    check(&parse(trace.as_bytes()).unwrap(), [&policy(formula)], Options::default())
}

fn verdict(formula: &str, trace: &str) -> Verdict {
    report(formula, trace).verdicts.remove(0)
}

fn status(formula: &str, trace: &str) -> EvaluationStatus {
    let verdict = verdict(formula, trace);
    assert!(verdict.status != Unknown || verdict.reason.is_some(), "{formula}: unknown without a reason");
    verdict.status
}

const CHANGE: &str = r#"{
    "trace_id": "t",
    "files_modified": ["x.py"],
    "actions": [
        {"id": 1, "type": "ReadFile", "category": "activity", "outputs": ["a1"], "tags": ["safe"],
         "evidence": [{"type": "FileRef", "ref": "x.py"}]},
        {"id": 2, "type": "EditFile", "category": "activity", "inputs": ["a1"], "outputs": ["a2"],
         "evidence": [{"type": "FileRef", "ref": "x.py"}], "request": {"mode": "Quick", "size": 12, "input": {"mode": "Quick"}}},
        {"id": 3, "type": "GitCommit", "category": "activity", "inputs": ["a2"], "agent": "ana"}
    ],
    "artifacts": [
        {"artifact_id": "a1", "artifact_type": "SourceCode", "name": "x.py", "producer_action_id": 1},
        {"artifact_id": "a2", "artifact_type": "Diff", "name": "d", "producer_action_id": 2, "derived_from": ["a1"],
         "payload": {"status": "proved", "lines": 40}}
    ],
    "residuals": [
        {"residual_id": "r1", "kind": "assumption", "severity": "high"},
        {"residual_id": "r2", "kind": "out_of_scope", "severity": "low", "status": "waived"}
    ]
}"#;

#[test]
fn a_member_that_is_no_set_matters_only_where_the_rest_of_the_rule_applies() {
    let push = |arguments: &str| {
        format!(
            r#"{{"actions": [
                {{"id": 1, "type": "ToolCall", "category": "activity", "request": {{"arguments": {{"room": "4.01"}}}}}},
                {{"id": 2, "type": "GitPush", "category": "activity", "request": {{"arguments": {arguments}}}}}]}}"#
        )
    };
    for formula in [
        r#"G(¬(GitPush ∧ (request.force = true ∨ "-f" ∈ request.arguments)))"#,
        r#"G(¬("-f" ∈ request.arguments ∧ GitPush))"#,
        r#"G(GitPush → ¬("-f" ∈ request.arguments))"#,
    ] {
        assert_eq!(status(formula, &push(r#"["origin"]"#)), Passed, "{formula}");
        assert_eq!(status(formula, &push(r#"["-f"]"#)), Failed, "{formula}");
        assert_eq!(status(formula, &push(r#"{"mode": "f"}"#)), Unknown, "{formula}");
    }
    assert_eq!(status(r#"G(¬("-f" ∈ request.arguments))"#, &push("[]")), Unknown);
}

#[test]
fn terms_functions_and_sets_are_evaluated() {
    let holds = [
        "G(EditFile → ∃ x ∈ inputs(a) . x.artifact_type = SourceCode)",
        "G(EditFile → SourceCode ∈ ancestors(a))",
        "G(EditFile → SourceCode ∈ ancestors(derived_from) ∧ ¬(Diff ∈ ancestors(a)))",
        "G(EditFile → ∃ x ∈ ancestors(a) . x.name = \"x.py\")",
        "G(GitCommit → ∃! x ∈ inputs(a) . x.payload.lines ≥ 40)",
        "G(EditFile → target(a) = \"x.py\")",
        "G(EditFile → request.mode = quick ∧ request.size < 13)",
        "F(\"safe\" ∈ tags)",
        "G(GitCommit → Count(inputs(a)) = 1)",
        "G(GitCommit → Count(actions_before(a)) = 2)",
        "files_modified = {target(b) | b ∈ actions ∧ b.type = EditFile}",
        "∃ x ∈ artifacts . ∃ y ∈ artifacts . ancestor_of(x, y) ∧ derived_from(y, x)",
        "∀ x ∈ artifacts . formal_model_artifact(x) → x.name = ∅",
        "G(∀ b ∈ actions_before(a) . b < a)",
        "¬∃ r ∈ residuals . r.severity = Critical",
        "∃ r ∈ residuals . r.status = ResidualOpen ∧ F(GitCommit)",
        "∀ r ∈ residuals . r.severity ≥ High → r.status = Open",
        "∀ x ∈ nothing_of_the_kind . false",
        "G(GitCommit → agent = ana ∧ has agent)",
        "F(EditFile ∧ ∀ r ∈ residuals . P(ReadFile))",
    ];
    for formula in holds {
        assert_eq!(status(formula, CHANGE), Passed, "{formula}: {:?}", verdict(formula, CHANGE).note());
    }
    let fails = [
        "G(EditFile → Decomposition ∈ ancestors(a))",
        "∃ x ∈ nothing_of_the_kind . true",
        "∃! r ∈ residuals . r.residual_id ≠ ∅",
        "files_modified = {target(b) | b ∈ actions}  ∧ false",
        "G(GitCommit → inputs ≠ ∅)",
        "G(EditFile → request.size > 12)",
    ];
    for formula in fails {
        assert_eq!(status(formula, CHANGE), Failed, "{formula}");
    }
}

#[test]
fn a_failure_names_its_actions_elements_and_reason() {
    let found = verdict("G(GitCommit → ∀ r ∈ residuals . r.severity ≥ High → r.status ≠ Open)", CHANGE);
    assert_eq!(found.violating.action_ids, [3]);
    assert_eq!(found.violating.residual_ids, ["r1".into()]);
    assert_eq!(
        found.note().unwrap(),
        "action 3 (GitCommit): `GitCommit` holds; `r.severity ≥ High → r.status ≠ Open` does not hold for `r1`"
    );
    let found = verdict("∀ x ∈ artifacts . x.artifact_type = Diff", CHANGE);
    assert_eq!(found.violating.artifact_ids, ["a1".into()]);
}

#[test]
fn explanations_name_the_actions_searched() {
    let cases = [
        (
            "G(GitCommit → P_chain(RunTests))",
            "action 3 (GitCommit): `GitCommit` holds; no earlier action in its chain satisfies `RunTests`",
        ),
        (
            "G(GitCommit → RunTests S_last EditFile)",
            "action 3 (GitCommit): `GitCommit` holds; since the last `EditFile`, action 2 (EditFile), no action \
             satisfies `RunTests` (0 looked at)",
        ),
        (
            "G(EditFile → F(RunTests))",
            "action 2 (EditFile): `EditFile` holds; neither it nor a later action satisfies `RunTests` (2 looked at)",
        ),
        (
            "G(GitCommit → ¬P(ReadFile))",
            "action 3 (GitCommit): `GitCommit` holds; action 1 (ReadFile): `ReadFile` holds",
        ),
        ("count(action) ≤ 2", "`action` holds 3 times, and the bound is 2"),
        ("F(Deploy ∨ Release)", "no action satisfies `Deploy ∨ Release` (3 looked at)"),
        ("G(X(action))", "action 3 (GitCommit): there is no next action"),
        ("data_flow_integrity ∧ F(Lint)", "no action satisfies `Lint` (3 looked at)"),
    ];
    for (formula, expected) in cases {
        assert_eq!(verdict(formula, CHANGE).note().as_deref(), Some(expected), "{formula}");
    }
}

#[test]
fn a_rule_that_was_never_triggered_is_not_compliance() {
    let report = report("G(Deploy → P(UserApproval))", CHANGE);
    assert_eq!(report.verdicts[0].status, NotApplicable);
    assert_eq!((report.summary().proven, report.summary().vacuous), (0, 1));
    assert!(report.passes(FailOn::Unknown));
}

#[test]
fn an_undecidable_formula_is_unknown_with_a_reason() {
    for (formula, reason) in [
        ("G(", "expected a formula, found the end of the formula at column 3"),
        ("F(EditFile) F(Lint)", "expected an operator or the end of the formula, found `F` at column 13"),
        ("F(frobnicate(a))", "there is no function `frobnicate` of 1 arguments at column 3"),
        ("F(one ≠ two)", "`one` is not a field of an action, so there is nothing to compare at column 3"),
        ("F(Frob(proved))", "`Frob` is not a known type, so it cannot carry conditions at column 3"),
    ] {
        let found = verdict(formula, CHANGE);
        assert_eq!((found.status, found.reason.as_deref()), (Unknown, Some(reason)), "{formula}");
    }
    let missing = policy_object(r#"{"id": "p"}"#);
    let report = check(&parse(CHANGE.as_bytes()).unwrap(), [&missing], Options::default());
    assert_eq!(report.verdicts[0].reason.as_deref(), Some("the policy has no `formula`"));
    assert!(!report.passes(FailOn::Error), "a policy that cannot be read is never a pass");
}

#[test]
fn a_trace_that_cannot_be_judged_makes_every_verdict_unknown() {
    for (trace, reason) in [
        (r#"{"actions": [{"id": 7}, {"id": 7}]}"#, "id 7 occurs twice: `/actions/0` and `/actions/1`"),
        (
            r#"{"artifacts": [{"artifact_id": "x"}, {"artifact_id": "x"}]}"#,
            r#"id "x" occurs twice: `/artifacts/0` and `/artifacts/1`"#,
        ),
        (r#"{"actions": {}}"#, "`/actions` must be a list, found object"),
        (r#"{"residuals": [3]}"#, "`/residuals/0` must be an object, found integer"),
        ("[]", "a trace is an object, found list"),
    ] {
        let report = report("G(true)", trace);
        assert_eq!(report.verdicts[0].reason.as_deref(), Some(reason));
        assert_eq!(report.verdicts[0].status, Unknown);
        assert!(!report.passes(FailOn::Error));
    }
}

#[test]
fn lineage_that_runs_in_a_circle_is_followed_once() {
    let trace = r#"{"actions": [{"id": 1, "type": "Lint", "outputs": ["x"]}, {"id": 2, "type": "EditFile", "inputs": ["y"]}],
        "artifacts": [{"artifact_id": "x", "derived_from": ["y"]}, {"artifact_id": "y", "derived_from": ["x"]}]}"#;
    assert_eq!(status("G(EditFile → P_chain(Lint))", trace), Passed);
}

#[test]
fn the_empty_trace_has_a_verdict_for_every_formula() {
    for (formula, expected) in [
        ("G(action)", Passed),
        ("F(action)", Failed),
        ("X(action)", Failed),
        ("P(action)", Failed),
        ("H(action)", Passed),
        ("EditFile U Lint", Failed),
        ("¬F(Lint)", Passed),
        ("count(action) = 0", Passed),
        ("Lint", Failed),
        ("G(Lint → false)", NotApplicable),
        ("rationale ≠ ∅", Failed),
        ("G(∀ x ∈ inputs(a) . false)", Passed),
    ] {
        assert_eq!(status(formula, r#"{"actions": []}"#), expected, "{formula}");
    }
}

#[test]
fn guesses_are_reported_and_definitions_are_not_guesses() {
    let guess = verdict("G(GitCommit → ¬P(secret_pattern))", CHANGE);
    assert_eq!(guess.heuristic_words, ["secret_pattern"]);
    let exact = policy_object(
        r#"{"id": "p", "formula": "G(GitCommit → ¬P(quick))", "predicates": {"quick": "request.input.mode = quick"}}"#,
    );
    let report = check(&parse(CHANGE.as_bytes()).unwrap(), [&exact], Options::default());
    assert_eq!((report.verdicts[0].status, report.verdicts[0].heuristic_words.len()), (Failed, 0));
    assert_eq!(report.findings, []);
}

#[test]
fn a_selector_that_selects_nothing_makes_the_policy_not_applicable() {
    let run = |selector: &str| {
        let json = format!(r#"{{"id": "p", "formula": "F(Lint)", "applies_when": {selector}}}"#);
        check(&parse(CHANGE.as_bytes()).unwrap(), [&policy_object(&json)], Options::default()).verdicts[0]
            .status
    };
    assert_eq!(run(r#"{"action_type": "Deploy"}"#), NotApplicable);
    assert_eq!(run(r#"{"action_type": "EditFile", "path_matches_any": ["payments/**"]}"#), NotApplicable);
    assert_eq!(run(r#"{"artifact_type": "Diff", "artifact_role": "proof"}"#), NotApplicable);
    assert_eq!(run(r#"{"category": "gateway"}"#), NotApplicable);
    assert_eq!(run(r#"{"action_type": "EditFile", "path_matches": "*.py"}"#), Failed);
    assert_eq!(run(r#"{"action_type": "EditFile", "artifact_type": "Diff"}"#), Failed);
    assert_eq!(run(r#"{"path": "*.py"}"#), Unknown);
}

#[test]
fn the_other_reading_of_since_can_be_chosen() {
    let trace =
        parse(br#"{"actions": [{"id": 1, "type": "RunTests"}, {"id": 2, "type": "GitCommit"}]}"#).unwrap();
    let rule = policy("G(GitCommit → (¬GitCommit) S RunTests)");
    let judged = |since| check(&trace, [&rule], Options { since }).verdicts[0].status;
    assert_eq!(judged(SinceReading::Strict), Passed);
    assert_eq!(judged(SinceReading::NonStrict), Failed);
}

#[test]
fn the_gate_depends_on_severity_and_on_what_should_fail() {
    let graded = |severity: &str| {
        let json = format!(r#"{{"id": "p", "formula": "F(Lint)", "severity": "{severity}"}}"#);
        check(&parse(CHANGE.as_bytes()).unwrap(), [&policy_object(&json)], Options::default())
    };
    assert!(!graded("error").passes(FailOn::Error));
    assert!(graded("warning").passes(FailOn::Error));
    assert!(!graded("warning").passes(FailOn::Warning));
    assert!(graded("info").passes(FailOn::Unknown));
    assert!(!graded("blocker").passes(FailOn::Error), "a severity that is none is an error of the policy");
}

#[test]
fn verdicts_are_recorded_in_the_trace_once_per_policy() {
    let trace = parse(CHANGE.as_bytes()).unwrap();
    let report = check(&trace, [&policy("F(Lint)")], Options::default());
    let object: &Object = trace.as_object().unwrap();
    let once = report.record_into(object);
    let twice = report.record_into(&once);
    assert_eq!(once, twice);
    let record = once.get("policy_evaluations").and_then(|list| list.at(0)).unwrap();
    assert_eq!(
        record.to_string(),
        r#"{"checked_at_action_id":3,"note":"no action satisfies `Lint` (3 looked at)","policy_id":"p","status":"failed"}"#
    );
}

#[test]
fn the_line_and_the_json_of_a_verdict_agree() {
    let report = report("G(GitCommit → P(Lint))", CHANGE);
    assert_eq!(
        report.verdicts[0].to_string(),
        "WARN p: action 3 (GitCommit): `GitCommit` holds; no earlier action satisfies `Lint` (2 looked at)"
    );
    let json = report.to_value();
    assert_eq!(json.pointer(&"/verdicts/0/status".parse().unwrap()), Some(&Value::from("failed")));
    assert_eq!(json.pointer(&"/summary/failed".parse().unwrap()), Some(&Value::from(1)));
}

#[test]
fn a_rule_over_everything_before_costs_only_where_it_is_triggered() {
    let action = |at: usize| {
        let kind = match at {
            100 | 200 => "Approve",
            59_999 => "Release",
            _ => "ReadFile",
        };
        let members =
            [("id", Value::from(at + 1)), ("type", kind.into()), ("agent", format!("agent {at}").into())];
        members.into_iter().collect::<Object>()
    };
    let actions: Vec<Object> = (0..60_000).map(action).collect();
    let trace: Value = [("actions", actions)].into_iter().collect::<Object>().into();
    let set = hence_policy::policy::built_in();
    let two_people = set.get("two-people-for-release").unwrap();
    assert_eq!(check(&trace, [two_people], Options::default()).verdicts[0].status, Passed);
}

#[test]
fn a_trace_cannot_change_the_meaning_of_a_word() {
    let trace = r#"{"Open": [], "signed_off": ["x"], "spans": {}, "actions": [{"id": 1, "type": "Lint"}],
        "residuals": [{"residual_id": "r1", "severity": "critical"}]}"#;
    assert_eq!(status("∀ r ∈ residuals . r.status ≠ Open", trace), Failed);
    assert_eq!(status("F(signed_off ≠ ∅)", trace), Failed);
    assert_eq!(status("∃ x ∈ signed_off . x = \"x\"", trace), Passed);
    assert_eq!(status("∀ x ∈ spans . x.ok = true", trace), Unknown, "an object is not an empty list");
}

#[test]
fn a_value_that_is_marked_as_not_known_leaves_a_rule_undecided_where_it_matters() {
    let pushed = |request: &str, result: &str| {
        format!(
            r#"{{"trace_id": "t", "actions": [
                {{"id": 1, "type": "ReadFile", "category": "activity"}},
                {{"id": 2, "type": "GitPush", "category": "activity", "request": {request}, "result": {result}}}
            ]}}"#
        )
    };
    let open = r#"{"force": {"not_known": "$X"}, "arguments": ["push", {"not_known": "$X"}]}"#;
    for formula in [
        "G(¬(GitPush ∧ request.force = true))",
        "G(¬(GitPush ∧ \"--force\" ∈ request.arguments))",
        "G(GitPush → ¬(request.force = true))",
        "G(GitPush → request.force = false)",
        "G(¬(GitPush ∧ (request.force = true ∨ \"-f\" ∈ request.arguments) ∧ ¬failed))",
    ] {
        assert_eq!(status(formula, &pushed(open, "{}")), Unknown, "{formula}");
        assert_eq!(
            status(formula, &pushed(r#"{"force": false, "arguments": ["push"]}"#, "{}")),
            Passed,
            "{formula}"
        );
    }
    // A word that is there is there, and a push that failed pushed nothing.
    assert_eq!(status("G(¬(GitPush ∧ push ∈ request.arguments))", &pushed(open, "{}")), Failed);
    let failed = r#"{"status": "failed", "exit_code": 1}"#;
    let shipped = "G(¬(GitPush ∧ (request.force = true ∨ \"-f\" ∈ request.arguments) ∧ ¬failed))";
    assert_eq!(status(shipped, &pushed(open, failed)), Passed);
    // The rule is about something else.
    assert_eq!(status("G(¬(GitCommit ∧ request.force = true))", &pushed(open, "{}")), Passed);
}
