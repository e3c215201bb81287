//! A run, read once: what the rest of the crate looks at.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::Lenient;
use hence_engine::{Blobs, Determinism, Engine, StepOutline};
use hence_journal::verify::{Outcome, check_chain};
use hence_journal::{Chained, Control, Head, Header, Reader, Record, read_tail};
use hence_state::{LoopSettings, ProblemSpec, Profile};

use crate::ProjectError;

/// A run as it was recorded.
#[derive(Clone, Copy)]
pub struct RecordedRun<'a> {
    /// The bytes of its journal. An append that never finished is left out.
    pub journal: &'a [u8],
    /// The problem the journal names.
    pub problem: &'a Lenient,
    /// Where its large values are fetched from.
    pub blobs: &'a dyn Blobs,
}

/// A run that was read.
pub(crate) struct Source<'a> {
    pub(crate) header: Header,
    /// All records behind the header.
    pub(crate) records: Vec<Chained>,
    pub(crate) head: Head,
    pub(crate) problem: ProblemSpec,
    pub(crate) profile: Profile,
    /// The steps of the policy in order; empty when the engine does not know the policy.
    pub(crate) outline: Vec<StepOutline>,
    pub(crate) blobs: &'a dyn Blobs,
}

impl<'a> Source<'a> {
    pub(crate) fn read(engine: &Engine, run: &RecordedRun<'a>) -> Result<Self, ProjectError> {
        let tail = read_tail(run.journal)?;
        let whole = run.journal.len() - tail.torn_bytes;
        let journal = run.journal.get(..whole).unwrap_or_default();
        if let Outcome::Broken(found) = check_chain(journal, NonZeroUsize::MIN).outcome {
            let reasons: Vec<String> = found.reasons.iter().map(ToString::to_string).collect();
            return Err(ProjectError::Broken { record: found.line, reasons: reasons.join("; ") });
        }
        let (first, reader) = Reader::open(journal)?;
        let Record::Header(header) = first.record else { return Err(ProjectError::NoHeader) };
        let profile = *reader.profile();
        let problem = ProblemSpec::decode_lenient(run.problem, &profile)?;
        let found = problem.canonical().digest();
        if found != header.problem_spec_hash {
            return Err(ProjectError::OtherProblem { expected: header.problem_spec_hash, found });
        }
        let records = reader.collect::<Result<Vec<_>, _>>()?;
        let outline = engine.outline(&problem).unwrap_or_default();
        Ok(Self { header, records, head: tail.head, problem, profile, outline, blobs: run.blobs })
    }

    /// Returns the records that led to where the run stands: what was rolled back did not.
    pub(crate) fn in_force(&self) -> Vec<&Chained> {
        let mut standing: Vec<&Chained> = Vec::new();
        for chained in &self.records {
            match &chained.record {
                Record::Control(Control::Rollback(control)) => {
                    standing.retain(|earlier| earlier.index <= control.to);
                }
                Record::Control(Control::Checkpoint(_)) => {}
                _ => standing.push(chained),
            }
        }
        standing
    }

    pub(crate) fn run_id(&self) -> &str {
        &self.header.trace_id
    }

    pub(crate) fn policy(&self) -> &str {
        self.problem.settings().policy_profile.as_deref().unwrap_or(hence_engine::DEFAULT_POLICY)
    }

    pub(crate) fn loop_settings(&self) -> Option<&LoopSettings> {
        self.problem.settings().loop_settings.as_ref()
    }

    /// Returns the artifact a step's output becomes: its own name where the engine does not know the step.
    pub(crate) fn artifact_key(&self, step: &Arc<str>) -> Arc<str> {
        self.known(step).map_or_else(|| step.clone(), |known| known.artifact_key.clone())
    }

    /// Returns what a replay does with a step; one that nobody knows can only be read from the journal.
    pub(crate) fn determinism(&self, step: &str) -> Determinism {
        self.known(step).map_or(Determinism::Recorded, |known| known.determinism)
    }

    fn known(&self, step: &str) -> Option<&StepOutline> {
        self.outline.iter().find(|known| &*known.name == step)
    }
}
