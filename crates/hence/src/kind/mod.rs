//! The kinds of runs on the command line. A kind is one file that implements [`OpenRun`], and one line in [`open`].

mod authored;
mod conflict;
mod driver;
mod fork;
mod misspelt;
mod model;
mod new_id;
mod pinned_problem;
mod reason;
mod reason_report;
mod skill;
mod skill_report;
mod solve;
mod solve_report;
mod variables;

use std::collections::BTreeMap;

use hence_canon::{Canonical, Digest, Value, parse};
use hence_capabilities::Library;
use hence_engine::{Blobs, Evidence, NoBlobs, Replay, ResumeError, RunKind};
use hence_journal::verify::{Level, Report};
use hence_projection::Program;
use hence_skills::{CallHistory, Host as _, Pinned};
use hence_solve::Spec;
use hence_store::{StoreError, StoreHandle};

use crate::args::position::{CheckpointArgs, RollbackArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs, RetryArgs};
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::sink::{BundleBlobs, StoreBlobs};
use crate::solve::{SYSTEM, system_name};
use crate::target::{Journal, PROBLEM, find_run};
use crate::usage::UsageReport;
use crate::{bound, hint, skills};

pub(crate) use driver::{Drivable, DriveOptions, HandOver, RunDriver, RunEnd, UndecidedCalls};
pub(crate) use misspelt::misspelt_settings;
pub(crate) use reason::start as start_reason;
pub(crate) use reason_report::RunReport;
pub(crate) use skill::{StoredSkillRun, start as start_skill};
pub(crate) use skill_report::SkillRunReport;
pub(crate) use solve::{StoredSolveRun, start as start_solve};
pub(crate) use solve_report::SolveReport;

/// A run of one kind, opened from its journal, with everything that commands ask of it.
pub(crate) trait OpenRun {
    /// Returns the program of the run, as its trace shows it.
    fn projection(&self) -> Program<'_>;

    /// Verifies the journal up to a level.
    fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report;

    /// Executes the run again and compares every byte.
    fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError>;

    /// Returns how often each declared capability was called, in this process, to compute the run again.
    fn declared_calls(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// Returns what the recorded steps and the calls that only the call log has used, and the limits of the run.
    fn usage(&self, _: &Journal) -> UsageReport {
        UsageReport::default()
    }

    /// Continues the run where its journal ends.
    fn resume(
        &self,
        context: &Context,
        journal: &Journal,
        options: DriveOptions<'_>,
    ) -> Result<Exit, CliError>;

    /// Records a checkpoint: a name for a position of the run.
    fn checkpoint(
        &self,
        context: &Context,
        journal: &Journal,
        args: &CheckpointArgs,
    ) -> Result<Exit, CliError>;

    /// Records a rollback to a checkpoint.
    fn roll_back(&self, context: &Context, journal: &Journal, args: &RollbackArgs) -> Result<Exit, CliError>;

    /// Starts another run that shares the records before a step.
    fn fork(&self, context: &Context, journal: &Journal, args: &ForkArgs) -> Result<Exit, CliError>;

    /// Starts another run that continues this failed one under the same idempotency keys.
    ///
    /// # Errors
    /// [`CliError`] when the run cannot be retried.
    fn retry(&self, _: &Context, journal: &Journal, _: &RetryArgs) -> Result<Exit, CliError> {
        let message = format!("run {}: it calls nothing, so there is nothing to retry", journal.name);
        Err(CliError::new(Code::Retry, message).with_hint(hint::retry_nothing(&journal.name)))
    }

    /// Creates another run of the same documents under another id and time, and hands it over.
    ///
    /// # Errors
    /// [`CliError`] when the kind of run cannot be started again, or the run cannot be created.
    fn start_like(
        &self,
        _: &Context,
        journal: &Journal,
        _: &hence_store::RunId,
        _: &hence_state::Timestamp,
        _: &HandOver<'_>,
    ) -> Result<Exit, CliError> {
        let message = format!("run {}: only runs of skills and problems are started again", journal.name);
        Err(CliError::new(Code::Schedule, message))
    }

    /// Reports which steps a value came from.
    fn blame(&self, context: &Context, journal: &Journal, args: &BlameArgs) -> Result<Exit, CliError>;

    /// Reports which steps depend on a value or a step.
    fn impact(&self, context: &Context, journal: &Journal, args: &ImpactArgs) -> Result<Exit, CliError>;

    /// Returns the step that is due in a run that has not ended, where that is known without running it.
    fn due_step(&self, _: &Journal) -> Result<Option<String>, CliError> {
        Ok(None)
    }
}

/// The purpose of opening a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its journal is read. Missing capabilities do no harm.
    Read,
    /// Its journal is read, and a replay may call declared capabilities that are deterministic: the user said so.
    Execute,
    /// It may continue, so everything it calls must be available.
    Resume(Imported),
}

/// Whether a run that was made elsewhere may call what its record declares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Imported {
    /// It is refused: whoever wrote the record chose what would be called.
    Refused,
    /// The user allowed it.
    Trusted,
}

