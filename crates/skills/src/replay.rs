//! Replay of a skill run: deterministic steps are executed again, the others are read from the journal.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::{Canonical, Digest};
use hence_cognition::run::{Prepared, StepOutcome};
use hence_cognition::skill::{Flow, Step, Uses};
use hence_engine::{Blobs, Determinism, Mark, MemorySink, Sink, SinkError};
use hence_journal::{
    CheckpointControl, Control, Reader, Record, RecordIndex, RollbackControl, Sealed, verify,
};
use hence_state::ProblemSpec;

use crate::host::Host;
use crate::kept;
use crate::run::{OUTPUTS_STEP, ResumeSkillError, SkillRun, SkillRunError};

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
    let stretches = recorded(journal, prepared, host, blobs)?;
    let read = stretches.iter().map(|stretch| stretch.outcomes.len() as u64).sum::<u64>();
    let (run, header) = SkillRun::start(problem.clone(), prepared, source, host)?;
    let mut sink = ReplaySink { memory: MemorySink::default(), blobs };
    sink.memory.journal.extend_from_slice(header.line());
    let mut steps = 0;
    // Positions are kept while a run is read back, so that is how it gets to know them.
    let reopened = |sink: &ReplaySink<'_>| {
        SkillRun::resume(problem.clone(), prepared, source, host, &sink.memory.journal, sink)
    };
    match again(run, stretches, host, &mut sink, reopened, &mut steps) {
        // What a state refuses, the journal cannot hold either: the bytes so far say where they part.
        Ok(()) | Err(ResumeSkillError::Run(SkillRunError::Book(_) | SkillRunError::Outcome(_))) => {}
        Err(error) => return Err(error),
    }
    let first_difference = verify::first_difference(journal, &sink.memory.journal);
    *written = sink.memory.journal;
    Ok(SkillReplay { first_difference, executed: steps - read.min(steps), read })
}

/// Part of a journal between two things that came from outside.
#[derive(Default)]
struct Stretch {
    /// The outcomes that are read, by step.
    outcomes: BTreeMap<Arc<str>, StepOutcome>,
    /// The checkpoint or rollback behind it; nothing behind the last.
    mark: Option<(RecordIndex, Mark)>,
}

/// Runs one stretch after the other, and records what was asked from outside where it was.
fn again<'a>(
    mut run: SkillRun<'a>,
    stretches: Vec<Stretch>,
    host: &dyn Host,
    sink: &mut ReplaySink<'_>,
    reopened: impl Fn(&ReplaySink<'_>) -> Result<SkillRun<'a>, ResumeSkillError>,
    steps: &mut u64,
) -> Result<(), ResumeSkillError> {
    for Stretch { outcomes, mark } in stretches {
        run.read_outcomes_from(outcomes);
        mark.iter().for_each(|(index, _)| run.stop_before(*index));
        if !run.has_ended() {
            run.finish(host, NonZeroUsize::MIN, sink, |_| *steps += 1)?;
        }
        let Some((index, mark)) = mark else { break };
        run = reopened(sink)?;
        if run.head().records.next_index() != index {
            break;
        }
        run = run.mark(&mark, sink)?.0;
    }
    Ok(())
}

/// Reads the outcomes of steps that called something a replay must not call again.
fn recorded(
    journal: &[u8],
    prepared: &Prepared,
    host: &dyn Host,
    blobs: &dyn Blobs,
) -> Result<Vec<Stretch>, ResumeSkillError> {
    let (_, reader) = Reader::open(journal)?;
    let (mut stretches, mut stretch) = (Vec::new(), Stretch::default());
    // A line that cannot be read ends what can be fed to the replay; comparing bytes will point at it.
    for chained in reader.map_while(Result::ok) {
        let record = match chained.record {
            Record::Step(record) => record,
            Record::Control(Control::Checkpoint(CheckpointControl { name, position, .. })) => {
                stretch.mark = Some((chained.index, Mark::Checkpoint { name, position }));
                stretches.push(std::mem::take(&mut stretch));
                continue;
            }
            Record::Control(Control::Rollback(RollbackControl { name, .. })) => {
                stretch.mark = Some((chained.index, Mark::Rollback { name }));
                stretches.push(std::mem::take(&mut stretch));
                continue;
            }
            Record::Control(_) | Record::Header(_) => continue,
        };
        if &**record.result.step() == OUTPUTS_STEP {
            continue;
        }
        let outcome = kept::read(&record.result, blobs)
            .map_err(|source| ResumeSkillError::Kept { index: chained.index, source })?;
        if asks_the_world(&outcome, prepared, host) {
            stretch.outcomes.insert(outcome.step_id.clone(), outcome);
        }
    }
    stretches.push(stretch);
    Ok(stretches)
}

/// Tells whether executing a step again would ask something that may answer otherwise.
///
/// Gates are no calls of a step, and one that denied leaves no call at all; so what they would be asked through is
/// looked up in the contracts of everything the step may call.
fn asks_the_world(outcome: &StepOutcome, prepared: &Prepared, host: &dyn Host) -> bool {
    let is_recorded = |id: &str| host.determinism(id) == Determinism::Recorded;
    if outcome.called.keys().any(|id| is_recorded(id)) {
        return true;
    }
    let step = prepared.skill().step(&outcome.step_id);
    let specs = step.into_iter().flat_map(may_call).filter_map(|id| host.capability(&id));
    specs.into_iter().any(|spec| {
        spec.safety.before.iter().chain(&spec.safety.after).any(|gate| is_recorded(&gate.capability))
    })
}

/// Returns every capability a step may call.
fn may_call(step: &Step) -> Vec<Arc<str>> {
    let mut uses = vec![step.uses.clone()];
    if let Some(router) = &step.control.router {
        uses.extend(router.cases.iter().map(|(_, uses)| uses.clone()));
        uses.extend(router.default.clone());
    }
    if let Flow::Scatter(scatter) = &step.control.flow {
        uses.extend(scatter.branches.iter().cloned());
    }
    let capability = |uses: Uses| match uses {
        Uses::Capability(id) => Some(id),
        Uses::Skill(_) => None,
    };
    uses.into_iter().filter_map(capability).collect()
}

/// Keeps the replay's journal in memory and reads large values where they are kept.
struct ReplaySink<'a> {
    memory: MemorySink,
    blobs: &'a dyn Blobs,
}

impl Sink for ReplaySink<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.memory.append(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.memory.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self
    }
}

impl Blobs for ReplaySink<'_> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SinkError> {
        match Blobs::get(&self.memory.blobs, digest)? {
            Some(bytes) => Ok(Some(bytes)),
            None => self.blobs.get(digest),
        }
    }
}
