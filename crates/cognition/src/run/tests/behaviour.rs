//! The behaviour of runs, case by case.

use super::world::{World, request};
use crate::failure::ErrorClass;
use crate::run::{CallPurpose, RunOptions, RunReport, RunRequest, SKILL_DEPTH_MAX};
use crate::schedule::FailureMode;
use crate::state::{Frame, RunStatus, StepStatus};
use crate::testing::json;

fn world() -> World {
    World::default().with("c", "{}", &[])
}

fn classes(report: &RunReport) -> Vec<&str> {
    report
        .failure
        .iter()
        .flat_map(|failed| failed.failure.chain())
        .map(|failure| failure.class.name())
        .collect()
}

fn var(report: &RunReport, key: &str) -> String {
    report.state.memory.vars().get(key).map_or_else(|| "absent".to_owned(), ToString::to_string)
}

#[test]
fn a_frame_given_with_the_request_is_read_by_steps() {
    let frame = Frame { goal: Some("ship".into()), ..Frame::default() };
    let steps = r#"[{"id": "a", "uses": "c", "input": {"g": "frame.goal"}, "output": {"echo": "vars.a"}}]"#;
    let report = world().run(steps, RunRequest { frame, ..RunRequest::default() });
    assert_eq!(var(&report, "a"), r#"{"g":"ship"}"#);
    assert_eq!(report.state.skill_version.as_deref(), Some("1.2.0"));
}

#[test]
fn a_skipped_step_satisfies_what_depends_on_it_and_leaves_a_trace() {
    let steps = r#"[{"id": "a", "uses": "c", "input": {"x": "vars.nope"}, "config": {"condition": "inputs.on"}},
                    {"id": "b", "uses": "c", "output": {"echo": "vars.b"}}]"#;
    let report = world().run(steps, request("{}"));
    assert_eq!(report.state.status, RunStatus::Completed);
    let trace: Vec<StepStatus> = report.state.trace.steps.iter().map(|step| step.status).collect();
    assert_eq!(trace, [StepStatus::Skipped, StepStatus::Completed]);
    assert_eq!(report.state.trace.metrics.step_count, 1);
}

