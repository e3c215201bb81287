//! Skills: programs of steps, read from documents with every finding reported.

mod control;
mod document;
mod field;
mod order;
mod rule;
mod schema;
mod step;
mod variable;

pub use control::{
    Control, Flow, Foreach, ITERATIONS_MAX, ItemErrors, PARALLEL_MAX, RETRY_ATTEMPTS_MAX, Retry, Route,
    Router, Scatter, ScatterMerge, While,
};
pub use document::{Reading, STEPS_MAX, Skill};
pub(crate) use field::fields;
pub use field::{Field, Fields, TypeName};
pub use order::{ORDER_KEY, with_order};
pub(crate) use order::{sorted_as, unsorted};
pub(crate) use rule::Findings;
pub use rule::{Rule, Severity, SkillFinding, Stage};
pub use schema::json_schema;
pub(crate) use step::rule_of_target;
pub use step::{DependsOn, Recovery, SourceExpression, Step, Uses};
pub use variable::DeclaredVariable;

/// The need for a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Need {
    /// The value must be present.
    Required,
    /// The value may be absent.
    #[default]
    Optional,
}

#[cfg(test)]
mod tests;
