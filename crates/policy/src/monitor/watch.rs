//! One watched policy: its demands on every action, and its verdict so far.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

use super::program::{NotMonitorable, PartId, Program, Values};
use crate::eval::{Evaluator, SinceReading, Subject};
use crate::formula::{Comparison, Expr, Unary};
use crate::named_check::NamedCheck;
use crate::policy::{Policy, PolicyId, Selector};

/// A demand of a policy on the actions of a trace.
#[derive(Clone, Debug)]
enum Demand {
    /// A formula must hold at every action.
    Always { holds: PartId, trigger: Option<PartId> },
    /// A formula must hold at the first action.
    AtStart { holds: PartId },
    /// A formula may hold for at most `bound` calls.
    AtMost { counted: PartId, bound: u64, seen: u64 },
}

/// A policy and its state.
#[derive(Clone, Debug)]
pub(super) struct WatchedPolicy {
    id: PolicyId,
    statement: Option<String>,
    severity: PolicySeverity,
    expr: Expr,
    demands: Vec<Demand>,
    selector: Option<Selector>,
    /// Whether the selector matched; true from the start without a selector.
    selected: bool,
    /// Whether a rule with a trigger was ever triggered; true from the start for any other.
    triggered: bool,
    violated: bool,
    violating: Vec<i64>,
    /// The verdict on a trace without actions.
    on_empty_trace: EvaluationStatus,
    started: bool,
}

impl WatchedPolicy {
    pub(super) fn of(policy: &Policy, program: &mut Program) -> Result<Self, NotMonitorable> {
        if let Some(error) = policy.lint().into_iter().find(|finding| finding.is_error()) {
            return Err(NotMonitorable::Invalid(error.to_string()));
        }
        let rule = policy.rule().map_err(|fault| NotMonitorable::Invalid(fault.to_string()))?;
        if NamedCheck::recognise(rule.expr()).is_some() {
            return Err(NotMonitorable::WholeTrace(rule.expr().to_string()));
        }
        let selector =
            policy.selector().map_err(|fault| NotMonitorable::Invalid(fault.to_string()))?.cloned();
        let mut demands = Vec::new();
        add_demands(rule.expr(), program, &mut demands)?;
        let has_trigger = matches!(demands.as_slice(), [Demand::Always { trigger: Some(_), .. }]);
        Ok(Self {
            id: policy.id().clone(),
            statement: policy.description().map(str::to_owned),
            severity: policy.severity(),
            expr: rule.expr().clone(),
            demands,
            selected: selector.is_none(),
            selector,
            triggered: !has_trigger,
            violated: false,
            violating: Vec::new(),
            on_empty_trace: judge_empty_trace(policy),
            started: false,
        })
    }

    pub(super) fn id(&self) -> &PolicyId {
        &self.id
    }

    pub(super) fn statement(&self) -> Option<&str> {
        self.statement.as_deref()
    }

    pub(super) fn severity(&self) -> PolicySeverity {
        self.severity
    }

    pub(super) fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Returns the ids of the actions that violated a rule about every action.
    pub(super) fn violating(&self) -> &[i64] {
        if self.selected { &self.violating } else { &[] }
    }

    /// Returns the verdict on the trace so far.
    pub(super) fn status(&self) -> EvaluationStatus {
        match (self.started, self.selected, self.violated, self.triggered) {
            (_, false, ..) | (true, true, false, false) => EvaluationStatus::NotApplicable,
            (false, true, ..) => self.on_empty_trace,
            (true, true, true, _) => EvaluationStatus::Failed,
            (true, true, false, true) => EvaluationStatus::Passed,
        }
    }

    /// Returns whether an action would violate the policy.
    pub(super) fn is_violated_by(&self, window: &Subject, values: &Values) -> bool {
        self.applies_to(window) && self.demands.iter().any(|demand| self.is_broken(demand, window, values))
    }

