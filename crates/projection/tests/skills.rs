//! Runs of skills become traces without findings: every control block, every way a step can end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

mod skill_world;

use hence_canon::{Value, parse};
use hence_cognition::schedule::FailureMode;
use hence_skills::{CallHistory, CallName, Entry, Question, QuestionKind};
use skill_world::{Case, at, texts};

#[test]
fn reads_and_writes_become_lineage_and_capabilities_their_declared_actions() {
    let case = Case::of(
        r#"[{"id": "read", "uses": "note", "input": {"x": "inputs.a"}, "output": {"x": "vars.x"}},
            {"id": "check", "uses": "check", "input": {"holds": "vars.x"}, "output": {"holds": "vars.ok"}},
            {"id": "say", "uses": "echo", "input": {"x": "vars.x", "ok": "vars.ok"}, "output": {"x": "outputs.y"}},
            {"id": "alone", "uses": "echo", "input": {"x": 1}, "output": {"x": "outputs.z"}}]"#,
    );
    let trace = case.trace();
    assert_eq!(
        texts(&trace, "/actions", "type"),
        ["ReadDocumentation", "Explain", "RunTests", "RunCommand", "RunCommand"]
    );
    assert_eq!(
        texts(&trace, "/artifacts", "artifact_id"),
        ["problem", "skill", "read#1", "check#1", "say#1", "alone#1"]
    );
    assert_eq!(at(&trace, "/artifacts/2/derived_from").to_string(), r#"["problem"]"#);
    assert_eq!(at(&trace, "/artifacts/4/derived_from").to_string(), r#"["check#1","read#1"]"#);
    assert_eq!(at(&trace, "/artifacts/5/derived_from").to_string(), r#"["skill"]"#);
    assert_eq!(
        texts(&trace, "/meta_actions", "id"),
        ["plan", "step:read", "step:check", "step:say", "step:alone"]
    );
    assert_eq!(at(&trace, "/outcome/type"), "ProcessCompleted".into());
    assert_eq!(at(&trace, "/reproducibility/status"), "reproducible".into());
    assert_eq!(at(&trace, "/actions/1/reproducibility/procedure/command"), "hence replay r".into());
    assert_eq!(texts(&trace, "/residuals", "residual_id"), ["inputs-as-given", "outputs-unchecked"]);
    assert_eq!(at(&trace, "/residuals/1/related_artifact_ids").to_string(), r#"["say#1","alone#1"]"#);
}

#[test]
fn conditions_are_decisions_and_skipped_work_is_out_of_scope() {
    let case = Case::of(
        r#"[{"id": "a", "uses": "check", "input": {"x": 1}, "output": {"x": "vars.x"}, "config": {"condition": "vars.x ?? 0 == 1"}},
            {"id": "b", "uses": "echo", "input": {"x": 1}, "output": {"x": "vars.x"}, "config": {"condition": "true"}}]"#,
    );
    let trace = case.trace();
    assert_eq!(
        texts(&trace, "/actions", "type"),
        ["ReadDocumentation", "ExclusiveDecision", "ExclusiveDecision", "RunCommand"]
    );
    assert_eq!(at(&trace, "/actions/1/options/0/chosen"), false.into());
    assert_eq!(
        at(&trace, "/actions/1/options/0/rejected_because"),
        "`vars.x ?? 0 == 1` does not hold".into()
    );
    assert_eq!(at(&trace, "/actions/1/options/1/next_action_id"), 3.into());
    assert_eq!(at(&trace, "/actions/2/options/0/next_action_id"), 4.into());
    assert_eq!(at(&trace, "/meta_actions/1/status"), "abandoned".into());
    assert!(case.residuals().contains(&("skipped-2".to_owned(), "out_of_scope".to_owned())));
}

#[test]
fn routers_loops_items_and_branches_are_gateways() {
    let case = Case::of(
        r#"[{"id": "route", "uses": "echo", "input": {"x": "inputs.a"}, "output": {"x": "vars.x"},
             "config": {"router": {"on": "inputs.a", "cases": {"1": "note", "2": "echo"}, "default": "check"}}},
            {"id": "fall", "uses": "echo", "input": {"x": 1},
             "config": {"router": {"on": "inputs.nothing", "cases": {"1": "note"}, "default": "check"}}},
            {"id": "count", "uses": "count", "input": {"n": "inputs.zero"}, "output": {"n": "vars.n"},
             "config": {"while": {"condition": "vars.n < 3", "max_iterations": 2}}},
            {"id": "once", "uses": "count", "input": {"n": "vars.n"}, "output": {"n": "vars.n"},
             "config": {"while": {"condition": "vars.n < 3", "max_iterations": 9}}},
            {"id": "each", "uses": "echo", "output": {"item": "vars.each"},
             "config": {"foreach": {"items": "inputs.list"}}},
            {"id": "wide", "uses": "picky", "output": {"item": "vars.wide"},
             "config": {"foreach": {"items": "inputs.list", "parallel": 2, "on_error": "continue"}}},
            {"id": "none", "uses": "echo", "output": {"item": "vars.none"},
             "config": {"foreach": {"items": "inputs.empty"}}},
            {"id": "split", "uses": "echo", "input": {"x": 1}, "output": {"echo": "vars.split"},
             "config": {"scatter": {"capabilities": ["echo", "fail"]}}},
            {"id": "first", "uses": "echo", "input": {"x": 1},
             "config": {"scatter": {"capabilities": ["fail", "note", "echo"], "merge": "first_success"}}}]"#,
    );
    let trace = case.trace();
    assert_eq!(
        texts(&trace, "/actions", "type"),
        [
            "ReadDocumentation",
            "ExclusiveDecision",
            "Explain",
            "ExclusiveDecision",
            "RunTests",
            "RunCommand",
            "LoopGateway",
            "RunCommand",
            "LoopGateway",
            "LoopGateway",
            "RunCommand",
            "ParallelSplit",
            "RunCommand",
            "LoopGateway",
            "ParallelSplit",
            "RunCommand",
            "ParallelSplit",
            "RunCommand",
        ]
    );
    assert_eq!(at(&trace, "/actions/1/options/1/rejected_because"), "`inputs.a` is not 2".into());
    assert_eq!(at(&trace, "/actions/3/options/1/chosen"), true.into());
    assert_eq!(at(&trace, "/actions/6/options/2/label"), "stop at the limit".into());
    assert_eq!(at(&trace, "/actions/8/options/1/chosen"), true.into());
    assert_eq!(at(&trace, "/actions/13/options/0/rejected_because"), "there is no item".into());
    assert_eq!(at(&trace, "/actions/16/options/1/chosen"), true.into());
    assert_eq!(at(&trace, "/metrics/parallel_blocks"), 3.into());
    assert_eq!(at(&trace, "/metrics/loops"), 4.into());
    assert_eq!(at(&trace, "/metrics/max_loop_iterations"), 3.into());
    let residuals = case.residuals();
    for (id, kind) in [
        ("loop-limit-6", "limitation"),
        ("items-failed-13", "limitation"),
        ("branches-failed-16", "limitation"),
    ] {
        assert!(residuals.contains(&(id.to_owned(), kind.to_owned())), "{id}: {residuals:?}");
    }
}

