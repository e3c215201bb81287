//! Tokens → tree, by recursive descent. One method per row of the grammar, loosest first.

mod primary;
mod quantifier;
mod term;

use std::sync::Arc;

use super::token::{Sign, Token};
use super::tokenize::tokenize;
use super::{Alphabet, Binary, Expr, Place, SyntaxError, SyntaxErrorKind, Unary};

/// How deep operators may nest.
///
/// Everything that walks a formula recurses, so this bounds the stack. Formulas people write nest below ten.
pub const FORMULA_DEPTH_MAX: usize = 64;

/// How deep the parser itself may recurse. One operator takes at most four steps down (operator, parenthesis,
/// atom, set), so every tree that is not too high can be printed and read again.
pub(super) const NESTING_MAX: usize = 4 * FORMULA_DEPTH_MAX;

/// How long the text of a formula may be. Formulas people write stay below one kilobyte.
pub const FORMULA_BYTES_MAX: usize = 64 * 1024;

/// A formula that was read: its text and its tree, which nests at most [`FORMULA_DEPTH_MAX`] deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    text: Arc<str>,
    expr: Arc<Expr>,
}

impl Formula {
    /// Reads a formula in either alphabet.
    ///
    /// # Errors
    /// [`SyntaxError`] with the place, for everything the grammar does not allow: nothing is skipped.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        if text.len() > FORMULA_BYTES_MAX {
            let kind = SyntaxErrorKind::TooLong { found: text.len() };
            return Err(SyntaxError { kind, place: Place::find(text, FORMULA_BYTES_MAX) });
        }
        let mut parser = Parser { text, tokens: tokenize(text)?, at: 0, nesting: 0 };
        if parser.sign() == &Sign::End {
            return Err(parser.fail(SyntaxErrorKind::Empty));
        }
        let node = parser.iff()?;
        if parser.sign() != &Sign::End {
            return Err(parser.unexpected("an operator or the end of the formula"));
        }
        Ok(Self { text: text.into(), expr: Arc::new(node.expr) })
    }

    /// Returns the text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the tree.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Writes the formula again, with no more parentheses than it needs.
    pub fn print(&self, alphabet: Alphabet) -> String {
        self.expr.print(alphabet)
    }

    /// Returns the place of byte `offset`, for messages about a [`Word`](super::Word) of the tree.
    pub fn place(&self, offset: usize) -> Place {
        Place::find(&self.text, offset)
    }
}

/// A tree with its height, which must stay bounded where a loop, not recursion, builds it.
struct Node {
    expr: Expr,
    height: usize,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn sign(&self) -> &Sign<'a> {
        self.tokens.get(self.at).map_or(&Sign::End, |token| &token.sign)
    }

    fn sign_after(&self) -> &Sign<'a> {
        self.tokens.get(self.at + 1).map_or(&Sign::End, |token| &token.sign)
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |token| token.offset)
    }

    fn advance(&mut self) {
        self.at += 1;
    }

    /// Takes the token if it is `sign`.
    fn take(&mut self, sign: &Sign<'_>) -> bool {
        let found = self.sign() == sign;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &Sign<'_>, expected: &'static str) -> Result<(), SyntaxError> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn fail(&self, kind: SyntaxErrorKind) -> SyntaxError {
        SyntaxError { kind, place: Place::find(self.text, self.offset()) }
    }

    fn unexpected(&self, expected: &'static str) -> SyntaxError {
        self.fail(SyntaxErrorKind::Unexpected { expected, found: self.sign().describe() })
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        if self.nesting >= NESTING_MAX {
            return Err(self.fail(SyntaxErrorKind::TooDeep));
        }
        self.nesting += 1;
        let result = inner(self);
        self.nesting -= 1;
        result
    }

    /// Returns the height of something that stands on what is `below`.
    fn taller(&self, below: usize) -> Result<usize, SyntaxError> {
        if below < FORMULA_DEPTH_MAX { Ok(below + 1) } else { Err(self.fail(SyntaxErrorKind::TooDeep)) }
    }

    /// Makes a node one higher than what is below it.
    fn node(&self, below: usize, expr: Expr) -> Result<Node, SyntaxError> {
        Ok(Node { expr, height: self.taller(below)? })
    }

    fn iff(&mut self) -> Result<Node, SyntaxError> {
        let mut left = self.implication()?;
        while self.take(&Sign::Iff) {
            let right = self.implication()?;
            let below = left.height.max(right.height);
            left = self.node(below, Expr::Iff(left.expr.into(), right.expr.into()))?;
        }
        Ok(left)
    }

    fn implication(&mut self) -> Result<Node, SyntaxError> {
        let left = self.disjunction()?;
        if !self.take(&Sign::Implies) {
            return Ok(left);
        }
        let right = self.nested(Self::implication)?;
        let below = left.height.max(right.height);
        self.node(below, Expr::Implies(left.expr.into(), right.expr.into()))
    }

    fn disjunction(&mut self) -> Result<Node, SyntaxError> {
        self.chain(&Sign::Or, Self::conjunction, Expr::Or)
    }

    fn conjunction(&mut self) -> Result<Node, SyntaxError> {
        self.chain(&Sign::And, Self::binary_temporal, Expr::And)
    }

    /// Reads operands joined by `sign`; a chain is one flat node, so its length costs no depth.
    fn chain(
        &mut self,
        sign: &Sign<'_>,
        operand: fn(&mut Self) -> Result<Node, SyntaxError>,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Result<Node, SyntaxError> {
        let first = operand(self)?;
        if self.sign() != sign {
            return Ok(first);
        }
        let mut below = first.height;
        let mut operands = vec![first.expr];
        while self.take(sign) {
            let next = operand(self)?;
            below = below.max(next.height);
            operands.push(next.expr);
        }
        self.node(below, join(operands))
    }

    fn binary_temporal(&mut self) -> Result<Node, SyntaxError> {
        let mut left = self.unary()?;
        while let Sign::Word(word) = self.sign() {
            let Some(operator) = Binary::from_word(word) else { break };
            self.advance();
            let right = self.unary()?;
            let below = left.height.max(right.height);
            left = self.node(below, Expr::Binary(operator, left.expr.into(), right.expr.into()))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, SyntaxError> {
        match self.sign().clone() {
            Sign::Not => {
                self.advance();
                let inner = self.nested(Self::unary)?;
                self.node(inner.height, Expr::Not(inner.expr.into()))
            }
            Sign::Quantifier(quantifier) => self.nested(|parser| parser.quantified(quantifier)),
            Sign::Word(word) => match Unary::from_word(word) {
                Some(operator) => {
                    self.advance();
                    let inner = self.nested(Self::unary)?;
                    self.node(inner.height, Expr::Unary(operator, inner.expr.into()))
                }
                None => self.nested(Self::primary),
            },
            _ => self.nested(Self::primary),
        }
    }
}
