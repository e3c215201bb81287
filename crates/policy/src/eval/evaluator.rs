//! Evaluation of formulas: bottom-up for all positions at once, or at one position where a variable is bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::atom::{ActionFacts, has_ended, has_started, plain_word};
use super::datum::Datum;
use super::subject::Subject;
use super::truth::{self, Bits, PastState, SinceReading, Truth};
use crate::formula::{Binary, Expr, Quantifier, Scope, Term, Unary, Word};
use crate::named_check::{self, NamedCheck};
use crate::vocabulary::Atom;

/// The work one evaluation may do, in answers about single positions.
///
/// Everything but nested quantifiers is linear; this stops a quadratic or worse formula after about a second.
pub const EVALUATION_STEPS_MAX: u64 = 100_000_000;

/// The reasons why a formula has no truth value on a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// More work than [`EVALUATION_STEPS_MAX`].
    #[error("evaluation needs more than {EVALUATION_STEPS_MAX} steps")]
    TooMuchWork,
    /// A set was needed.
    #[error("`{term}` is not a set")]
    NotASet {
        /// The term that is not a set.
        term: String,
    },
    /// A value of the trace that is marked as not known.
    #[error("`{term}` is not known: it depends on `{source_text}`")]
    NotKnown {
        /// The term that has no known value.
        term: String,
        /// The part of the log on which the value depends, such as a variable of a shell.
        source_text: String,
    },
    /// A comprehension without a set for its variable.
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
        /// The number of its arguments.
        arity: usize,
    },
}

impl Undecided {
    /// Returns whether one action is the reason: another trace, or another position, may be decided.
    pub fn depends_on_action(&self) -> bool {
        matches!(self, Self::NotASet { .. } | Self::NotKnown { .. })
    }
}

/// A question about a word.
type Found<'f> = &'f mut dyn FnMut(&Word) -> bool;

/// A result of evaluation.
pub(crate) type Decided<T> = Result<T, Undecided>;

/// Bound variables and their values, innermost last.
#[derive(Default)]
pub(crate) struct Scopes<'t>(Vec<(Word, Datum<'t>)>);

impl<'t> Scopes<'t> {
    pub(crate) fn find(&self, name: &Word) -> Option<&Datum<'t>> {
        self.0.iter().rev().find(|(bound, _)| bound == name).map(|(_, datum)| datum)
    }

    pub(crate) fn push(&mut self, name: &Word, datum: Datum<'t>) {
        self.0.push((name.clone(), datum));
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the action that a variable among some words is bound to; `words` passes each word to its argument.
    pub(super) fn action_in(&self, words: &mut dyn FnMut(Found<'_>) -> bool) -> Option<usize> {
        let mut action = None;
        words(&mut |word| {
            if let Some(Datum::Action(at)) = self.find(word) {
                action = Some(*at);
            }
            action.is_some()
        });
        action
    }
}

/// Evaluates formulas on one trace and caches the results of their parts.
pub(crate) struct Evaluator<'t> {
    pub(super) subject: &'t Subject,
    reading: SinceReading,
    known: BTreeMap<Expr, Arc<Truth>>,
    /// The formulas that need a set which an action lacks, so that they have no truth value everywhere.
    unset: BTreeMap<Expr, Undecided>,
    steps_left: u64,
    /// The action at which evaluation ended without an answer.
    fault: Option<usize>,
}

impl<'t> Evaluator<'t> {
    pub(crate) fn new(subject: &'t Subject, reading: SinceReading) -> Self {
        Self {
            subject,
            reading,
            known: BTreeMap::new(),
            unset: BTreeMap::new(),
            steps_left: EVALUATION_STEPS_MAX,
            fault: None,
        }
    }

