//! The document form of a state: `state.json`, or the same as YAML.
//!
//! A document is judged on two levels. The *schema* says what kind of thing stands where; the *strict* rules say
//! what must agree with what. Both report everything they find, with a JSON pointer each.

mod export;
mod history;
mod schema;
pub mod storage;
mod strict;
mod typed;
pub(crate) mod variable;

pub use export::{export, export_snapshot};
pub(crate) use schema::check_execution_config;
pub use schema::{Keyword, SchemaError, check_schema};
pub use strict::{StrictCode, StrictError, check_strict};
pub use typed::Document;

use hence_canon::Value;
use hence_canon::read::Finding;

/// Everything wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// What is not what its place asks for.
    pub schema: Vec<SchemaError>,
    /// What contradicts something else; looked for only when the schema holds.
    pub strict: Vec<StrictError>,
    /// What the rules allow and this crate cannot hold: a count beyond 2^64, say.
    pub unrepresentable: Option<Finding>,
}

impl Verdict {
    /// Judges a document on both levels.
    pub fn of(document: &Value) -> Self {
        let schema = check_schema(document);
        let strict = if schema.is_empty() { check_strict(document) } else { Vec::new() };
        Self { schema, strict, unrepresentable: None }
    }

    /// Returns whether nothing is wrong.
    pub fn is_valid(&self) -> bool {
        self.schema.is_empty() && self.strict.is_empty() && self.unrepresentable.is_none()
    }
}

impl std::fmt::Display for Verdict {
    /// One line per finding: place, reason, code.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.schema.iter().try_for_each(|error| writeln!(out, "{error} [{}]", error.keyword))?;
        self.strict.iter().try_for_each(|error| writeln!(out, "{error} [{}]", error.code))?;
        self.unrepresentable.iter().try_for_each(|error| writeln!(out, "{error}"))
    }
}
