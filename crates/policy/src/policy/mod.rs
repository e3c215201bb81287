//! Policies: a formula with a name, a severity and a selector, as documents hold them.

mod document;
mod example;
mod glob;
mod id;
mod object;
mod pack;
mod rule;
mod selector;
mod set;
mod toml;

pub use document::{Document, LoadError, LoadErrorKind};
pub use example::{Example, ExampleFault, ExampleOutcome};
pub use glob::Glob;
pub use id::PolicyId;
pub use object::{Policy, Style};
pub use pack::{BUILT_IN, Pack, built_in};
pub use rule::{Rule, RuleFault};
pub use selector::{Selector, SelectorFault};
pub use set::PolicySet;
pub use toml::{TomlError, parse_toml};
