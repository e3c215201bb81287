//! `hence review`: what reviewers do beside a trace, kept in a journal of its own.

mod desk;
mod export;
mod handoff;
mod open;
mod record;
pub(super) mod stamp;
mod status;

use super::schema::{Named, schema_of};
use crate::args::ReviewCommand;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// What `hence schema` knows of this family.
pub(super) const SCHEMAS: &[Named] = &[
    ("review-open", schema_of::<open::OpenReport>),
    ("review-entry", schema_of::<record::EntryReport>),
    ("review-status", schema_of::<status::StatusReport>),
    ("review-list", schema_of::<status::ListReport>),
    ("review-handoff", schema_of::<handoff::HandoffReport>),
    ("review-export", schema_of::<export::MergedReport>),
];

pub(super) fn run(context: &Context, command: &ReviewCommand) -> Result<Exit, CliError> {
    match command {
        ReviewCommand::Open(args) => open::run(context, args),
        ReviewCommand::Status(args) => status::run(context, args),
        ReviewCommand::Handoff(args) => handoff::run(context, args),
        ReviewCommand::Export(args) => export::run(context, args),
        ReviewCommand::Comment(args) => record::comment(context, args),
        ReviewCommand::Item(args) => record::item(context, args),
        ReviewCommand::Gap(args) => record::gap(context, args),
        ReviewCommand::Check(args) => record::check(context, args),
        ReviewCommand::Ack(args) => record::acknowledge(context, args),
        ReviewCommand::Resolve(args) => record::resolve(context, args),
        ReviewCommand::Waive(args) => record::waive(context, args),
        ReviewCommand::Approve(args) => record::approve(context, args),
        ReviewCommand::Reject(args) => record::reject(context, args),
        ReviewCommand::RequestChanges(args) => record::request_changes(context, args),
        ReviewCommand::Escalate(args) => record::escalate(context, args),
        ReviewCommand::Rescind(args) => record::rescind(context, args),
    }
}