    pub(crate) fn subject(&self) -> &'t Subject {
        self.subject
    }

    pub(crate) fn len(&self) -> usize {
        self.subject.len()
    }

    #[cfg(test)]
    pub(super) fn with_budget(subject: &'t Subject, steps: u64) -> Self {
        Self { steps_left: steps, ..Self::new(subject, SinceReading::Strict) }
    }

    /// Gives the next formula its own budget of work.
    pub(crate) fn renew(&mut self) {
        self.steps_left = EVALUATION_STEPS_MAX;
        self.fault = None;
    }

    /// Returns the position of the first action at which the formula has no truth value, if an action is the reason.
    pub(crate) fn fault(&self) -> Option<usize> {
        self.fault
    }

    /// Notes the action that a part without a truth value speaks of: that of a variable in it, else the current one.
    pub(super) fn note_fault(&mut self, fault: &Undecided, bound: Option<usize>, at: Option<usize>) {
        if !fault.depends_on_action() {
            // Only the kind of a value depends on the trace; the rest is wrong with the formula, or is too much.
            return;
        }
        self.fault = self.fault.or(bound).or(at);
    }

    /// Returns the positions where a formula without free variables holds.
    pub(crate) fn truth(&mut self, expr: &Expr) -> Decided<Arc<Truth>> {
        self.eval(expr, &mut Scopes::default())
    }

    /// Returns whether a formula without free variables holds at one position.
    pub(crate) fn holds(&mut self, expr: &Expr, at: usize) -> Decided<bool> {
        self.holds_at(expr, at, &mut Scopes::default())
    }

    pub(crate) fn spend(&mut self, steps: usize) -> Decided<()> {
        self.steps_left = self.steps_left.checked_sub(steps as u64).ok_or(Undecided::TooMuchWork)?;
        Ok(())
    }

    pub(crate) fn eval(&mut self, expr: &Expr, scopes: &mut Scopes<'t>) -> Decided<Arc<Truth>> {
        let closed = scopes.is_empty() || !mentions(expr, scopes);
        if let (true, Some(known)) = (closed, self.known.get(expr)) {
            return Ok(known.clone());
        }
        if let (true, Some(undecided)) = (closed, self.unset.get(expr)) {
            return Err(undecided.clone());
        }
        match self.compute(expr, scopes) {
            Ok(truth) => {
                let truth = Arc::new(truth);
                if closed {
                    self.known.insert(expr.clone(), truth.clone());
                }
                Ok(truth)
            }
            Err(undecided) => {
                if closed && undecided.depends_on_action() {
                    self.unset.insert(expr.clone(), undecided.clone());
                }
                Err(undecided)
            }
        }
    }

    fn compute(&mut self, expr: &Expr, scopes: &mut Scopes<'t>) -> Decided<Truth> {
        self.spend(1 + self.len() / 64)?;
        Ok(match expr {
            Expr::Constant(value) => Truth::Constant(*value),
            Expr::Atom(word) => self.atom(word)?,
            Expr::Typed { name, conditions } => self.typed(name, conditions, scopes)?,
            Expr::Not(inner) => self.eval(inner, scopes)?.not(),
            Expr::And(operands) => self.all(operands, scopes)?,
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
                let count = self.subject.calls_at(&self.eval(of, scopes)?.bits(self.len()));
                Truth::Constant(comparison.holds(count.cmp(bound)))
            }
            Expr::Compare { .. } | Expr::Member { .. } | Expr::Holds(_) => self.relation(expr, scopes)?,
        })
    }

    /// `φ ∧ ψ`. A part that is about a set, and undecided where there is none, matters only where the other parts hold.
    fn all(&mut self, operands: &[Expr], scopes: &mut Scopes<'t>) -> Decided<Truth> {
        let mut truth = Truth::Constant(true);
        let mut open = Vec::new();
        let fault = self.fault;
        for operand in operands {
            match self.eval(operand, scopes) {
                Ok(found) => truth = truth.and(&found),
                Err(fault_found)
                    if fault_found.depends_on_action() && !self.subject.is_empty() && operands.len() > 1 =>
                {
                    // Whether its action matters is known only when the others are.
                    self.fault = fault;
                    open.push(operand);
                }
                Err(error) => return Err(error),
            }
        }
        for operand in open {
            let mut held = Bits::filled(self.len(), false);
            for at in truth.bits(self.len()).ones() {
                if self.holds_at(operand, at, scopes)? {
                    held.set(at);
                }
            }
            truth = Truth::Varying(held);
        }
        Ok(truth)
    }

    /// `φ → ψ`. A ψ that is costly at each position is evaluated only where φ holds.
    fn implies(&mut self, left: &Expr, right: &Expr, scopes: &mut Scopes<'t>) -> Decided<Truth> {
        let triggered = self.eval(left, scopes)?;
        if self.subject.is_empty() || !self.is_local(right, scopes) {
            let fault = self.fault;
            match self.eval(right, scopes) {
                // Where φ does not hold it does not matter that ψ is undecided.
                Err(found) if found.depends_on_action() && !self.subject.is_empty() => self.fault = fault,
                found => return Ok(triggered.not().or(&*found?)),
            }
        }
        let triggered = triggered.bits(self.len());
        let mut satisfied = triggered.not();
        for at in triggered.ones() {
            if self.holds_at(right, at, scopes)? {
                satisfied.set(at);
            }
        }
        Ok(Truth::Varying(satisfied))
    }

    fn atom(&mut self, word: &Word) -> Decided<Truth> {
        let atom = Atom::of(word.as_str());
        let subject = self.subject;
        Ok(match atom {
            Atom::StartEvent => Truth::Constant(has_started(subject.trace())),
            Atom::EndEvent => Truth::Constant(has_ended(subject.trace())),
            Atom::NamedCheck(check) => self.structural(check)?,
            _ if subject.is_empty() => Truth::Constant(false),
            Atom::Action => Truth::Constant(true),
            Atom::Custom => Truth::Varying(subject.texts().containing(word.as_str())),
            Atom::ForeignType => {
                let mut bits = Bits::filled(self.len(), false);
                subject.of_type(word.as_str()).iter().for_each(|at| bits.set(*at));
                Truth::Varying(bits)
            }
            _ => Truth::Varying(Bits::from_fn(self.len(), |at| {
                self.facts(at).is_some_and(|facts| facts.is(atom, word.as_str()))
            })),
        })
    }

    fn structural(&mut self, check: NamedCheck) -> Decided<Truth> {
        match check.formula() {
            Some(formula) => Ok((*self.truth(formula.expr())?).clone()),
            None => Ok(Truth::Constant(!named_check::check(check, self.subject).is_violated())),
        }
    }

    /// Returns the facts about the action at a position.
    pub(crate) fn facts(&self, at: usize) -> Option<ActionFacts<'t>> {
        let trace = self.subject.trace();
        let action = trace.actions().get(at)?;
        let target = self.subject.lineage().target(action.position());
        Some(ActionFacts { trace, action, action_type: self.subject.action_type(at), target })
    }

    /// `Type(φ, …)`: the type, and a status that is one of the plain words or a compound that holds.
    fn typed(&mut self, name: &Word, conditions: &[Expr], scopes: &mut Scopes<'t>) -> Decided<Truth> {
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
            Unary::Globally => truth::globally(&bits),
            Unary::Finally => truth::finally(&bits),
            Unary::Next => truth::next(&bits),
            Unary::Previously(Scope::All) => truth::forwards(PastState::Previously(false), &bits, &never()),
            Unary::Historically(Scope::All) => {
                truth::forwards(PastState::Historically(true), &bits, &never())
            }
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
        Truth::Varying(truth::binary(operator, &left, &right, self.reading))
    }
}

