//! Runs in which an agent of its own reports its work, operation by operation.

use std::sync::Arc;

use hence_cognition::budget::{Limits, Usage};
use hence_engine::{Evidence, Replay, ResumeError, RunError, replay};
use hence_journal::verify::{Level, Report};
use hence_projection::{Authored, AuthoredJournal, Program, usage_of_action};
use hence_state::{ProblemSpec, Profile};

use super::{DriveOptions, OpenRun};
use crate::args::position::{CheckpointArgs, RollbackArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs};
use crate::commands::{self, append_missing_end};
use crate::prelude::*;
use crate::target::{Journal, find_run};
use crate::usage::UsageReport;

/// A run of this kind, with its problem or the reason why it cannot be used.
pub(super) struct StoredAuthoredRun {
    problem: Result<Arc<ProblemSpec>, String>,
}

impl StoredAuthoredRun {
    /// Opens the run of a journal. The journal alone can still be verified in part.
    pub(super) fn open(journal: &Journal) -> Self {
        let problem = journal.required_problem().map_err(|error| error.message).and_then(|document| {
            let decoded = ProblemSpec::decode_lenient(document, &Profile::STRICT);
            decoded.map(Arc::new).map_err(|findings| findings.to_string())
        });
        Self { problem }
    }

    fn program(&self) -> Result<Authored, String> {
        self.problem.clone().map(Authored::new)
    }

    fn refused(code: Code, journal: &Journal, what: &str) -> CliError {
        let message =
            format!("run {}: what an agent reported stays reported; it has no {what}", journal.name);
        CliError::new(code, message).with_hint(hint::SUCCEED_A_TRACE)
    }
}

impl OpenRun for StoredAuthoredRun {
    fn projection(&self) -> Program<'_> {
        Program::Trace
    }

    fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report {
        evidence.verify(&AuthoredJournal { program: self.program(), evidence }, level)
    }

    fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
        let stopped = |message: String| RunError::Stopped { step: "trace".into(), message };
        replay(self.program().map_err(stopped)?, evidence)
    }

    fn usage(&self, journal: &Journal) -> UsageReport {
        let mut used = Usage::default();
        let run = self.program().ok().and_then(|program| {
            let records = super::whole_records(&journal.bytes);
            super::with_blobs(journal, |blobs| hence_engine::Run::resume(program, records, blobs)).ok()
        });
        for action in run.iter().flat_map(|run| run.program().draft().actions()) {
            used.add(&usage_of_action(action));
        }
        UsageReport::of(&used, &Limits::default())
    }

    fn resume(&self, context: &Context, journal: &Journal, _: DriveOptions<'_>) -> Result<Exit, CliError> {
        let store = context.store()?;
        let id = find_run(&store, &journal.name)?;
        if append_missing_end(context, &store, &id)? {
            context.say(format_args!("run {id} has ended"));
            return Ok(Exit::Yes);
        }
        let message = format!("run {id}: its agent continues it, with `hence trace act`");
        Err(CliError::new(Code::Refused, message).with_hint(hint::CONTINUE_A_TRACE))
    }

    fn checkpoint(&self, _: &Context, journal: &Journal, _: &CheckpointArgs) -> Result<Exit, CliError> {
        Err(Self::refused(Code::Checkpoint, journal, "checkpoints"))
    }

    fn roll_back(&self, _: &Context, journal: &Journal, _: &RollbackArgs) -> Result<Exit, CliError> {
        Err(Self::refused(Code::Checkpoint, journal, "checkpoints"))
    }

    fn fork(&self, _: &Context, journal: &Journal, _: &ForkArgs) -> Result<Exit, CliError> {
        Err(Self::refused(Code::Fork, journal, "forks"))
    }

    fn blame(&self, context: &Context, journal: &Journal, args: &BlameArgs) -> Result<Exit, CliError> {
        commands::blame_trace(context, journal, self.projection(), args)
    }

    fn impact(&self, context: &Context, journal: &Journal, args: &ImpactArgs) -> Result<Exit, CliError> {
        commands::impact_trace(context, journal, self.projection(), args)
    }
}
