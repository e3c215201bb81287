//! Skills: programs of steps, read from documents with every finding reported.

mod control;
mod document;
mod field;
mod formula;
mod problem;
mod recovery;
mod rule;
mod schema;
mod step;
mod uses;
mod variable;

pub use control::{
    Control, Flow, Foreach, ITERATIONS_MAX, ItemErrors, PARALLEL_MAX, RETRY_ATTEMPTS_MAX, Retry, Route,
    Router, Scatter, ScatterMerge, While,
};
pub use document::{Reading, STEPS_MAX, Skill};
pub(crate) use field::fields;
pub use field::{Field, Fields, TypeName};
pub use formula::Formula;
pub use problem::Problem;
pub(crate) use problem::Problems;
pub use recovery::Recovery;
pub use rule::{Rule, Severity, Stage};
pub use schema::json_schema;
pub(crate) use step::rule_of_target;
pub use step::{DependsOn, Step};
pub use uses::Uses;
pub use variable::DeclaredVariable;

/// Whether something must be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Need {
    /// It must.
    Required,
    /// It may.
    #[default]
    Optional,
}

#[cfg(test)]
mod tests;
