use hence_canon::{Object, Value, parse};
use proptest::prelude::*;

use super::*;
use crate::check;
use crate::formula::{Expr, Unary};
use crate::sample::{Tense, any_formula, any_present_formula, any_trace};

fn policy(id: &str, formula: &str) -> Policy {
    Policy::from_formula(&PolicyId::new(id).unwrap(), formula)
}

fn object(json: &str) -> Object {
    parse(json.as_bytes()).unwrap().as_object().unwrap().clone()
}

fn start(policies: &[Policy]) -> Monitor {
    Monitor::start(&Object::new(), policies, Options::default())
}

/// The actions of a trace, each with the artifacts it produced.
fn steps(trace: &Value) -> Vec<(Object, Vec<Object>)> {
    let list = |key: &str| trace.get(key).and_then(Value::as_array).unwrap_or(&[]).to_vec();
    let artifacts = list("artifacts");
    let produced = |action: &Object| {
        let by = |artifact: &&Value| artifact.get("producer_action_id") == action.get("id");
        artifacts.iter().filter(by).filter_map(|artifact| artifact.as_object().cloned()).collect()
    };
    let actions = list("actions");
    actions.iter().filter_map(Value::as_object).map(|action| (action.clone(), produced(action))).collect()
}

/// The first actions of a trace, with the artifacts they produced.
fn prefix(trace: &Value, len: usize) -> Value {
    let taken: Vec<(Object, Vec<Object>)> = steps(trace).into_iter().take(len).collect();
    let artifacts: Vec<Object> = taken.iter().flat_map(|(_, artifacts)| artifacts.clone()).collect();
    let actions: Vec<Object> = taken.into_iter().map(|(action, _)| action).collect();
    let header = trace.as_object().unwrap();
    header.with("actions", actions).with("artifacts", artifacts).into()
}

