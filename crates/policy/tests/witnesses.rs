//! The actions, residuals and elements that a failed policy names: exactly those that make it false, each once, in order.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use hence_canon::{Value, parse};
use hence_policy::policy::{Policy, PolicyId};
use hence_policy::verdict::Verdict;
use hence_policy::{Options, check};
use hence_review::vocabulary::EvaluationStatus::{Failed, Passed};
use proptest::prelude::*;

fn verdict(formula: &str, trace: &Value) -> Verdict {
    let policy = Policy::from_formula(&PolicyId::new("p").unwrap(), formula);
    check(trace, [&policy], Options::default()).verdicts.remove(0)
}

/// Returns a trace of actions with these types, costs and rationales, ids from 1, one output each, and two residuals.
fn trace(actions: &[(&str, u64, &str)]) -> Value {
    let actions: Vec<String> = actions
        .iter()
        .enumerate()
        .map(|(at, (kind, cost, rationale))| {
            format!(
                r#"{{"id": {}, "type": "{kind}", "rationale": "{rationale}", "outputs": ["x{at}"], "execution": {{"cost": {cost}}}}}"#,
                at + 1
            )
        })
        .collect();
    let text = format!(
        r#"{{"trace_id": "t", "actions": [{}], "residuals": [
            {{"residual_id": "z", "kind": "assumption", "severity": "critical"}},
            {{"residual_id": "low", "kind": "assumption", "severity": "low"}},
            {{"residual_id": "b", "kind": "assumption", "severity": "critical"}}]}}"#,
        actions.join(",")
    );
    parse(text.as_bytes()).unwrap()
}

/// Eight actions of cost 0 to 7: the odd ones run commands, the even ones edit; actions 3 and 6 have no rationale.
fn eight() -> Value {
    let actions: Vec<(&str, u64, &str)> = (0..8)
        .map(|at| {
            (
                if at % 2 == 0 { "RunCommand" } else { "EditFile" },
                at,
                if at == 2 || at == 5 { "" } else { "r" },
            )
        })
        .collect();
    trace(&actions)
}

#[test]
fn a_quantifier_below_any_operator_names_its_elements_once_in_order() {
    let cheap = "(∀ a ∈ actions . a.execution.cost ≤ 4)";
    let reasoned = "(∀ a ∈ actions . a.rationale ≠ ∅)";
    let cases: Vec<(String, Vec<i64>)> = vec![
        (cheap.to_owned(), vec![6, 7, 8]),
        (format!("{cheap} ∧ {reasoned}"), vec![3, 6, 7, 8]),
        (format!("{reasoned} ∧ {cheap}"), vec![3, 6, 7, 8]),
        (format!("{cheap} ∧ (∀ a ∈ actions . a.execution.cost ≤ 100)"), vec![6, 7, 8]),
        (format!("{cheap} ∨ {reasoned}"), vec![3, 6, 7, 8]),
        (format!("{cheap} ∨ F(Deploy)"), vec![6, 7, 8]),
        (format!("¬¬{cheap}"), vec![6, 7, 8]),
        (format!("¬(¬{cheap})"), vec![6, 7, 8]),
        ("¬∃ a ∈ actions . a.execution.cost > 4".to_owned(), vec![6, 7, 8]),
        ("¬(∃ a ∈ actions . a.execution.cost > 4) ∧ F(EditFile)".to_owned(), vec![6, 7, 8]),
        (format!("true → {cheap}"), vec![6, 7, 8]),
        // A trigger is a reason too.
        (format!("F(EditFile) → {cheap}"), vec![2, 4, 6, 7, 8]),
        (format!("start_event ∨ {cheap}"), vec![6, 7, 8]),
        (format!("G({cheap})"), vec![6, 7, 8]),
        (format!("G(G({cheap}))"), vec![6, 7, 8]),
        (format!("F({cheap})"), vec![6, 7, 8]),
        ("F(G(execution.cost ≤ 4))".to_owned(), vec![6, 7, 8]),
        (format!("X({cheap})"), vec![6, 7, 8]),
        (format!("F(EditFile ∧ {cheap})"), vec![6, 7, 8]),
        (format!("{cheap} U Deploy"), vec![6, 7, 8]),
        (format!("G(EditFile → {cheap})"), vec![2, 4, 6, 7, 8]),
        (format!("G(EditFile → {cheap} ∧ rationale ≠ ∅)"), vec![2, 4, 6, 7, 8]),
        (format!("G(RunCommand → rationale ≠ ∅) ∧ {cheap}"), vec![3, 6, 7, 8]),
        // The outer variable is not to blame for what only the inner one says.
        ("∀ x ∈ actions . ∀ y ∈ actions . y.execution.cost ≤ 4".to_owned(), vec![6, 7, 8]),
        (
            "∀ x ∈ actions . x.type = EditFile → ∀ y ∈ actions . y.execution.cost ≤ 5".to_owned(),
            vec![2, 4, 6, 7, 8],
        ),
        ("∃! a ∈ actions . a.execution.cost > 5".to_owned(), vec![7, 8]),
        ("(∃! a ∈ actions . a.execution.cost > 5) ∧ F(EditFile)".to_owned(), vec![7, 8]),
        ("count(EditFile) ≤ 2".to_owned(), vec![6, 8]),
        ("G(RunCommand → count(EditFile) ≤ 3)".to_owned(), vec![1, 3, 5, 7, 8]),
        ("¬(count(EditFile) ≥ 3)".to_owned(), vec![6, 8]),
        ("count(EditFile) = 3".to_owned(), vec![8]),
        ("¬F(EditFile ∧ execution.cost > 4)".to_owned(), vec![6, 8]),
        ("G(¬EditFile) ∧ G(execution.cost ≤ 6)".to_owned(), vec![2, 4, 6, 8]),
        // Actions that look back are named, the ones they see are not.
        ("G(EditFile → ¬P(RunCommand ∧ execution.cost ≥ 4))".to_owned(), vec![6, 8]),
        ("(¬EditFile) U Deploy".to_owned(), vec![2]),
        // An absence names nobody, and whoever asked for it is named by its trigger.
        ("F(Deploy)".to_owned(), vec![]),
        ("count(EditFile) ≥ 9".to_owned(), vec![]),
        ("∃ a ∈ actions . a.execution.cost > 40".to_owned(), vec![]),
        ("G(EditFile → F(Deploy))".to_owned(), vec![2, 4, 6, 8]),
        ("G(F(RunCommand))".to_owned(), vec![8]),
        ("G(false)".to_owned(), (1..=8).collect()),
        // A top-level part without operators is about the first action.
        ("EditFile".to_owned(), vec![1]),
    ];
    for (formula, expected) in cases {
        let found = verdict(&formula, &eight());
        assert_eq!(found.status, Failed, "{formula}: {:?}", found.reason);
        assert_eq!(found.offending, expected, "{formula}");
    }
}

