//! The events of a journal, in order.

use hence_journal::{Reader, Record, RecordIndex};
use hence_variables::Event;

use super::load::{NoEvent, event_of};
use crate::blob::Blobs;
use crate::{ResumeError, RunError};

/// Returns every event of an interactive run with its record: the whole log, where a state keeps only a window of it.
///
/// # Errors
/// [`ResumeError`] with the first record that tells no event.
pub fn events(journal: &[u8], blobs: &dyn Blobs) -> Result<Vec<(RecordIndex, Event)>, ResumeError> {
    let (_, reader) = Reader::open(journal)?;
    let mut events = Vec::new();
    for chained in reader {
        let chained = chained?;
        let index = chained.index;
        let Record::Step(step) = &chained.record else {
            let reason = "an interactive run has steps only".to_owned();
            return Err(ResumeError::Diverged { index, reason });
        };
        match event_of(&step.result, blobs) {
            Ok(event) => events.push((index, event)),
            Err(NoEvent::Blob(error)) => return Err(RunError::from(error).into()),
            Err(NoEvent::Invalid(reason)) => return Err(ResumeError::Diverged { index, reason }),
        }
    }
    Ok(events)
}
