//! Replay: execute deterministic steps again, read all other results from the journal, compare every byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_journal::{
    Chained, ClockSource, Control, DecodeError, Header, LineError, Lines, ReadError, Reader, Record,
    RecordIndex, verify,
};
use hence_state::{Profile, Timestamp};

use crate::blob;
use crate::book::{BookError, Mark};
use crate::gate::{GateError, attempt, is_program_step, was_started};
use crate::program::Program;
use crate::run::{Driven, ResumeError, Run, RunError};
use crate::sink::ReplaySink;
use crate::verify::Evidence;
use crate::{POLICIES_STEP, Request};

/// The treatment of steps that are not deterministic in a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordedSteps {
    /// Their results are read from the journal. No effect happens twice.
    FromJournal,
    /// They are executed again, by an engine whose capabilities are known to answer alike.
    RunAgain,
}

/// The outcome of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The first line at which the bytes differ; `None` when they are equal.
    pub difference: Option<Difference>,
    /// The number of steps that were executed again.
    pub executed: u64,
    /// The number of results that were read from the journal.
    pub read: u64,
    /// The parts that were read from the journal because nothing else contains them, with the steps they belong to.
    pub believed: Vec<String>,
}

/// The first line at which a replay differs from its journal.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The line, from 0.
    pub line: u64,
    /// The record in the journal; `None` when the journal ends before.
    pub recorded: Option<Value>,
    /// The record of the replay; `None` when the replay ends before.
    pub replayed: Option<Value>,
    /// The members that differ, as pointers into the record.
    pub members: Vec<String>,
}

/// The parts of a journal that a replay reads because it cannot compute them.
pub(crate) struct History<R> {
    /// The results that are read instead of computed.
    results: BTreeMap<RecordIndex, R>,
    /// The checkpoints and rollbacks that somebody asked for.
    marks: BTreeMap<RecordIndex, Mark>,
    /// The policies that somebody installed.
    policies: BTreeMap<RecordIndex, Canonical>,
    /// The steps from whose results something is taken over, by what it is.
    believed: BTreeMap<String, Vec<Arc<str>>>,
    /// The last record that can be read.
    last: RecordIndex,
}

impl<R> History<R> {
    /// Reads a journal as far as it can be read; comparing bytes then points at the first line that cannot.
    fn read<P: Program<Recorded = R>>(program: &P, evidence: &Evidence<'_>) -> Result<Self, ResumeError> {
        let (_, reader) = Reader::open(evidence.journal)?;
        let (results, marks, policies) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let believed = BTreeMap::new();
        let mut history = Self { results, marks, policies, believed, last: RecordIndex::HEADER };
        for Chained { record, index, .. } in reader.map_while(Result::ok) {
            history.last = index;
            match record {
                Record::Step(record) if &**record.result.step() == POLICIES_STEP => {
                    let output = record.result.outcome().output().cloned();
                    history.policies.extend(output.map(|output| (index, output)));
                }
                Record::Step(record) => {
                    let is_read = evidence.recorded == RecordedSteps::FromJournal
                        && is_program_step(record.result.step())
                        && was_started(&record.result);
                    if is_read {
                        let result = program.recorded(&attempt(&record.result), evidence.blobs);
                        let result = result.map_err(|mismatch| ResumeError::mismatch(index, mismatch))?;
                        for what in result.iter().flat_map(|result| program.believed(result)) {
                            let steps = history.believed.entry(what).or_default();
                            if !steps.contains(record.result.step()) {
                                steps.push(record.result.step().clone());
                            }
                        }
                        history.results.extend(result.map(|result| (index, result)));
                    }
                }
                Record::Control(Control::Checkpoint(control)) => {
                    let mark = Mark::Checkpoint { name: control.name, position: control.position };
                    history.marks.insert(index, mark);
                }
                Record::Control(Control::Rollback(control)) => {
                    history.marks.insert(index, Mark::Rollback { name: control.name });
                }
                Record::Control(Control::Complete { .. } | Control::Loop(_)) | Record::Header(_) => {}
            }
        }
        Ok(history)
    }
}

/// Replays a journal with its program, which is at the beginning of a run.
///
/// # Errors
/// [`ResumeError`] when the run cannot even begin.
pub fn replay<P: Program>(program: P, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
    let history = History::read(&program, evidence)?;
    let (run, header) = Run::start(program.clone())?;
    let gate = match (run.policy_state().is_pinned(), evidence.gate) {
        (false, _) => None,
        (true, None) => return Err(refused(GateError::Unguarded)),
        (true, Some(open)) => Some(open().map_err(refused)?),
    };
    let (journal, mut sink) = (evidence.journal, ReplaySink::new(&header, evidence.blobs));
    let written = Replaying { program, history: &history }.drive(run.with_gate(gate), &mut sink);
    match written {
        // The bytes so far show where a journal that the book refuses differs.
        Ok(()) => {}
        Err(ResumeError::Run(error)) if is_difference(&error) => {}
        Err(error) => return Err(error),
    }
    let mut replayed = sink.into_journal();
    // A run that was stopped, waits or was killed is unfinished, not different.
    if evidence.may_be_unfinished && journal.ends_with(b"\n") && replayed.starts_with(journal) {
        replayed.truncate(journal.len());
    }
    let steps = count_steps(&replayed);
    let read = (history.results.len() as u64).min(steps);
    let believed = history.believed.iter().map(|(what, steps)| format!("{what} ({})", named(steps)));
    let marks = (!history.marks.is_empty()).then(|| MARKS.to_owned());
    let believed = believed.chain(marks).collect();
    Ok(Replay { difference: difference(journal, &replayed), executed: steps - read, read, believed })
}