#[test]
fn failures_end_a_run_or_leave_gaps_and_blocked_steps_are_named() {
    let steps = r#"[{"id": "a", "uses": "fail", "input": {}, "output": {}},
                    {"id": "b", "uses": "echo", "input": {"x": 1}, "output": {"x": "vars.x"}, "config": {"depends_on": []}},
                    {"id": "c", "uses": "echo", "input": {"x": 1}, "output": {"x": "vars.y"}, "config": {"depends_on": ["a"]}}]"#;
    let fast = Case::of(steps);
    assert_eq!(at(&fast.trace(), "/outcome/type"), "ProcessAborted".into());
    assert!(fast.residuals().contains(&("failed-2".to_owned(), "limitation".to_owned())));
    let on = Case::with(steps, FailureMode::Continue, "{}");
    assert_eq!(at(&on.trace(), "/outcome/type"), "ProcessCompleted".into());
    assert!(
        on.residuals().contains(&("not-run".to_owned(), "out_of_scope".to_owned())),
        "{:?}",
        on.residuals()
    );
    assert!(
        at(&on.trace(), "/residuals").to_string().contains("1 step of the skill has no result on record: c.")
    );
}

#[test]
fn gates_that_warn_degrade_or_block_become_gaps() {
    let case = Case::of(
        r#"[{"id": "warned", "uses": "warned", "input": {"x": 1}, "output": {"x": "vars.x"}},
            {"id": "degraded", "uses": "degraded", "input": {"x": 1}, "output": {"x": "vars.y"}},
            {"id": "blocked", "uses": "blocked", "input": {"x": 1}, "output": {"x": "vars.z"}}]"#,
    );
    let residuals = case.residuals();
    for (id, kind) in [("gate-1-2", "limitation"), ("degraded-3", "out_of_scope"), ("failed-4", "limitation")]
    {
        assert!(residuals.contains(&(id.to_owned(), kind.to_owned())), "{id}: {residuals:?}");
    }
    assert!(at(&case.trace(), "/actions/1/observations/0/statement").to_string().contains("denies"));
    assert_eq!(at(&case.trace(), "/outcome/type"), "ProcessAborted".into());
}

