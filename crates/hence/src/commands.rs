//! One module per command.

mod check;
mod completions;
mod diff;
mod doctor;
mod explain;
mod export;
mod hash;
mod import;
mod lineage;
mod log;
mod policy;
mod position;
mod repl;
mod replay;
mod resume;
mod review;
mod run;
mod runs;
mod schema;
mod show;
mod state;
mod stats;
mod trace;
mod vars;
mod verify;
mod why;

use crate::args::Command;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) use policy::{approval_allowed, policies_named};
pub(crate) use resume::again as resume_problem;
pub(crate) use show::find_record;

/// Runs a command.
pub(crate) fn run(context: &Context, command: Command) -> Result<Exit, CliError> {
    match command {
        Command::Run(args) => run::run(context, &args),
        Command::Check(args) => check::run(context, &args),
        Command::Blame(args) => lineage::blame(context, &args),
        Command::Impact(args) => lineage::impact(context, &args),
        Command::Runs(args) => runs::run(context, &args),
        Command::Log(args) => log::run(context, &args),
        Command::Show(args) => show::run(context, &args),
        Command::State(args) => state::run(context, &args),
        Command::Verify(args) => verify::run(context, &args),
        Command::Why(args) => why::run(context, &args),
        Command::Replay(args) => replay::run(context, &args),
        Command::Diff(args) => diff::run(context, &args),
        Command::Fork(args) => crate::skills::fork(context, &args),
        Command::Answer(args) => crate::skills::answer(context, &args),
        Command::Resume(args) => resume::run(context, &args),
        Command::Checkpoint(args) => position::checkpoint(context, &args),
        Command::Rollback(args) => position::rollback(context, &args),
        Command::Export(args) => export::run(context, &args),
        Command::Import(args) => import::run(context, &args),
        Command::Vars(args) => vars::run(context, &args),
        Command::Repl(args) => repl::run(context, &args),
        Command::Review(command) => review::run(context, &command),
        Command::Trace(command) => trace::run(context, &command),
        Command::Hash(args) => hash::run(context, &args),
        Command::Stats(args) => stats::run(context, &args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::Policy(command) => policy::run(context, &command),
        Command::Explain(args) => explain::run(context, &args),
        Command::Schema(args) => schema::run(context, &args),
        Command::Completions(args) => completions::run(context, &args),
    }
}
