//! Runs of variables on the command line: driven from outside, operation by operation.

use std::path::Path;

use hence_canon::Canonical;
use hence_cognition::budget::Limits;
use hence_engine::{Engine, Evidence, MemorySink, Replay, Request, ResumeError, Run, Variables};
use hence_journal::verify::{Level, Report};
use hence_projection::Program;
use hence_state::Profile;
use hence_store::NewRun;
use hence_variables::{Call, Op, Rollback, Set, TakeCheckpoint};

use super::{DriveOptions, OpenRun, fork};
use crate::args::position::{CheckpointArgs, RollbackArgs, VariablesArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs};
use crate::commands::{self, PositionReport};
use crate::interactive::{CallerTime, Session, StoreVariableFiles};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::{self, FirstRecords};
use crate::target::{Journal, problem_name};

/// A run of variables. It has no state of its own: everything about it is in the journal and the problem.
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
        // Planning such a problem is refused, with the reason: only operations on variables continue it.
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

    fn fork(&self, context: &Context, journal: &Journal, args: &ForkArgs) -> Result<Exit, CliError> {
        let is_limited = !args.limits.limits().is_empty();
        if args.with.is_some()
            || !args.policies.is_empty()
            || !args.capabilities.capabilities.is_empty()
            || is_limited
        {
            let message = "--with, --policy, --capabilities and limits are for runs that call, and this is a run of variables";
            return Err(CliError::new(Code::Fork, message).with_hint(hint::LEAVE_THEM_OUT));
        }
        let point = fork::ForkPoint::find(journal, &args.from)?;
        let link = point.link(journal, &args.from, Vec::new(), None);
        let fork::ForkedProblem { id, document } =
            fork::forked_problem(journal, &link, args.run_id.as_deref(), &Limits::default())?;
        let store = context.store()?;
        let request = Request::new(document.clone(), Profile::STRICT);
        let program = Variables::new(&request)
            .map_err(|findings| CliError::refused("the problem of the fork", &findings))?;
        let (mut run, header) = Run::start(program)?;
        let mut first = FirstRecords { memory: MemorySink::default(), stored: &store };
        first.memory.journal.extend_from_slice(header.line());
        let events = hence_engine::events(super::whole_records(&journal.bytes), &StoreBlobs(&store))
            .map_err(|error| CliError::resume(&journal.name, error))?;
        for (_, event) in events.iter().take(point.shared.len()) {
            run.carry(event, &mut first)?;
        }
        let mut files = StoreVariableFiles { store: &store, root: Path::new("."), shared_scopes: None };
        for text in &args.set {
            let (name, value) = skills::setting(text)?;
            let Some(state) = run.first_state() else { break };
            let name = name.strip_prefix("vars.").unwrap_or(&name);
            let call = Call::On { state, op: Op::Set(Set::new(name, value)) };
            let now = CallerTime::default().not_before(context, run.last_moment())?;
            let (next, reply) = run.call(&call, now, &mut files, &mut first)?;
            reply.map_err(|refusal| CliError::variables(&refusal))?;
            run = next;
        }
        let attachments = vec![(problem_name(), Canonical::of(&document.value).bytes().to_vec())];
        store.create(NewRun { id: id.clone(), attachments, lines: first.memory.journal })?;
        context.say(fork::shared_text(&id, journal, &point));
        let head = run.head();
        context.print(&PositionReport {
            run: id.as_str().to_owned(),
            done: "fork",
            name: args.from.clone(),
            status: None,
            record: head.records.get().saturating_sub(1),
            head: head.to_string(),
        })?;
        Ok(Exit::Yes)
    }

    fn blame(&self, context: &Context, journal: &Journal, args: &BlameArgs) -> Result<Exit, CliError> {
        commands::blame_trace(context, journal, self.projection(), args)
    }

    fn impact(&self, context: &Context, journal: &Journal, args: &ImpactArgs) -> Result<Exit, CliError> {
        commands::impact_trace(context, journal, self.projection(), args)
    }
}

fn perform(
    context: &Context,
    journal: &Journal,
    args: &VariablesArgs,
    op: Op,
    (done, name): (&'static str, &str),
) -> Result<Exit, CliError> {
    let time = CallerTime::of(args.now.as_deref())?;
    let mut session = Session::open(context, &journal.name, Path::new("."), time)?;
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
