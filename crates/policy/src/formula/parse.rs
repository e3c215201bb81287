//! Tokens → tree, by recursive descent; infix operators are read by how tightly they bind.

use std::sync::Arc;

use super::print::Binding;
use super::token::{Sign, Token, tokenize};
use super::{
    Alphabet, Binary, Comparison, Expr, Location, Quantifier, SyntaxError, SyntaxErrorKind, Term, Unary, Word,
};

/// The greatest nesting of operators.
///
/// Everything that walks a formula recurses, so this bounds the stack. Formulas people write nest below ten.
pub const FORMULA_DEPTH_MAX: usize = 64;

/// The greatest recursion of the parser. One operator takes at most four steps down (operator, parenthesis,
/// atom, set), so every tree that is not too high can be printed and read again.
pub(super) const NESTING_MAX: usize = 4 * FORMULA_DEPTH_MAX;

/// The greatest length of a formula. Formulas people write stay below one kilobyte.
pub const FORMULA_BYTES_MAX: usize = 64 * 1024;

/// A parsed formula: its text and its tree, which nests at most [`FORMULA_DEPTH_MAX`] deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    text: Arc<str>,
    expr: Arc<Expr>,
}

impl Formula {
    /// Parses a formula in either alphabet.
    ///
    /// # Errors
    /// [`SyntaxError`] with the location, for everything the grammar does not allow: nothing is skipped.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        if text.len() > FORMULA_BYTES_MAX {
            let kind = SyntaxErrorKind::TooLong { found: text.len() };
            return Err(SyntaxError { kind, location: Location::find(text, FORMULA_BYTES_MAX) });
        }
        let mut parser = Parser { text, tokens: tokenize(text)?, at: 0, nesting: 0 };
        if parser.sign() == &Sign::End {
            return Err(parser.fail(SyntaxErrorKind::Empty));
        }
        let node = parser.formula()?;
        if parser.sign() != &Sign::End {
            return Err(parser.unexpected("an operator or the end of the formula"));
        }
        Ok(Self { text: text.into(), expr: Arc::new(node.expr) })
    }

    /// Returns the text as written.
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

    /// Returns the location of byte `offset`, for messages about a [`Word`](super::Word) of the tree.
    pub fn location(&self, offset: usize) -> Location {
        Location::find(&self.text, offset)
    }
}

/// A tree with its height, which must stay bounded also where a loop builds the tree.
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

    /// Consumes the token if it is `sign`.
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
        SyntaxError { kind, location: Location::find(self.text, self.offset()) }
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

    /// Returns the height of a node above parts of height `below`.
    fn taller(&self, below: usize) -> Result<usize, SyntaxError> {
        if below < FORMULA_DEPTH_MAX { Ok(below + 1) } else { Err(self.fail(SyntaxErrorKind::TooDeep)) }
    }

    /// Makes a node one higher than its highest part.
    fn node(&self, below: usize, expr: Expr) -> Result<Node, SyntaxError> {
        Ok(Node { expr, height: self.taller(below)? })
    }

    fn formula(&mut self) -> Result<Node, SyntaxError> {
        self.infix(Binding::Iff)
    }

    /// Reads operands and the operators between them that bind at least as tightly as `least`.
    fn infix(&mut self, least: Binding) -> Result<Node, SyntaxError> {
        let mut left = self.unary()?;
        while let Some(binding) = self.sign().binding().filter(|binding| *binding >= least) {
            left = match binding {
                Binding::And => self.chain(left, Binding::Temporal, Expr::And)?,
                Binding::Or => self.chain(left, Binding::And, Expr::Or)?,
                _ => self.pair(left)?,
            };
        }
        Ok(left)
    }

    /// Reads the other operands of `∧` or `∨`; a chain is one flat node, so its length costs no depth.
    fn chain(
        &mut self,
        first: Node,
        operands_bind: Binding,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Result<Node, SyntaxError> {
        let sign = self.sign().clone();
        let mut below = first.height;
        let mut operands = vec![first.expr];
        while self.take(&sign) {
            let next = self.infix(operands_bind)?;
            below = below.max(next.height);
            operands.push(next.expr);
        }
        self.node(below, join(operands))
    }

    /// Reads the right operand of `<->`, `→` or a temporal operator.
    fn pair(&mut self, left: Node) -> Result<Node, SyntaxError> {
        let sign = self.sign().clone();
        self.advance();
        let right = match sign {
            Sign::Implies => self.nested(|parser| parser.infix(Binding::Implies))?,
            Sign::Iff => self.infix(Binding::Implies)?,
            _ => self.unary()?,
        };
        let below = left.height.max(right.height);
        let (left, right) = (left.expr.into(), right.expr.into());
        let expr = match sign {
            Sign::Implies => Expr::Implies(left, right),
            Sign::Word(word) => Expr::Binary(Binary::from_word(word).unwrap_or(Binary::Until), left, right),
            _ => Expr::Iff(left, right),
        };
        self.node(below, expr)
    }

    fn unary(&mut self) -> Result<Node, SyntaxError> {
        match *self.sign() {
            Sign::Not => self.prefixed(Expr::Not),
            Sign::Quantifier(quantifier) => self.nested(|parser| parser.quantified(quantifier)),
            Sign::Open => self.nested(Self::parenthesised),
            Sign::Word(word) => match Unary::from_word(word) {
                Some(operator) => self.prefixed(|inner| Expr::Unary(operator, inner)),
                None => self.nested(Self::primary),
            },
            _ => self.nested(Self::primary),
        }
    }

    /// Reads an operator before its operand.
    fn prefixed(&mut self, make: impl FnOnce(Box<Expr>) -> Expr) -> Result<Node, SyntaxError> {
        self.advance();
        let inner = self.nested(Self::unary)?;
        self.node(inner.height, make(inner.expr.into()))
    }

    fn parenthesised(&mut self) -> Result<Node, SyntaxError> {
        self.advance();
        let inner = self.formula()?;
        self.expect(&Sign::Close, "`)`")?;
        Ok(inner)
    }
}

