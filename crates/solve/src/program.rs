//! The loop as a program on the journal: what each record changes, and how a run is driven and replayed.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_engine::{
    Blobs, Book, BookStart, CallTimes, Driven, ENGINE_VERSION, Measured, Meter, Moment, Pause, Program,
    RecordMismatch, RecordedStep, Run, RunError, Sink, SinkError, Span, outcome_key, recorded_outcome_key,
};
use hence_journal::{Control, RecordIndex, Sealed};
use hence_state::{Clock, Outcome, ProblemSpec, Profile, StepError, StepResult};

use crate::calls::{LiveCalls, ReplayedCalls};
use crate::conversation::Request;
use crate::ports::{Halt, Models, NoReply, Tools};
use crate::progress::{Next, Progress};
use crate::record::{BLOCK_STEP, Block, BlockEnd, Compaction, END_STEP, Entry, NotAnEntry, TURN_STEP, Turn};
use crate::session::{Interrupted, Session};

/// The loop at one position of a run.
#[derive(Clone)]
pub struct SolveProgram<'a> {
    pub(crate) progress: Progress,
    tools: Option<&'a dyn Tools>,
}

/// A run of the loop.
pub type SolveRun<'g, 'a> = Run<'g, SolveProgram<'a>>;

/// A problem that the loop cannot run.
#[derive(Debug, thiserror::Error)]
#[error("the problem is not one of the loop: {0}")]
pub struct NotSolvable(String);

impl From<NotSolvable> for RunError {
    fn from(error: NotSolvable) -> Self {
        Self::Mismatch(Box::new(error))
    }
}

impl<'a> SolveProgram<'a> {
    /// Makes the program of a problem, at the beginning of a run. Without `tools` no block can run; without the system
    /// prompt no request can be compared.
    ///
    /// # Errors
    /// [`NotSolvable`] with the reason.
    pub fn new(
        problem: Arc<ProblemSpec>,
        system: Option<Arc<str>>,
        tools: Option<&'a dyn Tools>,
    ) -> Result<Self, NotSolvable> {
        Ok(Self { progress: Progress::begin(problem, system).map_err(NotSolvable)?, tools })
    }

    /// Returns the position of the run.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Program for SolveProgram<'_> {
    type Snapshot = Progress;
    type Recorded = Entry;

    fn open<'g>(&self) -> Result<(Book<'g>, Sealed), RunError> {
        let problem = self.progress.problem();
        Ok(Book::open(BookStart {
            problem: problem.clone(),
            trace_id: problem.id().clone(),
            engine_version: ENGINE_VERSION.into(),
            profile: Profile::STRICT,
            clock: Clock::ticking(problem.created_at().clone()),
        })?)
    }

    fn apply_step(&mut self, book: &mut Book<'_>, step: &RecordedStep<'_>) -> Result<(), RecordMismatch> {
        let result = &step.record.result;
        let entry = Entry::read(result, step.blobs)?;
        self.progress.apply(step.index, result.finished_at(), entry).map_err(RecordMismatch::flow)?;
        Ok(book.replay_step(&recorded_outcome_key(step.record), step.record)?)
    }

    fn apply_control(
        &mut self,
        _: &mut Book<'_>,
        control: &Control,
        _: &dyn Blobs,
    ) -> Result<(), RecordMismatch> {
        match control {
            Control::Complete { .. } if self.progress.next() == Next::Complete => Ok(()),
            Control::Complete { .. } => Err(RecordMismatch::flow("the run has no answer yet")),
            Control::Checkpoint(_) | Control::Rollback(_) => Ok(()),
            Control::Loop(_) => {
                Err(RecordMismatch::flow("a run of the loop has steps and a completion only"))
            }
        }
    }

    fn snapshot(&self) -> Progress {
        self.progress.clone()
    }

    fn restore(&mut self, snapshot: &Progress) {
        self.progress.roll_back_to(snapshot);
    }

    fn offer_again(&mut self, _: RecordIndex) {}

    fn recorded(&self, result: &StepResult, blobs: &dyn Blobs) -> Result<Option<Entry>, RecordMismatch> {
        let entry = match Entry::read(result, blobs) {
            Ok(entry) => entry,
            Err(NotAnEntry::Blob(error)) => return Err(error.into()),
            // A replay ends before a step that is not an entry; the comparison of bytes then reports that step.
            Err(_) => return Ok(None),
        };
        let is_read = match &entry {
            Entry::Turn(_) | Entry::Call(_) | Entry::Compact(_) => true,
            Entry::Block(block) => matches!(block.end, BlockEnd::Stopped { .. }),
            Entry::End(end) => end.exhausted.is_measured(),
        };
        Ok(is_read.then_some(entry))
    }

    fn believed(&self, recorded: &Entry) -> Vec<String> {
        let what = match recorded {
            Entry::Turn(_) | Entry::Call(_) | Entry::Compact(_) => "what models and child runs answered",
            Entry::Block(_) => "that a limit of the interpreter stopped the block there",
            Entry::End(_) => "that a limit of time ended the run there",
        };
        vec![what.to_owned()]
    }

    fn replay<'g>(
        run: Run<'g, Self>,
        recorded: &BTreeMap<RecordIndex, Entry>,
        until: Option<RecordIndex>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self>, RunError> {
        replay(run, recorded, until, sink)
    }
}

