//! Replay of a skill run: deterministic steps are executed again, the others are read from the journal.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use hence_canon::{Canonical, Value};
use hence_cognition::run::{NESTED_RUNS_KEY, Prepared, StepOutcome};
use hence_cognition::skill::Step;
use hence_engine::{
    Blobs, Determinism, Gate, Mark, POLICIES_STEP, ReplaySink, VERDICTS_STEP, attempt, resolve, was_started,
};
use hence_journal::{Control, Reader, Record, RecordIndex, verify};
use hence_state::{ProblemSpec, StepStatus};

use crate::calls::{Desk, Ledger, Outside};
use crate::child::NoChildRuns;
use crate::host::Host;
use crate::kept;
use crate::reach::{gates_of, may_call};
use crate::run::{Driven, OUTPUTS_STEP, ResumeSkillError, SkillRun, SkillRunError};
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
    recorded: Recorded<'_>,
    written: &mut Vec<u8>,
) -> Result<SkillReplay, ResumeSkillError> {
    let Recorded { journal, blobs, gate } = recorded;
    let mut history = History::read(journal, prepared, host, blobs)?;
    let (run, header) = SkillRun::start(problem.clone(), prepared, source, host)?;
    let read = history.read;
    let mut sink = ReplaySink::new(&header, blobs).guarded_by(gate);
    let mut steps = 0;
    let ledger = Ledger::empty();
    let skill = prepared.skill();
    let (outside, family, trouble) = (Outside::Closed, run.family(), Mutex::new(None));
    let (ledger, stop, children) = (&ledger, &NeverStop, &NoChildRuns);
    let desk = Desk { host, skill, ledger, stop, outside, children, family, trouble };
    let mut driven = history.drive_again(run, &desk, &mut sink, &mut steps);
    // Whoever took the run up again after it was blocked decided so, and whoever named a position or returned to one;
    // the journal says how often, and with what.
    while history.is_taken_up(&driven, sink.journal()) {
        let written = sink.journal().to_vec();
        let mut run = SkillRun::resume(problem.clone(), prepared, source, host, &written, &sink)?;
        if let Some(mark) = history.marks.get(&run.head().records.next_index()) {
            run = run.mark(mark, &mut sink)?.0;
        }
        driven = history.drive_again(run, &desk, &mut sink, &mut steps);
    }
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

/// A run as it was recorded, to be run again.
pub struct Recorded<'a> {
    /// Its journal.
    pub journal: &'a [u8],
    /// Where its large values are.
    pub blobs: &'a dyn Blobs,
    /// Who judges its results, if its problem pins policies; no policies are laid down yet.
    pub gate: Option<Box<dyn Gate + 'a>>,
}

/// What a journal says that cannot be computed again.
struct History {
    /// Outcomes of steps that called something a replay must not call again, attempt by attempt.
    outcomes: BTreeMap<Arc<str>, VecDeque<StepOutcome>>,
    /// The policies somebody laid down, by record.
    policies: BTreeMap<RecordIndex, Value>,
    /// The checkpoints and rollbacks somebody asked for, by record.
    marks: BTreeMap<RecordIndex, Mark>,
    /// How many outcomes are read from the journal.
    read: u64,
    records: u64,
}

