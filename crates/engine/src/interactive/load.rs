//! Reading an interactive run back from its journal.

use std::num::NonZeroUsize;

use hence_canon::Lenient;
use hence_journal::verify::{Break, ChainCheck, Outcome, check_behind, check_chain};
use hence_journal::{Chained, ClockSource, Header, Lines, ReadError, Reader, Record, RecordIndex};
use hence_state::{Profile, StepResult};
use hence_variables::{Event, apply};

use super::{ARTIFACT, Interactive, STEP_PREFIX};
use crate::blob::{self, BlobError, Blobs};
use crate::{Request, ResumeError};

impl Interactive {
    /// Reads a run back: every event is folded as it was when it was recorded.
    ///
    /// # Errors
    /// [`ResumeError`] with the first record that does not fit. The journal is only read.
    pub fn load(journal: &[u8], problem: &Lenient, blobs: &dyn Blobs) -> Result<Self, ResumeError> {
        // Every record is hashed before anything is built on it.
        intact(check_chain(journal, NonZeroUsize::MIN))?;
        let (first, reader) = Reader::open(journal)?;
        let mut run = Self::begin(&first, problem)?;
        for chained in reader {
            run.take_in(&chained?, blobs)?;
        }
        run.check_end()?;
        Ok(run)
    }

    /// Reads a run back up to the record `last`, to see what it knew then.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_until(
        journal: &[u8],
        problem: &Lenient,
        blobs: &dyn Blobs,
        last: RecordIndex,
    ) -> Result<Self, ResumeError> {
        // What came later, whole or damaged, does not touch what the run knew then.
        let end = Lines::of(journal).offset(last.next()).unwrap_or(journal.len());
        Self::load(journal.get(..end).unwrap_or(journal), problem, blobs)
    }

    /// Takes in what others recorded since: the lines behind this run's head.
    ///
    /// # Errors
    /// [`ResumeError`] with the first record that does not fit; the run must then be loaded again.
    pub fn catch_up(&mut self, lines: &[u8], blobs: &dyn Blobs) -> Result<(), ResumeError> {
        intact(check_behind(self.head(), lines, &Profile::STRICT))?;
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let index = self.next_index();
            let chained = Chained::decode(line, &Profile::STRICT);
            self.take_in(&chained.map_err(|error| ReadError { index, error })?, blobs)?;
        }
        self.check_end()
    }

    pub(super) fn begin(first: &Chained, problem: &Lenient) -> Result<Self, ResumeError> {
        let diverged =
            |reason: &str| ResumeError::Diverged { index: RecordIndex::HEADER, reason: reason.to_owned() };
        let Record::Header(header) = &first.record else {
            return Err(diverged("the first record is no header"));
        };
        if header.clock != Some(ClockSource::Ticking) {
            return Err(diverged("the clock of an interactive run ticks"));
        }
        let (run, expected) = Self::start(&request_of(header, problem))?;
        if expected.head().hash != first.hash {
            return Err(diverged("the header is not the one this problem and engine write"));
        }
        Ok(run)
    }

    fn take_in(&mut self, chained: &Chained, blobs: &dyn Blobs) -> Result<(), ResumeError> {
        let index = chained.index;
        let diverged = |reason: String| ResumeError::Diverged { index, reason };
        if chained.prev_hash != Some(self.head().hash) || index != self.next_index() {
            return Err(diverged("it does not name the record before it".to_owned()));
        }
        let Record::Step(record) = &chained.record else {
            return Err(diverged("an interactive run has steps only".to_owned()));
        };
        let event = event_of(&record.result, blobs).map_err(|error| match error {
            NoEvent::Blob(error) => ResumeError::Run(error.into()),
            NoEvent::Invalid(reason) => diverged(reason),
        })?;
        apply(&mut self.workspace, &event).map_err(|misfit| diverged(misfit.to_string()))?;
        self.book.replay_step(ARTIFACT, record).map_err(|error| diverged(error.to_string()))?;
        self.first = self.first.or(Some(event.state));
        self.book.move_head(index, chained.hash);
        Ok(())
    }

    /// The state that was folded must be the one the last record names: everything before hangs on it.
    fn check_end(&mut self) -> Result<(), ResumeError> {
        self.book.check_end().map_err(|(folded, claimed)| {
            let reason = format!("the state hashes to {folded}, the record says {claimed}");
            let index = RecordIndex::new(self.head().records.get().saturating_sub(1));
            ResumeError::Diverged { index, reason }
        })
    }
}

/// Refuses to build on a chain that does not hold.
fn intact(chain: ChainCheck) -> Result<(), ResumeError> {
    match chain.outcome {
        Outcome::Broken(Break { line, reasons }) => Err(ResumeError::Broken { line, reasons }),
        _ => Ok(()),
    }
}

pub(super) fn request_of(header: &Header, problem: &Lenient) -> Request {
    Request {
        trace_id: Some(header.trace_id.to_string()),
        engine_version: Some(header.engine_version.to_string()),
        now: Some(header.created_at.to_string()),
        ..Request::new(problem.clone(), Profile::named(header.profile))
    }
}

/// Why a result tells no event.
pub(super) enum NoEvent {
    /// It is kept elsewhere and cannot be had.
    Blob(BlobError),
    /// It is not one.
    Invalid(String),
}

/// Reads the event a result carries and checks what the result says about it.
pub(super) fn event_of(result: &StepResult, blobs: &dyn Blobs) -> Result<Event, NoEvent> {
    let invalid = |reason: String| Err(NoEvent::Invalid(reason));
    if !result.step().starts_with(STEP_PREFIX) {
        return invalid(format!("expected a step {STEP_PREFIX}…, found {:?}", result.step()));
    }
    let Some(output) = result.outcome().output() else {
        return invalid("a refused operation is not recorded, found a step without output".to_owned());
    };
    let value = blob::resolve(output, blobs).map_err(NoEvent::Blob)?;
    let event = Event::from_value(&value).map_err(|error| NoEvent::Invalid(error.to_string()))?;
    if super::step_name(event.action) != **result.step() {
        return invalid(format!("step {:?} tells of the action {}", result.step(), event.action.as_str()));
    }
    match result.finished_at().as_str().parse() {
        Ok(at) if event.at == at => Ok(event),
        _ => invalid(format!("the event is of {}, the step of {}", event.at, result.finished_at())),
    }
}
