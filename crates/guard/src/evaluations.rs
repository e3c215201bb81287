//! Which policies a run went by and how they stand, written into its trace.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};
use hence_engine::{Blobs, GateError, POLICIES_STEP, POLICY_MEMBER, resolve};
use hence_journal::{Reader, Record, RecordIndex, StepRecord};
use hence_policy::{Options, check};

use crate::document;

/// The member of an evaluation that lists the steps its policy blocked or remarked on, with the record of each.
pub const EVENTS_MEMBER: &str = "events";

/// Returns the trace of a run with the policies that are in force at its end, one evaluation each, and in every
/// evaluation the steps it blocked or remarked on. A run without policies keeps its trace.
///
/// # Errors
/// [`GateError::Policies`] when the journal or the policies in it cannot be read.
pub fn with_evaluations(trace: &Object, journal: &[u8], blobs: &dyn Blobs) -> Result<Object, GateError> {
    let unread = |error: &dyn std::fmt::Display| GateError::Policies(error.to_string());
    let (_, reader) = Reader::open(journal).map_err(|error| unread(&error))?;
    let mut in_force = None;
    let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for chained in reader {
        let chained = chained.map_err(|error| unread(&error))?;
        let Record::Step(record) = &chained.record else { continue };
        if &**record.result.step() == POLICIES_STEP {
            if let Some(output) = record.result.outcome().output() {
                in_force = Some(resolve(output, blobs).map_err(|error| unread(&error))?);
            }
        } else {
            note(chained.index, record, &mut events);
        }
    }
    let Some(in_force) = in_force else { return Ok(trace.clone()) };
    let policies = document::read(&in_force)?;
    let listed: Value = policies.iter().map(document::specification).collect();
    let trace = trace.with("policies", listed);
    let report = check(&trace.clone().into(), &policies, Options::default());
    let evaluations: Value = report
        .verdicts
        .iter()
        .map(|verdict| {
            let record = verdict.record();
            Value::from(match events.get(verdict.policy_id.as_str()) {
                Some(events) => record.with(EVENTS_MEMBER, events.iter().cloned().collect::<Value>()),
                None => record,
            })
        })
        .collect();
    Ok(trace.with("policy_evaluations", evaluations))
}

/// Notes what policies said of a result.
fn note(index: RecordIndex, record: &StepRecord, events: &mut BTreeMap<String, Vec<Value>>) {
    let said = record.result.others().get(POLICY_MEMBER).and_then(Value::as_array).unwrap_or(&[]);
    let decision = if record.result.outcome().is_blocked() { "blocked" } else { "remarked" };
    for remark in said {
        let Some(policy) = remark.get("policy_id").and_then(Value::as_str) else { continue };
        let note = remark.get("note").cloned().unwrap_or_default();
        let event = Object::from_iter([
            ("record", Value::from(index.get())),
            ("step", record.result.step().clone().into()),
            ("decision", decision.into()),
            ("note", note),
        ]);
        events.entry(policy.to_owned()).or_default().push(event.into());
    }
}
