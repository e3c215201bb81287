//! From tokens to a tree.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hence_canon::INT_DIGITS_MAX;

use super::LENGTH_BYTES_MAX;
use super::ast::{Expression, Inner, Node, Operator};
use super::token::{Spanned, Token, tokenize};
use crate::reference::{Namespace, Reference};

/// The deepest nesting of parentheses, lists and `not`.
///
/// Reading and evaluating recurse once per level; this many levels fit any thread's stack with room to spare.
pub const NESTING_MAX: usize = 200;

/// A text that is not an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseExpressionError {
    /// The defect.
    pub kind: ParseExpressionErrorKind,
    /// The character at which it is, from 1; one past the last for an early end.
    pub column: usize,
    /// The byte at which it is, from 0.
    pub offset: usize,
}

impl ParseExpressionError {
    pub(super) fn new(text: &str, offset: usize, kind: ParseExpressionErrorKind) -> Self {
        let column = text.get(..offset).map_or(1, |before| before.chars().count() + 1);
        Self { kind, column, offset }
    }
}

impl fmt::Display for ParseExpressionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at column {}", self.kind, self.column)
    }
}

impl std::error::Error for ParseExpressionError {}

/// Returns how to write what a character means in other languages.
fn meant_operator(character: char) -> &'static str {
    match character {
        '=' => "; values are compared with `==`, `>=` and `<=`",
        '&' => "; write `and`",
        '|' => "; write `or`",
        '!' => "; write `not`, or `!=` between values",
        '+' | '*' | '/' | '%' => {
            "; expressions compare and have no arithmetic, so let a step before compute it with `number.calculate`"
        }
        _ => "",
    }
}

/// The defect of an expression.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseExpressionErrorKind {
    /// Longer than [`LENGTH_BYTES_MAX`].
    #[error("expression has {found} bytes, limit is {LENGTH_BYTES_MAX}")]
    TooLong {
        /// The number of bytes.
        found: usize,
    },
    /// Nothing but spaces.
    #[error("expression is empty")]
    Empty,
    /// A character that starts no token.
    #[error("unknown character {0:?}{meant}", meant = meant_operator(*.0))]
    UnknownCharacter(char),
    /// A quote without its partner.
    #[error("string is not closed")]
    UnterminatedString,
    /// A number has too many digits.
    #[error("number has more than {INT_DIGITS_MAX} digits")]
    NumberTooLong,
    /// A dot without a name after it.
    #[error("a dot is followed by a name or an index")]
    EmptySegment,
    /// A word of the language used as a name.
    #[error("`{0}` is a word of the language and cannot be a name")]
    KeywordSegment(String),
    /// Nested deeper than [`NESTING_MAX`].
    #[error("nesting is deeper than {NESTING_MAX}")]
    TooDeep,
    /// A token is not allowed in its place.
    #[error("expected {expected}")]
    Expected {
        /// The description of a text that would fit.
        expected: &'static str,
    },
}

impl FromStr for Expression {
    type Err = ParseExpressionError;