impl Imported {
    /// Refuses to execute what an imported run declares, unless the user allowed it.
    ///
    /// # Errors
    /// [`CliError`] with everything that the run could call.
    pub(crate) fn check(self, journal: &Journal, library: &Library) -> Result<(), CliError> {
        let declared = library.declarations();
        if self == Self::Trusted || declared.iter().next().is_none() || journal.was_made_here()? {
            return Ok(());
        }
        let calls = declared.iter().map(|(id, _)| match library.provider_call(id) {
            Some(call) => format!("{id}: {call}"),
            None => id.to_string(),
        });
        let message = format!(
            "run {} was not made in this store, so nothing is called that its record declares",
            journal.name
        );
        Err(CliError::new(Code::Imported, message).with_findings(calls))
    }
}

impl Purpose {
    /// Returns the purpose of reading a journal, with `--execute` or without it.
    ///
    /// # Errors
    /// [`CliError`] when a record that was not made in this store is to be executed: whoever wrote it chose the
    /// programs.
    pub(crate) fn of_reading(journal: &Journal, execute: bool) -> Result<Self, CliError> {
        if !execute {
            return Ok(Self::Read);
        }
        if journal.was_made_here()? {
            return Ok(Self::Execute);
        }
        let message =
            format!("{} was not made in this store, so nothing it declares is executed", journal.name);
        Err(CliError::new(Code::Refused, message).with_hint(hint::LEAVE_EXECUTE_OUT))
    }
}

/// Opens the run of a journal. `files` are the capabilities files that the command line names.
pub(crate) fn open(
    journal: &Journal,
    files: &[String],
    purpose: Purpose,
) -> Result<Box<dyn OpenRun>, CliError> {
    Ok(match journal.kind {
        RunKind::Skill => match StoredSkillRun::open(journal, files)? {
            Some(run) if purpose == Purpose::Execute => Box::new(run.executing_declared()),
            Some(run) => {
                if let Purpose::Resume(imported) = purpose {
                    imported.check(journal, &run.library)?;
                }
                Box::new(run)
            }
            // The pin is malformed; the built-in program says what is wrong with it.
            None => Box::new(reason::ReasonRun::open(journal, files, purpose)?),
        },
        RunKind::Variables => Box::new(variables::VariablesProblem),
        RunKind::Solve => Box::new(StoredSolveRun::open(journal, purpose)?),
        RunKind::Trace => Box::new(authored::StoredAuthoredRun::open(journal)),
        RunKind::Reason => Box::new(reason::ReasonRun::open(journal, files, purpose)?),
    })
}

/// Returns which document next to a journal is not the one that the run pins. A journal that was copied without its
/// documents can still be read, but not a stored run be verified.
pub(crate) fn document_defect(journal: &Journal, problem: &Value) -> Option<String> {
    // What an altered problem pins says nothing about the other documents.
    if journal.pins_other_problem(problem) {
        return Some(format!("{PROBLEM} is not the problem of this journal"));
    }
    match journal.kind {
        RunKind::Reason if bound::binds(problem) => {
            let pinned = bound::pinned_capabilities(problem);
            skills::library_pinned(journal, &[], pinned).err().map(|error| error.message)
        }
        RunKind::Skill => {
            let pinned = Pinned::of_value(problem)?.digest;
            let found = parse(journal.skill.as_deref()?).ok()?;
            let is_other = Canonical::of(&found).digest() != pinned;
            is_other.then(|| format!("{} is not the skill that the problem pins", skills::SKILL))
        }
        RunKind::Solve => system_defect(journal, problem),
        RunKind::Reason | RunKind::Variables | RunKind::Trace => None,
    }
}

/// Returns what is wrong with the system prompt of a stored run of the loop, without which nobody can say what its model was sent.
fn system_defect(journal: &Journal, problem: &Value) -> Option<String> {
    let pinned = Spec::read(problem).ok()?.system;
    let run = hence_store::RunId::new(&journal.name).ok()?;
    match journal.store.as_ref()?.attachment(&run, &system_name()) {
        Ok(bytes) if Digest::of(&bytes) == pinned => None,
        Ok(_) => Some(format!("{SYSTEM} is not the system prompt that the problem pins")),
        Err(StoreError::NoSuchAttachment { .. }) => Some(format!("{SYSTEM} is missing")),
        Err(error) => Some(format!("{SYSTEM}: {error}")),
    }
}

/// Calls `with` with the source of a journal's blobs.
pub(crate) fn with_blobs<T>(journal: &Journal, with: impl FnOnce(&dyn Blobs) -> T) -> T {
    match (&journal.store, &journal.blobs) {
        (Some(store), _) => with(&StoreBlobs(store)),
        (None, Some(folder)) => with(&BundleBlobs(folder)),
        (None, None) => with(&NoBlobs),
    }
}

/// Returns what the call log of a run says about calls that no record has; `None` without a log that can be read.
pub(crate) fn calls_of(journal: &Journal) -> Option<CallHistory> {
    let store = journal.store.as_ref()?;
    let id = find_run(store, &journal.name).ok()?;
    crate::skills::history(store, &id).ok()?
}

/// Returns a journal without the torn tail of an append that was never finished.
pub(crate) fn whole_records(journal: &[u8]) -> &[u8] {
    let torn = hence_journal::read_tail(journal).map_or(0, |tail| tail.torn_bytes);
    journal.get(..journal.len().saturating_sub(torn)).unwrap_or_default()
}

/// Returns whether a stored run begins with a header.
fn begins_with(store: &StoreHandle, id: &hence_store::RunId, header: &[u8]) -> bool {
    store.journal_bytes(id).is_ok_and(|journal| journal.starts_with(header))
}
