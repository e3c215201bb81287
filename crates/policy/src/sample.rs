//! Random traces and formulas for property tests.

use hence_canon::{Object, Value};
use proptest::prelude::*;

use crate::formula::{Binary, Comparison, Expr, Formula, Term, Unary};

const TYPES: [&str; 7] = ["ReadFile", "EditFile", "RunTests", "GitCommit", "DeleteFile", "Verify", "GitPush"];
const PATHS: [&str; 4] = ["src/a.py", "src/b.py", "payments/c.py", ""];
const ATOMS: [&str; 15] = [
    "action",
    "ReadFile",
    "EditFile",
    "RunTests",
    "GitCommit",
    "Verify",
    "GitPush",
    "Diff",
    "completed",
    "failed",
    "proved",
    "refuted",
    "force_flag",
    "high_stakes_path",
    "activity",
];

/// Formulas about the present action that are more than an atom.
const RELATIONS: [&str; 6] = [
    "∃ x ∈ inputs(a) . x.payload.status = proved",
    "∀ x ∈ outputs(a) . x.artifact_type = Diff → x.name ≠ ∅",
    "∃! x ∈ inputs(a) . x.producer_action_id < 3",
    "Count(inputs(a)) = 2",
    "target(a) = \"src/a.py\"",
    "Diff ∈ inputs(a)",
];

fn relation(text: &str) -> Expr {
    Formula::parse(text).unwrap().expr().clone()
}

/// The random choices of one action.
#[derive(Clone, Debug)]
struct Draft {
    kind: usize,
    path: usize,
    sources: [usize; 2],
    produces: bool,
    consumes: bool,
    flavour: usize,
}

fn any_draft() -> impl Strategy<Value = Draft> {
    (0..TYPES.len(), 0..PATHS.len(), [0..3usize, 0..9usize], any::<bool>(), any::<bool>(), 0..6usize)
        .prop_map(|(kind, path, sources, produces, consumes, flavour)| Draft {
            kind,
            path,
            sources,
            produces,
            consumes,
            flavour,
        })
}

/// A trace in which everything is produced before it is used.
pub(crate) fn any_trace(actions: std::ops::Range<usize>) -> impl Strategy<Value = Value> {
    proptest::collection::vec(any_draft(), actions).prop_map(|drafts| {
        let (mut actions, mut artifacts): (Vec<Object>, Vec<Object>) = (Vec::new(), Vec::new());
        for (at, draft) in drafts.iter().enumerate() {
            let known: Vec<String> = artifacts
                .iter()
                .filter_map(|artifact| Some(artifact.get("artifact_id")?.as_str()?.to_owned()))
                .collect();
            let sources: Vec<String> =
                draft.sources.iter().filter_map(|source| known.iter().rev().nth(*source).cloned()).collect();
            actions.push(action(at, draft, &sources));
            if draft.produces {
                artifacts.push(artifact(at, draft, &sources));
            }
        }
        let trace: Object = [
            ("trace_id", Value::from("sample")),
            ("trigger", Value::from([("type", "TaskReceived")].into_iter().collect::<Object>())),
            ("actions", actions.into()),
            ("artifacts", artifacts.into()),
        ]
        .into_iter()
        .collect();
        trace.into()
    })
}

fn action(at: usize, draft: &Draft, sources: &[String]) -> Object {
    let summary = match draft.flavour {
        0 => "5 passed",
        1 => "2 failed",
        _ => "",
    };
    let detail = if draft.flavour == 2 { "with force flag" } else { "" };
    let outputs: Vec<String> = if draft.produces { vec![format!("a{at}")] } else { Vec::new() };
    let evidence: Object = [("type", "FileRef"), ("ref", PATHS[draft.path])].into_iter().collect();
    [
        ("id", Value::from(at as u64 + 1)),
        ("type", TYPES[draft.kind].into()),
        ("category", if draft.kind == 5 { "reasoning" } else { "activity" }.into()),
        ("rationale", if draft.flavour == 3 { "" } else { "needed" }.into()),
        ("detail", detail.into()),
        ("result_summary", summary.into()),
        ("inputs", if draft.consumes { sources.to_vec().into() } else { Vec::<String>::new().into() }),
        ("outputs", outputs.into()),
        ("evidence", vec![evidence].into()),
    ]
    .into_iter()
    .collect()
}

