//! A proposed action.

use hence_canon::Object;
use hence_review::vocabulary::PolicySeverity;

use super::Monitor;
use super::compile::Values;
use super::growth::{Growth, OfferFault};
use super::watch::{Effect, Watch};
use crate::formula::{Expr, Unary};
use crate::policy::PolicyId;
use crate::verdict::{ActionRef, Explanation, Step};

/// A policy that a proposed action would violate.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The policy.
    pub policy_id: PolicyId,
    /// How much it matters.
    pub severity: PolicySeverity,
    /// What triggered the policy and what is missing.
    pub explanation: Explanation,
    /// Whether the type of the action alone is enough: whatever comes of the action, it violates the policy.
    pub is_certain: bool,
}

/// A proposed action: what it would violate is known, and nothing has changed yet. Dropping it leaves the
/// monitor as it was.
#[derive(Debug)]
#[must_use = "an offer changes nothing until it is admitted"]
pub struct Offer<'m> {
    monitor: &'m mut Monitor,
    growth: Growth,
    values: Values,
    violations: Vec<Violation>,
}

impl<'m> Offer<'m> {
    pub(super) fn new(
        monitor: &'m mut Monitor,
        action: &Object,
        artifacts: &[Object],
    ) -> Result<Self, OfferFault> {
        let growth = Growth::of(&mut monitor.ledger, action, artifacts)?;
        let values = monitor.program.peek(&monitor.ledger, &growth).map_err(OfferFault::Undecided)?;
        let violates = |watch: &&Watch| watch.effect(&growth.window, &values) == Effect::Violates;
        let broken = monitor.watches.iter().filter(violates);
        let violations = broken.map(|watch| violation(monitor, watch, &growth, &values)).collect();
        Ok(Self { monitor, growth, values, violations })
    }

    /// Returns the policies the action would violate, in the order they were given.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Makes the action part of the trace, whatever it violates.
    pub fn admit(self) -> Vec<Violation> {
        let Self { monitor, growth, values, violations } = self;
        monitor.ledger.admit(&growth);
        monitor.program.advance(&monitor.ledger, &growth, &values);
        for watch in &mut monitor.watches {
            watch.advance(&growth.window, growth.action_id, &values);
        }
        violations
    }
}

fn violation(monitor: &Monitor, watch: &Watch, growth: &Growth, values: &Values) -> Violation {
    let action = growth.window.trace().actions().first();
    let action = action.map(|action| ActionRef {
        position: monitor.ledger.len(),
        id: action.id(),
        action_type: action.type_word().to_owned(),
    });
    let mut found = Vec::new();
    why(monitor, watch.expr(), values, &mut found);
    let steps = found.into_iter().map(|found| Step { action: action.clone(), found }).collect();
    Violation {
        policy_id: watch.id().clone(),
        severity: watch.severity(),
        explanation: Explanation { steps },
        is_certain: watch.is_certain(),
    }
}

/// Descends to the part that decides.
fn why(monitor: &Monitor, expr: &Expr, values: &Values, found: &mut Vec<String>) {
    let value = |part: &Expr| monitor.program.value_of(part, values);
    match expr {
        Expr::Unary(Unary::Globally, body) => why(monitor, body, values, found),
        Expr::Implies(trigger, demand) if value(trigger) == Some(true) => {
            found.push(format!("`{trigger}` holds"));
            why(monitor, demand, values, found);
        }
        Expr::And(parts) => match parts.iter().find(|part| value(part) == Some(false)) {
            Some(part) => why(monitor, part, values, found),
            None => found.push(format!("`{expr}` does not hold")),
        },
        Expr::Unary(Unary::Previously(_), inner) => {
            found.push(format!("no earlier action in scope of `{expr}` satisfies `{inner}`"));
        }
        Expr::Count { bound, of, .. } => {
            found.push(format!("`{of}` holds once more than the bound {bound} allows"))
        }
        _ => found.push(format!("`{expr}` does not hold")),
    }
}
