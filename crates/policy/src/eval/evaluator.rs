//! Bottom-up evaluation for all positions at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::atom::{ActionFacts, has_ended, has_started, plain_word};
use super::bits::Bits;
use super::datum::Datum;
use super::past::{Cell, SinceReading};
use super::subject::Subject;
use super::temporal;
use super::truth::Truth;
use crate::formula::{Binary, Expr, Scope, Unary, Word};
use crate::structural::{self, Structural};
use crate::vocabulary::Atom;

/// How much work one evaluation may do, in answers about single positions.
///
/// Everything but nested quantifiers is linear; this stops a quadratic or worse formula after about a second
/// instead of letting it run for days.
pub const EVALUATION_STEPS_MAX: u64 = 100_000_000;

/// Why a formula has no truth value on a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// More work than [`EVALUATION_STEPS_MAX`].
    #[error("evaluation needs more than {EVALUATION_STEPS_MAX} steps")]
    TooMuchWork,
    /// A set was needed.
    #[error("`{term}` is not a set")]
    NotASet {
        /// What stood there.
        term: String,
    },
    /// A comprehension that does not say what its variable ranges over.
    #[error("`{term}` does not say what its variable ranges over; begin the guard with `x ∈ set ∧ …`")]
    NoRange {
        /// The comprehension.
        term: String,
    },
    /// A function the language does not have.
    #[error("there is no function `{name}` of {arity} arguments")]
    UnknownFunction {
        /// Its name.
        name: String,
        /// How many arguments it was given.
        arity: usize,
    },
}

/// Variables and what they stand for, innermost last.
#[derive(Default)]
pub(crate) struct Scopes<'t>(Vec<(Word, Datum<'t>)>);

impl<'t> Scopes<'t> {
    pub(super) fn find(&self, name: &Word) -> Option<&Datum<'t>> {
        self.0.iter().rev().find(|(bound, _)| bound == name).map(|(_, datum)| datum)
    }

    pub(super) fn push(&mut self, name: &Word, datum: Datum<'t>) {
        self.0.push((name.clone(), datum));
    }

    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Evaluates formulas on one trace and remembers their parts.
pub(crate) struct Evaluator<'t> {
    pub(super) subject: &'t Subject,
    reading: SinceReading,
    known: BTreeMap<Expr, Arc<Truth>>,
    steps_left: u64,
}

impl<'t> Evaluator<'t> {
    pub(crate) fn new(subject: &'t Subject, reading: SinceReading) -> Self {
        Self { subject, reading, known: BTreeMap::new(), steps_left: EVALUATION_STEPS_MAX }
    }