#[test]
fn answers_of_people_are_gateways_and_unanswered_questions_are_gaps() {
    let steps = r#"[{"id": "ask", "uses": "person", "input": {"question": "Ship it?", "options": ["yes", "no"]},
                     "output": {"answer": "vars.answer"}},
                    {"id": "wait", "uses": "silent", "input": {"question": "vars.answer", "options": ["now", "later"]}}]"#;
    let case = Case::of(steps);
    let trace = case.trace();
    assert_eq!(texts(&trace, "/actions", "type"), ["ReadDocumentation", "ExclusiveDecision"]);
    assert_eq!(at(&trace, "/actions/1/label"), "Ship it?".into());
    assert_eq!(at(&trace, "/actions/1/options/0/chosen"), true.into());
    assert_eq!(at(&trace, "/actions/1/options/1/rejected_because"), "a person chose yes: it is ready".into());
    assert_eq!(
        at(&trace, "/artifacts/2/artifact_type"),
        "UserInstruction".into(),
        "nothing declares it a yes"
    );
    assert_eq!(at(&trace, "/outcome/type"), "ProcessInterrupted".into());
    let residuals = case.residuals();
    assert!(residuals.contains(&("question-wait".to_owned(), "open_question".to_owned())), "{residuals:?}");
    assert!(at(&trace, "/residuals").to_string().contains("waits for a person to say: yes (now or later)"));
    assert!(residuals.contains(&("recorded-person".to_owned(), "limitation".to_owned())));
    assert_eq!(at(&trace, "/actions/1/reproducibility/reproduction_kind"), "tool_reexecution".into());
}

#[test]
fn complete_results_of_formal_reasoning_become_typed_artifacts() {
    let case = Case::of(
        r#"[{"id": "model", "uses": "formalize", "input": {"model_language": "iml", "formal_code": "let f x = x", "symbols": ["f"]},
             "output": {"formal_code": "vars.model"}},
            {"id": "code", "uses": "formalize", "input": {"status": "transparent", "src_lang": "py", "src_code": "f", "formal_code": "f"}},
            {"id": "goal", "uses": "goal", "input": {"on": "vars.model", "kind": "theorem", "description": "f is id", "src": "f x = x"},
             "output": {"src": "vars.goal"}},
            {"id": "proof", "uses": "prove", "input": {"on": "vars.goal", "status": "proved", "proof_pp": "by refl", "seconds": 2}},
            {"id": "refuted", "uses": "prove", "input": {"on": "vars.goal", "result": {"refuted": {"counterexample": "x = 1"}},
             "status": "refuted", "engine": "z3"}},
            {"id": "half", "uses": "prove", "input": {"on": "vars.goal", "status": "proved"}},
            {"id": "loose", "uses": "prove", "input": {"on": "vars.model", "status": "unknown"}},
            {"id": "regions", "uses": "analyse", "input": {"on": "vars.model", "analysis_kind": "region_decomposition",
             "complete": true, "regions": [{"constraints": ["x > 0"]}]}, "output": {"regions": "vars.regions"}},
            {"id": "tests", "uses": "tests", "input": {"on": "vars.regions", "function": "f", "language": "py",
             "tests": [{"name": "t", "code": "assert f(1) == 1", "region_index": 0}]}},
            {"id": "twins", "uses": "simulate", "input": {"on": "vars.model", "status": "mismatched"}},
            {"id": "rules", "uses": "conform", "input": {"on": "vars.model", "status": "passed", "reference_artifact_id": "r"}}]"#,
    );
    let trace = case.trace();
    let artifacts = at(&trace, "/artifacts");
    let found: Vec<(&str, &str, &str)> = artifacts
        .as_array()
        .unwrap()
        .iter()
        .skip(2)
        .map(|artifact| {
            let text = |key: &str| artifact.get(key).and_then(Value::as_str).unwrap();
            (text("name"), text("artifact_type"), text("artifact_role"))
        })
        .collect();
    assert_eq!(
        found,
        [
            ("model", "FormalModel", "formal_model"),
            ("code", "Formalization", "formal_model"),
            ("goal", "VerificationGoal", "reasoning_goal"),
            ("proof", "VerificationResult", "proof"),
            ("refuted", "VerificationResult", "counterexample"),
            ("half", "AnalysisNote", "reasoning_result"),
            ("loose", "AnalysisNote", "reasoning_result"),
            ("regions", "StateSpaceAnalysisResult", "state_space_analysis"),
            ("tests", "GeneratedTests", "generated_test"),
            ("twins", "CoSimulationResult", "reasoning_result"),
            ("rules", "AnalysisNote", "reasoning_result"),
        ]
    );
    assert_eq!(
        at(&trace, "/artifacts/5/payload").to_string(),
        r#"{"engine":"prove","goal_artifact_id":"goal#1","goal_id":4,"on":"f x = x","result":{"proved":{"proof_pp":"by refl","properties":[]}},"seconds":2,"status":"proved"}"#
    );
    assert_eq!(at(&trace, "/artifacts/4/payload/target_artifact_id"), "model#1".into());
    assert_eq!(at(&trace, "/artifacts/10/payload/source_analysis_artifact_id"), "regions#1".into());
    let unmet: Vec<String> =
        case.residuals().into_iter().map(|(id, _)| id).filter(|id| id.starts_with("check-")).collect();
    assert_eq!(unmet, ["check-6", "check-8", "check-11"]);
}

