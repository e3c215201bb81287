//! `hence vars`: named variables on a journal.

mod change;
mod checkpoints;
mod diff;
mod export;
mod get;
mod history;
mod import;
mod init;
mod list;
mod schemas;
mod spawn;
mod status;
mod tree;
mod value;
mod watch;

use crate::args::vars::{VarsArgs, VarsCommand};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interactive::Session;

pub(super) use schemas::SCHEMAS;

pub(super) fn run(context: &Context, args: &VarsArgs) -> Result<Exit, CliError> {
    match &args.command {
        VarsCommand::Init(init) => init::run(context, init, &args.root),
        VarsCommand::Import(import) => import::run(context, import, &args.root),
        command => {
            let mut session = Session::open(context, run_of(command), &args.root)?;
            perform(context, &mut session, command)
        }
    }
}

/// Performs a command on a run that is open.
pub(super) fn perform(
    context: &Context,
    session: &mut Session<'_>,
    command: &VarsCommand,
) -> Result<Exit, CliError> {
    match command {
        VarsCommand::Init(args) => init::add(context, session, args),
        VarsCommand::Import(args) => import::run(context, args, &session.root),
        VarsCommand::Spawn(args) => spawn::run(context, session, args),
        VarsCommand::Set(args) => change::set(context, session, args),
        VarsCommand::Get(args) => get::run(context, session, args),
        VarsCommand::List(args) => list::run(context, session, args),
        VarsCommand::Rename(args) => change::rename(context, session, args),
        VarsCommand::Rm(args) => change::remove(context, session, args),
        VarsCommand::Checkpoint(args) => change::checkpoint(context, session, args),
        VarsCommand::Checkpoints(args) => checkpoints::run(context, session, args),
        VarsCommand::Rollback(args) => change::rollback(context, session, args),
        VarsCommand::Final(args) => change::finish(context, session, args),
        VarsCommand::Fail(args) => change::fail(context, session, args),
        VarsCommand::Cancel(args) => change::cancel(context, session, args),
        VarsCommand::Result(args) => get::result(context, session, args),
        VarsCommand::Status(args) => status::run(context, session, args),
        VarsCommand::History(args) => history::run(context, session, args),
        VarsCommand::Diff(args) => diff::run(context, session, args),
        VarsCommand::Tree(args) => tree::run(context, session, args),
        VarsCommand::Watch(args) => watch::run(context, session, args),
        VarsCommand::Export(args) => export::run(context, session, args),
    }
}

/// Returns the run a command names.
fn run_of(command: &VarsCommand) -> &str {
    match command {
        VarsCommand::Init(args) => &args.run,
        VarsCommand::Import(args) => &args.run,
        VarsCommand::Export(args) => &args.run,
        VarsCommand::Spawn(args) => &args.target.run,
        VarsCommand::Set(args) => &args.target.run,
        VarsCommand::Get(args) => &args.target.run,
        VarsCommand::List(args) => &args.target.run,
        VarsCommand::Rename(args) => &args.target.run,
        VarsCommand::Rm(args) => &args.target.run,
        VarsCommand::Checkpoint(args) => &args.target.run,
        VarsCommand::Rollback(args) => &args.target.run,
        VarsCommand::Final(args) => &args.target.run,
        VarsCommand::Fail(args) | VarsCommand::Cancel(args) => &args.target.run,
        VarsCommand::Result(args) => &args.target.run,
        VarsCommand::History(args) => &args.target.run,
        VarsCommand::Diff(args) => &args.target.run,
        VarsCommand::Watch(args) => &args.target.run,
        VarsCommand::Checkpoints(args) | VarsCommand::Status(args) | VarsCommand::Tree(args) => &args.run,
    }
}
