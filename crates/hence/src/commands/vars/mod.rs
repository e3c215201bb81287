//! `hence vars`: named variables on a journal.

mod change;
mod checkpoints;
mod diff;
mod export;
mod get;
mod handler;
mod history;
mod import;
mod init;
mod list;
mod spawn;
mod status;
mod tree;
mod value;
mod watch;

use super::commands;
use crate::args::vars;
use crate::interactive::{CallerTime, Session};
use crate::prelude::*;

pub(super) use handler::{HANDLERS, wrong_line};
pub(crate) use value::{json as json_argument, text as text_argument};

commands! { VarsCommand on session: &mut Session<'_> {
    /// Create a state, in a run of its own
    Init(vars::InitArgs) => init::add, "vars-change": change::ChangeReport;
    /// Spawn a child task in a run of its own, linked to its parent
    Spawn(vars::SpawnArgs) => spawn::run;
    /// Write a variable
    Set(vars::SetArgs) => change::set;
    /// Read a variable; the read is counted and recorded
    Get(vars::GetArgs) => get::run, "vars-get": get::GetReport;
    /// List the variables a state sees
    List(vars::ListArgs) => list::run, "vars-list": list::ListReport;
    /// Rename a variable
    Rename(vars::RenameArgs) => change::rename;
    /// Delete a variable
    Rm(vars::RmArgs) => change::remove;
    /// Name the current position
    Checkpoint(vars::CheckpointArgs) => change::checkpoint;
    /// List the checkpoints
    #[command(after_help = "Example: hence vars checkpoints audit")]
    Checkpoints(vars::StateArgs) => checkpoints::run, "vars-checkpoints": checkpoints::CheckpointsReport;
    /// Return to a checkpoint; the rollback is recorded and erases nothing
    Rollback(vars::RollbackArgs) => change::rollback;
    /// Set `Final`, which completes the task
    Final(vars::FinalArgs) => change::finish;
    /// End a task as failed
    #[command(after_help = "Example: hence vars fail job --reason 'no source answers'")]
    Fail(vars::EndArgs) => change::fail;
    /// Cancel a task
    #[command(after_help = "Example: hence vars cancel job --reason 'no longer asked for'")]
    Cancel(vars::EndArgs) => change::cancel;
    /// Read the `Final` of a child, by its run or its state
    Result(vars::ResultArgs) => get::result;
    /// Show the status of a state
    #[command(after_help = "Example: hence vars status audit")]
    Status(vars::StateArgs) => status::run, "vars-status": status::StatusReport;
    /// List every change ever made
    History(vars::HistoryArgs) => history::run, "vars-history": history::HistoryReport;
    /// Compare two positions or two states
    Diff(vars::DiffArgs) => diff::run, "vars-diff": diff::VarsDiffReport;
    /// Draw the task tree
    #[command(after_help = "Example: hence vars tree audit")]
    Tree(vars::StateArgs) => tree::run, "vars-tree": tree::TreeReport;
    /// Print changes as they are recorded, until the state is finished
    Watch(vars::WatchArgs) => watch::run, "vars-watch": watch::WatchReport;
    /// Import a state document (JSON or YAML) as a new run
    Import(vars::ImportArgs) => import::into_store;
    /// Write the documents of all states below a folder
    Export(vars::ExportArgs) => export::run, "vars-export": export::VarsExportReport;
} }

pub(super) use watch::print_recorded;

pub(super) fn run(context: &Context, args: &vars::VarsArgs) -> Result<Exit, CliError> {
    let time = CallerTime::of(args.now.as_deref())?;
    match &args.command {
        VarsCommand::Init(init) => init::run(context, init, &args.root, time),
        VarsCommand::Import(import) => import::run(context, import, &args.root, time),
        VarsCommand::Get(get) => {
            let get = get::addressed(context, get)?;
            let mut session = Session::open(context, &get.target.run, &args.root, time)?;
            get::run(context, &mut session, &get)
        }
        command => {
            let mut session = Session::open(context, command.run_name(), &args.root, time)?;
            VarsCommand::run(context, &mut session, command)
        }
    }
}
