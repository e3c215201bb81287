//! Past formulas compiled into parts with state.

use std::collections::BTreeMap;

use super::ledger::{Delta, Ledger};
use super::scope::{Chain, Targets};
use crate::eval::{Evaluator, PastState, SinceReading, Undecided};
use crate::formula::{Binary, Expr, Scope, Term, Unary};
use crate::vocabulary::{ACTION_FIELDS, Atom, Function, is_trace_list};

/// The reasons why a policy cannot be monitored while the run happens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotMonitorable {
    /// The policy has no truth value on any trace.
    #[error("{0}")]
    Invalid(String),
    /// It depends on the future.
    #[error("`{0}` depends on what has not happened yet")]
    Future(String),
    /// It is about the whole trace, not about one action.
    #[error("`{0}` speaks of the whole trace")]
    WholeTrace(String),
}

/// The index of a part in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PartId(usize);

/// A part of a formula; parts refer only to parts before them.
#[derive(Clone, Debug)]
enum Part {
    /// A formula about the present action alone.
    Present(Expr),
    Not(PartId),
    All(Vec<PartId>),
    Any(Vec<PartId>),
    Same(PartId, PartId),
    Past(PastState, PartId, PartId),
    Chain(Chain, PartId),
    Target(Targets, PartId),
}

/// The parts of all watched policies; equal parts are shared.
#[derive(Clone, Debug)]
pub(super) struct Program {
    parts: Vec<Part>,
    known: BTreeMap<Expr, PartId>,
    since: SinceReading,
}

impl Program {
    pub(super) fn new(since: SinceReading) -> Self {
        Self { parts: Vec::new(), known: BTreeMap::new(), since }
    }

    fn add(&mut self, part: Part) -> PartId {
        self.parts.push(part);
        PartId(self.parts.len() - 1)
    }

    /// Returns the part for a formula about the past, made if it is new.
    pub(super) fn part(&mut self, expr: &Expr) -> Result<PartId, NotMonitorable> {
        if let Some(known) = self.known.get(expr) {
            return Ok(*known);
        }
        let part = match expr {
            _ if is_timeless(expr) => {
                check_present(expr)?;
                Part::Present(expr.clone())
            }
            Expr::Not(inner) => Part::Not(self.part(inner)?),
            Expr::And(operands) => Part::All(self.several(operands)?),
            Expr::Or(operands) => Part::Any(self.several(operands)?),
            Expr::Implies(left, right) => {
                let left = self.part(left)?;
                Part::Any(vec![self.add(Part::Not(left)), self.part(right)?])
            }
            Expr::Iff(left, right) => Part::Same(self.part(left)?, self.part(right)?),
            Expr::Unary(Unary::Previously(scope), inner) => {
                let inner = self.part(inner)?;
                previously(*scope, inner)
            }
            Expr::Unary(Unary::Historically(Scope::All), inner) => {
                let inner = self.part(inner)?;
                Part::Past(PastState::Historically(true), inner, inner)
            }
            // Every one in scope satisfies φ exactly when none in scope violates it.
            Expr::Unary(Unary::Historically(scope), inner) => {
                let inner = self.part(inner)?;
                let violated = self.add(Part::Not(inner));
                Part::Not(self.add(previously(*scope, violated)))
            }
            Expr::Binary(operator @ (Binary::Since | Binary::SinceLast), left, right) => {
                let (left, right) = (self.part(left)?, self.part(right)?);
                let cell = if *operator == Binary::Since {
                    PastState::since(self.since)
                } else {
                    PastState::since_last()
                };
                Part::Past(cell, left, right)
            }
            Expr::Unary(Unary::Globally | Unary::Finally | Unary::Next, _)
            | Expr::Binary(Binary::Until, ..) => {
                return Err(NotMonitorable::Future(expr.to_string()));
            }
            _ => return Err(NotMonitorable::WholeTrace(expr.to_string())),
        };
        let id = self.add(part);
        self.known.insert(expr.clone(), id);
        Ok(id)
    }

    fn several(&mut self, operands: &[Expr]) -> Result<Vec<PartId>, NotMonitorable> {
        operands.iter().map(|operand| self.part(operand)).collect()
    }