#[test]
fn every_question_that_waits_is_an_open_question() {
    let steps = r#"[{"id": "done", "uses": "echo", "input": {"x": 1}},
                    {"id": "wait", "uses": "silent", "input": {"question": "When?"}},
                    {"id": "each", "uses": "silent", "config": {"foreach": {"items": "inputs.list"}}},
                    {"id": "pay", "uses": "echo", "input": {"x": 1}}]"#;
    let case = Case::of(steps);
    let question = |key: &str, kind: QuestionKind, input: &str| Entry::Question {
        call: CallName {
            key: key.into(),
            step: key.split('/').next().unwrap().into(),
            capability: "c".into(),
        },
        question: Question { kind, input: parse(input.as_bytes()).unwrap(), reason: None },
    };
    let lines: Vec<u8> = [
        question("each/items/0", QuestionKind::Value, r#"{"question": "First?", "who": "the owner"}"#),
        question("each/items/1", QuestionKind::Value, r#"{"question": "Second?", "options": ["a", "b"]}"#),
        question("pay", QuestionKind::Undecided, "{}"),
        // Calls of recorded steps or of another skill do not wait.
        question("done", QuestionKind::Value, "{}"),
        question("foreign", QuestionKind::Value, "{}"),
    ]
    .iter()
    .flat_map(Entry::line)
    .collect();
    let trace = case.trace_with(&CallHistory::read(&lines).unwrap());
    let residuals = at(&trace, "/residuals");
    let open: Vec<(&str, &str, &str)> = residuals
        .as_array()
        .unwrap()
        .iter()
        .filter(|residual| residual.get("kind") == Some(&"open_question".into()))
        .map(|residual| {
            ["residual_id", "statement", "suggested_check"]
                .map(|key| residual.get(key).unwrap().as_str().unwrap())
        })
        .map(|[id, statement, check]| (id, statement, check))
        .collect();
    assert_eq!(
        open,
        [
            (
                "question-wait",
                "Step wait waits for a person to say: When?",
                "hence answer r wait --value JSON, then hence resume r"
            ),
            (
                "question-each/items/0",
                "Step each waits for the owner to say: First?",
                "hence answer r each/items/0 --value JSON, then hence resume r"
            ),
            (
                "question-each/items/1",
                "Step each waits for a person to say: Second? (a or b)",
                "hence answer r each/items/1 --value JSON, then hence resume r"
            ),
            (
                "question-pay",
                "Step pay waits for a person to say whether c happened before the run broke off.",
                "hence answer r pay --done OUTPUT or hence answer r pay --retry or hence answer r pay --fail, then hence resume r"
            ),
        ]
    );
    // Once the step that is due has asked, it is told once.
    let lines = question("wait", QuestionKind::Value, r#"{"question": "When?"}"#).line();
    let trace = case.trace_with(&CallHistory::read(&lines).unwrap());
    let ids = texts(&trace, "/residuals", "residual_id");
    assert_eq!(ids.iter().filter(|id| id.starts_with("question-")).collect::<Vec<_>>(), ["question-wait"]);
}

#[test]
fn the_frame_becomes_assumptions_and_unread_criteria_are_unverified() {
    let frame = r#"{"goal": "g", "assumptions": ["prices are net"], "constraints": {"budget": 5, "days": 2},
                    "success_criteria": {"margin": "above 3"}}"#;
    let steps = r#"[{"id": "a", "uses": "check", "input": {"x": "frame.constraints.budget"}, "output": {"x": "vars.x"}}]"#;
    let residuals = Case::with(steps, FailureMode::FailFast, frame).residuals();
    assert_eq!(
        residuals,
        [
            ("assumption-1".to_owned(), "assumption".to_owned()),
            ("constraints-2".to_owned(), "unverified".to_owned()),
            ("success-criteria-1".to_owned(), "unverified".to_owned()),
            ("inputs-as-given".to_owned(), "assumption".to_owned()),
        ]
    );
}

#[test]
fn failed_checks_and_missing_outputs_become_gaps() {
    let case = Case::of_skill(
        r#"{"id": "main", "version": "1.0.0", "name": "N", "description": "D", "inputs": {},
            "outputs": {"y": {"type": "any", "required": true}},
            "metadata": {"actions": {"judge": "ManualVerification", "echo": "AnalyzeCode"},
                         "groups": [{"id": "g", "title": "Look", "intent": "See", "steps": ["judge", "again"]}, 7]},
            "steps": [{"id": "judge", "uses": "echo", "input": {"passed": false}},
                      {"id": "between", "uses": "echo", "input": {"x": 1}},
                      {"id": "again", "uses": "skill:inner", "input": {"x": 2}, "output": {"x": "vars.x"}}]}"#,
        FailureMode::FailFast,
        "{}",
    );
    let trace = case.trace();
    assert_eq!(
        texts(&trace, "/actions", "type"),
        ["ReadDocumentation", "ManualVerification", "AnalyzeCode", "DecomposeTask", "RunTests"]
    );
    assert_eq!(
        texts(&trace, "/meta_actions", "id"),
        ["plan", "group:g", "step:between", "group:g@2", "conclusion"]
    );
    let residuals = case.residuals();
    assert!(residuals.contains(&("check-2".to_owned(), "unverified".to_owned())), "{residuals:?}");
    assert!(residuals.contains(&("outputs-missing".to_owned(), "limitation".to_owned())), "{residuals:?}");
    assert_eq!(at(&trace, "/outcome/type"), "ProcessAborted".into());
}