impl From<NotAnEntry> for RecordMismatch {
    fn from(error: NotAnEntry) -> Self {
        match error {
            NotAnEntry::Blob(error) => Self::Blob(error),
            other => Self::flow(other),
        }
    }
}

/// Makes the record of an entry and appends it.
pub(crate) fn append(run: &mut SolveRun<'_, '_>, entry: Entry, sink: &mut dyn Sink) -> Result<(), RunError> {
    let index = run.next_index();
    let (program, book) = run.parts();
    let (started_at, at) = book.next_times()?;
    let (step, input) = (entry.step(), entry.input());
    let result = match &entry {
        Entry::End(end) => {
            let code = format!("limit_{}", end.exhausted.limit);
            let outcome = Outcome::Failed(vec![StepError::new(code, end.exhausted.message.as_str())]);
            let made = StepResult::new(step, &input, started_at, at.clone(), outcome);
            match Entry::partial(end) {
                None => made,
                Some((key, partial)) => {
                    let stored = book.store_value(Canonical::of(&partial), sink)?;
                    made.with_other(key, stored.value().clone())
                }
            }
        }
        _ => {
            let mut store = |value: Value| -> Result<Value, RunError> {
                Ok(book.store_value(Canonical::of(&value), sink)?.value().clone())
            };
            let output = entry.output(&mut store)?;
            let outcome = book.store(Canonical::of(&output), sink)?;
            StepResult::new(step, &input, started_at, at.clone(), outcome)
        }
    };
    program
        .progress
        .apply(index, &at, entry)
        .map_err(|source| RunError::Unfit { index, source: source.into() })?;
    let key = outcome_key(book.state().step_index(), step);
    book.record(&key, result, sink)?;
    Ok(())
}

/// Appends an entry that another run recorded at the same position.
///
/// # Errors
/// [`RunError`] when the entry does not follow.
pub fn carry(run: &mut SolveRun<'_, '_>, entry: Entry, sink: &mut dyn Sink) -> Result<(), RunError> {
    append(run, entry, sink)
}

/// Stores records whose content is durable elsewhere without waiting for the disk.
pub(crate) struct Deferred<'s>(pub(crate) &'s mut dyn Sink);

impl Sink for Deferred<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.0.append_deferred(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.0.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self.0.blobs()
    }

    fn meter(&self) -> &dyn Meter {
        self.0.meter()
    }
}

