//! `hence policy`: check traces against policies, and inspect policies.

mod approval;
mod check;
mod explain;
mod lint;
mod list;
mod new;
mod source;

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
    ("policy-show", schema_of::<list::ShowReport>),
    ("policy-lint", schema_of::<lint::LintReport>),
    ("policy-test", schema_of::<lint::TestReport>),
    ("policy-explain", schema_of::<explain::ExplainReport>),
    ("policy-new", schema_of::<new::NewReport>),
];

pub(super) fn run(context: &Context, command: &PolicyCommand) -> Result<Exit, CliError> {
    match command {
        PolicyCommand::Check(args) => check::run(context, args),
        PolicyCommand::List(args) => list::list(context, args),
        PolicyCommand::Show(args) => list::show(context, args),
        PolicyCommand::Lint(args) => lint::lint(context, args),
        PolicyCommand::Test(args) => lint::test(context, args),
        PolicyCommand::Explain(args) => explain::run(context, args),
        PolicyCommand::New(args) => new::run(context, args),
    }
}
