//! An action that is judged before it is carried out, on a trace that is still growing.

use hence_canon::Object;

use super::ledger::{Delta, ProposalError};
use super::program::{Values, is_timeless};
use super::proposal::Violation;
use super::watch::WatchedPolicy;
use super::{Monitor, Program};
use crate::eval::{Evaluator, Undecided};
use crate::foresight::{Known, Truth};
use crate::formula::Expr;
use crate::verdict::ActionRef;

/// Returns the watched policies that an action violates whatever its result will be.
pub(super) fn violations(
    monitor: &mut Monitor,
    action: &Object,
    artifacts: &[Object],
) -> Result<Vec<Violation>, ProposalError> {
    let delta = Delta::of(&mut monitor.ledger, action, artifacts)?;
    let values = monitor.program.peek(&monitor.ledger, &delta).map_err(ProposalError::Undecided)?;
    let present = delta.window.trace().actions().first().map(|action| ActionRef {
        position: monitor.ledger.len(),
        id: action.id(),
        action_type: action.type_word().to_owned(),
    });
    let mut found = Vec::new();
    for watch in monitor.watches.iter().filter(|watch| watch.applies_to(&delta.window)) {
        let evaluator = Evaluator::new(&delta.window, monitor.program.since());
        let truth = Window { program: &monitor.program, values: &values, evaluator, watch, delta: &delta };
        if let Some(explanation) = Known(truth).violation(watch.expr(), present.as_ref()) {
            found.push(Violation {
                policy_id: watch.id().clone(),
                statement: watch.statement().map(str::to_owned),
                severity: watch.severity(),
                explanation,
            });
        }
    }
    Ok(found)
}

/// The truth of formulas at an action that is proposed: parts about the past have their state, and everything about the
/// present is evaluated on the action alone.
struct Window<'m> {
    program: &'m Program,
    values: &'m Values,
    evaluator: Evaluator<'m>,
    watch: &'m WatchedPolicy,
    delta: &'m Delta,
}

impl Truth for Window<'_> {
    fn truth(&mut self, expr: &Expr) -> Result<Option<bool>, Undecided> {
        match self.program.value_of(expr, self.values) {
            Some(value) => Ok(Some(value)),
            None if is_timeless(expr) => Ok(Some(self.evaluator.truth(expr)?.at(0))),
            None => Ok(None),
        }
    }

    fn keeps_bound(&mut self, _: &Expr) -> Result<bool, Undecided> {
        Ok(self.watch.keeps_bounds(&self.delta.window, self.values))
    }
}