    pub(crate) fn subject(&self) -> &'t Subject {
        self.subject
    }

    pub(crate) fn len(&self) -> usize {
        self.subject.len()
    }

    #[cfg(test)]
    pub(super) fn with_allowance(subject: &'t Subject, steps: u64) -> Self {
        Self { steps_left: steps, ..Self::new(subject, SinceReading::Strict) }
    }

    /// Gives the next formula its own allowance of work.
    pub(crate) fn renew(&mut self) {
        self.steps_left = EVALUATION_STEPS_MAX;
    }

    /// Returns where a formula without free variables holds.
    pub(crate) fn truth(&mut self, expr: &Expr) -> Result<Arc<Truth>, Undecided> {
        self.eval(expr, &mut Scopes::default())
    }

    /// Returns whether a formula without free variables holds at one position.
    pub(crate) fn holds(&mut self, expr: &Expr, at: usize) -> Result<bool, Undecided> {
        self.holds_at(expr, at, &mut Scopes::default())
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Undecided> {
        self.steps_left = self.steps_left.checked_sub(steps as u64).ok_or(Undecided::TooMuchWork)?;
        Ok(())
    }

    pub(super) fn eval(&mut self, expr: &Expr, scopes: &mut Scopes<'t>) -> Result<Arc<Truth>, Undecided> {
        let closed = scopes.is_empty() || !super::holds::mentions(expr, scopes);
        if let (true, Some(known)) = (closed, self.known.get(expr)) {
            return Ok(known.clone());
        }
        let truth = Arc::new(self.compute(expr, scopes)?);
        if closed {
            self.known.insert(expr.clone(), truth.clone());
        }
        Ok(truth)
    }

    fn compute(&mut self, expr: &Expr, scopes: &mut Scopes<'t>) -> Result<Truth, Undecided> {
        self.spend(1 + self.len() / 64)?;
        Ok(match expr {
            Expr::Constant(value) => Truth::Constant(*value),
            Expr::Atom(word) => self.atom(word)?,
            Expr::Typed { name, conditions } => self.typed(name, conditions, scopes)?,
            Expr::Not(inner) => self.eval(inner, scopes)?.not(),
            Expr::And(operands) => {
                let mut truth = Truth::Constant(true);
                for operand in operands {
                    truth = truth.and(&*self.eval(operand, scopes)?);
                }
                truth
            }
            Expr::Or(operands) => {
                let mut truth = Truth::Constant(false);
                for operand in operands {
                    truth = truth.or(&*self.eval(operand, scopes)?);
                }
                truth
            }
            Expr::Implies(left, right) => self.implies(left, right, scopes)?,
            Expr::Iff(left, right) => self.eval(left, scopes)?.iff(&*self.eval(right, scopes)?),
            Expr::Unary(operator, inner) => {
                let inner = self.eval(inner, scopes)?;
                self.unary(*operator, &inner)
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.eval(left, scopes)?, self.eval(right, scopes)?);
                self.binary(*operator, &left, &right)
            }
            Expr::Quantified { quantifier, variable, set, body } => {
                self.quantified(*quantifier, variable, set.as_ref(), body, scopes)?
            }
            Expr::Count { of, comparison, bound } => {
                let count = self.eval(of, scopes)?.bits(self.len()).count();
                Truth::Constant(comparison.holds(count.cmp(bound)))
            }
            Expr::Compare { .. } | Expr::Member { .. } | Expr::Holds(_) => self.relation(expr, scopes)?,
        })
    }

    /// `φ → ψ`, where ψ is asked only where φ holds if asking costs more at some positions than at all others.
    fn implies(&mut self, left: &Expr, right: &Expr, scopes: &mut Scopes<'t>) -> Result<Truth, Undecided> {
        let triggered = self.eval(left, scopes)?;
        if self.subject.is_empty() || !self.is_local(right, scopes) {
            return Ok(triggered.not().or(&*self.eval(right, scopes)?));
        }
        let triggered = triggered.bits(self.len());
        let mut kept = triggered.not();
        for at in triggered.ones() {
            if self.holds_at(right, at, scopes)? {
                kept.set(at);
            }
        }
        Ok(Truth::Varying(kept))
    }

    fn atom(&mut self, word: &Word) -> Result<Truth, Undecided> {
        let atom = Atom::of(word.as_str());
        let subject = self.subject;
        Ok(match atom {
            Atom::StartEvent => Truth::Constant(has_started(subject.trace())),
            Atom::EndEvent => Truth::Constant(has_ended(subject.trace())),
            Atom::Structural(check) => self.structural(check)?,
            _ if subject.is_empty() => Truth::Constant(false),
            Atom::Action => Truth::Constant(true),
            Atom::Custom => Truth::Varying(subject.texts().containing(word.as_str())),
            Atom::PackType | Atom::ForeignType => {
                let mut bits = Bits::filled(self.len(), false);
                subject.of_type(word.as_str()).iter().for_each(|at| bits.set(*at));
                Truth::Varying(bits)
            }
            _ => Truth::Varying(Bits::from_fn(self.len(), |at| {
                self.facts(at).is_some_and(|facts| facts.is(atom, word.as_str()))
            })),
        })
    }

    fn structural(&mut self, check: Structural) -> Result<Truth, Undecided> {
        match check.formula() {
            Some(formula) => Ok((*self.truth(formula.expr())?).clone()),
            None => Ok(Truth::Constant(!structural::check(check, self.subject).is_violated())),
        }
    }

    /// Returns what can be asked about the action at a position.
    pub(crate) fn facts(&self, at: usize) -> Option<ActionFacts<'t>> {
        let trace = self.subject.trace();
        let action = trace.actions().get(at)?;
        let target = self.subject.lineage().target(action.position());
        Some(ActionFacts { trace, action, action_type: self.subject.action_type(at), target })
    }

    /// `Type(φ, …)`: the type, and a status that is one of the plain words or a compound that holds.
    fn typed(
        &mut self,
        name: &Word,
        conditions: &[Expr],
        scopes: &mut Scopes<'t>,
    ) -> Result<Truth, Undecided> {
        let mut any = Truth::Constant(false);
        for condition in conditions {
            let holds = match plain_word(condition) {
                _ if self.subject.is_empty() => Truth::Constant(false),
                Some(word) => Truth::Varying(Bits::from_fn(self.len(), |at| {
                    self.facts(at).is_some_and(|facts| facts.has_status(word))
                })),
                None => (*self.eval(condition, scopes)?).clone(),
            };
            any = any.or(&holds);
        }
        Ok(self.eval(&Expr::Atom(name.clone()), scopes)?.and(&any))
    }

    fn unary(&self, operator: Unary, inner: &Truth) -> Truth {
        if self.subject.is_empty() {
            return Truth::Constant(matches!(operator, Unary::Globally | Unary::Historically(_)));
        }
        let bits = inner.bits(self.len());
        let never = || Bits::filled(self.len(), false);
        Truth::Varying(match operator {
            Unary::Globally => temporal::globally(&bits),
            Unary::Finally => temporal::finally(&bits),
            Unary::Next => temporal::next(&bits),
            Unary::Previously(Scope::All) => temporal::forwards(Cell::Previously(false), &bits, &never()),
            Unary::Historically(Scope::All) => temporal::forwards(Cell::Historically(true), &bits, &never()),
            Unary::Previously(scope) => self.previously_in(scope, &bits),
            // Every one in scope satisfies φ exactly when none in scope violates it.
            Unary::Historically(scope) => self.previously_in(scope, &bits.not()).not(),
        })
    }

    fn previously_in(&self, scope: Scope, body: &Bits) -> Bits {
        let lineage = self.subject.lineage();
        let held = match scope {
            Scope::Chain => lineage.held_in_chain(&body.to_bools()),
            Scope::Target | Scope::All => lineage.held_on_target(&body.to_bools()),
        };
        Bits::from_fn(self.len(), |at| held.get(at) == Some(&true))
    }

    fn binary(&self, operator: Binary, left: &Truth, right: &Truth) -> Truth {
        if self.subject.is_empty() {
            return Truth::Constant(false);
        }
        let (left, right) = (left.bits(self.len()), right.bits(self.len()));
        Truth::Varying(temporal::binary(operator, &left, &right, self.reading))
    }
}