#[test]
fn residuals_and_other_elements_are_named_below_any_operator_too() {
    let fine = "(∀ r ∈ residuals . r.severity ≠ critical)";
    for formula in [
        fine.to_owned(),
        format!("{fine} ∧ count(EditFile) ≤ 20"),
        format!("count(EditFile) ≤ 20 ∧ {fine}"),
        format!("G({fine})"),
        format!("¬¬{fine}"),
        format!("F({fine}) ∨ F(Deploy)"),
        "¬∃ r ∈ residuals . r.severity = critical".to_owned(),
        "no_open_critical_residuals".to_owned(),
    ] {
        let found = verdict(&formula, &eight());
        assert_eq!(found.status, Failed, "{formula}");
        assert_eq!(found.violating.residual_ids, ["z".into(), "b".into()], "{formula}");
        assert_eq!(found.violating.action_ids, [0; 0], "{formula}");
    }
    // An element whose counterpart is missing is named; the candidates are not.
    let found = verdict("∀ r ∈ residuals . ∃ a ∈ actions . a.label = r.residual_id", &eight());
    assert_eq!(found.violating.residual_ids, ["z".into(), "low".into(), "b".into()]);
    assert_eq!(found.violating.action_ids, [0; 0]);
}

#[test]
fn naming_never_undoes_a_verdict_and_says_where_it_stopped() {
    let actions: Vec<(&str, u64, &str)> = (0..800).map(|_| ("EditFile", 1, "r")).collect();
    // Deciding ends at the first pair of each action that fails; naming looks at all of them.
    let formula = "G(EditFile → ∀ y ∈ actions_before(a) . ∀ z ∈ actions_before(a) . y.execution.cost > z.execution.cost)";
    let found = verdict(formula, &trace(&actions));
    assert_eq!(found.status, Failed, "{formula}: {:?}", found.reason);
    assert!(found.note().unwrap().contains("not every violating action is named"), "{:?}", found.note());
}

