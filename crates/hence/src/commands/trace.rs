//! `hence trace`: review traces, read from files.

mod bind;
mod chain;
mod declare;
mod diff;
pub(crate) mod document;
mod edit;
pub(crate) mod export;
mod findings;
mod goals;
mod grade;
mod hash;
mod lineage;
mod meta;
mod report;
mod reproduce;
mod residuals;
mod show;
mod validate;

use schemars::Schema;

use super::schema::{Named, schema_of};
use crate::args::TraceCommand;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// What `hence schema` knows of this family.
pub(super) const SCHEMAS: &[Named] = &[
    ("trace", document_schema),
    ("trace-validate", schema_of::<validate::ValidateReport>),
    ("trace-show", schema_of::<show::ShowReport>),
    ("trace-hash", schema_of::<hash::HashReport>),
    ("trace-lineage", schema_of::<lineage::LineageReport>),
    ("trace-grade", schema_of::<grade::GradeReport>),
    ("trace-report", schema_of::<report::MarkdownReport>),
    ("trace-goals", schema_of::<goals::GoalsReport>),
    ("trace-residuals", schema_of::<residuals::ResidualsReport>),
    ("trace-edit", schema_of::<edit::EditReport>),
    ("trace-meta", schema_of::<meta::MetaReport>),
    ("trace-reproduce", schema_of::<reproduce::ReproduceReport>),
    ("trace-bind", schema_of::<bind::BindReport>),
    ("trace-chain", schema_of::<chain::ChainReport>),
    ("trace-diff", schema_of::<diff::DiffReport>),
    ("trace-export", schema_of::<export::ExportReport>),
];

pub(super) fn run(context: &Context, command: &TraceCommand) -> Result<Exit, CliError> {
    match command {
        TraceCommand::Validate(args) => validate::run(context, args),
        TraceCommand::Show(args) => show::run(context, args),
        TraceCommand::Hash(args) => hash::run(context, args),
        TraceCommand::Lineage(args) => lineage::run(context, args),
        TraceCommand::Grade(args) => grade::run(context, args),
        TraceCommand::Report(args) => report::run(context, args),
        TraceCommand::Goals(args) => goals::run(context, args),
        TraceCommand::Residuals(args) => residuals::run(context, args),
        TraceCommand::Chain(args) => chain::run(context, args),
        TraceCommand::Meta(command) => meta::run(context, command),
        TraceCommand::Reproduce(args) => reproduce::run(context, args),
        TraceCommand::Bind(args) => bind::run(context, args),
        TraceCommand::Diff(args) => diff::run(context, args),
        TraceCommand::Export(args) => export::run(context, args),
    }
}

/// The schema of a trace itself, as the types of the model give it.
fn document_schema() -> Schema {
    let text = hence_review::model::json_schema().to_string();
    let schema = serde_json::from_str::<serde_json::Value>(&text).ok();
    schema.and_then(|schema| Schema::try_from(schema).ok()).unwrap_or_default()
}
