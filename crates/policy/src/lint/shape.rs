//! Operators that stand where they mean little.

use super::finding::{Finding, FindingKind};
use crate::formula::{Binary, Expr, Formula, Unary};

pub(super) fn lint(formula: &Formula, findings: &mut Vec<Finding>) {
    walk(formula.expr(), Around { globally: false, moved: false }, findings);
}

/// What stands around a part.
#[derive(Clone, Copy)]
struct Around {
    /// A `G`.
    globally: bool,
    /// Anything that asks at other positions than the first.
    moved: bool,
}

fn walk(expr: &Expr, around: Around, findings: &mut Vec<Finding>) {
    let mut say = |kind| findings.push(Finding { kind, place: None });
    let moved = Around { moved: true, ..around };
    match expr {
        Expr::Unary(operator, inner) => {
            match operator {
                Unary::Globally if around.globally => say(FindingKind::NestedGlobally),
                Unary::Next => say(FindingKind::Next),
                Unary::Previously(_) | Unary::Historically(_) if !around.moved => {
                    say(FindingKind::PastAtStart(operator.word()));
                }
                _ => {}
            }
            walk(
                inner,
                Around { globally: around.globally || *operator == Unary::Globally, ..moved },
                findings,
            );
        }
        Expr::Binary(operator, left, right) => {
            if *operator != Binary::Until && !around.moved {
                say(FindingKind::PastAtStart(operator.word()));
            }
            walk(left, moved, findings);
            walk(right, moved, findings);
        }
        Expr::Count { of, .. } => walk(of, moved, findings),
        Expr::Not(inner) | Expr::Quantified { body: inner, .. } => walk(inner, around, findings),
        Expr::And(parts) | Expr::Or(parts) | Expr::Typed { conditions: parts, .. } => {
            parts.iter().for_each(|part| walk(part, around, findings));
        }
        Expr::Implies(left, right) | Expr::Iff(left, right) => {
            walk(left, around, findings);
            walk(right, around, findings);
        }
        Expr::Constant(_) | Expr::Atom(_) | Expr::Compare { .. } | Expr::Member { .. } | Expr::Holds(_) => {}
    }
}