impl Parser<'_> {
    fn primary(&mut self) -> Result<Node, SyntaxError> {
        match self.sign().clone() {
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
        let of = self.formula()?;
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
            let condition = self.formula()?;
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

    /// Reads what follows a quantifier; the body extends as far right as it can.
    fn quantified(&mut self, quantifier: Quantifier) -> Result<Node, SyntaxError> {
        self.advance();
        let variable = self.name("a variable")?;
        let range = if self.take(&Sign::In) { Some(self.range()?) } else { None };
        if !self.take(&Sign::Dot) && !self.take(&Sign::Implies) {
            return Err(self.unexpected("`.` or `→` before the body of the quantifier"));
        }
        let body = self.formula()?;
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

    /// Consumes a word that is not an operator.
    fn name(&mut self, expected: &'static str) -> Result<Word, SyntaxError> {
        let offset = self.offset();
        match *self.sign() {
            Sign::Word(word) if !is_operator(word) => {
                self.advance();
                Ok(Word::at(word, offset))
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Reads a word, a field or a call; every method here also returns the height of what it read.
    fn term(&mut self) -> Result<(Term, usize), SyntaxError> {
        let word = self.name("a name")?;
        match self.sign() {
            Sign::Open => self.call(word),
            Sign::Dot => Ok((self.field(word)?, 0)),
            _ => Ok((Term::Word(word), 0)),
        }
    }

    fn field(&mut self, base: Word) -> Result<Term, SyntaxError> {
        let mut path = Vec::new();
        while self.take(&Sign::Dot) {
            let offset = self.offset();
            let Sign::Word(member) = *self.sign() else { return Err(self.unexpected("a field")) };
            path.push(Word::at(member, offset));
            self.advance();
        }
        Ok(Term::Field { base, path })
    }

    /// Reads the arguments of `function`.
    fn call(&mut self, function: Word) -> Result<(Term, usize), SyntaxError> {
        self.nested(|parser| {
            parser.expect(&Sign::Open, "`(`")?;
            let mut arguments = Vec::new();
            let mut below = 0;
            loop {
                let (argument, height) = parser.argument()?;
                below = below.max(height);
                arguments.push(argument);
                if !parser.take(&Sign::Comma) {
                    break;
                }
            }
            parser.expect(&Sign::Close, "`,` or `)`")?;
            Ok((Term::Call { function, arguments }, parser.taller(below)?))
        })
    }

    fn argument(&mut self) -> Result<(Term, usize), SyntaxError> {
        match self.sign() {
            Sign::Word(_) => self.term(),
            Sign::OpenBrace => self.braces(),
            _ => Ok((self.value()?, 0)),
        }
    }

    /// Reads a literal.
    fn value(&mut self) -> Result<Term, SyntaxError> {
        let term = match self.sign().clone() {
            Sign::Int(value) => Term::Int(value),
            Sign::Text(text) => Term::Text(text.into()),
            Sign::Empty => Term::Empty,
            _ => return Err(self.unexpected("a value")),
        };
        self.advance();
        Ok(term)
    }

    /// Reads `{a, b}` or `{body | guard}`.
    fn braces(&mut self) -> Result<(Term, usize), SyntaxError> {
        self.nested(|parser| {
            parser.expect(&Sign::OpenBrace, "`{`")?;
            let (first, mut below) = parser.argument()?;
            if parser.take(&Sign::Bar) {
                let guard = parser.formula()?;
                parser.expect(&Sign::CloseBrace, "`}`")?;
                let height = parser.taller(below.max(guard.height))?;
                return Ok((Term::Comprehension { body: first.into(), guard: guard.expr.into() }, height));
            }
            let mut items = vec![first];
            while parser.take(&Sign::Comma) {
                let (item, height) = parser.argument()?;
                below = below.max(height);
                items.push(item);
            }
            parser.expect(&Sign::CloseBrace, "`,`, `|` or `}`")?;
            Ok((Term::List(items), parser.taller(below)?))
        })
    }
}

/// Returns whether a name is written like a type: `EditFile`, not `edit_file`.
fn is_type(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
}

/// Returns whether `word` is a temporal operator, which no atom or variable may be called.
fn is_operator(word: &str) -> bool {
    Unary::from_word(word).is_some() || Binary::from_word(word).is_some()
}