/// The choices of people about checkpoints and rollbacks.
const MARKS: &str = "the checkpoints and rollbacks that were asked for, with their names and positions";

/// The number of steps that a sentence names.
const NAMED_STEPS_MAX: usize = 8;

/// Names steps, the first of many.
fn named(steps: &[Arc<str>]) -> String {
    let first: Vec<&str> = steps.iter().take(NAMED_STEPS_MAX).map(|step| &**step).collect();
    let more = steps.len().saturating_sub(NAMED_STEPS_MAX);
    let word = if steps.len() == 1 { "step" } else { "steps" };
    match more {
        0 => format!("{word} {}", first.join(", ")),
        _ => format!("{word} {} and {more} more", first.join(", ")),
    }
}

fn refused(error: GateError) -> ResumeError {
    ResumeError::Run(BookError::Gate(error).into())
}

/// Returns whether an error means that the journal differs, which the comparison of bytes then reports.
fn is_difference(error: &RunError) -> bool {
    match error {
        RunError::Book(BookError::Gate(error)) => {
            matches!(error, GateError::PolicyOrder(_) | GateError::OtherPolicies { .. })
        }
        RunError::Book(error) => !matches!(error, BookError::Sink { .. }),
        RunError::Unfit { .. } | RunError::Stopped { .. } | RunError::Waiting { .. } => true,
        _ => false,
    }
}

/// A replay in progress.
struct Replaying<'h, P: Program> {
    /// The program at the beginning of the run.
    program: P,
    history: &'h History<P::Recorded>,
}

impl<P: Program> Replaying<'_, P> {
    /// Replays to the end. The journal says what somebody asked for: which policies to install, when to retry a blocked
    /// step, which checkpoints to take, and when to roll back.
    fn drive<'g>(&self, mut run: Run<'g, P>, sink: &mut ReplaySink<'_>) -> Result<(), ResumeError> {
        let History { results, marks, policies, last, .. } = self.history;
        loop {
            let next = run.next_index();
            if let Some(policies) = policies.get(&next) {
                let policies = blob::resolve(policies, &*sink).map_err(RunError::from)?;
                run.install_policies(&policies, sink)?;
                continue;
            }
            if let Some(mark) = marks.get(&next) {
                (run, _) = self.reopen(run, sink)?.mark(mark, sink)?;
                continue;
            }
            if run.has_ended() {
                return Ok(());
            }
            let until = marks.range(next..).map(|(index, _)| *index).next();
            match P::replay(run, results, until, sink)? {
                Driven::Finished(stopped) | Driven::Paused(stopped, _)
                    if marks.contains_key(&stopped.next_index()) =>
                {
                    run = stopped;
                }
                Driven::Blocked(blocked, _) if blocked.next_index() <= *last => {
                    run = self.reopen(blocked, sink)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Resumes the run from the journal that the replay has written so far. Snapshots for rollbacks are taken only while
    /// a run is resumed.
    fn reopen<'g>(&self, mut run: Run<'g, P>, sink: &ReplaySink<'_>) -> Result<Run<'g, P>, ResumeError> {
        let gate = run.parts().1.take_gate();
        Ok(Run::resume(self.program.clone(), sink.journal(), sink)?.with_gate(gate))
    }
}

/// Counts the steps of the program that a journal records.
fn count_steps(journal: &[u8]) -> u64 {
    let Ok((_, reader)) = Reader::open(journal) else { return 0 };
    let is_step =
        |record: &Record| matches!(record, Record::Step(step) if is_program_step(step.result.step()));
    reader.map_while(Result::ok).filter(|chained| is_step(&chained.record)).count() as u64
}

fn difference(recorded: &[u8], replayed: &[u8]) -> Option<Difference> {
    let line = verify::first_difference(recorded, replayed)?;
    let index = RecordIndex::new(line);
    let value = |bytes| Lines::of(bytes).get(index).and_then(|line| hence_canon::parse(line).ok());
    let (recorded, replayed) = (value(recorded), value(replayed));
    let members = match (&recorded, &replayed) {
        (Some(recorded), Some(replayed)) => {
            let changes = crate::diff::changes(recorded, replayed);
            changes.into_iter().map(|change| change.pointer.to_string()).collect()
        }
        _ => Vec::new(),
    };
    Some(Difference { line, recorded, replayed, members })
}

/// Makes the request that a recorded run must have come from.
///
/// # Errors
/// [`ReadError`] when there is no header.
pub(crate) fn request_of_journal(
    journal: &[u8],
    problem: &hence_canon::Lenient,
) -> Result<Request, ReadError> {
    let (first, reader) = Reader::open(journal)?;
    let Record::Header(header) = first.record else {
        return Err(ReadError { index: RecordIndex::HEADER, error: DecodeError::Line(LineError::Blank) });
    };
    let times = (header.clock == Some(ClockSource::Given)).then(|| times(&header, reader));
    Ok(Request {
        trace_id: Some(header.trace_id.to_string()),
        engine_version: Some(header.engine_version.to_string()),
        now: Some(header.created_at.to_string()),
        times,
        ..Request::new(problem.clone(), Profile::named(header.profile))
    })
}

/// Returns the times that the caller of a run gave, as far as the journal can be read.
fn times(header: &Header, reader: Reader<'_>) -> Vec<Timestamp> {
    let recorded = reader.map_while(Result::ok).filter_map(|chained| match chained.record {
        Record::Step(record) => Some(record.result.finished_at().clone()),
        Record::Control(Control::Complete { at, .. }) => Some(at),
        Record::Control(Control::Loop(control)) => control.at,
        Record::Control(Control::Rollback(control)) => Some(control.at),
        Record::Control(Control::Checkpoint(_)) | Record::Header(_) => None,
    });
    std::iter::once(header.created_at.clone()).chain(recorded).collect()
}
