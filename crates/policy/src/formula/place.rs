//! Where in a formula.

use std::fmt;

/// A place in the text of a formula.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Byte offset, from 0.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// Finds the place of byte `offset` in `text`.
    pub fn find(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|found| *found != '\n').count() + 1;
        Self { offset, line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nearly every formula is one line, and then the line says nothing.
        match self.line {
            1 => write!(out, "column {}", self.column),
            line => write!(out, "line {line}, column {}", self.column),
        }
    }
}
