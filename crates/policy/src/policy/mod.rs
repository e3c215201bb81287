//! Policies: a formula with a name, a severity and a selector, as documents hold them.

mod glob;
mod id;
mod object;
mod rule;
mod selector;

pub use glob::Glob;
pub use id::PolicyId;
pub use object::{Policy, Style};
pub use rule::{Rule, RuleFault};
pub use selector::{Selector, SelectorFault};
