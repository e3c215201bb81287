//! `∀ x ∈ set . φ`

use super::{Node, Parser};
use crate::formula::token::Sign;
use crate::formula::{Expr, Quantifier, SyntaxError, Term, Word};

impl Parser<'_> {
    /// Reads what follows a quantifier; the body extends as far right as it can.
    pub(super) fn quantified(&mut self, quantifier: Quantifier) -> Result<Node, SyntaxError> {
        self.advance();
        let variable = self.name("a variable")?;
        let range = if self.take(&Sign::In) { Some(self.range()?) } else { None };
        if !self.take(&Sign::Dot) && !self.take(&Sign::Implies) {
            return Err(self.unexpected("`.` or `→` before the body of the quantifier"));
        }
        let body = self.iff()?;
        let (set, set_height) = range.map_or((None, 0), |(set, height)| (Some(set), height));
        let below = body.height.max(set_height);
        self.node(below, Expr::Quantified { quantifier, variable, set, body: body.expr.into() })
    }

    /// Reads the set a variable ranges over. A dot after it always starts the body.
    fn range(&mut self) -> Result<(Term, usize), SyntaxError> {
        if self.sign() == &Sign::OpenBrace {
            return self.braces();
        }
        let word = self.name("a set")?;
        if self.sign() == &Sign::Open { self.call(word) } else { Ok((Term::Word(word), 0)) }
    }

    /// Takes a word that is not an operator.
    pub(super) fn name(&mut self, expected: &'static str) -> Result<Word, SyntaxError> {
        let offset = self.offset();
        match *self.sign() {
            Sign::Word(word) if !is_operator(word) => {
                self.advance();
                Ok(Word::at(word, offset))
            }
            _ => Err(self.unexpected(expected)),
        }
    }
}

/// Returns whether `word` is a temporal operator, which no atom or variable may be called.
pub(super) fn is_operator(word: &str) -> bool {
    crate::formula::Unary::from_word(word).is_some() || crate::formula::Binary::from_word(word).is_some()
}