impl History {
    fn read(
        journal: &[u8],
        prepared: &Prepared,
        host: &dyn Host,
        blobs: &dyn Blobs,
    ) -> Result<Self, ResumeSkillError> {
        let (_, reader) = Reader::open(journal)?;
        let (outcomes, policies, marks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut history = Self { outcomes, policies, marks, read: 0, records: 1 };
        // A line that cannot be read ends what can be fed to the replay; comparing bytes will point at it.
        for chained in reader.map_while(Result::ok) {
            history.records += 1;
            history.marks.extend(mark_of(&chained.record).map(|mark| (chained.index, mark)));
            let Record::Step(record) = &chained.record else { continue };
            let kept = |source| ResumeSkillError::Kept { index: chained.index, source };
            match &**record.result.step() {
                OUTPUTS_STEP | VERDICTS_STEP => continue,
                POLICIES_STEP => {
                    if let Some(output) = record.result.outcome().output() {
                        let policies = resolve(output, blobs).map_err(|error| kept(error.into()))?;
                        history.policies.insert(chained.index, policies);
                    }
                    continue;
                }
                _ => {}
            }
            if !was_started(&record.result) {
                continue;
            }
            let outcome = kept::read(&attempt(&record.result), blobs).map_err(kept)?;
            if asks_the_world(&outcome, prepared.skill().step(&outcome.step_id), host) {
                history.read += 1;
                history.outcomes.entry(outcome.step_id.clone()).or_default().push_back(outcome);
            }
        }
        Ok(history)
    }

    /// Returns whether a run that came to a stop was taken up again.
    fn is_taken_up(&self, driven: &Result<Driven<'_>, SkillRunError>, written: &[u8]) -> bool {
        let lines = written.iter().filter(|byte| **byte == b'\n').count() as u64;
        let is_marked = self.marks.contains_key(&RecordIndex::new(lines));
        match driven {
            Ok(Driven::Blocked(_)) => self.goes_on(written),
            Ok(Driven::Paused(..) | Driven::Finished(_)) => is_marked,
            Err(_) => false,
        }
    }

    /// Returns whether more was recorded than was written again.
    fn goes_on(&self, written: &[u8]) -> bool {
        (written.iter().filter(|byte| **byte == b'\n').count() as u64) < self.records
    }

    /// Runs on from where a run stands, until it ends or is blocked.
    fn drive_again<'r>(
        &mut self,
        mut run: SkillRun<'r>,
        desk: &Desk<'_>,
        sink: &mut ReplaySink<'_>,
        steps: &mut u64,
    ) -> Result<Driven<'r>, SkillRunError> {
        while let Some(policies) = self.policies.get(&run.head().records.next_index()) {
            run.install_policies(policies, sink)?;
        }
        let here = run.head().records.next_index();
        if let Some(next) = self.marks.range(here..).map(|(index, _)| *index).next() {
            run.stop_before(next);
        }
        let due: Vec<Arc<str>> = run.outcomes().iter().map(|outcome| outcome.step_id.clone()).collect();
        let next = self.outcomes.iter().filter(|(step, _)| !due.contains(step));
        run.read_outcomes_from(
            next.filter_map(|(step, left)| Some((step.clone(), left.front()?.clone()))).collect(),
        );
        if run.has_ended() {
            return Ok(Driven::Finished(Box::new(run.ended())));
        }
        let mut taken = Vec::new();
        let driven = run.drive_at(desk, NonZeroUsize::MIN, sink, |outcome| {
            *steps += 1;
            taken.push(outcome.step_id.clone());
        });
        // A step that is taken again behind a rollback gave something else the second time.
        for step in taken {
            self.outcomes.get_mut(&step).map(VecDeque::pop_front);
        }
        if let Ok(Driven::Blocked(blocked)) = &driven {
            // What was blocked is not what the next attempt gave; what was never executed gave nothing.
            let last = Reader::open(sink.journal()).ok().and_then(|(_, reader)| reader.last()?.ok());
            let started = match last.map(|chained| chained.record) {
                Some(Record::Step(record)) => was_started(&record.result),
                _ => true,
            };
            if started {
                self.outcomes.get_mut(&blocked.step).map(VecDeque::pop_front);
            }
        }
        driven
    }
}

/// Tells whether executing a step again would ask something that may answer otherwise: a replay reads such an outcome
/// from the journal.
///
/// Gates are no calls of a step, and one that denied leaves no call at all; so what they would be asked through is
/// looked up in the contracts of everything the step may call.
pub fn asks_the_world(outcome: &StepOutcome, step: Option<&Step>, host: &dyn Host) -> bool {
    let is_recorded = |id: &str| host.determinism(id) == Determinism::Recorded;
    // A run that was nested is named by its own journal, which a replay does not write again.
    let has_nested = outcome.meta.contains_key(NESTED_RUNS_KEY);
    if has_nested || outcome.called.keys().any(|id| is_recorded(id)) {
        return true;
    }
    let mut gates = step.into_iter().flat_map(may_call).flat_map(|id| gates_of(&id, host));
    gates.any(|gate| is_recorded(&gate))
}

/// Tells whether a journal ends before its run does.
fn is_unfinished(journal: &[u8]) -> bool {
    let Ok((_, reader)) = Reader::open(journal) else { return false };
    // The name of a position says nothing about the end.
    let tells = |read: &Result<hence_journal::Chained, _>| !matches!(read, Ok(chained) if matches!(chained.record, Record::Control(Control::Checkpoint(_))));
    match reader.filter(tells).last() {
        None => true,
        Some(Ok(chained)) => match &chained.record {
            Record::Step(record) => record.result.outcome().status() != StepStatus::Failed,
            Record::Control(Control::Rollback(_)) => true,
            Record::Control(_) => false,
            Record::Header(_) => true,
        },
        Some(Err(_)) => false,
    }
}

/// Counts the steps a journal records.
fn count_steps(journal: &[u8]) -> u64 {
    let Ok((_, reader)) = Reader::open(journal) else { return 0 };
    let asides = [OUTPUTS_STEP, POLICIES_STEP, VERDICTS_STEP];
    let is_step =
        |record: &Record| matches!(record, Record::Step(step) if !asides.contains(&&**step.result.step()));
    reader.map_while(Result::ok).filter(|chained| is_step(&chained.record)).count() as u64
}

/// Returns the mark a record is of.
fn mark_of(record: &Record) -> Option<Mark> {
    match record {
        Record::Control(Control::Checkpoint(control)) => {
            Some(Mark::Checkpoint { name: control.name.clone(), position: control.position })
        }
        Record::Control(Control::Rollback(control)) => Some(Mark::Rollback { name: control.name.clone() }),
        _ => None,
    }
}