/// Drives a run as far as it goes. `tell` hears of every record.
///
/// # Errors
/// [`RunError`]; what was appended stays, and the run can be resumed.
pub fn drive<'g, 'a>(
    mut run: SolveRun<'g, 'a>,
    models: &dyn Models,
    sink: &mut dyn Sink,
    tell: &mut dyn FnMut(&Progress),
) -> Result<Driven<'g, SolveProgram<'a>>, RunError> {
    let Some(tools) = run.program().tools else {
        return Err(stopped(BLOCK_STEP, "no interpreter is available"));
    };
    let mut session = Session::new(tools);
    loop {
        if run.has_ended() {
            return Ok(Driven::Finished(run));
        }
        let next = run.program().progress.next();
        if let (Next::Turn { .. } | Next::Compact { .. } | Next::Block { .. }, Some(halt)) =
            (&next, models.halt())
        {
            match halt {
                Halt::Asked => return Ok(Driven::Paused(run, Pause::Stopped)),
                Halt::Exhausted(exhausted) => {
                    let end = run.program().progress.end_by(exhausted);
                    append(&mut run, Entry::End(end), sink)?;
                    continue;
                }
            }
        }
        match next {
            Next::Nothing => return Ok(Driven::Finished(run)),
            Next::Complete => {
                run.parts().1.complete(sink)?;
                return Ok(Driven::Finished(run));
            }
            Next::End(end) => append(&mut run, Entry::End(end), sink)?,
            Next::Turn { .. } | Next::Compact { .. } => {
                let started = sink.meter().now().filter(|_| !knows_reply(&run, models, &next));
                let entry = match (ask(&run, models, &next), models.halt()) {
                    (Ok(entry), _) => entry,
                    // The request was cut off because time is up; the loop records that, or stops.
                    (Err(RunError::Stopped { .. }), Some(_)) => continue,
                    (Err(error), _) => return Err(error),
                };
                if let Some(span) = measure_since(sink.meter(), started) {
                    let (step, model) = (entry.step(), run.program().progress.spec().model.name.clone());
                    sink.meter().note(Measured::Step { step: step.into(), span });
                    note_call(sink.meter(), step, run.next_index(), model, span);
                }
                append(&mut run, entry, sink)?;
            }
            Next::Block { .. } => {
                let started = sink.meter().now();
                let made = run_block(&mut session, &mut run, models, sink);
                if let Some(span) = measure_since(sink.meter(), started).filter(|_| made.is_ok()) {
                    sink.meter().note(Measured::Step { step: BLOCK_STEP.into(), span });
                }
                match made {
                    Ok(block) => append(&mut run, Entry::Block(Box::new(block)), sink)?,
                    // The limit is recorded where the loop sees it, at its next turn.
                    Err(Interrupted::Halt(Halt::Exhausted(exhausted))) => {
                        let end = run.program().progress.end_by(exhausted);
                        append(&mut run, Entry::End(end), sink)?;
                    }
                    Err(Interrupted::Halt(Halt::Asked)) => return Ok(Driven::Paused(run, Pause::Stopped)),
                    Err(error) => return Err(interrupted(error)),
                }
            }
        }
        tell(&run.program().progress);
    }
}

/// Returns the time since a reading of the clocks, where there are clocks.
pub(crate) fn measure_since(meter: &dyn Meter, started: Option<Moment>) -> Option<Span> {
    Some(Span::between(started?, meter.now()?))
}

/// Notes how long the call took whose reply becomes a record. Its key is the name of the call in the run's call log.
pub(crate) fn note_call(meter: &dyn Meter, step: &str, index: RecordIndex, model: Arc<str>, span: Span) {
    let key = format!("solve/{index}").into();
    meter.note(Measured::Call { step: step.into(), call: CallTimes { key, capability: model, span } });
}

fn request_of(progress: &Progress, next: &Next) -> Request {
    match next {
        Next::Compact { .. } => progress.compact_request(),
        _ => progress.turn_request(),
    }
}

/// Returns whether an earlier process asked and has the reply, so that asking now says nothing about how long it took.
fn knows_reply(run: &SolveRun<'_, '_>, models: &dyn Models, next: &Next) -> bool {
    models.knows_reply(run.next_index(), &request_of(&run.program().progress, next))
}

