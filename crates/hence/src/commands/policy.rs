//! `hence policy`: traces against rules, and the rules themselves.

mod approval;
mod check;
mod explain;
mod forms;
mod inline;
mod lint;
mod list;
mod new;
mod show;
mod source;
mod test;
mod verdict;

use super::schema::{Named, schema_of};
use crate::args::PolicyCommand;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) use approval::approval_allowed;
pub(crate) use source::load as policies_named;

/// The schemas of the family.
pub(super) const SCHEMAS: &[Named] = &[
    ("policy-check", schema_of::<check::CheckReport>),
    ("policy-list", schema_of::<list::ListReport>),
    ("policy-show", schema_of::<show::ShowReport>),
    ("policy-lint", schema_of::<lint::LintReport>),
    ("policy-test", schema_of::<test::TestReport>),
    ("policy-explain", schema_of::<explain::ExplainReport>),
    ("policy-new", schema_of::<new::NewReport>),
];

pub(super) fn run(context: &Context, command: &PolicyCommand) -> Result<Exit, CliError> {
    match command {
        PolicyCommand::Check(args) => check::run(context, args),
        PolicyCommand::List(args) => list::run(context, args),
        PolicyCommand::Show(args) => show::run(context, args),
        PolicyCommand::Lint(args) => lint::run(context, args),
        PolicyCommand::Test(args) => test::run(context, args),
        PolicyCommand::Explain(args) => explain::run(context, args),
        PolicyCommand::New(args) => new::run(context, args),
    }
}