#[test]
fn a_failing_step_keeps_its_chain_of_causes_and_its_input() {
    let mut world = World::default().with("c", "{}", &["!no disk"]);
    let steps = r#"[{"id": "a", "uses": "c", "input": {"x": 1}, "output": {"r": "vars.a"}}]"#;
    let report = world.run(steps, request("{}"));
    assert_eq!(classes(&report), ["StepExecutionError", "CapabilityExecutionError", "Broken"]);
    assert_eq!(report.outcomes[0].input, json(r#"{"x": 1}"#));
    assert_eq!(report.state.current_step, None);
}

#[test]
fn an_output_that_cannot_be_written_writes_nothing() {
    let mut world = World::default().with("c", "{}", &[r#"{"x": 1}"#]);
    let steps = r#"[{"id": "a", "uses": "c", "output": {"x": "vars.x", "nope": "vars.y"}}]"#;
    let report = world.run(steps, request("{}"));
    assert_eq!(classes(&report), ["StepExecutionError", "OutputMappingError"]);
    assert!(report.state.memory.vars().is_empty());
}

#[test]
fn retries_wait_and_only_for_failures_that_may_pass() {
    let retry = r#""config": {"retry": {"max_attempts": 3, "backoff_seconds": 0.5}}"#;
    let steps = format!(r#"[{{"id": "a", "uses": "c", "output": {{"r": "vars.r"}}, {retry}}}]"#);
    let mut world = World::default().with("c", "{}", &["!e1", "~", r#"{"r": 3}"#]);
    assert_eq!(var(&world.run(&steps, request("{}")), "r"), "3");
    assert_eq!(world.waits, [0.5, 1.0]);
    let spec = r#"{"inputs": {"need": {"type": "string", "required": true}}}"#;
    let mut world = World::default().with("c", spec, &[]);
    let report = world.run(&steps, request("{}"));
    assert_eq!(classes(&report), ["StepExecutionError", "InputMappingError"]);
    assert!(world.waits.is_empty() && world.calls.is_empty());
}

#[test]
fn named_classes_of_failure_are_the_only_ones_retried() {
    let steps = |on: &str| {
        format!(
            r#"[{{"id": "a", "uses": "c", "config": {{"retry": {{"on": ["{on}"], "backoff_seconds": 0}}}}}}]"#
        )
    };
    for (on, calls) in [("Broken", 3), ("StepTimeout", 1)] {
        let mut world = World::default().with("c", "{}", &["!no"]);
        world.run(&steps(on), request("{}"));
        assert_eq!(world.calls.len(), calls, "{on}");
    }
}

#[test]
fn foreach_aligns_results_and_counts_every_call() {
    let mut world = World::default().with("c", "{}", &[r#"{"a": 1}"#, r#"{"b": 2}"#, "!bad", r#"{"a": 4}"#]);
    let steps = r#"[{"id": "a", "uses": "c", "output": {"a": "vars.a", "b": "vars.b"},
        "config": {"foreach": {"items": "inputs.l", "as": "x", "index_as": "i", "on_error": "continue"}}}]"#;
    let report = world.run(steps, request(r#"{"l": [7, 8, 9, 10]}"#));
    assert_eq!(
        (var(&report, "a"), var(&report, "b")),
        ("[1,null,null,4]".to_owned(), "[null,2,null,null]".to_owned())
    );
    assert_eq!(report.state.trace.metrics.llm_calls, 3);
    assert_eq!(world.calls[1].1, json(r#"{"x": 8, "i": 1}"#));
    assert_eq!(
        report.outcomes[0].meta.get("foreach_errors").unwrap().to_string(),
        r#"[{"class":"CapabilityExecutionError","index":2,"message":"`c`: bad"}]"#
    );
    let failed = report.outcomes[0].failed_parts();
    assert_eq!(
        failed.iter().map(|part| format!("{}: {}", part.part, part.message)).collect::<Vec<_>>(),
        ["item 2: `c`: bad"]
    );
    assert!(report.outcomes[0].has_failures());
}

#[test]
fn a_failing_item_fails_the_step_unless_it_says_otherwise() {
    let mut world = World::default().with("c", "{}", &[r#"{"a": 1}"#, "!bad", r#"{"a": 3}"#]);
    let steps = r#"[{"id": "a", "uses": "c", "output": {"a": "vars.a"}, "config": {"foreach": {"items": "[1, 2, 3]"}}}]"#;
    let report = world.run(steps, request("{}"));
    assert_eq!(report.state.status, RunStatus::Failed);
    assert_eq!(world.calls.len(), 2);
}

#[test]
fn a_loop_reads_its_own_writes_and_writes_all_of_them_or_none() {
    let steps = r#"[{"id": "a", "uses": "c", "input": {"seen": "working.messages"}, "output": {"m": "working.messages"},
        "config": {"merge_strategy": "append", "while": {"condition": "not 'stop' in working.messages"}}}]"#;
    let mut world = World::default().with("c", "{}", &[r#"{"m": ["a"]}"#, r#"{"m": ["stop"]}"#]);
    let report = world.run(steps, request("{}"));
    assert_eq!(report.state.memory.working().slot("messages".parse().unwrap()), json(r#"["a", "stop"]"#));
    assert_eq!(world.calls[1].1, json(r#"{"seen": ["a"]}"#));
    let mut world = World::default().with("c", "{}", &[r#"{"m": ["a"]}"#, "!broken"]);
    let report = world.run(steps, request("{}"));
    assert_eq!(report.state.memory.working().slot("messages".parse().unwrap()), json("[]"));
}

#[test]
fn safety_is_asked_for_whatever_is_really_called() {
    let guarded = r#"{"safety": {"mandatory_pre_gates": ["gate"]}}"#;
    let denying = || {
        World::default().with("free", "{}", &[]).with("guarded", guarded, &[]).with(
            "gate",
            "{}",
            &[r#"{"allowed": false}"#],
        )
    };
    for config in [
        r#"{"router": {"on": "'x'", "cases": {"x": "guarded"}}}"#,
        r#"{"scatter": {"capabilities": ["free", "guarded"]}}"#,
    ] {
        let mut world = denying();
        let report =
            world.run(&format!(r#"[{{"id": "a", "uses": "free", "config": {config}}}]"#), request("{}"));
        assert_eq!(classes(&report), ["SafetyGateFailedError"], "{config}");
        assert!(!world.called().contains(&"guarded"), "{config}");
    }
    let mut world = denying().with("gate", "{}", &[r#"{"allowed": true}"#]);
    let steps = r#"[{"id": "a", "uses": "guarded", "config": {"foreach": {"items": "[1, 2]"}}}]"#;
    world.run(steps, request("{}"));
    assert_eq!(world.calls.iter().filter(|(_, _, purpose)| *purpose == CallPurpose::GateBefore).count(), 2);
}

#[test]
fn gates_fail_closed_and_stop_the_run_in_every_mode() {
    let options = RunOptions { on_failure: FailureMode::Continue, ..RunOptions::default() };
    let guarded = r#"{"safety": {"mandatory_post_gates": [{"capability": "gate", "on_fail": "warn"}]}}"#;
    for (replies, expected) in [
        (&["!down"] as &[&str], ErrorClass::GateExecution),
        (&["~"], ErrorClass::GateExecution),
        (&["[]"], ErrorClass::GateExecution),
    ] {
        let mut world = World::default().with("c", guarded, &[]).with("gate", "{}", replies);
        let steps = r#"[{"id": "a", "uses": "c", "output": {"echo": "vars.a"}}, {"id": "b", "uses": "c"}]"#;
        let report = world.run(steps, RunRequest { options: options.clone(), ..RunRequest::default() });
        assert_eq!(report.failure.unwrap().failure.class, expected);
        assert!(report.state.memory.vars().is_empty());
        assert_eq!(report.outcomes.len(), 1);
    }
}

#[test]
fn a_denial_that_degrades_leaves_the_step_without_effect() {
    let guarded = r#"{"safety": {"mandatory_post_gates": [{"capability": "gate", "on_fail": "degrade"}]}}"#;
    let mut world = World::default()
        .with("c", guarded, &[])
        .with("gate", "{}", &[r#"{"allowed": "yes"}"#])
        .with("d", "{}", &[]);
    let steps = r#"[{"id": "a", "uses": "c", "output": {"echo": "vars.a"}}, {"id": "b", "uses": "d", "output": {"echo": "vars.b"}}]"#;
    let report = world.run(steps, request("{}"));
    assert_eq!((var(&report, "a"), var(&report, "b")), ("absent".to_owned(), "{}".to_owned()));
    assert_eq!(report.outcomes[0].status, StepStatus::Degraded);
    assert_eq!(report.state.status, RunStatus::Completed);
}

#[test]
fn nested_runs_are_linked_isolated_and_bounded() {
    let inner = r#"[{"id": "i", "uses": "c", "input": {"t": "inputs.t"}, "output": {"echo": "outputs.o"}}]"#;
    let steps = r#"[{"id": "a", "uses": "skill:in", "input": {"t": 1}, "output": {"o": "vars.o"}}]"#;
    let mut world = world().nesting("in", inner);
    let report = world.run(steps, RunRequest { run_id: Some("r1".into()), ..RunRequest::default() });
    assert_eq!(var(&report, "o"), r#"{"t":1}"#);
    assert_eq!(world.nested[0].parent_run_id.as_deref(), Some("r1"));
    let limited = |max_skill_depth| RunRequest {
        options: RunOptions { max_skill_depth, ..RunOptions::default() },
        ..RunRequest::default()
    };
    assert_eq!(world.run(steps, limited(1)).state.status, RunStatus::Completed);
    let report = world.run(steps, limited(0));
    assert_eq!(report.failure.unwrap().code().as_str(), "max_depth_exceeded");
    let forever = r#"[{"id": "m", "uses": "skill:loop"}]"#;
    let mut world = World::default().nesting("loop", forever);
    let report = world.run(forever, limited(u32::MAX));
    assert_eq!(report.state.status, RunStatus::Failed);
    assert_eq!(world.nested.iter().map(|run| run.depth).max(), Some(SKILL_DEPTH_MAX));
}

#[test]
fn a_nested_denial_is_a_denial() {
    let inner = r#"[{"id": "i", "uses": "c"}]"#;
    let mut world = World::default()
        .with("c", r#"{"safety": {"requires_confirmation": true}}"#, &[])
        .nesting("in", inner);
    let report = world.run(r#"[{"id": "a", "uses": "skill:in"}]"#, request("{}"));
    assert_eq!(report.failure.unwrap().code().as_str(), "confirmation_required");
}

#[test]
fn a_person_confirms_each_call_where_one_can_be_asked() {
    let confirmed = |answers: &[&str]| {
        World::default().with("c", r#"{"safety": {"requires_confirmation": true}}"#, &[]).with(
            "human.ask",
            "{}",
            answers,
        )
    };
    let steps = r#"[{"id": "a", "uses": "c", "input": {"x": 1}, "output": {"echo": "vars.a"}}]"#;
    let mut world = confirmed(&[r#"{"value": "yes"}"#]);
    let report = world.run(steps, request("{}"));
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert_eq!(world.called(), ["human.ask", "c"]);
    assert_eq!(world.keys[0], "a/0.0/confirm/human.ask/1");
    assert_eq!(world.calls[0].1.get("context").unwrap().to_string(), r#"{"x":1}"#);
    for no in [r#"{"value": "no", "by": "ada"}"#, r#"{"value": true}"#, "!broken", "~", "[]"] {
        let mut world = confirmed(&[no]);
        let report = world.run(steps, request("{}"));
        assert_eq!(report.failure.unwrap().code().as_str(), "confirmation_required", "{no}");
        assert_eq!(world.called(), ["human.ask"], "{no}");
    }
}

#[test]
fn a_gate_that_wants_a_person_asks_one_and_each_question_has_its_own_key() {
    let gates = r#"{"safety": {"mandatory_pre_gates": [
        {"capability": "g", "on_fail": "require_human"}, {"capability": "h", "on_fail": "require_human"}]}}"#;
    let mut world = World::default()
        .with("c", gates, &[])
        .with("g", "{}", &[r#"{"allowed": false, "reason": "large"}"#])
        .with("h", "{}", &[r#"{"allowed": false}"#])
        .with("human.ask", "{}", &[r#"{"value": "yes"}"#]);
    let report = world.run(r#"[{"id": "a", "uses": "c"}]"#, request("{}"));
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert_eq!(world.called(), ["g", "human.ask", "h", "human.ask", "c"]);
    let questions: Vec<&String> = world.keys.iter().filter(|key| key.contains("confirm")).collect();
    assert_eq!(questions, ["a/0.0/confirm/human.ask/1", "a/0.0/confirm/human.ask/2"]);
    let question = world.calls[1].1.get("question").unwrap();
    assert_eq!(question.as_str(), Some("gate `g` denies: large. Go on all the same?"));
}

#[test]
fn declared_inputs_get_their_defaults_and_are_checked() {
    let skill = |inputs: &str| {
        let text = format!(
            r#"{{"id": "s", "version": "1", "name": "N", "description": "D", "inputs": {inputs}, "outputs": {{}},
                "steps": [{{"id": "a", "uses": "c", "input": {{"t": "inputs.t"}}, "output": {{"echo": "vars.a"}}}}]}}"#
        );
        crate::skill::Skill::read(&json(&text)).skill.unwrap()
    };
    let run = |inputs: &str, given: &str| crate::run::run(&skill(inputs), request(given), &mut world());
    let report = run(r#"{"t": {"type": "string", "required": true, "default": "dflt"}}"#, "{}");
    assert_eq!(var(&report, "a"), r#"{"t":"dflt"}"#);
    for (inputs, given) in [
        (r#"{"t": {"type": "string", "required": true}}"#, "{}"),
        (r#"{"t": {"type": "integer"}}"#, r#"{"t": true}"#),
    ] {
        let report = run(inputs, given);
        assert_eq!(report.failure.unwrap().code().as_str(), "invalid_request");
        assert!(report.outcomes.is_empty());
    }
}

#[test]
fn without_fail_fast_only_dependents_of_a_failure_are_blocked() {
    let mut world = World::default().with("bad", "{}", &["!x"]).with("c", "{}", &[]);
    let steps = r#"[{"id": "a", "uses": "bad", "config": {"depends_on": []}},
                    {"id": "b", "uses": "c", "config": {"depends_on": ["a"]}},
                    {"id": "d", "uses": "c", "config": {"depends_on": []}}]"#;
    let options = RunOptions { on_failure: FailureMode::Continue, ..RunOptions::default() };
    let report = world.run(steps, RunRequest { options, ..RunRequest::default() });
    let results: Vec<(&str, StepStatus)> =
        report.state.step_results.iter().map(|result| (&*result.step_id, result.status)).collect();
    assert_eq!(
        results,
        [("a", StepStatus::Failed), ("d", StepStatus::Completed), ("b", StepStatus::Skipped)]
    );
}

#[test]
fn a_call_that_waits_stops_the_run_without_an_outcome() {
    let inner = r#"[{"id": "i", "uses": "ask", "output": {"v": "outputs.v"}}]"#;
    let steps = r#"[{"id": "a", "uses": "c"}, {"id": "b", "uses": "skill:in", "output": {"v": "vars.v"}}]"#;
    let mut world = world().with("ask", "{}", &["?", r#"{"v": 1}"#]).nesting("in", inner);
    let report = world.run(steps, request("{}"));
    assert_eq!((report.outcomes.len(), report.state.status), (1, RunStatus::Running));
    assert_eq!(&*report.waiting.unwrap().key, "b/0.0/in/1/i/0.0/call/ask/1");
    assert_eq!(report.state.current_step.as_deref(), Some("b"));
}

#[test]
fn every_call_of_a_run_has_a_key_of_its_own() {
    let steps = r#"[
        {"id": "a", "uses": "c", "config": {"foreach": {"items": "[1, 2, 3]", "parallel": 2}}},
        {"id": "b", "uses": "bad", "config": {"retry": {"backoff_seconds": 0}, "depends_on": []}},
        {"id": "c", "uses": "c", "config": {"while": {"condition": "true", "max_iterations": 2}}},
        {"id": "d", "uses": "c", "config": {"scatter": {"capabilities": ["c", "c"]}}},
        {"id": "e", "uses": "skill:in", "config": {"foreach": {"items": "[1, 2]"}}}]"#;
    let inner = r#"[{"id": "a", "uses": "c"}]"#;
    let mut world = world().with("bad", "{}", &["!no", "!no", "{}"]).nesting("in", inner);
    let report = world.run(steps, request("{}"));
    assert_eq!(report.state.status, RunStatus::Completed);
    let distinct: std::collections::BTreeSet<&String> = world.keys.iter().collect();
    assert_eq!((distinct.len(), world.keys.len()), (12, 12));
}

#[test]
fn a_wave_of_items_is_called_whole_and_no_other_follows_a_failure() {
    let steps =
        r#"[{"id": "a", "uses": "c", "config": {"foreach": {"items": "[1, 2, 3, 4]", "parallel": 2}}}]"#;
    let mut world = World::default().with("c", "{}", &["!bad", "{}"]);
    assert_eq!(world.run(steps, request("{}")).state.status, RunStatus::Failed);
    assert_eq!(world.calls.len(), 2);
}

#[test]
fn the_limit_of_attempts_holds_whatever_a_document_says() {
    let steps =
        r#"[{"id": "a", "uses": "c", "config": {"retry": {"max_attempts": 100000, "backoff_seconds": 0}}}]"#;
    let mut world = World::default().with("c", "{}", &["!no"]);
    world.run(steps, request("{}"));
    assert_eq!(world.calls.len() as u64, crate::skill::RETRY_ATTEMPTS_MAX);
}
