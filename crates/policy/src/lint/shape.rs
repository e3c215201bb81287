//! Operators that mean little where they are used, and parts that hold always or never.

use super::finding::{Finding, FindingKind};
use crate::formula::{Binary, Comparison, Expr, Formula, Unary};
use crate::vocabulary::Atom;

pub(super) fn lint(formula: &Formula, findings: &mut Vec<Finding>) {
    lint_operators(formula.expr(), Context { globally: false, moved: false }, findings);
    if let Expr::Unary(Unary::Globally, body) = formula.expr()
        && let Expr::Implies(trigger, demand) = &**body
    {
        if settled(trigger) == Some(false) {
            findings.push(FindingKind::VacuousTrigger(trigger.to_string()).into());
        }
        if settled(demand) == Some(true) {
            findings.push(FindingKind::VacuousDemand(demand.to_string()).into());
        }
    }
    lint_vacuity(formula.expr(), findings);
}

/// The operators around a part.
#[derive(Clone, Copy)]
struct Context {
    /// Whether the part is inside a `G`.
    globally: bool,
    /// Whether the part is inside an operator that evaluates it at other positions than the first.
    moved: bool,
}

/// Reports operators that mean little where they are used.
fn lint_operators(expr: &Expr, context: Context, findings: &mut Vec<Finding>) {
    let mut inner = context;
    match expr {
        Expr::Unary(operator, _) => {
            match operator {
                Unary::Globally if context.globally => findings.push(FindingKind::NestedGlobally.into()),
                Unary::Next => findings.push(FindingKind::Next.into()),
                Unary::Previously(_) | Unary::Historically(_) if !context.moved => {
                    findings.push(FindingKind::PastAtStart(operator.word()).into());
                }
                _ => {}
            }
            inner = Context { globally: context.globally || *operator == Unary::Globally, moved: true };
        }
        Expr::Binary(operator, ..) => {
            if *operator != Binary::Until && !context.moved {
                findings.push(FindingKind::PastAtStart(operator.word()).into());
            }
            inner.moved = true;
        }
        Expr::Count { .. } => inner.moved = true,
        _ => {}
    }
    expr.parts().for_each(|part| lint_operators(part, inner, findings));
}

/// Reports the innermost parts whose truth value is settled, and operands that are repeated.
fn lint_vacuity(expr: &Expr, findings: &mut Vec<Finding>) {
    let before = findings.len();
    // The conditions of a type are statuses to compare with.
    if !matches!(expr, Expr::Typed { .. }) {
        expr.parts().for_each(|part| lint_vacuity(part, findings));
    }
    if let Expr::And(operands) | Expr::Or(operands) = expr {
        for (at, operand) in operands.iter().enumerate() {
            if operands.iter().take(at).any(|earlier| earlier == operand) {
                findings.push(FindingKind::Repeated(operand.to_string()).into());
            }
        }
    }
    // A formula that is settled because of a part reported above needs no second finding.
    if findings.len() > before || matches!(expr, Expr::Constant(_)) {
        return;
    }
    let kind = match settled(expr) {
        Some(true) if !matches!(expr, Expr::Atom(_)) => FindingKind::AlwaysHolds(expr.to_string()),
        Some(false) => FindingKind::NeverHolds(expr.to_string()),
        _ => return,
    };
    findings.push(kind.into());
}

/// Returns the truth value of a part, if it is obviously the same at every position of every trace.
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
    let atoms: Vec<Atom> = operands
        .iter()
        .filter_map(|operand| match operand {
            Expr::Atom(word) => Some(Atom::of(word.as_str())),
            _ => None,
        })
        .collect();
    let clash = |left: &Atom, right: &Atom| match (left, right) {
        (Atom::ActionType(left), Atom::ActionType(right)) => left != right,
        (Atom::Category(left), Atom::Category(right)) => left != right,
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
