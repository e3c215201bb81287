//! Values: words, fields, calls, literals and sets.

use super::Parser;
use crate::formula::token::Sign;
use crate::formula::{SyntaxError, Term, Word};

impl Parser<'_> {
    /// Reads a word, a field or a call; every method here also returns the height of what it read.
    pub(super) fn term(&mut self) -> Result<(Term, usize), SyntaxError> {
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
    pub(super) fn call(&mut self, function: Word) -> Result<(Term, usize), SyntaxError> {
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
    pub(super) fn value(&mut self) -> Result<Term, SyntaxError> {
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
    pub(super) fn braces(&mut self) -> Result<(Term, usize), SyntaxError> {
        self.nested(|parser| {
            parser.expect(&Sign::OpenBrace, "`{`")?;
            let (first, mut below) = parser.argument()?;
            if parser.take(&Sign::Bar) {
                let guard = parser.iff()?;
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