    /// Evaluates every part at the proposed action.
    ///
    /// Facts that a late artifact adds about the past are applied first, on a copy. This costs as much as the run is
    /// long; a run that reports its artifacts in time never pays it.
    pub(super) fn peek(&self, ledger: &Ledger, delta: &Delta) -> Result<Values, Undecided> {
        let updated = delta.is_late.then(|| ledger.with(delta));
        let mut evaluator = Evaluator::new(&delta.window, self.since);
        let mut values = Values(Vec::with_capacity(self.parts.len()));
        for part in &self.parts {
            let value = match part {
                Part::Present(expr) => evaluator.truth(expr)?.at(0),
                Part::Not(inner) => !values.get(*inner),
                Part::All(operands) => operands.iter().all(|operand| values.get(*operand)),
                Part::Any(operands) => operands.iter().any(|operand| values.get(*operand)),
                Part::Same(left, right) => values.get(*left) == values.get(*right),
                Part::Past(cell, left, right) => cell.peek(values.get(*left), values.get(*right)),
                Part::Chain(chain, _) => match &updated {
                    Some(ledger) => chain.peek_late(ledger, delta),
                    None => chain.peek(delta),
                },
                Part::Target(targets, _) => match &updated {
                    Some(ledger) => targets.peek_late(ledger, delta),
                    None => targets.peek(delta),
                },
            };
            values.0.push(value);
        }
        Ok(values)
    }

    /// Moves every part past the action; the ledger already has its delta.
    pub(super) fn advance(&mut self, ledger: &Ledger, delta: &Delta, values: &Values) {
        for part in &mut self.parts {
            match part {
                Part::Past(cell, left, right) => cell.advance(values.get(*left), values.get(*right)),
                Part::Chain(chain, inner) => chain.advance(ledger, delta, values.get(*inner)),
                Part::Target(targets, inner) => targets.advance(ledger, delta, values.get(*inner)),
                _ => {}
            }
        }
    }

    /// Returns the reading of `S`.
    pub(super) fn since(&self) -> SinceReading {
        self.since
    }

    /// Returns the value of a formula that is a part.
    pub(super) fn value_of(&self, expr: &Expr, values: &Values) -> Option<bool> {
        self.known.get(expr).map(|part| values.get(*part))
    }
}

fn previously(scope: Scope, inner: PartId) -> Part {
    match scope {
        Scope::All => Part::Past(PastState::Previously(false), inner, inner),
        Scope::Chain => Part::Chain(Chain::default(), inner),
        Scope::Target => Part::Target(Targets::default(), inner),
    }
}

/// The value of every part at one action.
#[derive(Debug)]
pub(super) struct Values(Vec<bool>);

impl Values {
    pub(super) fn get(&self, part: PartId) -> bool {
        self.0.get(part.0) == Some(&true)
    }
}

/// Returns whether a formula has no temporal operator and no count.
pub(crate) fn is_timeless(expr: &Expr) -> bool {
    !expr.any(&|part| matches!(part, Expr::Unary(..) | Expr::Binary(..) | Expr::Count { .. }))
}

/// Refuses a formula that looks beyond the present action and the artifacts it names.
pub(crate) fn check_present(expr: &Expr) -> Result<(), NotMonitorable> {
    let whole = || Err(NotMonitorable::WholeTrace(expr.to_string()));
    match expr {
        Expr::Atom(word) => match Atom::of(word.as_str()) {
            Atom::EndEvent => Err(NotMonitorable::Future(expr.to_string())),
            Atom::NamedCheck(_) => whole(),
            _ => Ok(()),
        },
        Expr::Quantified { set, body, .. } => {
            match set {
                // Without a set the variable ranges over all actions.
                None => return whole(),
                Some(Term::Word(word)) if !ACTION_FIELDS.contains(&word.as_str()) => return whole(),
                Some(set) => check_term(set)?,
            }
            check_present(body)
        }
        Expr::Compare { left, right, .. } => {
            check_term(left)?;
            check_term(right)
        }
        Expr::Member { element, set } => {
            check_term(element)?;
            match set {
                Term::Word(word) if !ACTION_FIELDS.contains(&word.as_str()) => whole(),
                set => check_term(set),
            }
        }
        Expr::Holds(term) => check_term(term),
        _ => expr.parts().try_for_each(check_present),
    }
}

fn check_term(term: &Term) -> Result<(), NotMonitorable> {
    let whole = || Err(NotMonitorable::WholeTrace(term.to_string()));
    match term {
        Term::Word(word) if is_trace_list(word.as_str()) => whole(),
        Term::Call { function, arguments } => match Function::from_name(function.as_str()) {
            Some(
                Function::Ancestors
                | Function::ActionsBefore
                | Function::AncestorOf
                | Function::DerivedFrom
                | Function::PolicyFailed,
            ) => whole(),
            _ => arguments.iter().try_for_each(check_term),
        },
        Term::List(items) => items.iter().try_for_each(check_term),
        Term::Comprehension { .. } => whole(),
        _ => Ok(()),
    }
}