#[test]
fn a_reported_action_type_is_kept_if_it_is_known_or_declared_and_is_a_gap_otherwise() {
    let case = Case::of_skill(
        r#"{"id": "main", "version": "1.0.0", "name": "N", "description": "D", "inputs": {}, "outputs": {},
            "metadata": {"custom_actions": ["Publish"]},
            "steps": [{"id": "a", "uses": "echo", "input": {"report": {"action": "Release"}}},
                      {"id": "b", "uses": "echo", "input": {"report": {"action": "Publish"}}},
                      {"id": "c", "uses": "echo", "input": {"report": {"action": "Deploi"}}}]}"#,
        FailureMode::FailFast,
        "{}",
    );
    let trace = case.trace();
    assert_eq!(texts(&trace, "/actions", "type"), ["ReadDocumentation", "Release", "Publish", "RunCommand"]);
    let residuals = case.residuals();
    assert!(residuals.contains(&("action-type-4".to_owned(), "limitation".to_owned())), "{residuals:?}");
    assert!(!residuals.iter().any(|(id, _)| id == "action-type-2" || id == "action-type-3"), "{residuals:?}");
}

#[test]
fn tokens_and_the_exact_cost_of_a_call_are_in_its_execution() {
    let case = Case::of_skill(
        r#"{"id": "main", "version": "1.0.0", "name": "N", "description": "D", "inputs": {}, "outputs": {},
            "steps": [{"id": "a", "uses": "echo", "input": {"report":
                {"tokens_in": 200000, "tokens_out": 9000, "llm_calls": 1, "cost": {"amount": "15.4", "currency": "USD"}}}}]}"#,
        FailureMode::FailFast,
        "{}",
    );
    let execution = at(&case.trace(), "/actions/1/execution");
    let member = |key: &str| execution.get(key).cloned().unwrap_or_default().to_string();
    assert_eq!(
        [
            member("tokens"),
            member("tokens_in"),
            member("tokens_out"),
            member("cost"),
            member("cost_exact"),
            member("currency")
        ],
        ["209000", "200000", "9000", "15.4", "\"15.4\"", "\"USD\""]
    );
    let budgets = hence_policy::policy::built_in();
    let report = hence_policy::check(&case.trace(), budgets.policies(), hence_policy::Options::default());
    let failed: Vec<&str> = report
        .verdicts
        .iter()
        .filter(|verdict| verdict.status.as_str() == "failed")
        .map(|verdict| verdict.policy_id.as_str())
        .collect();
    assert!(
        failed.contains(&"action-cost-bounded") && failed.contains(&"action-tokens-bounded"),
        "{failed:?}"
    );
}