impl<'t> Evaluator<'t> {
    /// Returns whether `expr` holds at a position.
    pub(crate) fn holds_at(&mut self, expr: &Expr, at: usize, scopes: &mut Scopes<'t>) -> Decided<bool> {
        if !mentions(expr, scopes) && !self.is_local(expr, scopes) {
            let fault = self.fault;
            match self.eval(expr, scopes) {
                // The action that lacks the set may be another one.
                Err(found) if found.depends_on_action() && !expr.needs_other_positions() => {
                    self.fault = fault
                }
                found => return Ok(found?.at(at)),
            }
        }
        self.spend(1)?;
        Ok(match expr {
            Expr::Not(inner) => !self.holds_at(inner, at, scopes)?,
            Expr::And(operands) => {
                for operand in operands {
                    if !self.holds_at(operand, at, scopes)? {
                        return Ok(false);
                    }
                }
                true
            }
            Expr::Or(operands) => {
                for operand in operands {
                    if self.holds_at(operand, at, scopes)? {
                        return Ok(true);
                    }
                }
                false
            }
            Expr::Implies(left, right) => {
                !self.holds_at(left, at, scopes)? || self.holds_at(right, at, scopes)?
            }
            Expr::Iff(left, right) => self.holds_at(left, at, scopes)? == self.holds_at(right, at, scopes)?,
            Expr::Compare { .. } | Expr::Member { .. } | Expr::Holds(_) => {
                self.relation_at(expr, Some(at), scopes)?
            }
            Expr::Quantified { quantifier, variable, set, body } => {
                let elements = self.range(set.as_ref(), Some(at), scopes)?;
                self.quantified_at(*quantifier, variable, elements, body, at, scopes)?
            }
            // The others need other positions too.
            _ => self.eval(expr, scopes)?.at(at),
        })
    }