    /// Returns whether the policy applies to a trace that goes on with an action.
    pub(super) fn applies_to(&self, window: &Subject) -> bool {
        self.selected || self.selects(window)
    }

    /// Returns whether every bound of the policy on a count still holds after an action.
    pub(super) fn keeps_bounds(&self, window: &Subject, values: &Values) -> bool {
        let is_bound = |demand: &&Demand| matches!(demand, Demand::AtMost { .. });
        !self.demands.iter().filter(is_bound).any(|demand| self.is_broken(demand, window, values))
    }

    fn selects(&self, window: &Subject) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(window))
    }

    fn is_broken(&self, demand: &Demand, window: &Subject, values: &Values) -> bool {
        match demand {
            Demand::Always { holds, .. } => !values.get(*holds),
            Demand::AtStart { holds } => !self.started && !values.get(*holds),
            Demand::AtMost { counted, bound, seen } => {
                values.get(*counted) && seen.saturating_add(window.calls(0)) > *bound
            }
        }
    }

    /// Moves past an action.
    pub(super) fn advance(&mut self, window: &Subject, action_id: Option<i64>, values: &Values) {
        self.selected |= self.selects(window);
        let is_rule = matches!(self.demands.as_slice(), [Demand::Always { .. }]);
        if self.demands.iter().any(|demand| self.is_broken(demand, window, values)) {
            self.violated = true;
            self.violating.extend(action_id.filter(|_| is_rule));
        }
        for demand in &mut self.demands {
            match demand {
                Demand::Always { trigger: Some(trigger), .. } => self.triggered |= values.get(*trigger),
                Demand::AtMost { counted, seen, .. } if values.get(*counted) => {
                    *seen = seen.saturating_add(window.calls(0));
                }
                Demand::Always { trigger: None, .. } | Demand::AtStart { .. } | Demand::AtMost { .. } => {}
            }
        }
        self.started = true;
    }
}

/// Splits a formula into demands on single actions.
fn add_demands(expr: &Expr, program: &mut Program, demands: &mut Vec<Demand>) -> Result<(), NotMonitorable> {
    match expr {
        Expr::And(parts) => parts.iter().try_for_each(|part| add_demands(part, program, demands)),
        Expr::Unary(Unary::Globally, body) => {
            let trigger = match &**body {
                Expr::Implies(trigger, _) => Some(program.part(trigger)?),
                _ => None,
            };
            demands.push(Demand::Always { holds: program.part(body)?, trigger });
            Ok(())
        }
        Expr::Not(inner) => match &**inner {
            Expr::Unary(Unary::Finally, body) => {
                let holds = program.part(&Expr::Not(body.clone()))?;
                demands.push(Demand::Always { holds, trigger: None });
                Ok(())
            }
            _ => add_start(expr, program, demands),
        },
        Expr::Count { of, comparison: comparison @ (Comparison::AtMost | Comparison::Below), bound } => {
            // A count below zero is a contradiction, not a budget, and is left to the final check.
            let most = match comparison {
                Comparison::AtMost => Some(*bound),
                _ => bound.checked_sub(1),
            };
            let bound = most.ok_or_else(|| NotMonitorable::WholeTrace(expr.to_string()))?;
            demands.push(Demand::AtMost { counted: program.part(of)?, bound, seen: 0 });
            Ok(())
        }
        _ => add_start(expr, program, demands),
    }
}

fn add_start(expr: &Expr, program: &mut Program, demands: &mut Vec<Demand>) -> Result<(), NotMonitorable> {
    demands.push(Demand::AtStart { holds: program.part(expr)? });
    Ok(())
}

/// Returns the status of the policy on a trace without actions.
fn judge_empty_trace(policy: &Policy) -> EvaluationStatus {
    let empty: Value = Object::new().into();
    match Subject::read(&empty) {
        Ok(subject) => {
            crate::verdict::judge(policy, &mut Evaluator::new(&subject, SinceReading::default())).status
        }
        Err(_) => EvaluationStatus::Unknown,
    }
}
