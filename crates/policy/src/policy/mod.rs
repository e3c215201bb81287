//! Policies: a formula with an id, a severity and a selector, as documents hold them.

mod document;
mod example;
mod object;
mod rule;
mod selector;

pub use document::{
    BUILT_IN, Document, LoadError, LoadErrorKind, Pack, PolicySet, TomlError, built_in, parse_toml,
};
pub use example::{Example, ExampleError, ExampleOutcome};
pub use object::{Policy, PolicyId};
pub use rule::{Rule, RuleError};
pub use selector::{Glob, Selector, SelectorError};