/// Asks the model of the turns for a turn or a summary.
fn ask(run: &SolveRun<'_, '_>, models: &dyn Models, next: &Next) -> Result<Entry, RunError> {
    let progress = &run.program().progress;
    let (model, index) = (&progress.spec().model, run.next_index());
    let request = request_of(progress, next);
    let digest = request.digest();
    let reply = models.ask(index, model, &request).map_err(|error| match error {
        NoReply::Refused(message) | NoReply::Unavailable(message) => stopped(TURN_STEP, &message),
    })?;
    Ok(match next {
        Next::Compact { turn } => Entry::Compact(Compaction { turn: *turn, request: digest, reply }),
        Next::Turn { turn } => {
            Entry::Turn(Turn { turn: *turn, model: model.name.clone(), request: digest, reply })
        }
        _ => return Err(stopped(TURN_STEP, "no turn is due")),
    })
}

fn run_block(
    session: &mut Session<'_>,
    run: &mut SolveRun<'_, '_>,
    models: &dyn Models,
    sink: &mut dyn Sink,
) -> Result<Block, Interrupted> {
    let start = session.prepare(&run.program().progress)?;
    let recorded = run.program().progress.open_calls().into();
    session.run(start, &mut LiveCalls { run, models, sink, recorded })
}

fn stopped(step: &str, message: &str) -> RunError {
    RunError::Stopped { step: step.into(), message: message.to_owned() }
}

fn interrupted(error: Interrupted) -> RunError {
    match error {
        Interrupted::Run(error) => error,
        Interrupted::Context(fault) => stopped(BLOCK_STEP, &format!("context {fault}")),
        Interrupted::Sandbox(error) => stopped(BLOCK_STEP, &error.to_string()),
        Interrupted::Unavailable(message)
        | Interrupted::Diverged(message)
        | Interrupted::OwnCode(_, message) => stopped(BLOCK_STEP, &message),
        Interrupted::Halt(_) => stopped(END_STEP, "the run was stopped"),
    }
}

/// Runs the blocks of a recorded run again.
fn replay<'g, 'a>(
    mut run: SolveRun<'g, 'a>,
    recorded: &BTreeMap<RecordIndex, Entry>,
    until: Option<RecordIndex>,
    sink: &mut dyn Sink,
) -> Result<Driven<'g, SolveProgram<'a>>, RunError> {
    let Some(tools) = run.program().tools else {
        return Err(stopped(BLOCK_STEP, "no interpreter is available"));
    };
    let mut session = Session::new(tools);
    while until != Some(run.next_index()) {
        match run.program().progress.next() {
            Next::Nothing => return Ok(Driven::Finished(run)),
            Next::Complete => {
                run.parts().1.complete(sink)?;
                return Ok(Driven::Finished(run));
            }
            Next::Block { .. } if !is_read(recorded, run.next_index()) => {
                let start = session.prepare(&run.program().progress);
                let calls = run.program().progress.open_calls().into();
                let made = start.and_then(|start| {
                    let run = &mut run;
                    session.run(
                        start,
                        &mut ReplayedCalls { run, sink, journal: recorded, until, recorded: calls },
                    )
                });
                match made {
                    Ok(block) => append(&mut run, Entry::Block(Box::new(block)), sink)?,
                    Err(Interrupted::Halt(_)) => return Ok(Driven::Paused(run, Pause::Stopped)),
                    // The comparison of bytes shows where the run goes another way.
                    Err(Interrupted::Diverged(_)) => return Ok(Driven::Paused(run, Pause::Stopped)),
                    Err(error) => return Err(interrupted(error)),
                }
            }
            next => {
                let entry = match (recorded.get(&run.next_index()), next) {
                    (Some(entry), _) => entry.clone(),
                    (None, Next::End(end)) => Entry::End(end),
                    (None, _) => return Ok(Driven::Paused(run, Pause::Stopped)),
                };
                append(&mut run, entry, sink)?;
            }
        }
    }
    Ok(Driven::Paused(run, Pause::Stopped))
}

/// Returns whether the block that is due was stopped, or never ended: then its calls and its end are read.
fn is_read(recorded: &BTreeMap<RecordIndex, Entry>, from: RecordIndex) -> bool {
    let mut index = from;
    loop {
        match recorded.get(&index) {
            Some(Entry::Call(_)) => index = index.next(),
            Some(Entry::Block(_) | Entry::End(_)) => return true,
            _ => return false,
        }
    }
}
