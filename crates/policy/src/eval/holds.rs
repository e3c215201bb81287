//! One position at a time, for parts that speak of a variable bound at that position.

use super::evaluator::{Evaluator, Scopes, Undecided};
use crate::formula::{Expr, Term, Word};

impl<'t> Evaluator<'t> {
    /// Returns whether `expr` holds at a position.
    pub(super) fn holds_at(
        &mut self,
        expr: &Expr,
        at: usize,
        scopes: &mut Scopes<'t>,
    ) -> Result<bool, Undecided> {
        if !mentions(expr, scopes) && !self.is_local(expr, scopes) {
            return Ok(self.eval(expr, scopes)?.at(at));
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
            // Atoms, temporal operators, counts and typed atoms need other positions too.
            _ => self.eval(expr, scopes)?.at(at),
        })
    }
}

impl<'t> Evaluator<'t> {
    /// Returns whether a formula ranges over a set that belongs to the position, so that asking it everywhere
    /// costs the sum of all those sets.
    pub(super) fn is_local(&self, expr: &Expr, scopes: &Scopes<'t>) -> bool {
        match expr {
            Expr::Quantified { set: Some(set), .. } => self.varies(set, scopes),
            Expr::Not(inner) => self.is_local(inner, scopes),
            Expr::And(parts) | Expr::Or(parts) => parts.iter().any(|part| self.is_local(part, scopes)),
            Expr::Implies(left, right) | Expr::Iff(left, right) => {
                self.is_local(left, scopes) || self.is_local(right, scopes)
            }
            _ => false,
        }
    }
}

/// Returns whether a formula speaks of a variable in scope.
pub(super) fn mentions(expr: &Expr, scopes: &Scopes<'_>) -> bool {
    if scopes.is_empty() {
        return false;
    }
    any_word(expr, &mut |word| scopes.find(word).is_some())
}

/// Returns whether `found` for any word of a formula.
pub(crate) fn any_word(expr: &Expr, found: &mut dyn FnMut(&Word) -> bool) -> bool {
    match expr {
        Expr::Constant(_) => false,
        Expr::Atom(word) => found(word),
        Expr::Typed { conditions, .. } => conditions.iter().any(|condition| any_word(condition, found)),
        Expr::Not(inner) | Expr::Unary(_, inner) | Expr::Count { of: inner, .. } => any_word(inner, found),
        Expr::And(operands) | Expr::Or(operands) => operands.iter().any(|operand| any_word(operand, found)),
        Expr::Implies(left, right) | Expr::Iff(left, right) | Expr::Binary(_, left, right) => {
            any_word(left, found) || any_word(right, found)
        }
        Expr::Quantified { set, body, .. } => {
            set.as_ref().is_some_and(|set| any_term_word(set, found)) || any_word(body, found)
        }
        Expr::Compare { left, right, .. } => any_term_word(left, found) || any_term_word(right, found),
        Expr::Member { element, set } => any_term_word(element, found) || any_term_word(set, found),
        Expr::Holds(term) => any_term_word(term, found),
    }
}

/// Returns whether `found` for any word of a term.
pub(crate) fn any_term_word(term: &Term, found: &mut dyn FnMut(&Word) -> bool) -> bool {
    match term {
        Term::Word(word) => found(word),
        Term::Field { base, .. } => found(base),
        Term::Call { arguments, .. } => arguments.iter().any(|argument| any_term_word(argument, found)),
        Term::List(items) => items.iter().any(|item| any_term_word(item, found)),
        Term::Comprehension { body, guard } => any_term_word(body, found) || any_word(guard, found),
        Term::Text(_) | Term::Int(_) | Term::Empty => false,
    }
}
