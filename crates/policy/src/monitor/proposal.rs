//! A proposed action.

use hence_canon::Object;
use hence_review::vocabulary::PolicySeverity;

use super::Monitor;
use super::ledger::{Delta, ProposalError};
use super::program::Values;
use super::watch::WatchedPolicy;
use crate::formula::{Expr, Unary};
use crate::policy::PolicyId;
use crate::verdict::{ActionRef, Explanation, Step};

/// A policy that a proposed action would violate.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The policy.
    pub policy_id: PolicyId,
    /// The statement of the policy in plain words, if it has one.
    pub statement: Option<String>,
    /// The severity of the policy.
    pub severity: PolicySeverity,
    /// The trigger of the policy and the missing fact.
    pub explanation: Explanation,
}

/// A proposed action with the policies it would violate. Nothing has changed yet; dropping the proposal leaves the
/// monitor as it was.
#[derive(Debug)]
#[must_use = "a proposal changes nothing until it is admitted"]
pub struct Proposal<'m> {
    monitor: &'m mut Monitor,
    delta: Delta,
    values: Values,
    violations: Vec<Violation>,
}

impl<'m> Proposal<'m> {
    pub(super) fn new(
        monitor: &'m mut Monitor,
        action: &Object,
        artifacts: &[Object],
    ) -> Result<Self, ProposalError> {
        let delta = Delta::of(&mut monitor.ledger, action, artifacts)?;
        let values = monitor.program.peek(&monitor.ledger, &delta).map_err(ProposalError::Undecided)?;
        let broken = monitor.watches.iter().filter(|watch| watch.is_violated_by(&delta.window, &values));
        let violations = broken.map(|watch| violation(monitor, watch, &delta, &values)).collect();
        Ok(Self { monitor, delta, values, violations })
    }

    /// Returns the policies the action would violate, in the order they were given.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Adds the action to the trace, whatever it violates.
    pub fn admit(self) -> Vec<Violation> {
        let Self { monitor, delta, values, violations } = self;
        monitor.ledger.admit(&delta);
        monitor.program.advance(&monitor.ledger, &delta, &values);
        for watch in &mut monitor.watches {
            watch.advance(&delta.window, delta.action_id, &values);
        }
        violations
    }
}

fn violation(monitor: &Monitor, watch: &WatchedPolicy, delta: &Delta, values: &Values) -> Violation {
    let action = delta.window.trace().actions().first();
    let action = action.map(|action| ActionRef {
        position: monitor.ledger.len(),
        id: action.id(),
        action_type: action.type_word().to_owned(),
    });
    let mut found = Vec::new();
    explain(watch.expr(), &mut |part| monitor.program.value_of(part, values), &mut found);
    let steps = found.into_iter().map(|found| Step { action: action.clone(), found }).collect();
    Violation {
        policy_id: watch.id().clone(),
        statement: watch.statement().map(str::to_owned),
        severity: watch.severity(),
        explanation: Explanation { steps },
    }
}

/// Adds the facts that decide, from the outermost operator down. `value` returns the value of a part, if it has one.
pub(crate) fn explain(expr: &Expr, value: &mut dyn FnMut(&Expr) -> Option<bool>, found: &mut Vec<String>) {
    match expr {
        Expr::Unary(Unary::Globally, body) => explain(body, value, found),
        Expr::Implies(trigger, demand) if value(trigger) == Some(true) => {
            found.push(format!("`{trigger}` holds"));
            explain(demand, value, found);
        }
        Expr::And(parts) => match parts.iter().find(|part| value(part) == Some(false)) {
            Some(part) => explain(part, value, found),
            None => found.push(format!("`{expr}` does not hold")),
        },
        Expr::Unary(Unary::Previously(_), inner) => {
            found.push(format!("no earlier action in scope of `{expr}` satisfies `{inner}`"));
        }
        Expr::Count { bound, of, .. } => {
            found.push(format!("`{of}` holds more often than the bound {bound} allows"))
        }
        _ => found.push(format!("`{expr}` does not hold")),
    }
}
