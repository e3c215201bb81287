//! Policies of runs: what a person names, what a run keeps, and who judges.

mod given;

use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{
    Blobs, Blocked, BookError, Engine, Gate, GateError, GuardedSink, MemorySink, PolicyState, Sink, catch_up,
    first_installed,
};
use hence_journal::{Header, Reader, Record, Sealed};
use hence_projection::{PolicyGate, Program, ReasonGates};
use hence_state::ProblemSpec;
use hence_store::{Durability, FileStore, Store};

use crate::code::Code;
use crate::error::CliError;
use crate::hint;

pub(crate) use given::{given, given_for_skill, pin};

/// Returns an engine that judges again what policies judged.
pub(crate) fn gated(engine: Engine) -> Engine {
    let gates = ReasonGates::new(engine.clone());
    engine.with_gates(Arc::new(gates))
}

/// Returns the header of a journal.
fn header(journal: &[u8]) -> Result<Header, GateError> {
    match Reader::open(journal).map(|(first, _)| first.record) {
        Ok(Record::Header(header)) => Ok(header),
        Ok(_) => Err(GateError::Policies("the first record is no header".to_owned())),
        Err(error) => Err(GateError::Policies(error.to_string())),
    }
}

/// Opens the gate of a run whose problem pins policies. It has seen nothing yet.
pub(crate) fn open<'a>(
    journal: &[u8],
    problem: &Arc<ProblemSpec>,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Option<Box<dyn Gate + 'a>>, GateError> {
    if problem.settings().policies.is_none() {
        return Ok(None);
    }
    Ok(Some(Box::new(PolicyGate::begin(&header(journal)?, problem, program, blobs)?)))
}

/// Opens the gate of a run that is taken up: it has seen all that is recorded.
pub(crate) fn open_behind<'a>(
    journal: &[u8],
    problem: &Arc<ProblemSpec>,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Option<Box<dyn Gate + 'a>>, GateError> {
    let Some(mut gate) = open(journal, problem, program, blobs)? else { return Ok(None) };
    catch_up(&mut *gate, journal, blobs)?;
    Ok(Some(gate))
}

/// The first lines of a run: its header, and the policies it goes by.
pub(crate) struct Beginning<'a> {
    pub(crate) lines: Vec<u8>,
    pub(crate) gate: Option<Box<dyn Gate + 'a>>,
}

/// Makes the first lines of a run. The run exists with its policies or not at all.
pub(crate) fn begin<'a>(
    header: &Sealed,
    gate: Option<Box<dyn Gate + 'a>>,
    store: &FileStore,
    lay: impl FnOnce(&mut dyn Sink) -> Result<(), CliError>,
) -> Result<Beginning<'a>, CliError> {
    let Some(gate) = gate else { return Ok(Beginning { lines: header.line().to_vec(), gate: None }) };
    let mut first = GuardedSink { sink: MemorySink::default(), gate };
    first.sink.journal.extend_from_slice(header.line());
    lay(&mut first)?;
    for blob in first.sink.blobs.values() {
        store.put_blob(blob, Durability::Synced)?;
    }
    Ok(Beginning { lines: first.sink.journal, gate: Some(first.gate) })
}

/// Returns the policies a run has to lay down again: one that returned to its very beginning goes by none yet.
pub(crate) fn owed(
    run: &str,
    policy_state: &PolicyState,
    journal: &[u8],
    blobs: &dyn Blobs,
) -> Result<Option<Value>, CliError> {
    if policy_state.is_installed() {
        return Ok(None);
    }
    first_installed(journal, blobs).map_err(|error| refused(run, error))
}

/// Returns a sink that asks the gate, where there is one.
pub(crate) fn guarded<'a, S: Sink + 'a>(sink: S, gate: Option<Box<dyn Gate + 'a>>) -> Box<dyn Sink + 'a> {
    match gate {
        Some(gate) => Box::new(GuardedSink { sink, gate }),
        None => Box::new(sink),
    }
}

/// Refuses policies for a run that is not blocked.
pub(crate) fn refuse_amendment(run: &str, amended: Option<&Value>) -> Result<(), CliError> {
    match amended {
        None => Ok(()),
        Some(_) => Err(refused(run, GateError::PolicyOrder(hence_engine::PolicyOrderError::NothingBlocked))),
    }
}

/// A run that policies block.
pub(crate) fn blocked(run: &str, blocked: &Blocked) -> CliError {
    let what = match &*blocked.step {
        hence_engine::VERDICTS_STEP => "its completion".to_owned(),
        step => format!("step {step}"),
    };
    let message = format!("run {run}: policies block {what} (record {})", blocked.index);
    let messages = blocked.errors.iter().map(|error| &error.message);
    CliError::new(Code::Blocked, message).with_hint(hint::blocked(run)).with_findings(messages)
}

/// Policies that cannot be enforced.
pub(crate) fn refused(run: &str, error: GateError) -> CliError {
    CliError::of_run(Code::Gate, run, error)
}

/// Returns whether a record was refused because of the run's policies.
pub(crate) fn is_refusal(error: &BookError) -> bool {
    matches!(error, BookError::Gate(_) | BookError::PolicyOrder { .. })
}