#[test]
fn a_violation_is_known_before_the_action_is_admitted() {
    let policies = [policy("tests-first", "G(GitCommit → P(RunTests ∧ completed))")];
    let mut monitor = start(&policies);
    let commit = object(r#"{"id": 2, "type": "GitCommit"}"#);
    let proposal = monitor.propose(&commit, &[]).unwrap();
    assert_eq!(
        proposal.violations()[0].explanation.to_string(),
        "action 2 (GitCommit): `GitCommit` holds; no earlier action in scope of `P(RunTests ∧ completed)` \
         satisfies `RunTests ∧ completed`"
    );
    drop(proposal);
    let tests = object(r#"{"id": 1, "type": "RunTests", "result_summary": "5 passed"}"#);
    assert!(monitor.propose(&tests, &[]).unwrap().admit().is_empty());
    assert!(monitor.propose(&commit, &[]).unwrap().admit().is_empty());
    assert_eq!(monitor.verdicts().next().unwrap().1, EvaluationStatus::Passed);
}

#[test]
fn a_dropped_offer_leaves_no_trace() {
    let policies =
        [policy("budget", "count(EditFile) ≤ 1"), policy("once", "G(EditFile → ¬P_target(EditFile))")];
    let mut monitor = start(&policies);
    let edit = |id: i64| object(r#"{"type": "EditFile", "request": {"path": "a"}}"#).with("id", id);
    for _ in 0..3 {
        assert!(monitor.propose(&edit(1), &[]).unwrap().violations().is_empty());
    }
    monitor.propose(&edit(1), &[]).unwrap().admit();
    assert_eq!(monitor.propose(&edit(2), &[]).unwrap().violations().len(), 2);
    assert_eq!(monitor.len(), 1);
}

#[test]
fn policies_that_need_the_future_or_the_whole_trace_are_deferred() {
    let policies = [
        policy("future", "G(EditFile → F(RunTests))"),
        policy("until", "EditFile U RunTests"),
        policy("residuals", "G(GitCommit → ∀ r ∈ residuals . r.status ≠ Open)"),
        policy("structural", "data_flow_integrity"),
        policy("end", "G(end_event)"),
        policy("broken", "G("),
        policy("least", "count(EditFile) ≥ 1"),
        policy("outputs", "G(EditFile → ∃ x ∈ outputs(a) . x.artifact_type = Diff)"),
    ];
    let monitor = start(&policies);
    let deferred: Vec<&str> = monitor.deferred().iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(deferred, ["future", "until", "residuals", "structural", "end", "broken", "least"]);
}

#[test]
fn taken_ids_are_refused() {
    let mut monitor = start(&[]);
    let action = object(r#"{"id": 1, "type": "EditFile", "outputs": ["x"]}"#);
    let artifact = object(r#"{"artifact_id": "x"}"#);
    monitor.propose(&action, std::slice::from_ref(&artifact)).unwrap().admit();
    assert_eq!(monitor.propose(&action, &[]).unwrap_err(), ProposalError::ActionIdTaken { id: 1 });
    let next = action.with("id", 2);
    assert!(matches!(
        monitor.propose(&next, &[artifact]).unwrap_err(),
        ProposalError::ArtifactIdTaken { .. }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn monitoring_agrees_with_checking_every_prefix(
        trace in any_trace(0..9),
        body in any_formula(Tense::Past),
        shape in 0..4usize,
    ) {
        let body = Box::new(body);
        let expr = match shape {
            0 | 1 => Expr::Unary(Unary::Globally, body),
            2 => Expr::Not(Box::new(Expr::Unary(Unary::Finally, body))),
            _ => Expr::Count { of: body, comparison: crate::formula::Comparison::AtMost, bound: 2 },
        };
        let policies = [policy("p", &expr.to_string())];
        let mut monitor = Monitor::start(trace.as_object().unwrap(), &policies, Options::default());
        prop_assert!(monitor.deferred().is_empty(), "{:?}", monitor.deferred());
        for (at, (action, artifacts)) in steps(&trace).iter().enumerate() {
            monitor.propose(action, artifacts).unwrap().admit();
            let batch = check(&prefix(&trace, at + 1), &policies, Options::default());
            let (_, status, violating) = monitor.verdicts().next().unwrap();
            prop_assert_eq!(status, batch.verdicts[0].status, "{} after {} of {}", expr, at + 1, trace);
            if shape < 2 {
                prop_assert_eq!(violating, batch.verdicts[0].violating.action_ids.as_slice(), "{} {}", expr, trace);
            }
        }
    }

    /// Artifacts may be made known long after the action that made them, and after what was derived from them. What was
    /// decided before stays decided; each new action is judged by all that is known when it is proposed.
    #[test]
    fn late_artifacts_count_from_the_moment_they_are_known(
        trace in any_trace(1..9),
        delays in proptest::collection::vec(0..4usize, 9),
        body in any_present_formula(),
    ) {
        let expr = Expr::Unary(Unary::Globally, Box::new(body));
        let policies = [policy("p", &expr.to_string())];
        let mut monitor = Monitor::start(trace.as_object().unwrap(), &policies, Options::default());
        prop_assert!(monitor.deferred().is_empty(), "{:?}", monitor.deferred());
        let steps = steps(&trace);
        let known_at = |made: usize| (made + delays.get(made).copied().unwrap_or(0)).min(steps.len() - 1);
        for (at, (action, _)) in steps.iter().enumerate() {
            let due = |made: &usize| known_at(*made) == at;
            let artifacts: Vec<Object> =
                (0..steps.len()).filter(due).flat_map(|made| steps[made].1.clone()).collect();
            let proposal = monitor.propose(action, &artifacts).unwrap();
            let violates = !proposal.violations().is_empty();
            proposal.admit();
            let known: Vec<Object> =
                (0..steps.len()).filter(|made| known_at(*made) <= at).flat_map(|made| steps[made].1.clone()).collect();
            let actions: Vec<Object> = steps[..=at].iter().map(|(action, _)| action.clone()).collect();
            let so_far = trace.as_object().unwrap().with("actions", actions).with("artifacts", known);
            let batch = check(&so_far.into(), &policies, Options::default());
            let last = action.get("id").and_then(Value::as_i64).unwrap();
            prop_assert_eq!(
                violates, batch.verdicts[0].violating.action_ids.contains(&last),
                "{} at {} of {} delayed {:?}", expr, at + 1, trace, delays
            );
        }
    }
}