    fn from_str(text: &str) -> Result<Self, ParseExpressionError> {
        let tokens = tokenize(text)?;
        if tokens.is_empty() {
            return Err(ParseExpressionError::new(text, 0, ParseExpressionErrorKind::Empty));
        }
        let mut parser = Parser { text, tokens: &tokens, next: 0, nesting: 0 };
        let root = parser.or()?;
        if parser.next < tokens.len() {
            return Err(parser.expected("and, or, ??, a comparison or the end"));
        }
        Ok(Self(Arc::new(Inner { text: text.into(), root })))
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Spanned],
    next: usize,
    nesting: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|spanned| &spanned.token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |spanned| spanned.at)
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    fn expected(&self, expected: &'static str) -> ParseExpressionError {
        ParseExpressionError::new(self.text, self.at(), ParseExpressionErrorKind::Expected { expected })
    }

    fn deeper(&mut self) -> Result<(), ParseExpressionError> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(ParseExpressionError::new(self.text, self.at(), ParseExpressionErrorKind::TooDeep));
        }
        Ok(())
    }

    fn or(&mut self) -> Result<Node, ParseExpressionError> {
        let mut operands = vec![self.and()?];
        while self.take(&Token::Or) {
            operands.push(self.and()?);
        }
        Ok(one_or(operands, Node::Or))
    }

    fn and(&mut self) -> Result<Node, ParseExpressionError> {
        let mut operands = vec![self.not()?];
        while self.take(&Token::And) {
            operands.push(self.not()?);
        }
        Ok(one_or(operands, Node::And))
    }

    fn not(&mut self) -> Result<Node, ParseExpressionError> {
        if !self.take(&Token::Not) {
            return self.comparison();
        }
        self.deeper()?;
        let inner = self.not()?;
        self.nesting -= 1;
        Ok(Node::Not(Box::new(inner)))
    }

    fn comparison(&mut self) -> Result<Node, ParseExpressionError> {
        let left = self.defaulted()?;
        let at = self.at();
        let Some(operator) = self.operator()? else { return Ok(left) };
        let right = self.defaulted()?;
        Ok(Node::Compare { operator, sides: Box::new((left, right)), at })
    }

    fn defaulted(&mut self) -> Result<Node, ParseExpressionError> {
        let mut operands = vec![self.value()?];
        while self.take(&Token::Else) {
            operands.push(self.value()?);
        }
        Ok(one_or(operands, Node::Else))
    }

    fn operator(&mut self) -> Result<Option<Operator>, ParseExpressionError> {
        let operator = match self.peek() {
            Some(Token::Equal) => Operator::Equal,
            Some(Token::NotEqual) => Operator::NotEqual,
            Some(Token::Greater) => Operator::Greater,
            Some(Token::Less) => Operator::Less,
            Some(Token::GreaterOrEqual) => Operator::GreaterOrEqual,
            Some(Token::LessOrEqual) => Operator::LessOrEqual,
            Some(Token::In) => Operator::In,
            Some(Token::Not) => {
                self.next += 1;
                return if self.take(&Token::In) {
                    Ok(Some(Operator::NotIn))
                } else {
                    Err(self.expected("in"))
                };
            }
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(operator))
    }

    fn value(&mut self) -> Result<Node, ParseExpressionError> {
        let expected = "a value";
        let Some(token) = self.peek().cloned() else { return Err(self.expected(expected)) };
        match token {
            Token::Literal(value) => {
                self.next += 1;
                Ok(Node::Literal(value))
            }
            Token::Path(path) => {
                self.next += 1;
                Ok(reference(&path))
            }
            Token::Open => {
                self.next += 1;
                self.deeper()?;
                let inner = self.or()?;
                self.nesting -= 1;
                if self.take(&Token::Close) { Ok(inner) } else { Err(self.expected("a closing parenthesis")) }
            }
            Token::OpenList => {
                self.next += 1;
                self.list()
            }
            _ => Err(self.expected(expected)),
        }
    }

    fn list(&mut self) -> Result<Node, ParseExpressionError> {
        self.deeper()?;
        let mut items = Vec::new();
        if !self.take(&Token::CloseList) {
            items.push(self.or()?);
            while self.take(&Token::Comma) {
                items.push(self.or()?);
            }
            if !self.take(&Token::CloseList) {
                return Err(self.expected("a comma or a closing bracket"));
            }
        }
        self.nesting -= 1;
        Ok(Node::List(items.into()))
    }
}

/// A name outside the seven namespaces is a name in `vars`.
fn reference(path: &str) -> Node {
    if let Ok(namespace) = path.parse::<Namespace>() {
        return Node::Whole(namespace);
    }
    Node::Reference(Reference::parse(path).unwrap_or_else(|| Reference::new(Namespace::Vars, path)))
}

fn one_or(mut operands: Vec<Node>, several: impl Fn(Box<[Node]>) -> Node) -> Node {
    match (operands.pop(), operands.is_empty()) {
        (Some(only), true) => only,
        (last, _) => several(operands.into_iter().chain(last).collect()),
    }
}
