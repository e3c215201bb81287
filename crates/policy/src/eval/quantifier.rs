//! `∀`, `∃`, `∃!`

use super::bits::Bits;
use super::datum::Datum;
use super::evaluator::{Evaluator, Scopes, Undecided};
use super::truth::Truth;
use crate::formula::{Expr, Quantifier, Term, Word};

impl<'t> Evaluator<'t> {
    pub(super) fn quantified(
        &mut self,
        quantifier: Quantifier,
        variable: &Word,
        set: Option<&Term>,
        body: &Expr,
        scopes: &mut Scopes<'t>,
    ) -> Result<Truth, Undecided> {
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
    ) -> Result<bool, Undecided> {
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

    /// Returns what a variable ranges over: a set, or every action when none is named.
    pub(super) fn range(
        &mut self,
        set: Option<&Term>,
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Vec<Datum<'t>>, Undecided> {
        let Some(set) = set else { return Ok((0..self.len()).map(Datum::Action).collect()) };
        self.set(set, at, scopes)
    }

    /// Returns the elements of the range of a top-level quantifier for which the body does not hold, or does.
    pub(crate) fn elements_where(
        &mut self,
        variable: &Word,
        set: &Term,
        body: &Expr,
        at: usize,
        holds: bool,
    ) -> Result<Vec<Datum<'t>>, Undecided> {
        let mut scopes = Scopes::default();
        let mut kept = Vec::new();
        for element in self.range(Some(set), Some(at), &mut scopes)? {
            scopes.push(variable, element.clone());
            let found = self.holds_at(body, at, &mut scopes);
            scopes.pop();
            if found? == holds {
                kept.push(element);
            }
        }
        Ok(kept)
    }
}

/// Where none, one, or more than one element satisfied the body.
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
