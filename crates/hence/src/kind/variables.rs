//! Runs of variables on the command line: driven from outside, operation by operation.

use std::path::Path;

use hence_canon::{Canonical, Value};
use hence_cognition::budget::Limits;
use hence_engine::{Engine, Evidence, MemorySink, Replay, Request, ResumeError, Run, Variables};
use hence_journal::RecordIndex;
use hence_journal::verify::{Level, Outcome, Reason, ReasonCode, Report};
use hence_projection::Program;
use hence_state::Profile;
use hence_store::NewRun;
use hence_variables::{Call, Event, Op, Rollback, RunOrigin, Set, TakeCheckpoint};

use super::{DriveOptions, OpenRun, fork};
use crate::args::position::{CheckpointArgs, RollbackArgs, VariablesArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs};
use crate::commands::{self, PositionReport};
use crate::interactive::{CallerTime, Session, StoreVariableFiles, spills_of};
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
        let mut report = Engine::new().verify(evidence, level);
        if level >= Level::Spec {
            OriginFindings::of(evidence).add_to(&mut report);
        }
        report
    }

    fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
        let replay = Engine::new().replay(evidence)?;
        match OriginFindings::of(evidence).broken {
            None => Ok(replay),
            Some((index, reason)) => Err(ResumeError::Diverged { index, reason }),
        }
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
            position: None,
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

/// The result of comparing the events of a run with what is outside of them: the problem, and the bytes of large values.
#[derive(Default)]
struct OriginFindings {
    /// The first record that does not agree, with the reason.
    broken: Option<(RecordIndex, String)>,
    /// The parts that are only read from the record.
    unchecked: Vec<String>,
}

impl OriginFindings {
    /// Compares every event. A record that is no event is reported by the levels that decode it.
    fn of(evidence: &Evidence<'_>) -> Self {
        let mut findings = Self::default();
        let Some(problem) = evidence.problem.map(|problem| &problem.value) else { return findings };
        let Ok(events) = hence_engine::events(super::whole_records(evidence.journal), evidence.blobs) else {
            return findings;
        };
        let run = problem.get("id").and_then(Value::as_str).unwrap_or_default();
        let prompt = problem.get("inputs").and_then(|inputs| inputs.get("prompt")).and_then(Value::as_str);
        let mut origin = RunOrigin::new(run, prompt);
        let settings = problem.get("settings");
        let forked = settings.and_then(|settings| settings.get("origin")?.get("run")?.as_str());
        if let Some(forked) = forked {
            origin = origin.forked_from(forked);
        }
        for (index, event) in &events {
            let compared = origin.check(event).and_then(|chosen| {
                findings.unchecked.extend(chosen.into_iter().map(|id| {
                    format!("{id}: not the id that follows from the run, read from record {index}")
                }));
                findings.check_large_values(evidence, event)
            });
            if let Err(reason) = compared {
                findings.broken = Some((*index, reason));
                break;
            }
        }
        findings
    }

    /// Compares the large values of an event with their bytes. A document may describe a file of another form as it likes.
    fn check_large_values(&mut self, evidence: &Evidence<'_>, event: &Event) -> Result<(), String> {
        for spill in spills_of(event).iter().filter(|spill| spill.path.spill_digest().is_some()) {
            match evidence.blobs.get(&spill.sha256) {
                Ok(Some(bytes)) => spill.check(&bytes).map_err(|fault| fault.to_string())?,
                // A store that lacks a blob, or has another one, is reported with the blobs of the run.
                Ok(None) | Err(_) => {
                    self.unchecked.push(format!("large value {}: not available", spill.sha256))
                }
            }
        }
        Ok(())
    }

    /// Adds the findings to the levels that show that a record follows from the problem.
    fn add_to(self, report: &mut Report) {
        for level in &mut report.levels {
            if !matches!(level.level, Level::Spec | Level::Replay) {
                continue;
            }
            level.unchecked.extend(self.unchecked.iter().cloned());
            if let (Some((index, reason)), Outcome::Holds) = (&self.broken, &level.outcome) {
                let reason = Reason { found: Some(reason.clone()), ..Reason::new(ReasonCode::ResultRefused) };
                level.outcome = Outcome::broken(index.get(), reason);
            }
        }
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
        position: None,
        status: None,
        record: head.records.get().saturating_sub(1),
        head: head.to_string(),
    })?;
    Ok(Exit::Yes)
}

#[cfg(test)]
mod tests {
    use hence_engine::events;
    use hence_testkit::variables::World;
    use hence_variables::{Change, Init, Stored};

    use super::*;

    /// Verifies the journal of a world with its large values; returns the reason why the level `spec` is broken, and what
    /// it leaves unchecked.
    fn verified(world: &World) -> (Option<String>, Vec<String>) {
        let problem = world.document();
        let mut blobs = world.sink.blobs.clone();
        let large = world.files.0.values().map(|bytes| (hence_canon::Digest::of(bytes), bytes.to_vec()));
        blobs.extend(large);
        let evidence =
            Evidence { problem: Some(&problem), ..Evidence::of_journal(&world.sink.journal, &blobs) };
        let report = VariablesProblem.verify(&evidence, Level::Replay);
        let replayed = VariablesProblem.replay(&evidence);
        let spec = report.levels.iter().find(|level| level.level == Level::Spec).unwrap();
        let broken = match &spec.outcome {
            Outcome::Broken(found) => found.reasons.first().and_then(|reason| reason.found.clone()),
            _ => None,
        };
        assert_eq!(replayed.is_err(), broken.is_some(), "{broken:?}");
        (broken, spec.unchecked.clone())
    }

    #[test]
    fn a_prompt_other_than_that_of_the_problem_is_broken() {
        assert_eq!(verified(&World::new()).0, None);
        let (broken, _) = verified(&World::with(Init::with_prompt("another task")));
        assert!(broken.is_some_and(|reason| reason.contains("another prompt")));
    }

    #[test]
    fn ids_that_do_not_follow_from_the_run_are_named_as_unchecked() {
        let (broken, unchecked) = verified(&World::new());
        assert_eq!(broken, None);
        assert!(unchecked.iter().any(|remark| remark.starts_with("state-00000001: not the id")));
    }

    #[test]
    fn a_reference_that_does_not_describe_its_large_value_is_broken() {
        let mut honest = World::new();
        honest.set("large", "a".repeat(20_000));
        assert_eq!(verified(&honest).0, None);
        let recorded = events(&honest.sink.journal, &honest.sink.blobs).unwrap();
        let mut event = recorded.last().unwrap().1.clone();
        let Some(Change::Write { variable, .. }) = event.changes.first_mut() else { panic!("a write") };
        let Stored::Spilled(spill) = &mut variable.stored else { panic!("spilled") };
        spill.size_bytes += 1;
        let mut forged = World { files: honest.files, ..World::new() };
        forged.run.as_mut().unwrap().carry(&event, &mut forged.sink).unwrap();
        let (broken, _) = verified(&forged);
        assert!(broken.is_some_and(|reason| reason.contains("expected 20001 bytes, found 20000")));
        forged.files.0.clear();
        let (broken, unchecked) = verified(&forged);
        assert_eq!(broken, None);
        assert!(unchecked.iter().any(|remark| remark.ends_with("not available")));
    }
}
