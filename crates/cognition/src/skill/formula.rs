//! An expression as a document holds it: its text, and what reading it gave.

use std::sync::Arc;

use crate::expression::{Expression, ParseExpressionError};

/// The text of an expression, read once. One that cannot be read fails where it is evaluated, and in the check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Formula {
    text: Arc<str>,
    parsed: Result<Expression, ParseExpressionError>,
}

impl Formula {
    /// Reads an expression.
    pub fn read(text: &str) -> Self {
        Self { text: text.into(), parsed: text.parse() }
    }

    /// Returns the text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the expression.
    ///
    /// # Errors
    /// What was wrong with the text.
    pub fn expression(&self) -> Result<&Expression, &ParseExpressionError> {
        self.parsed.as_ref()
    }
}
