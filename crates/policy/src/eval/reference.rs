//! The semantics written down as plainly as the definitions, to hold the fast evaluator against.

use hence_review::wire::Position;
use proptest::prelude::*;

use super::evaluator::{Evaluator, Undecided};
use super::subject::Subject;
use super::truth::SinceReading;
use crate::formula::{Binary, Expr, Formula, Scope, Unary};
use crate::sample::{Tense, any_formula, any_trace};

fn in_scope(subject: &Subject, scope: Scope, earlier: usize, at: usize) -> bool {
    let (earlier, at) = (Position::new(earlier), Position::new(at));
    match scope {
        Scope::All => true,
        Scope::Target => subject.lineage().shares_target(earlier, at),
        Scope::Chain => subject.lineage().in_chain(earlier, at),
    }
}

/// Returns whether a formula holds at a position, straight from the definitions.
fn holds(subject: &Subject, expr: &Expr, at: usize, reading: SinceReading) -> bool {
    let here = |part: &Expr, at: usize| holds(subject, part, at, reading);
    let len = subject.len();
    match expr {
        Expr::Constant(value) => *value,
        Expr::Not(inner) => !here(inner, at),
        Expr::And(parts) => parts.iter().all(|part| here(part, at)),
        Expr::Or(parts) => parts.iter().any(|part| here(part, at)),
        Expr::Implies(left, right) => !here(left, at) || here(right, at),
        Expr::Iff(left, right) => here(left, at) == here(right, at),
        Expr::Unary(operator, inner) => match operator {
            Unary::Globally => (at..len).all(|later| here(inner, later)),
            Unary::Finally => (at..len).any(|later| here(inner, later)),
            Unary::Next => at + 1 < len && here(inner, at + 1),
            Unary::Previously(scope) => {
                (0..at).any(|earlier| in_scope(subject, *scope, earlier, at) && here(inner, earlier))
            }
            Unary::Historically(scope) => {
                (0..at).all(|earlier| !in_scope(subject, *scope, earlier, at) || here(inner, earlier))
            }
        },
        Expr::Binary(operator, left, right) => match (operator, reading) {
            (Binary::Until, _) => {
                (at..len).any(|end| here(right, end) && (at..end).all(|between| here(left, between)))
            }
            (Binary::Since, SinceReading::Strict) => {
                (0..at).any(|start| here(right, start) && (start + 1..at).all(|between| here(left, between)))
            }
            (Binary::Since, SinceReading::NonStrict) => (0..=at)
                .any(|start| here(right, start) && (start + 1..=at).all(|between| here(left, between))),
            (Binary::SinceLast, _) => {
                let after = (0..at).rev().find(|earlier| here(right, *earlier)).map_or(0, |last| last + 1);
                (after..at).any(|between| here(left, between))
            }
        },
        // Leaves are the same code; what is compared here is time and scope.
        leaf => Evaluator::new(subject, reading).truth(leaf).unwrap().at(at),
    }
}

#[test]
fn work_is_bounded_and_running_out_is_not_an_answer() {
    let text = r#"{"actions": [{"id": 1}, {"id": 2}, {"id": 3}]}"#;
    let subject = Subject::read(&hence_canon::parse(text.as_bytes()).unwrap()).unwrap();
    let nested = Formula::parse("∀ x ∈ actions . ∀ y ∈ actions . x < y ∨ y < x ∨ x = y").unwrap();
    let needed = (1..).find(|steps| Evaluator::with_budget(&subject, *steps).truth(nested.expr()).is_ok());
    let needed = needed.unwrap();
    assert!(Evaluator::with_budget(&subject, needed).truth(nested.expr()).unwrap().at(0));
    let short = Evaluator::with_budget(&subject, needed - 1).truth(nested.expr());
    assert_eq!(short, Err(Undecided::TooMuchWork));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn evaluation_agrees_with_the_definitions_at_every_position(
        trace in any_trace(1..9),
        expr in any_formula(Tense::Any),
        non_strict in any::<bool>(),
    ) {
        let subject = Subject::read(&trace).unwrap();
        let reading = if non_strict { SinceReading::NonStrict } else { SinceReading::Strict };
        let truth = Evaluator::new(&subject, reading).truth(&expr).unwrap();
        for at in 0..subject.len() {
            prop_assert_eq!(truth.at(at), holds(&subject, &expr, at, reading), "{} at {}", expr, at);
        }
    }
}
