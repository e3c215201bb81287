//! The document form of a state: `state.json`, or the same as YAML.
//!
//! A document is checked on two levels. The *schema* fixes the kind of each value; the *strict* rules compare values
//! with each other. Both report everything they find, with a JSON pointer each.

mod export;
pub(crate) mod history;
mod schema;
pub mod storage;
mod strict;
mod typed;
pub(crate) mod variable;

pub use export::{export, export_as, export_snapshot};
pub(crate) use schema::check_execution_config;
pub use schema::{Keyword, SchemaError, check_schema};
pub use strict::{StrictCode, StrictError, check_strict};
pub use typed::Document;

use hence_canon::Value;
use hence_canon::read::Finding;

/// All findings about a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The values that do not fit the schema.
    pub schema: Vec<SchemaError>,
    /// The contradictions between values; looked for only when the schema fits.
    pub strict: Vec<StrictError>,
    /// A value that the rules allow and this crate cannot represent, such as a count beyond 2^64.
    pub unrepresentable: Option<Box<Finding>>,
}

impl Verdict {
    /// Checks a document on both levels.
    pub fn of(document: &Value) -> Self {
        let schema = check_schema(document);
        let strict = if schema.is_empty() { check_strict(document) } else { Vec::new() };
        Self { schema, strict, unrepresentable: None }
    }

    /// Returns whether there are no findings.
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
