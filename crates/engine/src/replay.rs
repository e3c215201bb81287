//! Replay: run it again and compare every byte.

use std::collections::BTreeMap;

use hence_canon::Value;
use hence_journal::{Lines, ReadError, RecordIndex, verify};
use hence_state::{Findings, Outcome};

use crate::blob::Blobs;
use crate::book::BookError;
use crate::history::History;
use crate::plan::Plan;
use crate::run::{Advanced, Event, ResumeError, Run, RunError};
use crate::sink::{MemorySink, Sink, SinkError};
use crate::{Determinism, Engine, Mark, interactive};

/// What a replay does with steps that asked the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordedSteps {
    /// Their results are read from the journal. No effect happens twice.
    FromJournal,
    /// They are executed again, by an engine whose means are known to answer alike.
    RunAgain,
}

/// What a replay found.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The first line at which the bytes differ; `None` when they are equal.
    pub difference: Option<Difference>,
    /// How many steps were executed again.
    pub executed: u64,
    /// How many results were read from the journal.
    pub read: u64,
}

/// Where a replay leaves the journal.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The line, from 0.
    pub line: u64,
    /// What the journal has there; nothing when it ends before.
    pub recorded: Option<Value>,
    /// What the replay wrote there; nothing when it ended before.
    pub replayed: Option<Value>,
    /// The members that differ, as pointers into the record.
    pub members: Vec<String>,
}

/// Why a replay could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The problem is not one this engine would run.
    #[error("the problem is refused: {0}")]
    Refused(#[from] Findings),
    /// The run stopped.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Engine {
    /// Runs a recorded journal's problem again and compares the bytes.
    ///
    /// # Errors
    /// [`ReplayError`] when the run cannot even be made.
    pub fn replay(
        &self,
        journal: &[u8],
        problem: &Value,
        blobs: &dyn Blobs,
        recorded: RecordedSteps,
    ) -> Result<Replay, ReplayError> {
        if interactive::is_pinned(problem) {
            return interactive::replayed(journal, problem, blobs);
        }
        let history = History::read(journal)?;
        let plan = self.plan(&history.request(problem.clone()))?;
        let recorded_steps = count_recorded(&plan, &history, recorded);
        let plan_again = plan.clone();
        let (mut run, header) = Run::start(plan)?;
        let outcomes = match recorded {
            RecordedSteps::FromJournal => history.outcomes.clone(),
            RecordedSteps::RunAgain => BTreeMap::new(),
        };
        run.read_outcomes_from(outcomes.clone());
        let mut sink = ReplaySink { memory: MemorySink::default(), blobs };
        sink.memory.journal.extend_from_slice(header.line());
        let mut steps = 0;
        let count = |event: &Event| steps += u64::from(matches!(event, Event::Step { .. }));
        let finished = again(run, &plan_again, (&history.marks, &outcomes), &mut sink, count);
        // A recorded clock that was altered can run out before the run ends; the bytes so far say where.
        match finished {
            Ok(()) | Err(RunError::Book(BookError::Clock(_) | BookError::Fold { .. })) => {}
            Err(error) => return Err(error.into()),
        }
        let read = recorded_steps.min(steps);
        Ok(Replay { difference: difference(journal, &sink.memory.journal), executed: steps - read, read })
    }
}

/// Runs to the end, and records what was asked from outside where it was.
fn again(
    mut run: Run,
    plan: &Plan,
    (marks, outcomes): (&BTreeMap<RecordIndex, Mark>, &BTreeMap<RecordIndex, Outcome>),
    sink: &mut ReplaySink<'_>,
    mut observe: impl FnMut(&Event),
) -> Result<(), RunError> {
    for (index, mark) in marks {
        let mut ended = false;
        while !ended && run.head().records.next_index() < *index {
            match run.advance(sink)? {
                Advanced::Going(going, event) => {
                    observe(&event);
                    run = *going;
                }
                Advanced::Ended(_, event) => {
                    observe(&event);
                    ended = true;
                    run = reopened(plan, sink)?;
                }
            }
        }
        if run.head().records.next_index() != *index {
            break;
        }
        // Positions are kept while a run is read back, so that is how it gets to know them.
        (run, _) = reopened(plan, sink)?.mark(mark, sink)?;
        run.read_outcomes_from(outcomes.clone());
    }
    if run.is_going() { run.finish(sink, observe).map(|_| ()) } else { Ok(()) }
}

fn reopened(plan: &Plan, sink: &ReplaySink<'_>) -> Result<Run, RunError> {
    Run::reopen(plan.clone(), &sink.memory.journal, sink).map_err(|error| match error {
        ResumeError::Run(error) => error,
        // What was just written reads back; anything else shows as a difference of bytes.
        other => RunError::Reopened(other.to_string()),
    })
}

fn count_recorded(plan: &crate::Plan, history: &History, recorded: RecordedSteps) -> u64 {
    if recorded == RecordedSteps::RunAgain {
        return 0;
    }
    let is_recorded = |name: &str| {
        plan.find_step(name).is_some_and(|step| step.determinism(&plan.problem) == Determinism::Recorded)
    };
    history.steps.iter().filter(|name| is_recorded(name)).count() as u64
}

/// Keeps the replay's journal in memory and reads large values where they are kept.
struct ReplaySink<'a> {
    memory: MemorySink,
    blobs: &'a dyn Blobs,
}

impl Sink for ReplaySink<'_> {
    fn append(&mut self, record: &hence_journal::Sealed) -> Result<(), SinkError> {
        self.memory.append(record)
    }

    fn put_blob(&mut self, value: &hence_canon::Canonical) -> Result<(), SinkError> {
        self.memory.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self
    }
}

impl Blobs for ReplaySink<'_> {
    fn get(&self, digest: &hence_canon::Digest) -> Result<Option<Vec<u8>>, SinkError> {
        match Blobs::get(&self.memory.blobs, digest)? {
            Some(bytes) => Ok(Some(bytes)),
            None => self.blobs.get(digest),
        }
    }
}

pub(crate) fn difference(recorded: &[u8], replayed: &[u8]) -> Option<Difference> {
    let line = verify::first_difference(recorded, replayed)?;
    let index = RecordIndex::new(line);
    let value = |bytes| Lines::of(bytes).get(index).and_then(|line| hence_canon::parse(line).ok());
    let (recorded, replayed) = (value(recorded), value(replayed));
    let members = match (&recorded, &replayed) {
        (Some(recorded), Some(replayed)) => crate::diff::changes(recorded, replayed)
            .into_iter()
            .map(|change| change.pointer.to_string())
            .collect(),
        _ => Vec::new(),
    };
    Some(Difference { line, recorded, replayed, members })
}
