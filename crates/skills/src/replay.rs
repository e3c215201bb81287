//! Replay of a skill run: deterministic steps are executed again, the others are read from the journal.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use hence_canon::Canonical;
use hence_cognition::run::{NESTED_RUNS_KEY, Prepared, StepOutcome};
use hence_engine::{Blobs, Determinism, ReplaySink};
use hence_journal::{Reader, Record, verify};
use hence_state::{ProblemSpec, StepStatus};

use crate::calls::{Desk, Ledger, Outside};
use crate::child::NoChildRuns;
use crate::host::Host;
use crate::kept;
use crate::reach::{gates_of, may_call};
use crate::run::{OUTPUTS_STEP, ResumeSkillError, SkillRun, SkillRunError};
use crate::stop::NeverStop;

/// What a replay found.
#[derive(Clone, Debug)]
pub struct SkillReplay {
    /// The first line at which the bytes differ; `None` when they are equal.
    pub first_difference: Option<u64>,
    /// How many steps were executed again.
    pub executed: u64,
    /// How many outcomes were read from the journal.
    pub read: u64,
}

/// Runs a recorded skill again, compares every byte, and puts the journal it made into `written`.
///
/// # Errors
/// [`ResumeSkillError`] when the run cannot even be made.
pub fn replay(
    problem: Arc<ProblemSpec>,
    prepared: &Prepared,
    source: &Canonical,
    host: &dyn Host,
    journal: &[u8],
    blobs: &dyn Blobs,
    written: &mut Vec<u8>,
) -> Result<SkillReplay, ResumeSkillError> {
    let outcomes = recorded(journal, prepared, host, blobs)?;
    let (mut run, header) = SkillRun::start(problem, prepared, source, host)?;
    let read = outcomes.len() as u64;
    run.read_outcomes_from(outcomes);
    let mut sink = ReplaySink::new(&header, blobs);
    let mut steps = 0;
    let ledger = Ledger::empty();
    let skill = prepared.skill();
    let (outside, family, trouble) = (Outside::Closed, run.family(), Mutex::new(None));
    let (ledger, stop, children) = (&ledger, &NeverStop, &NoChildRuns);
    let desk = Desk { host, skill, ledger, stop, outside, children, family, trouble };
    let driven = run.drive_at(&desk, NonZeroUsize::MIN, &mut sink, |_| steps += 1);
    let mut replayed = sink.into_journal();
    match driven {
        // What a run that has not ended would go on to do is no difference.
        Ok(_) if is_unfinished(journal) && replayed.starts_with(journal) => replayed.truncate(journal.len()),
        // What a state refuses, the journal cannot hold either: the bytes so far say where they part.
        Ok(_) | Err(SkillRunError::Book(_) | SkillRunError::Outcome(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let first_difference = verify::first_difference(journal, &replayed);
    *written = replayed;
    let recorded_steps = count_steps(journal);
    let steps = if first_difference.is_none() { recorded_steps } else { steps };
    Ok(SkillReplay { first_difference, executed: steps - read.min(steps), read })
}

/// Reads the outcomes of steps that called something a replay must not call again.
fn recorded(
    journal: &[u8],
    prepared: &Prepared,
    host: &dyn Host,
    blobs: &dyn Blobs,
) -> Result<BTreeMap<Arc<str>, StepOutcome>, ResumeSkillError> {
    let (_, reader) = Reader::open(journal)?;
    let mut outcomes = BTreeMap::new();
    // A line that cannot be read ends what can be fed to the replay; comparing bytes will point at it.
    for chained in reader.map_while(Result::ok) {
        let Record::Step(record) = &chained.record else { continue };
        if &**record.result.step() == OUTPUTS_STEP {
            continue;
        }
        let outcome = kept::read(&record.result, blobs)
            .map_err(|source| ResumeSkillError::Kept { index: chained.index, source })?;
        if asks_the_world(&outcome, prepared, host) {
            outcomes.insert(outcome.step_id.clone(), outcome);
        }
    }
    Ok(outcomes)
}

/// Tells whether executing a step again would ask something that may answer otherwise.
///
/// Gates are no calls of a step, and one that denied leaves no call at all; so what they would be asked through is
/// looked up in the contracts of everything the step may call.
fn asks_the_world(outcome: &StepOutcome, prepared: &Prepared, host: &dyn Host) -> bool {
    let is_recorded = |id: &str| host.determinism(id) == Determinism::Recorded;
    // A run that was nested is named by its own journal, which a replay does not write again.
    let has_nested = outcome.meta.contains_key(NESTED_RUNS_KEY);
    if has_nested || outcome.called.keys().any(|id| is_recorded(id)) {
        return true;
    }
    let step = prepared.skill().step(&outcome.step_id);
    let mut gates = step.into_iter().flat_map(may_call).flat_map(|id| gates_of(&id, host));
    gates.any(|gate| is_recorded(&gate))
}

/// Tells whether a journal ends before its run does.
fn is_unfinished(journal: &[u8]) -> bool {
    let Ok((_, reader)) = Reader::open(journal) else { return false };
    match reader.last() {
        None => true,
        Some(Ok(chained)) => match &chained.record {
            Record::Step(record) => record.result.outcome().status() != StepStatus::Failed,
            Record::Control(_) => false,
            Record::Header(_) => true,
        },
        Some(Err(_)) => false,
    }
}

/// Counts the steps a journal records.
fn count_steps(journal: &[u8]) -> u64 {
    let Ok((_, reader)) = Reader::open(journal) else { return 0 };
    let is_step =
        |record: &Record| matches!(record, Record::Step(step) if &**step.result.step() != OUTPUTS_STEP);
    reader.map_while(Result::ok).filter(|chained| is_step(&chained.record)).count() as u64
}