    /// Returns whether a formula ranges over a set that belongs to the position, so that evaluating it everywhere
    /// costs the sum of all those sets.
    fn is_local(&self, expr: &Expr, scopes: &Scopes<'t>) -> bool {
        match expr {
            Expr::Quantified { set, .. } => set.as_ref().is_some_and(|set| self.varies(set, scopes)),
            Expr::Not(_) | Expr::And(_) | Expr::Or(_) | Expr::Implies(..) | Expr::Iff(..) => {
                expr.parts().any(|part| self.is_local(part, scopes))
            }
            _ => false,
        }
    }
}

/// Returns whether a formula mentions a bound variable.
pub(super) fn mentions(expr: &Expr, scopes: &Scopes<'_>) -> bool {
    if scopes.is_empty() {
        return false;
    }
    any_word(expr, &mut |word| scopes.find(word).is_some())
}

/// Returns whether `found` is true of any word of a formula; names of types with conditions do not count.
pub(crate) fn any_word(expr: &Expr, found: &mut dyn FnMut(&Word) -> bool) -> bool {
    let in_terms = match expr {
        Expr::Atom(word) => found(word),
        Expr::Quantified { set: Some(set), .. } => any_term_word(set, found),
        Expr::Compare { left, right, .. } => any_term_word(left, found) || any_term_word(right, found),
        Expr::Member { element, set } => any_term_word(element, found) || any_term_word(set, found),
        Expr::Holds(term) => any_term_word(term, found),
        _ => false,
    };
    in_terms || expr.parts().any(|part| any_word(part, found))
}

/// Returns whether `found` is true of any word of a term.
fn any_term_word(term: &Term, found: &mut dyn FnMut(&Word) -> bool) -> bool {
    match term {
        Term::Word(word) => found(word),
        Term::Field { base, .. } => found(base),
        Term::Call { arguments, .. } => arguments.iter().any(|argument| any_term_word(argument, found)),
        Term::List(items) => items.iter().any(|item| any_term_word(item, found)),
        Term::Comprehension { body, guard } => any_term_word(body, found) || any_word(guard, found),
        Term::Text(_) | Term::Int(_) | Term::Empty => false,
    }
}

