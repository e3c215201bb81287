//! Resuming a run from its journal. Recorded steps are not executed again.

use std::num::NonZeroUsize;
use std::thread;

use hence_journal::verify::{Break, Outcome, ReadVerifiedError, Reason, check_behind, read_verified};
use hence_journal::{Chained, Control, ReadError, Record, RecordIndex, Sealed, positions};
use hence_state::Profile;

use super::{Run, RunError};
use crate::blob::Blobs;
use crate::program::{Program, RecordMismatch, RecordedStep};

/// The size from which a journal is read on several threads. For less, starting a thread costs more than reading.
const PARALLEL_READ_BYTES_MIN: usize = 64 * 1024;

/// A journal that cannot be resumed or replayed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// A line is not a record.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The chain does not hold, so nothing may be appended to it.
    #[error("record {line} does not hold: {}", .reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Broken {
        /// The line, from 0.
        line: u64,
        /// The checks that fail.
        reasons: Vec<Reason>,
    },
    /// A record does not follow: another problem, another program, or an altered journal.
    #[error("record {index} does not follow from the program: {reason}")]
    Diverged {
        /// The record.
        index: RecordIndex,
        /// The difference.
        reason: String,
    },
    /// This engine would not run the recorded problem.
    #[error("the recorded problem is refused: {0}")]
    Refused(#[from] hence_state::Findings),
    /// The run cannot begin, or a large value is missing.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl ResumeError {
    pub(crate) fn diverged(index: RecordIndex, reason: impl ToString) -> Self {
        Self::Diverged { index, reason: reason.to_string() }
    }

    pub(crate) fn mismatch(index: RecordIndex, mismatch: RecordMismatch) -> Self {
        match mismatch {
            RecordMismatch::Flow(reason) => Self::Diverged { index, reason },
            RecordMismatch::Blob(error) => Self::Run(error.into()),
        }
    }
}

impl<P: Program> Run<'_, P> {
    /// Reads a run back from its journal: every record is hashed, and applied as it was when it was appended.
    ///
    /// # Errors
    /// [`ResumeError`] with the first record that does not follow. The journal is only read.
    pub fn resume(program: P, journal: &[u8], blobs: &dyn Blobs) -> Result<Self, ResumeError> {
        let (mut run, header) = Self::start(program)?;
        let wanted = positions(journal);
        let read = read_verified(journal, threads(journal), |chained| {
            let index = chained.index;
            if index == RecordIndex::HEADER {
                require_header(&chained, &header)?;
            } else {
                run.apply_recorded(&chained, blobs)?;
            }
            if index == RecordIndex::HEADER || wanted.contains(&index) {
                run.take_snapshot(index);
            }
            Ok(())
        });
        match read {
            Ok(_) => run.check_state()?,
            Err(ReadVerifiedError::Broken(found)) => require_intact(Outcome::Broken(found))?,
            Err(ReadVerifiedError::Read(error)) => return Err(error.into()),
            Err(ReadVerifiedError::Refused(error)) => return Err(error),
        }
        Ok(run)
    }

    /// Applies the records that another process appended after this run's head.
    ///
    /// # Errors
    /// [`ResumeError`] with the first record that does not follow; the run must then be resumed from its whole journal.
    pub fn catch_up(&mut self, lines: &[u8], blobs: &dyn Blobs) -> Result<(), ResumeError> {
        let profile = Profile::named(self.book().profile().name);
        require_intact(check_behind(self.head(), lines, &profile).outcome)?;
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let index = self.next_index();
            let chained = Chained::decode(line, &profile).map_err(|error| ReadError { index, error })?;
            self.apply_recorded(&chained, blobs)?;
        }
        self.check_state()
    }

    fn apply_recorded(&mut self, chained: &Chained, blobs: &dyn Blobs) -> Result<(), ResumeError> {
        let index = chained.index;
        self.apply_record(index, &chained.record, blobs)
            .map_err(|mismatch| ResumeError::mismatch(index, mismatch))?;
        self.book.move_head(index, chained.hash);
        Ok(())
    }

    fn apply_record(
        &mut self,
        index: RecordIndex,
        record: &Record,
        blobs: &dyn Blobs,
    ) -> Result<(), RecordMismatch> {
        let (program, book) = (&mut self.program, &mut self.book);
        match record {
            Record::Header(_) => return Err(RecordMismatch::flow("a header is the first record only")),
            Record::Step(record) => {
                let role = book.policy_state().clone().apply(&record.result).map_err(RecordMismatch::flow)?;
                program.apply_step(book, &RecordedStep { index, role, record, blobs })?;
            }
            Record::Control(control) => {
                program.apply_control(book, control, blobs)?;
                match control {
                    Control::Complete { at, state_hash } => {
                        book.apply_recorded_completion(at, *state_hash)?;
                    }
                    Control::Checkpoint(control) => book.apply_recorded_checkpoint(control)?,
                    Control::Rollback(control) => {
                        book.apply_recorded_rollback(control)?;
                        self.restore(control.to);
                    }
                    Control::Loop(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Compares the state with the one the last record names, on which everything before depends.
    fn check_state(&mut self) -> Result<(), ResumeError> {
        let last = RecordIndex::new(self.head().records.get().saturating_sub(1));
        self.book.check_state().map_err(|(folded, claimed)| {
            ResumeError::diverged(last, format!("the state hashes to {folded}, the record says {claimed}"))
        })
    }
}

fn require_intact(chain: Outcome) -> Result<(), ResumeError> {
    match chain {
        Outcome::Broken(Break { line, reasons }) => Err(ResumeError::Broken { line, reasons }),
        Outcome::Holds | Outcome::NotChecked(_) => Ok(()),
    }
}

/// Returns the number of threads that read a journal: a short one is read before another thread has started.
fn threads(journal: &[u8]) -> NonZeroUsize {
    if journal.len() < PARALLEL_READ_BYTES_MIN {
        return NonZeroUsize::MIN;
    }
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

pub(crate) fn require_header(found: &Chained, header: &Sealed) -> Result<(), ResumeError> {
    if found.hash == header.head().hash {
        return Ok(());
    }
    let reason = "the header is not the one this problem and engine write";
    Err(ResumeError::diverged(RecordIndex::HEADER, reason))
}