/// A formula that only universal parts make false, as text, and the costs that it allows.
fn universal() -> impl Strategy<Value = String> {
    let leaf = (0..4_u64, 0..4_usize).prop_map(|(bound, form)| match form {
        0 => format!("(∀ a ∈ actions . a.execution.cost ≤ {bound})"),
        1 => format!("(¬∃ b ∈ actions . b.execution.cost > {bound})"),
        2 => format!("(G(execution.cost ≤ {bound}))"),
        _ => format!("(¬F(execution.cost > {bound}))"),
    });
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} ∧ {right})")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} ∨ {right})")),
            inner.clone().prop_map(|inner| format!("(¬¬{inner})")),
            inner.clone().prop_map(|inner| format!("(G({inner}))")),
            inner.clone().prop_map(|inner| format!("(F({inner}))")),
            inner.clone().prop_map(|inner| format!("(F(EditFile) → {inner})")),
            inner.clone().prop_map(|inner| format!("(G(EditFile → {inner}))")),
            inner.prop_map(|inner| format!("(∀ u ∈ actions . {inner})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Repairing the named actions, and no others, makes a violation hold; none is named twice or out of order.
    #[test]
    fn repairing_the_named_actions_makes_the_formula_hold(
        formula in universal(),
        costs in proptest::collection::vec((0..6_u64, any::<bool>()), 1..7),
    ) {
        let actions: Vec<(&str, u64, &str)> =
            costs.iter().map(|(cost, edits)| (if *edits { "EditFile" } else { "RunCommand" }, *cost, "r")).collect();
        let found = verdict(&formula, &trace(&actions));
        prop_assume!(found.status == Failed);
        let named = &found.offending;
        prop_assert!(named.windows(2).all(|pair| pair[0] < pair[1]), "{formula}: {named:?}");
        let repaired: Vec<(&str, u64, &str)> = actions
            .iter()
            .zip(1_i64..)
            .map(|((kind, cost, reason), id)| (*kind, if named.contains(&id) { 0 } else { *cost }, *reason))
            .collect();
        let again = verdict(&formula, &trace(&repaired));
        prop_assert_ne!(again.status, Failed, "{} named {:?}: {:?}", formula, named, again.offending);
    }

    /// Of conjunctions, the actions named are those that violate one of the parts, and no others.
    #[test]
    fn a_conjunction_names_exactly_what_violates_a_part(
        bounds in proptest::collection::vec((0..5_u64, 0..3_usize), 1..4),
        costs in proptest::collection::vec(0..7_u64, 1..8),
    ) {
        let parts: Vec<String> = bounds.iter().map(|(bound, form)| match form {
            0 => format!("(∀ a ∈ actions . a.execution.cost ≤ {bound})"),
            1 => format!("G(∀ a ∈ actions . a.execution.cost ≤ {bound})"),
            _ => format!("G(execution.cost ≤ {bound})"),
        }).collect();
        let actions: Vec<(&str, u64, &str)> = costs.iter().map(|cost| ("RunCommand", *cost, "r")).collect();
        let found = verdict(&parts.join(" ∧ "), &trace(&actions));
        let least = bounds.iter().map(|(bound, _)| *bound).min().unwrap();
        let expected: Vec<i64> =
            costs.iter().zip(1_i64..).filter(|(cost, _)| **cost > least).map(|(_, id)| id).collect();
        prop_assert_eq!(found.status, if expected.is_empty() { Passed } else { Failed });
        prop_assert_eq!(found.offending, expected);
    }
}

#[test]
fn an_undecided_policy_is_called_unknown_and_names_the_action_that_makes_it_so() {
    let text = r#"{"actions": [{"id": 4, "type": "EditFile", "tags": ["x"]}, {"id": 9, "type": "GitCommit", "tags": "x"}]}"#;
    let trace = parse(text.as_bytes()).unwrap();
    for formula in ["G(GitCommit → \"x\" ∈ tags)", "∀ b ∈ actions . \"x\" ∈ b.tags"] {
        for severity in ["error", "warning", "info"] {
            let object =
                format!(r#"{{"id": "p", "severity": "{severity}", "formula": {}}}"#, Value::from(formula));
            let policy = Policy::read(parse(object.as_bytes()).unwrap().as_object().unwrap()).unwrap();
            let report = check(&trace, [&policy], Options::default());
            let line = report.verdicts[0].to_string();
            assert!(line.starts_with("UNKNOWN p: undecided: "), "{line}");
            assert!(line.ends_with("is not a set, first at action 9 (GitCommit)"), "{line}");
            assert_eq!(report.passes(hence_policy::FailOn::Error), severity != "error", "{line}");
        }
    }
    // A fault of the formula itself is no action's.
    let line = verdict("F(frobnicate(a))", &trace).to_string();
    assert!(line.starts_with("UNKNOWN p") && !line.contains("action "), "{line}");
}
