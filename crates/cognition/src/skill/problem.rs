//! What is wrong with a skill document, and where.

use std::fmt;

use hence_canon::JsonPointer;

use super::Rule;

/// One finding in a skill document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The rule that is broken.
    pub rule: Rule,
    /// Where in the document.
    pub pointer: JsonPointer,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at `{}`: {}", self.rule, self.pointer, self.message)
    }
}

/// Collects findings while a document is read: all of them, not the first.
#[derive(Default, Debug)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn add(&mut self, rule: Rule, pointer: JsonPointer, message: impl fmt::Display) {
        self.0.push(Problem { rule, pointer, message: message.to_string() });
    }

    pub(crate) fn any_at(&self, stage: super::Stage) -> bool {
        self.0.iter().any(|problem| problem.rule.stage() == stage)
    }

    pub(crate) fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}
