//! Runs of variables on the command line: driven from outside, operation by operation.

use std::path::Path;

use hence_engine::{Engine, Evidence, Replay, ResumeError};
use hence_journal::verify::{Level, Report};
use hence_projection::Program;
use hence_variables::{Call, Op, Rollback, TakeCheckpoint};

use super::{DriveOptions, OpenRun};
use crate::args::position::{CheckpointArgs, RollbackArgs, VariablesArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs};
use crate::commands::PositionReport;
use crate::interactive::Session;
use crate::prelude::*;
use crate::target::Journal;

/// A run of variables. Its journal and problem say everything about it.
pub(super) struct VariablesProblem;

impl OpenRun for VariablesProblem {
    fn projection(&self) -> Program<'_> {
        Program::Variables
    }

    fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report {
        Engine::new().verify(evidence, level)
    }

    fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
        Engine::new().replay(evidence)
    }

    fn resume(&self, _: &Context, journal: &Journal, _: DriveOptions<'_>) -> Result<Exit, CliError> {
        // Planning such a problem reports that nothing but operations drives it.
        let planned = Engine::new().plan_of_journal(&journal.bytes, journal.required_problem()?);
        match planned {
            Ok(_) => Ok(Exit::Yes),
            Err(error) => Err(CliError::resume(&journal.name, error)),
        }
    }

    fn checkpoint(
        &self,
        context: &Context,
        journal: &Journal,
        args: &CheckpointArgs,
    ) -> Result<Exit, CliError> {
        if args.at.is_some() {
            let message = "the variables of a state are named as they are now, without --at";
            return Err(CliError::new(Code::Checkpoint, message).with_hint(hint::LIST_VARIABLES_AT));
        }
        let (name, if_mutation_count) = (args.name.as_str().into(), args.variables.if_mutation_count);
        let op = Op::Checkpoint(TakeCheckpoint { name, description: None, if_mutation_count });
        perform(context, journal, &args.variables, op, ("checkpoint", &args.name))
    }

    fn roll_back(&self, context: &Context, journal: &Journal, args: &RollbackArgs) -> Result<Exit, CliError> {
        let (to, if_mutation_count) = (args.name.as_str().into(), args.variables.if_mutation_count);
        let op = Op::Rollback(Rollback { to, if_mutation_count });
        perform(context, journal, &args.variables, op, ("rollback", &args.name))
    }

    fn fork(&self, _: &Context, journal: &Journal, _: &ForkArgs) -> Result<Exit, CliError> {
        Err(CliError::new(Code::Fork, format!("run {}: not yet", journal.name)))
    }

    fn blame(&self, _: &Context, journal: &Journal, _: &BlameArgs) -> Result<Exit, CliError> {
        Err(CliError::new(Code::NoSuchPlace, format!("run {}: not yet", journal.name)))
    }

    fn impact(&self, _: &Context, journal: &Journal, _: &ImpactArgs) -> Result<Exit, CliError> {
        Err(CliError::new(Code::NoSuchPlace, format!("run {}: not yet", journal.name)))
    }
}

fn perform(
    context: &Context,
    journal: &Journal,
    args: &VariablesArgs,
    op: Op,
    (done, name): (&'static str, &str),
) -> Result<Exit, CliError> {
    let mut session = Session::open(context, &journal.name, Path::new("."))?;
    let state = session.state(args.state)?;
    session.call(&Call::On { state, op })?;
    let head = session.loaded()?.head();
    context.print(&PositionReport {
        run: session.id.as_str().to_owned(),
        done,
        name: name.to_owned(),
        status: None,
        record: head.records.get().saturating_sub(1),
        head: head.to_string(),
    })?;
    Ok(Exit::Yes)
}
