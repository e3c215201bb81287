//! Parentheses, atoms, counts and comparisons.

use super::quantifier::is_operator;
use super::{Node, Parser};
use crate::formula::token::Sign;
use crate::formula::{Comparison, Expr, SyntaxError, Term, Word};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result<Node, SyntaxError> {
        match self.sign().clone() {
            Sign::Open => {
                self.advance();
                let inner = self.iff()?;
                self.expect(&Sign::Close, "`)`")?;
                Ok(inner)
            }
            Sign::OpenBrace => {
                let (set, height) = self.braces()?;
                self.relation(set, height)
            }
            Sign::Word(word) if is_operator(word) => Err(self.unexpected("a formula")),
            Sign::Word(word) => self.word(word),
            Sign::Int(_) | Sign::Text(_) | Sign::Empty => {
                let left = self.value()?;
                self.relation(left, 0)
            }
            _ => Err(self.unexpected("a formula")),
        }
    }

    fn word(&mut self, word: &str) -> Result<Node, SyntaxError> {
        let applied = self.sign_after() == &Sign::Open;
        match word {
            "true" | "false" => {
                self.advance();
                self.node(0, Expr::Constant(word == "true"))
            }
            "count" if applied => self.count(),
            // `has rationale` reads as `rationale ≠ ∅`, and that is what it becomes.
            "has" if matches!(self.sign_after(), Sign::Word(field) if !is_operator(field)) => {
                self.advance();
                let left = Term::Word(self.name("a field")?);
                self.node(0, Expr::Compare { left, comparison: Comparison::NotEqual, right: Term::Empty })
            }
            _ if applied && is_type(word) && word != "Count" => self.typed(),
            _ => {
                let (term, below) = self.term()?;
                match self.sign() {
                    Sign::In | Sign::Comparison(_) => self.relation(term, below),
                    _ => self.node(
                        below,
                        match term {
                            Term::Word(word) => Expr::Atom(word),
                            other => Expr::Holds(other),
                        },
                    ),
                }
            }
        }
    }

    fn count(&mut self) -> Result<Node, SyntaxError> {
        self.advance();
        self.expect(&Sign::Open, "`(`")?;
        let of = self.iff()?;
        self.expect(&Sign::Close, "`)`")?;
        let Sign::Comparison(comparison) = *self.sign() else {
            return Err(self.unexpected("a comparison after `count(…)`"));
        };
        self.advance();
        let Sign::Int(bound) = *self.sign() else { return Err(self.unexpected("a whole number")) };
        self.advance();
        let height = of.height;
        self.node(height, Expr::Count { of: of.expr.into(), comparison, bound })
    }

    fn typed(&mut self) -> Result<Node, SyntaxError> {
        let name = self.name("a type")?;
        self.expect(&Sign::Open, "`(`")?;
        let mut conditions = Vec::new();
        let mut below = 0;
        loop {
            let condition = self.iff()?;
            below = below.max(condition.height);
            conditions.push(condition.expr);
            if !self.take(&Sign::Comma) {
                break;
            }
        }
        self.expect(&Sign::Close, "`,` or `)`")?;
        self.node(below, Expr::Typed { name, conditions })
    }

    /// Reads the comparison or membership that must follow `left`.
    fn relation(&mut self, left: Term, below: usize) -> Result<Node, SyntaxError> {
        match *self.sign() {
            Sign::In => {
                self.advance();
                let (set, height) = self.set()?;
                self.node(below.max(height), Expr::Member { element: left, set })
            }
            Sign::Comparison(comparison) => {
                self.advance();
                let (right, height) = self.operand()?;
                self.node(below.max(height), Expr::Compare { left, comparison, right })
            }
            _ => Err(self.unexpected("a comparison or `∈`")),
        }
    }

    /// Reads the right side of a comparison.
    fn operand(&mut self) -> Result<(Term, usize), SyntaxError> {
        match *self.sign() {
            Sign::OpenBrace => self.braces(),
            // A value is a literal: any word will do, also one that would be an operator elsewhere.
            Sign::Word(word) if is_operator(word) => {
                let value = Term::Word(Word::at(word, self.offset()));
                self.advance();
                Ok((value, 0))
            }
            Sign::Word(_) => self.term(),
            _ => Ok((self.value()?, 0)),
        }
    }

    /// Reads the right side of `∈`, with or without parentheses around it.
    fn set(&mut self) -> Result<(Term, usize), SyntaxError> {
        match self.sign() {
            Sign::Open => self.nested(|parser| {
                parser.advance();
                let set = parser.set()?;
                parser.expect(&Sign::Close, "`)`")?;
                Ok(set)
            }),
            Sign::OpenBrace => self.braces(),
            _ => self.term(),
        }
    }
}

/// Returns whether a name is written like a type: `EditFile`, not `edit_file`.
fn is_type(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
}
