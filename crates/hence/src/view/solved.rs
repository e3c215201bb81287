//! The records of `hence solve` as calls, as conversations, and as places that a block read and wrote.

use std::collections::BTreeMap;

use hence_cognition::budget::Usage;
use hence_engine::{CallTimes, MeasuredTimes, RunKind};
use hence_journal::{Chained, Record};
use hence_solve::{Block, Entry, Function, Operation, Spec};

use super::opened::Opened;
use super::records::{Place, ReadLine, times_of_lines};
use super::shown::Shown;
use crate::exchanges::ExchangeRow;
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::solve::{self, Messages};

/// The most bytes of a conversation that are given; of a longer one the messages after the first are left out.
const CONVERSATION_BYTES_MAX: usize = 96 * 1024;

/// A call of a model or of a child run.
pub(super) struct Asked {
    /// The turn, and the block that asks.
    pub(super) step: String,
    /// `turn`, `summary`, `llm_query` or `rlm_query`.
    pub(super) capability: &'static str,
    /// The model, by the name that the user gave.
    pub(super) model: String,
    /// `replied`, `failed`, or `repeated` where an equal call was answered before.
    pub(super) status: &'static str,
    /// The child run that answered.
    pub(super) child: Option<String>,
    /// The usage, that of a child included.
    pub(super) usage: Usage,
}

/// Reads the entry of a record of the loop.
pub(super) fn entry_of(run: &Opened, line: &ReadLine) -> Option<Entry> {
    let Ok(Chained { record: Record::Step(step), .. }) = &line.record else { return None };
    if run.kind() != RunKind::Solve {
        return None;
    }
    Entry::read(&step.result, &StoreBlobs(&run.store)).ok()
}

impl Asked {
    /// Returns the call whose reply an entry is; nothing for a block and for the end of a run.
    pub(super) fn of(run: &Opened, entry: &Entry) -> Option<Self> {
        match entry {
            Entry::Turn(turn) => Some(Self {
                step: format!("turn {}", turn.turn),
                capability: "turn",
                model: turn.model.to_string(),
                status: "replied",
                child: None,
                usage: turn.reply.usage.clone(),
            }),
            Entry::Compact(compact) => Some(Self {
                step: format!("after turn {}", compact.turn),
                capability: "summary",
                model: spec_of(run).map(|spec| spec.model.name.to_string()).unwrap_or_default(),
                status: "replied",
                child: None,
                usage: compact.reply.usage.clone(),
            }),
            Entry::Call(call) => Some(Self {
                step: format!("turn {}, block {}", call.turn, call.block),
                capability: call.function.as_str(),
                model: call.model.to_string(),
                status: match (&call.answer, call.cached_from) {
                    (Err(_), _) => "failed",
                    (Ok(_), Some(_)) => "repeated",
                    (Ok(_), None) => "replied",
                },
                child: call.child.as_ref().map(|child| child.run.to_string()),
                usage: call.used.calls.clone(),
            }),
            Entry::Block(_) | Entry::End(_) => None,
        }
    }

    /// Returns the track of the timeline on which the call is drawn.
    pub(super) fn track(&self) -> &'static str {
        if self.capability == Function::Rlm.as_str() { "calls" } else { "models" }
    }
}

/// Returns everything that the problem pins, where it can be read.
fn spec_of(run: &Opened) -> Option<Spec> {
    let problem = run.start.parsed_problem().ok().flatten()?;
    Spec::read(&problem.value).ok()
}

/// Reads the measured times of lines. The measurement of a sub-call may be stored with an earlier record of its block, so those
/// of a run of the loop are read whole.
pub(super) fn times_of_window(run: &Opened, lines: &[ReadLine]) -> Result<MeasuredTimes, CliError> {
    if run.kind() == RunKind::Solve
        && let Ok(journal) = run.whole()
    {
        return Ok(RunTimes::of(&journal).times);
    }
    times_of_lines(run, lines)
}

/// Returns the measured calls of a run of the loop by the records that have their replies.
pub(super) fn calls_by_record(times: &MeasuredTimes) -> BTreeMap<u64, &CallTimes> {
    let calls = times.records().flat_map(|(_, times)| &times.calls);
    let record = |call: &CallTimes| -> Option<u64> { call.key.strip_prefix("solve/")?.parse().ok() };
    calls.filter_map(|call| Some((record(call)?, call))).collect()
}

/// Returns the conversation that ends with the reply of a record.
pub(super) fn exchange_of(run: &Opened, line: &ReadLine, entry: &Entry) -> Option<ExchangeRow> {
    let spec = spec_of(run);
    let before = || {
        let mut journal = run.whole()?;
        journal.bytes.truncate(usize::try_from(line.offset).unwrap_or(usize::MAX));
        Ok(journal)
    };
    solve::exchange_of(entry, spec.as_ref(), Messages::Newest(CONVERSATION_BYTES_MAX), before)
}

/// Returns the parts of the input that a block read, and the variables that it changed.
pub(super) fn places_of(entry: &Entry) -> (Vec<Place>, Vec<Place>) {
    let Entry::Block(block) = entry else { return Default::default() };
    (reads_of(block), block.operations.iter().map(changed).collect())
}

fn reads_of(block: &Block) -> Vec<Place> {
    let place = |place: String| Place { place, value: None };
    let mut reads: Vec<Place> = Vec::new();
    for read in &block.reads {
        let file = if read.item > 0 { format!(", file {}", read.item) } else { String::new() };
        reads.push(place(format!(
            "context_{}{file}: characters {} to {}",
            read.context, read.start, read.end
        )));
    }
    if block.reads_left_out > 0 {
        reads.push(place(format!("and {} more parts", block.reads_left_out)));
    }
    reads.extend(
        block
            .uses
            .iter()
            .map(|number| place(format!("context_{number}: the value, in parts that the code does not say"))),
    );
    reads
}

fn changed(operation: &Operation) -> Place {
    match operation {
        Operation::Set { name, value } => Place { place: name.to_string(), value: Some(Shown::of(value)) },
        Operation::Delete { name } => Place { place: format!("{name} (deleted)"), value: None },
        Operation::Checkpoint { name } => Place { place: format!("checkpoint {name}"), value: None },
        Operation::Rollback { name } => Place { place: format!("rollback to {name}"), value: None },
    }
}
