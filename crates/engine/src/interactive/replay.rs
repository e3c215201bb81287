//! Replaying an interactive run: its operations came from outside, so their recorded events are folded again.

use hence_canon::Value;
use hence_journal::{Reader, Record};

use super::Interactive;
use super::load::{NoEvent, event_of};
use crate::blob::Blobs;
use crate::book::BookError;
use crate::sink::MemorySink;
use crate::{Replay, ReplayError, RunError, replay, without_defects};

/// Records every event of a journal anew and compares the bytes.
pub(crate) fn replayed(journal: &[u8], problem: &Value, blobs: &dyn Blobs) -> Result<Replay, ReplayError> {
    let (first, reader) = Reader::open(journal)?;
    let Record::Header(header) = &first.record else { return Ok(differs(journal, &[], 0)) };
    let mut sink = MemorySink::default();
    let request = super::load::request_of(header, &without_defects(problem.clone()));
    let (mut run, sealed) = Interactive::start(&request)?;
    sink.journal.extend_from_slice(sealed.line());
    let mut read = 0;
    // What cannot be read, or does not follow, ends the replay; comparing bytes then points at it.
    for chained in reader.map_while(Result::ok) {
        let Record::Step(record) = &chained.record else { break };
        let event = match event_of(&record.result, blobs) {
            Ok(event) => event,
            Err(NoEvent::Invalid(_)) => break,
            Err(NoEvent::Blob(error)) => return Err(RunError::from(error).into()),
        };
        match run.book.next_time().map_err(RunError::from) {
            Ok(at) => match run.record(&event, at, &mut sink) {
                Ok(()) => read += 1,
                Err(RunError::Variables { .. } | RunError::Book(BookError::Fold { .. })) => break,
                Err(error) => return Err(error.into()),
            },
            Err(_) => break,
        }
    }
    Ok(differs(journal, &sink.journal, read))
}

fn differs(recorded: &[u8], replayed: &[u8], read: u64) -> Replay {
    Replay { difference: replay::difference(recorded, replayed), executed: 0, read }
}
