//! One watched policy: what it demands of every action, and how it stands.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

use super::compile::{NotMonitorable, PartId, Program, Values};
use crate::eval::{Evaluator, SinceReading, Subject};
use crate::formula::{Binary, Comparison, Expr, Scope, Unary};
use crate::policy::{Policy, PolicyId, Selector};
use crate::structural::Structural;
use crate::vocabulary::Atom;

/// What a policy demands.
#[derive(Debug)]
enum Demand {
    /// Of every action.
    Always { holds: PartId, trigger: Option<PartId> },
    /// Of the first action only.
    AtStart { holds: PartId },
    /// That something happens at most so often.
    AtMost { counted: PartId, bound: u64, seen: u64 },
}

/// A policy and how it stands.
#[derive(Debug)]
pub(super) struct Watch {
    id: PolicyId,
    severity: PolicySeverity,
    expr: Expr,
    /// Whether the type of an action alone says whether it violates the policy.
    is_certain: bool,
    demands: Vec<Demand>,
    selector: Option<Selector>,
    /// Whether anything was what the policy is about; true from the start without a selector.
    selected: bool,
    /// Whether a rule with a trigger was ever triggered; true from the start for any other.
    triggered: bool,
    violated: bool,
    violating: Vec<i64>,
    /// The verdict on a trace without actions.
    at_first: EvaluationStatus,
    started: bool,
}

/// What an action would do to a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// It keeps it.
    Keeps,
    /// It violates it, and is itself to blame.
    Violates,
}

impl Watch {
    pub(super) fn of(policy: &Policy, program: &mut Program) -> Result<Self, NotMonitorable> {
        if let Some(error) = policy.lint().into_iter().find(|finding| finding.is_error()) {
            return Err(NotMonitorable::Invalid(error.to_string()));
        }
        let rule = policy.rule().map_err(|fault| NotMonitorable::Invalid(fault.to_string()))?;
        if Structural::recognise(rule.expr()).is_some() {
            return Err(NotMonitorable::WholeTrace(rule.expr().to_string()));
        }
        let selector =
            policy.selector().map_err(|fault| NotMonitorable::Invalid(fault.to_string()))?.cloned();
        let mut demands = Vec::new();
        add_demands(rule.expr(), program, &mut demands)?;
        let has_trigger = matches!(demands.as_slice(), [Demand::Always { trigger: Some(_), .. }]);
        Ok(Self {
            id: policy.id().clone(),
            severity: policy.severity(),
            expr: rule.expr().clone(),
            is_certain: selector.is_none() && is_told_by_type(rule.expr()),
            demands,
            selected: selector.is_none(),
            selector,
            triggered: !has_trigger,
            violated: false,
            violating: Vec::new(),
            at_first: on_nothing(policy),
            started: false,
        })
    }

    pub(super) fn id(&self) -> &PolicyId {
        &self.id
    }

    pub(super) fn severity(&self) -> PolicySeverity {
        self.severity
    }

    pub(super) fn is_certain(&self) -> bool {
        self.is_certain
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
            (false, true, ..) => self.at_first,
            (true, true, true, _) => EvaluationStatus::Failed,
            (true, true, false, true) => EvaluationStatus::Passed,
        }
    }

    /// Says what an action would do.
    pub(super) fn effect(&self, window: &Subject, values: &Values) -> Effect {
        let selected = self.selected || self.selects(window);
        if selected && self.demands.iter().any(|demand| self.is_broken(demand, values)) {
            Effect::Violates
        } else {
            Effect::Keeps
        }
    }

    fn selects(&self, window: &Subject) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(window))
    }

    fn is_broken(&self, demand: &Demand, values: &Values) -> bool {
        match demand {
            Demand::Always { holds, .. } => !values.get(*holds),
            Demand::AtStart { holds } => !self.started && !values.get(*holds),
            Demand::AtMost { counted, bound, seen } => values.get(*counted) && seen >= bound,
        }
    }

    /// Moves past an action.
    pub(super) fn advance(&mut self, window: &Subject, action_id: Option<i64>, values: &Values) {
        self.selected |= self.selects(window);
        let is_rule = matches!(self.demands.as_slice(), [Demand::Always { .. }]);
        if self.demands.iter().any(|demand| self.is_broken(demand, values)) {
            self.violated = true;
            self.violating.extend(action_id.filter(|_| is_rule));
        }
        for demand in &mut self.demands {
            match demand {
                Demand::Always { trigger: Some(trigger), .. } => self.triggered |= values.get(*trigger),
                Demand::AtMost { counted, seen, .. } => *seen += u64::from(values.get(*counted)),
                Demand::Always { trigger: None, .. } | Demand::AtStart { .. } => {}
            }
        }
        self.started = true;
    }
}

/// Returns whether a formula speaks of the present action by its type only. What happened before is settled; what an
/// action gives, is about or builds on is known only once it was carried out.
fn is_told_by_type(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(_) => true,
        Expr::Atom(word) => matches!(
            Atom::of(word.as_str()),
            Atom::Action | Atom::Category(_) | Atom::ActionType(_) | Atom::PackType | Atom::StartEvent
        ),
        Expr::Not(inner) | Expr::Unary(Unary::Globally | Unary::Finally, inner) => is_told_by_type(inner),
        Expr::Count { of, .. } => is_told_by_type(of),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().all(is_told_by_type),
        Expr::Implies(left, right) | Expr::Iff(left, right) => {
            is_told_by_type(left) && is_told_by_type(right)
        }
        Expr::Unary(Unary::Previously(Scope::All) | Unary::Historically(Scope::All), _)
        | Expr::Binary(Binary::SinceLast, ..) => true,
        // One reading of it looks at the present too.
        Expr::Binary(Binary::Since, left, right) => is_told_by_type(left) && is_told_by_type(right),
        _ => false,
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
            // Below zero nothing can stay: that is no budget but a contradiction, left to the final check.
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

/// Judges the policy on a trace without actions.
fn on_nothing(policy: &Policy) -> EvaluationStatus {
    let nothing: Value = Object::new().into();
    match Subject::read(&nothing) {
        Ok(subject) => {
            crate::verdict::judge(policy, &mut Evaluator::new(&subject, SinceReading::default())).status
        }
        Err(_) => EvaluationStatus::Unknown,
    }
}
