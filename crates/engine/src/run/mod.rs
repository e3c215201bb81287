//! A run of any program: how it starts, resumes, takes checkpoints, rolls back and installs policies.

mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_journal::{Head, RecordIndex, Sealed};
use hence_state::ReasoningState;

pub use resume::ResumeError;
pub(crate) use resume::require_header;

use crate::blob::BlobError;
use crate::book::{Book, BookError, Mark};
use crate::gate::{Blocked, Gate, PolicyState};
use crate::program::Program;
use crate::sink::{Sink, SinkError};

/// A run in progress. A run whose record could not be appended is over; another one is resumed from the journal.
pub struct Run<'g, P: Program> {
    book: Book<'g>,
    program: P,
    /// The positions of the program that a rollback may return to, by the record they follow.
    snapshots: BTreeMap<RecordIndex, P::Snapshot>,
}

/// The position to which a run was driven.
pub enum Driven<'g, P: Program> {
    /// The run has ended.
    Finished(Run<'g, P>),
    /// Policies block the step that is due, or the completion. The blocked attempt is recorded.
    Blocked(Run<'g, P>, Blocked),
    /// The run has not ended and can be resumed.
    Paused(Run<'g, P>, Pause),
}

/// The reason why a run was paused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pause {
    /// Steps wait for an answer. Everything that did not need the answer has been executed.
    Waiting(Vec<Waiting>),
    /// Somebody asked the run to stop.
    Stopped,
}

/// A step that waits for an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The key of the call that has no answer yet, or the step.
    pub key: Arc<str>,
    /// The question, for people.
    pub message: Arc<str>,
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The last state.
    pub state: ReasoningState,
    /// The head of its journal.
    pub head: Head,
}

/// An error that stops a run. What was appended stays; the run can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A record could not be made or appended.
    #[error(transparent)]
    Book(#[from] BookError),
    /// A result does not follow from the program.
    #[error("record {index}: {source}")]
    Unfit {
        /// The record.
        index: RecordIndex,
        /// The rule it breaks.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Problem and program do not belong together, so the run cannot begin.
    #[error(transparent)]
    Mismatch(Box<dyn std::error::Error + Send + Sync>),
    /// A capability that a step calls does not answer now.
    #[error("step {step} cannot be done now: {message}")]
    Stopped {
        /// The step.
        step: Arc<str>,
        /// The reason.
        message: String,
    },
    /// A step waits for an answer.
    #[error("step {step} waits: {message}")]
    Waiting {
        /// The step.
        step: Arc<str>,
        /// The question.
        message: String,
    },
    /// The call log could not be written.
    #[error("the call log could not be written: {0}")]
    CallLog(SinkError),
    /// A large value could not be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Policies block the next step. The blocked attempt is recorded.
    #[error(transparent)]
    Blocked(#[from] Blocked),
}

impl<'g, P: Program> Run<'g, P> {
    /// Starts a run and returns its header, which the caller appends before anything else.
    ///
    /// # Errors
    /// [`RunError`] when the run cannot begin.
    pub fn start(program: P) -> Result<(Self, Sealed), RunError> {
        let (book, header) = program.open()?;
        Ok((Self { book, program, snapshots: BTreeMap::new() }, header))
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ReasoningState {
        self.book.state()
    }

    /// Returns the head of the journal.
    pub fn head(&self) -> Head {
        self.book.head()
    }

    /// Returns the index of the next record.
    pub fn next_index(&self) -> RecordIndex {
        self.book.next_index()
    }

    /// Returns the program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// Returns the book.
    pub fn book(&self) -> &Book<'g> {
        &self.book
    }

    /// Returns program and book, to append the next record.
    pub fn parts(&mut self) -> (&mut P, &mut Book<'g>) {
        (&mut self.program, &mut self.book)
    }

    /// Returns the state of the run's policies: not installed, open, blocked or judged.
    pub fn policy_state(&self) -> &PolicyState {
        self.book.policy_state()
    }

    /// Returns whether nothing is left to append.
    pub fn has_ended(&self) -> bool {
        self.program.has_ended(&self.book)
    }

    /// Returns the last state and the head.
    pub fn into_finished(self) -> Finished {
        let head = self.head();
        Finished { state: self.book.into_state(), head }
    }

    /// Sets the gate that judges results before they are appended; `None` for a run without policies.
    #[must_use]
    pub fn with_gate(mut self, gate: Option<Box<dyn Gate + 'g>>) -> Self {
        self.book.set_gate(gate);
        self
    }

    /// Records the policies that are in force from here on: the pinned ones at the beginning, others where the run is
    /// blocked. The result of the blocked step is judged again; it is not executed again.
    ///
    /// # Errors
    /// [`RunError::Book`] when the policies cannot be enforced or may not come here; nothing is appended then.
    pub fn install_policies(
        &mut self,
        policies: &Value,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, RunError> {
        let index = self.book.install_policies(policies, sink)?;
        self.program.offer_again(index.next());
        Ok(index)
    }

    /// Records a checkpoint or a rollback, also after the end of a run. Nothing is erased; a run that was rolled back
    /// continues from the checkpoint when it is driven next.
    ///
    /// # Errors
    /// [`RunError`] when there is no such checkpoint, or the name is taken; nothing is appended then.
    pub fn mark(mut self, mark: &Mark, sink: &mut dyn Sink) -> Result<(Self, RecordIndex), RunError> {
        if !P::has_checkpoints() {
            return Err(BookError::NoCheckpoints.into());
        }
        let marked = self.book.mark(mark, sink)?;
        if let Some(to) = marked.returned_to {
            self.restore(to);
        }
        Ok((self, marked.index))
    }

    /// Stores the present position as the one after `index`.
    fn take_snapshot(&mut self, index: RecordIndex) {
        self.book.take_snapshot(index);
        self.snapshots.insert(index, self.program.snapshot());
    }

    fn restore(&mut self, to: RecordIndex) {
        // Snapshots are taken together with those of the book, which has refused a position without one.
        if let Some(snapshot) = self.snapshots.get(&to) {
            self.program.restore(snapshot);
        }
    }
}

impl<'g, P: Program> Driven<'g, P> {
    /// Returns the run when it has ended.
    ///
    /// # Errors
    /// [`RunError`] when the run is blocked, waits, or was stopped.
    pub fn into_finished(self) -> Result<Run<'g, P>, RunError> {
        match self {
            Self::Finished(run) => Ok(run),
            Self::Blocked(_, blocked) => Err(blocked.into()),
            Self::Paused(_, Pause::Waiting(waiting)) => {
                let first = waiting.into_iter().next();
                let (step, message) = first.map(|first| (first.key, first.message)).unwrap_or_default();
                Err(RunError::Waiting { step, message: message.to_string() })
            }
            Self::Paused(_, Pause::Stopped) => {
                Err(RunError::Stopped { step: "".into(), message: "the run was stopped".to_owned() })
            }
        }
    }
}
