//! Whether a policy holds only because nothing it speaks of occurs in the trace.

use crate::eval::{Decided, Evaluator};
use crate::formula::{Comparison, Expr, Quantifier, Term, Unary};

/// Returns whether a formula that holds does so only because nothing it forbids or restricts occurs.
///
/// `G(¬x)` holds because no action is x, `count(x) ≤ 20` because none was counted, `∀ r ∈ residuals . …` because there
/// are no residuals: such a rule was not exercised by the trace, and its verdict is no evidence of care.
pub(super) fn holds_by_absence(expr: &Expr, evaluator: &mut Evaluator<'_>) -> Decided<bool> {
    is_idle(expr, Asked::AtStart, evaluator)
}

/// The positions at which a part of a formula is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    AtStart,
    Everywhere,
}

impl Asked {
    fn positions(self, evaluator: &Evaluator<'_>) -> std::ops::Range<usize> {
        match self {
            Self::AtStart => 0..evaluator.len().min(1),
            Self::Everywhere => 0..evaluator.len(),
        }
    }
}

fn is_idle(expr: &Expr, asked: Asked, evaluator: &mut Evaluator<'_>) -> Decided<bool> {
    if asked == Asked::Everywhere && evaluator.len() == 0 {
        return Ok(true);
    }
    Ok(match expr {
        Expr::Not(inner) => match &**inner {
            Expr::Not(twice) => is_idle(twice, asked, evaluator)?,
            // `¬(x → y)` demands an x.
            Expr::Implies(..) | Expr::Unary(Unary::Globally | Unary::Historically(_), _) => false,
            // `¬(x = ∅)` demands an x, and `¬(x ≠ y)` that one.
            Expr::Compare { comparison: Comparison::NotEqual, .. }
            | Expr::Compare { comparison: Comparison::Equal, right: Term::Empty, .. } => false,
            _ => true,
        },
        Expr::Implies(trigger, demand) => {
            matches!(**demand, Expr::Constant(false)) || never(trigger, asked, evaluator)?
        }
        Expr::And(parts) => all_idle(parts, asked, evaluator)?,
        // `¬x ∨ y` is `x → y`.
        Expr::Or(parts) => {
            let triggers: Vec<Expr> = parts
                .iter()
                .filter_map(|part| match part {
                    Expr::Not(inner) => Some((**inner).clone()),
                    _ => None,
                })
                .collect();
            !triggers.is_empty() && never(&Expr::And(triggers), asked, evaluator)?
        }
        Expr::Unary(Unary::Globally | Unary::Next, body) => is_idle(body, Asked::Everywhere, evaluator)?,
        // Before the first action there is nothing.
        Expr::Unary(Unary::Historically(_), body) => {
            asked == Asked::AtStart || is_idle(body, Asked::Everywhere, evaluator)?
        }
        // `x ≠ y` is `¬(x = y)`.
        Expr::Compare { .. } => forbidden_by(expr).is_some(),
        Expr::Count { of, comparison, bound } => {
            comparison.holds(0.cmp(bound)) && evaluator.truth(of)?.bits(evaluator.len()).is_empty()
        }
        Expr::Quantified { quantifier: Quantifier::All, variable, set: Some(set), body } => {
            let equals = forbidden_by(body);
            let condition = match &**body {
                Expr::Implies(trigger, _) => trigger,
                Expr::Not(forbidden) => forbidden,
                _ => equals.as_ref().unwrap_or(&Expr::Constant(true)),
            };
            // A range over a list of the whole trace is asked once, even if there is no action.
            let mut places = asked.positions(evaluator).collect::<Vec<_>>();
            if places.is_empty() {
                places.push(0);
            }
            for at in places {
                if !evaluator.elements_where(variable, set, condition, at, true)?.is_empty() {
                    return Ok(false);
                }
            }
            true
        }
        _ => false,
    })
}

/// Returns the comparison that `x ≠ y` forbids; `x ≠ ∅` demands something instead.
fn forbidden_by(expr: &Expr) -> Option<Expr> {
    let Expr::Compare { left, comparison: Comparison::NotEqual, right } = expr else { return None };
    let is_literal = matches!(right, Term::Word(_) | Term::Text(_) | Term::Int(_));
    is_literal.then(|| Expr::Compare {
        left: left.clone(),
        comparison: Comparison::Equal,
        right: right.clone(),
    })
}

fn all_idle(parts: &[Expr], asked: Asked, evaluator: &mut Evaluator<'_>) -> Decided<bool> {
    for part in parts {
        if !is_idle(part, asked, evaluator)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether a part holds at none of the positions asked.
fn never(expr: &Expr, asked: Asked, evaluator: &mut Evaluator<'_>) -> Decided<bool> {
    let truth = evaluator.truth(expr)?;
    Ok(!asked.positions(evaluator).any(|at| truth.at(at)))
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use crate::policy::{Policy, PolicyId};
    use crate::{Options, check};

    #[test]
    fn a_rule_that_nothing_exercised_is_told_from_one_that_was() {
        let trace = parse(
            br#"{"trace_id": "t", "actions": [{"id": 1, "type": "EditFile", "rationale": "r"}, {"id": 2, "type": "ToolCall"}],
            "residuals": [{"residual_id": "r", "kind": "limitation", "statement": "s"}]}"#,
        )
        .unwrap();
        for (formula, absent) in [
            ("G(¬GitPush)", true),
            ("G(¬(GitPush ∧ request.force = true))", true),
            ("¬F(GitPush)", true),
            ("G(¬GitPush ∧ ¬Deploy)", true),
            ("G(¬Deploy ∨ P(Approve))", true),
            ("G(¬GitPush) ∧ G(¬Deploy)", true),
            ("G(¬GitPush) ∧ F(EditFile)", false),
            ("count(Deploy) ≤ 2", true),
            ("count(ToolCall) ≤ 2", false),
            ("count(Deploy) = 0", true),
            ("F(Deploy) → F(Approve)", true),
            ("F(EditFile) → F(ToolCall)", false),
            ("G(EditFile → rationale ≠ ∅)", false),
            ("∀ r ∈ residuals . r.kind = Assumption → r.target ≠ ∅", true),
            ("∀ r ∈ residuals . r.kind = Limitation → r.statement ≠ ∅", false),
            ("∀ p ∈ policies . p.name ≠ ∅", true),
            ("G(type ≠ GitPush)", true),
            ("G(request.force ≠ true)", true),
            ("G(¬(rationale = ∅)) ∨ F(EditFile)", false),
            ("F(¬(rationale = ∅))", false),
            ("∀ a ∈ actions . a.type ≠ GitPush", true),
            ("∀ a ∈ actions . a.id ≠ ∅", false),
            ("H(¬GitPush)", true),
            ("G(H(¬GitPush))", true),
            ("X(¬GitPush)", true),
            ("X(ToolCall)", false),
            ("G(∀ b ∈ actions_before(a) . b.type ≠ GitPush)", true),
            ("G(action)", false),
            ("F(EditFile)", false),
        ] {
            let policy = Policy::from_formula(&PolicyId::new("p").unwrap(), formula);
            let report = check(&trace, [&policy], Options::default());
            let verdict = report.verdicts.first().unwrap();
            assert_eq!(verdict.status.as_str(), "passed", "{formula}: {:?}", verdict.reason);
            assert_eq!(verdict.absent, absent, "{formula}");
            let summary = report.summary();
            assert_eq!((summary.absent, summary.proven), if absent { (1, 0) } else { (0, 1) }, "{formula}");
        }
    }
}