#[test]
fn large_outputs_are_named_by_their_blob() {
    let case = Case::of(r#"[{"id": "a", "uses": "big", "output": {"text": "vars.x"}}]"#);
    let reference = at(&case.trace(), "/artifacts/2/content_ref");
    assert!(
        reference.as_str().is_some_and(|text| text.starts_with("blob:") && text.ends_with("/produced")),
        "{reference}"
    );
}

#[test]
fn a_run_cut_after_any_record_is_valid_and_its_actions_never_change() {
    let case = Case::of(
        r#"[{"id": "a", "uses": "echo", "input": {"x": "inputs.a"}, "output": {"x": "vars.x"}, "config": {"condition": "inputs.a == 1"}},
            {"id": "b", "uses": "count", "input": {"n": "inputs.zero"}, "output": {"n": "vars.n"}, "config": {"while": {"condition": "vars.n < 1"}}},
            {"id": "c", "uses": "echo", "input": {"x": "vars.n"}, "output": {"x": "outputs.x"}}]"#,
    );
    let whole = case.trace();
    let all = at(&whole, "/actions");
    let all = all.as_array().unwrap();
    // Only what lies ahead is added later: which action follows a decision.
    let settled = |action: &Value| -> String {
        let text = action.to_string();
        let mut parts = text.split(r#","next_action_id":"#);
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
    };
    let mut counts = Vec::new();
    for end in case.ends() {
        let part = at(&case.trace_until(end), "/actions");
        let part = part.as_array().unwrap();
        for (before, after) in part.iter().zip(all) {
            assert_eq!(settled(before), settled(after));
        }
        counts.push(part.len());
    }
    assert_eq!(counts, [1, 3, 5, 6, 6]);
}

#[test]
fn a_fork_is_linked_to_its_origin_and_the_values_it_sets_are_assumptions() {
    let case = Case::of(
        r#"[{"id": "a", "uses": "echo", "input": {"x": "inputs.a"}, "output": {"x": "vars.x"}},
            {"id": "b", "uses": "echo", "input": {"x": "vars.x"}, "output": {"x": "vars.y"}},
            {"id": "c", "uses": "check", "input": {"x": "vars.x", "y": "vars.y"}, "output": {"x": "outputs.z"}}]"#,
    );
    let trace = case.forked("b", vec![("vars.x".into(), Value::from(7))]).trace();
    assert_eq!(at(&trace, "/trace_links/0/relationship"), "forked_from".into());
    assert_eq!(at(&trace, "/trace_links/0/to_trace_id"), "r".into());
    assert_eq!(at(&trace, "/trace_lineage/parent_trace_id"), "r".into());
    assert_eq!(at(&trace, "/actions/1/detail"), "carried over from the run r".into());
    assert_eq!(at(&trace, "/actions/2/detail"), Value::Null);
    // The values that the fork sets come from the problem, no longer from the step that wrote them before.
    assert_eq!(at(&trace, "/actions/2/inputs").to_string(), r#"["problem"]"#);
    assert!(texts(&trace, "/residuals", "residual_id").contains(&"set-1".to_owned()));
    assert_eq!(at(&case.trace(), "/trace_links"), Value::from(Vec::<Value>::new()));
}
