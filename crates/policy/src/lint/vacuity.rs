//! Parts that hold always or never, and rules that therefore say nothing.

use super::finding::{Finding, FindingKind};
use crate::formula::{Comparison, Expr, Formula, Unary};
use crate::vocabulary::Atom;

pub(super) fn lint(formula: &Formula, findings: &mut Vec<Finding>) {
    let mut say = |kind| findings.push(Finding { kind, place: None });
    if let Expr::Unary(Unary::Globally, body) = formula.expr()
        && let Expr::Implies(trigger, demand) = &**body
    {
        if settled(trigger) == Some(false) {
            say(FindingKind::VacuousTrigger(trigger.to_string()));
        }
        if settled(demand) == Some(true) {
            say(FindingKind::VacuousDemand(demand.to_string()));
        }
    }
    walk(formula.expr(), findings);
}

/// Names the innermost parts that are settled, and operands that are repeated.
fn walk(expr: &Expr, findings: &mut Vec<Finding>) {
    let before = findings.len();
    for part in parts(expr) {
        walk(part, findings);
    }
    if let Expr::And(operands) | Expr::Or(operands) = expr {
        for (at, operand) in operands.iter().enumerate() {
            if operands.iter().take(at).any(|earlier| earlier == operand) {
                findings.push(Finding { kind: FindingKind::Repeated(operand.to_string()), place: None });
            }
        }
    }
    // What is settled because of a part already named needs no second finding.
    if findings.len() > before || matches!(expr, Expr::Constant(_)) {
        return;
    }
    let kind = match settled(expr) {
        Some(true) if !matches!(expr, Expr::Atom(_)) => FindingKind::AlwaysHolds(expr.to_string()),
        Some(false) => FindingKind::NeverHolds(expr.to_string()),
        _ => return,
    };
    findings.push(Finding { kind, place: None });
}

fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Not(inner) | Expr::Unary(_, inner) | Expr::Count { of: inner, .. } => vec![inner],
        Expr::Quantified { body, .. } => vec![body],
        Expr::And(operands) | Expr::Or(operands) => operands.iter().collect(),
        Expr::Implies(left, right) | Expr::Iff(left, right) | Expr::Binary(_, left, right) => {
            vec![left, right]
        }
        _ => Vec::new(),
    }
}

/// Returns the truth value a part has at every position of every trace, where that is plain to see.
fn settled(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Constant(value) => Some(*value),
        Expr::Atom(word) if Atom::of(word.as_str()) == Atom::Action => Some(true),
        Expr::Not(inner) => settled(inner).map(|value| !value),
        Expr::And(operands) => {
            let values: Vec<Option<bool>> = operands.iter().map(settled).collect();
            if values.contains(&Some(false)) || exclusive(operands) {
                Some(false)
            } else {
                values.iter().all(|value| *value == Some(true)).then_some(true)
            }
        }
        Expr::Or(operands) => {
            let values: Vec<Option<bool>> = operands.iter().map(settled).collect();
            if values.contains(&Some(true)) || complementary(operands) {
                Some(true)
            } else {
                values.iter().all(|value| *value == Some(false)).then_some(false)
            }
        }
        Expr::Implies(left, right) if left == right => Some(true),
        Expr::Implies(left, right) => match (settled(left), settled(right)) {
            (Some(false), _) | (_, Some(true)) => Some(true),
            (Some(true), value) => value,
            _ => None,
        },
        Expr::Count { comparison: Comparison::AtLeast, bound: 0, .. } => Some(true),
        Expr::Count { comparison: Comparison::Below, bound: 0, .. } => Some(false),
        _ => None,
    }
}

/// Returns whether two operands cannot hold of one action: two types, two categories, φ and ¬φ.
fn exclusive(operands: &[Expr]) -> bool {
    let atoms: Vec<(&str, Atom)> = operands
        .iter()
        .filter_map(|operand| match operand {
            Expr::Atom(word) => Some((word.as_str(), Atom::of(word.as_str()))),
            _ => None,
        })
        .collect();
    let clash = |(left_name, left): &(&str, Atom), (right_name, right): &(&str, Atom)| match (left, right) {
        (Atom::ActionType(left), Atom::ActionType(right)) => left != right,
        (Atom::Category(left), Atom::Category(right)) => left != right,
        (Atom::PackType, Atom::PackType) => left_name != right_name,
        (Atom::PackType, Atom::ActionType(_)) | (Atom::ActionType(_), Atom::PackType) => true,
        _ => false,
    };
    atoms.iter().enumerate().any(|(at, atom)| atoms.iter().take(at).any(|earlier| clash(earlier, atom)))
        || complementary(operands)
}

/// Returns whether some operand is the negation of another.
fn complementary(operands: &[Expr]) -> bool {
    operands.iter().any(|operand| match operand {
        Expr::Not(inner) => operands.iter().any(|other| other == &**inner),
        _ => false,
    })
}
