//! Replay: run it again and compare every byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_journal::{Lines, ReadError, RecordIndex, verify};
use hence_state::{Findings, ProblemSpec};

use crate::blob::Blobs;
use crate::book::BookError;
use crate::history::{History, Recorded};
use crate::plan::Plan;
use crate::run::{Advanced, ResumeError, Run, RunError};
use crate::sink::ReplaySink;
use crate::{Determinism, Engine, Gate, GateError, Opening, VERDICTS_STEP, blob, interactive};

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
        let plan = self.plan_to_read(&history.request(problem.clone()))?;
        let problem = plan.problem().clone();
        let recorded_steps = count_recorded(&plan, &history, recorded);
        let plan_again = plan.clone();
        let (mut run, header) = Run::start(plan)?;
        let outcomes = match recorded {
            RecordedSteps::FromJournal => history.outcomes.clone(),
            RecordedSteps::RunAgain => BTreeMap::new(),
        };
        run.read_outcomes_from(outcomes.clone());
        let gate = self.gate(&history, &problem, blobs)?;
        let mut sink = ReplaySink::new(&header, blobs).guarded_by(gate);
        let mut steps = 0;
        let again = Again { plan: plan_again, history: &history, outcomes };
        let finished = again.run(run, &mut sink, &mut steps);
        // A recorded clock that was altered can run out before the run ends, and a step that asked the world may have
        // no result yet; the bytes so far say where.
        match finished {
            Ok(())
            | Err(RunError::Book(
                BookError::Clock(_)
                | BookError::Fold { .. }
                | BookError::PolicyOrder { .. }
                | BookError::Gate(GateError::PolicyOrder(_) | GateError::OtherPolicies { .. }),
            ))
            | Err(RunError::Stopped { .. } | RunError::Waiting { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let read = recorded_steps.min(steps);
        Ok(Replay { difference: difference(journal, &sink.into_journal()), executed: steps - read, read })
    }
}

impl Engine {
    /// Opens the gate of a run whose problem pins policies.
    fn gate<'a>(
        &'a self,
        history: &'a History,
        problem: &'a Arc<ProblemSpec>,
        blobs: &'a dyn Blobs,
    ) -> Result<Option<Box<dyn Gate + 'a>>, RunError> {
        if problem.settings().policies.is_none() {
            return Ok(None);
        }
        let gates = self.gates.as_ref().ok_or(BookError::Gate(GateError::Unguarded))?;
        let opening = Opening { header: &history.header, problem, blobs };
        Ok(Some(gates.open(opening).map_err(BookError::Gate)?))
    }
}

/// A run that is run again.
struct Again<'a> {
    plan: Plan,
    history: &'a History,
    /// The outcomes that are read instead of computed, by record.
    outcomes: BTreeMap<RecordIndex, Recorded>,
}

impl Again<'_> {
    /// Runs to the end. What somebody decided outside is read from the journal: which policies to go by, to try again
    /// what they blocked, to name a position, and to return to one.
    fn run(&self, run: Run, sink: &mut ReplaySink<'_>, steps: &mut u64) -> Result<(), RunError> {
        let mut run = run;
        loop {
            if let Some(policies) = self.history.policies.get(&run.next_index()) {
                let policies = blob::resolve(policies, sink)?;
                run.install_policies(&policies, sink)?;
                continue;
            }
            if let Some(mark) = self.history.marks.get(&run.next_index()) {
                // Positions are kept while a run is read back, so that is how it gets to know them.
                (run, _) = self.reopened(sink)?.mark(mark, sink)?;
                continue;
            }
            if !run.is_going() {
                return Ok(());
            }
            match run.advance(sink)? {
                Advanced::Going(going, event) => {
                    *steps += u64::from(matches!(event, crate::Event::Step { .. }));
                    run = *going;
                }
                Advanced::Blocked(going, blocked) => {
                    *steps += u64::from(&*blocked.step != VERDICTS_STEP);
                    if going.next_index() > self.history.last {
                        return Ok(());
                    }
                    run = *going;
                }
                Advanced::Ended(finished, event) => {
                    *steps += u64::from(matches!(event, crate::Event::Step { .. }));
                    if !self.history.marks.contains_key(&finished.head.records.next_index()) {
                        return Ok(());
                    }
                    run = self.reopened(sink)?;
                }
            }
        }
    }

    fn reopened(&self, sink: &ReplaySink<'_>) -> Result<Run, RunError> {
        let reopened = Run::reopen(self.plan.clone(), sink.journal(), sink);
        let mut run = reopened.map_err(|error| match error {
            ResumeError::Run(error) => error,
            // What was just written reads back; anything else shows as a difference of bytes.
            other => RunError::Reopened(other.to_string()),
        })?;
        run.read_outcomes_from(self.outcomes.clone());
        Ok(run)
    }
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