fn artifact(at: usize, draft: &Draft, sources: &[String]) -> Object {
    let status = if draft.flavour.is_multiple_of(2) { "proved" } else { "refuted" };
    let payload: Object = [("status", status)].into_iter().collect();
    [
        ("artifact_id", Value::from(format!("a{at}"))),
        ("artifact_type", if draft.kind == 5 { "VerificationResult" } else { "Diff" }.into()),
        ("name", PATHS[(draft.path + draft.flavour) % PATHS.len()].into()),
        ("producer_action_id", (at as u64 + 1).into()),
        ("derived_from", sources.to_vec().into()),
        ("payload", payload.into()),
    ]
    .into_iter()
    .collect()
}

/// Which operators a random formula may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    Past,
    Any,
}

/// A formula over the vocabulary of [`any_trace`].
pub(crate) fn any_formula(tense: Tense) -> impl Strategy<Value = Expr> {
    let rationale = Expr::Compare {
        left: Term::Word("rationale".into()),
        comparison: Comparison::NotEqual,
        right: Term::Empty,
    };
    let leaf = prop_oneof![
        8 => (0..ATOMS.len()).prop_map(|at| Expr::Atom(ATOMS[at].into())),
        1 => any::<bool>().prop_map(Expr::Constant),
        1 => Just(rationale),
        2 => proptest::sample::select(RELATIONS.to_vec()).prop_map(relation),
        1 => Just(Expr::Typed { name: "VerificationResult".into(), conditions: vec![Expr::Atom("proved".into())] }),
    ];
    leaf.prop_recursive(4, 24, 3, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let unary: Vec<Unary> = Unary::ALL
            .iter()
            .map(|(_, operator)| *operator)
            // The scoped ones hold most of the code, so they come up most often.
            .flat_map(|operator| {
                let scoped = operator.word().contains('_');
                std::iter::repeat_n(operator, if scoped { 3 } else { 1 })
            })
            .filter(|operator| tense == Tense::Any || matches!(operator, Unary::Previously(_) | Unary::Historically(_)))
            .collect();
        let binary = match tense {
            Tense::Any => vec![Binary::Until, Binary::Since, Binary::SinceLast],
            Tense::Past => vec![Binary::Since, Binary::SinceLast],
        };
        prop_oneof![
            1 => boxed.clone().prop_map(Expr::Not),
            1 => proptest::collection::vec(inner.clone(), 2..4).prop_map(Expr::And),
            1 => proptest::collection::vec(inner, 2..4).prop_map(Expr::Or),
            1 => (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Expr::Implies(left, right)),
            1 => (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Expr::Iff(left, right)),
            3 => (proptest::sample::select(unary), boxed.clone()).prop_map(|(operator, inner)| Expr::Unary(operator, inner)),
            2 => (proptest::sample::select(binary), boxed.clone(), boxed)
                .prop_map(|(operator, left, right)| Expr::Binary(operator, left, right)),
        ]
    })
}

/// A formula whose operators of the past look back on what actions say of themselves, so that it does not matter when
/// an artifact was made known to an earlier one.
pub(crate) fn any_present_formula() -> impl Strategy<Value = Expr> {
    const OWN: [&str; 6] = ["ReadFile", "EditFile", "RunTests", "GitCommit", "completed", "activity"];
    let own = || (0..OWN.len()).prop_map(|at| Expr::Atom(OWN[at].into()));
    let looked_for = prop_oneof![
        2 => own(),
        1 => own().prop_map(|atom| Expr::Not(Box::new(atom))),
        1 => proptest::collection::vec(own(), 2..3).prop_map(Expr::And),
    ];
    let scoped: Vec<Unary> = Unary::ALL
        .iter()
        .map(|(_, operator)| *operator)
        .filter(|operator| matches!(operator, Unary::Previously(_) | Unary::Historically(_)))
        .collect();
    let past = (proptest::sample::select(scoped), looked_for)
        .prop_map(|(operator, inner)| Expr::Unary(operator, Box::new(inner)));
    let leaf = prop_oneof![3 => past, 1 => own()];
    leaf.prop_recursive(2, 8, 2, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Expr::Not),
            proptest::collection::vec(inner, 2..3).prop_map(Expr::Or),
            (boxed.clone(), boxed).prop_map(|(left, right)| Expr::Implies(left, right)),
        ]
    })
}
