//! What is under way beside a run's journal.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_engine::SinkError;
use hence_journal::{Control, Reader, Record, Way};
use hence_skills::{CallHistory, CallLog, Entry, Promise};
use hence_store::{AttachmentName, Durability, RunId, RunWriter, SideLog, Store, StoreError};

use super::whole_records;
use crate::code::Code;
use crate::error::CliError;

/// The attachment that holds what is under way: intents, replies, questions, answers.
pub(crate) const CALLS: &str = "calls.ndjson";

/// Returns the name of the attachment.
pub(crate) fn calls_name() -> AttachmentName {
    AttachmentName::new(CALLS).expect("the name is plain")
}

/// The lines beside a run's journal, as the store keeps them.
pub(crate) struct StoreCallLog(Box<dyn SideLog>);

impl StoreCallLog {
    pub(crate) fn open(writer: &mut dyn RunWriter) -> Result<Self, CliError> {
        Ok(Self(writer.side_log(&calls_name())?))
    }
}

impl CallLog for StoreCallLog {
    fn append(&self, line: &[u8], promise: Promise) -> Result<(), SinkError> {
        let durability = match promise {
            Promise::Kept => Durability::Buffered,
            Promise::Durable => Durability::Synced,
        };
        Ok(self.0.append(line, durability)?)
    }
}

/// Reads what is under way in a run; what is recorded already is left out. `None` when there is nothing beside it.
pub(crate) fn history(store: &dyn Store, id: &RunId) -> Result<Option<CallHistory>, CliError> {
    let bytes = match store.attachment(id, &calls_name()) {
        Ok(bytes) => bytes,
        Err(StoreError::NoSuchAttachment { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut history = CallHistory::read(&bytes)
        .map_err(|error| CliError::new(Code::Calls, format!("run {id}: {CALLS}: {error}")))?;
    let recorded = recorded_steps(&store.journal_bytes(id)?);
    history.forget(|step| recorded.contains(step));
    Ok(Some(history))
}

/// Says beside the journal that a run is about to return to an earlier position, if anything is known there: what was
/// called for the steps it leaves behind must not answer for them when they are taken again.
///
/// It is said first: a crash before the record leaves steps that are asked anew though they are recorded, which nobody asks.
pub(crate) fn roll_back(store: &dyn Store, id: &RunId, writer: &mut dyn RunWriter) -> Result<(), CliError> {
    match store.attachment(id, &calls_name()) {
        Ok(_) => {}
        Err(StoreError::NoSuchAttachment { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    writer.side_log(&calls_name())?.append(&Entry::RolledBack.line(), Durability::Synced)?;
    Ok(())
}

/// Returns the steps a journal has results of that are in effect, as far as it can be read.
fn recorded_steps(journal: &[u8]) -> BTreeSet<Arc<str>> {
    let Ok((_, reader)) = Reader::open(whole_records(journal)) else { return BTreeSet::new() };
    let mut way = Way::default();
    for chained in reader.map_while(Result::ok) {
        match chained.record {
            // What policies blocked took no effect, and is tried again.
            Record::Step(step) if !step.result.outcome().is_blocked() => {
                way.go_on(chained.index, step.result.step().clone());
            }
            Record::Control(Control::Rollback(control)) => way.return_to(chained.index, control.to),
            _ => {}
        }
    }
    way.whole().into_iter().cloned().collect()
}