impl<'t> Evaluator<'t> {
    pub(super) fn quantified(
        &mut self,
        quantifier: Quantifier,
        variable: &Word,
        set: Option<&Term>,
        body: &Expr,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Truth> {
        if set.is_some_and(|set| self.varies(set, scopes)) {
            if self.subject.is_empty() {
                return Ok(Truth::Constant(quantifier == Quantifier::All));
            }
            let mut bits = Bits::filled(self.len(), false);
            for at in 0..self.len() {
                let elements = self.range(set, Some(at), scopes)?;
                if self.quantified_at(quantifier, variable, elements, body, at, scopes)? {
                    bits.set(at);
                }
            }
            return Ok(Truth::Varying(bits));
        }
        let elements = self.range(set, None, scopes)?;
        let mut tally = Tally::default();
        for element in elements {
            scopes.push(variable, element);
            let holds = self.eval(body, scopes);
            scopes.pop();
            tally.add(quantifier, &*holds?);
        }
        Ok(tally.result(quantifier))
    }

    pub(super) fn quantified_at(
        &mut self,
        quantifier: Quantifier,
        variable: &Word,
        elements: Vec<Datum<'t>>,
        body: &Expr,
        at: usize,
        scopes: &mut Scopes<'t>,
    ) -> Decided<bool> {
        let mut found = 0;
        for element in elements {
            scopes.push(variable, element);
            let holds = self.holds_at(body, at, scopes);
            scopes.pop();
            match (quantifier, holds?) {
                (Quantifier::All, false) => return Ok(false),
                (Quantifier::Some, true) => return Ok(true),
                (Quantifier::One, true) if found == 1 => return Ok(false),
                (Quantifier::One, true) => found += 1,
                _ => {}
            }
        }
        Ok(match quantifier {
            Quantifier::All => true,
            Quantifier::Some => false,
            Quantifier::One => found == 1,
        })
    }

    /// Returns the elements a variable ranges over: those of the set, or every action without a set.
    pub(crate) fn range(
        &mut self,
        set: Option<&Term>,
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Vec<Datum<'t>>> {
        let Some(set) = set else { return Ok((0..self.len()).map(Datum::Action).collect()) };
        let elements = self.set(set, at, scopes);
        if let Err(fault) = &elements {
            let bound = scopes.action_in(&mut |found| any_term_word(set, found));
            let at = at.filter(|_| self.varies(set, scopes));
            self.note_fault(fault, bound, at);
        }
        elements
    }

    /// Returns the elements of a set for which the body is `holds`.
    pub(crate) fn elements_where(
        &mut self,
        variable: &Word,
        set: &Term,
        body: &Expr,
        at: usize,
        holds: bool,
    ) -> Decided<Vec<Datum<'t>>> {
        let mut scopes = Scopes::default();
        let mut matching = Vec::new();
        for element in self.range(Some(set), Some(at), &mut scopes)? {
            scopes.push(variable, element.clone());
            let found = self.holds_at(body, at, &mut scopes);
            scopes.pop();
            if found? == holds {
                matching.push(element);
            }
        }
        Ok(matching)
    }
}

/// The positions where all, at least one, or more than one element satisfied the body.
struct Tally {
    all: Truth,
    some: Truth,
    several: Truth,
}

impl Default for Tally {
    fn default() -> Self {
        Self { all: Truth::Constant(true), some: Truth::Constant(false), several: Truth::Constant(false) }
    }
}

impl Tally {
    fn add(&mut self, quantifier: Quantifier, holds: &Truth) {
        match quantifier {
            Quantifier::All => self.all = self.all.and(holds),
            Quantifier::Some => self.some = self.some.or(holds),
            Quantifier::One => {
                self.several = self.several.or(&self.some.and(holds));
                self.some = self.some.or(holds);
            }
        }
    }

    fn result(self, quantifier: Quantifier) -> Truth {
        match quantifier {
            Quantifier::All => self.all,
            Quantifier::Some => self.some,
            Quantifier::One => self.some.and(&self.several.not()),
        }
    }
}
