//! Policies: a formula with an id, a severity and a selector, as documents hold them.

mod construction;
mod document;
mod example;
mod object;
mod rule;
mod selector;

pub use construction::ByConstruction;
pub use document::{
    BUILT_IN, Document, LoadError, LoadErrorKind, Pack, PolicySet, TomlError, built_in, parse_toml,
};
pub use example::{Example, ExampleError, ExampleOutcome};
pub use object::{Policy, PolicyId};
pub use rule::{Rule, RuleError};
pub use selector::{Glob, Selector, SelectorError};

/// Returns the JSON Schema (draft 2020-12) of a file of policies.
pub fn json_schema() -> hence_canon::Value {
    hence_canon::parse(include_bytes!("policy.schema.json")).expect("a test parses the schema file")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_json() {
        assert!(super::json_schema().get("$defs").is_some());
    }
}
