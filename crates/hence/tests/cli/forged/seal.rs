//! Seals altered records anew: input, output and state hashes and the chain follow from what the records say.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, parse};
use hence_engine::{Engine, RunKind, recorded_outcome_key};
use hence_journal::{
    Chained, CheckpointControl, Control, Fold, Head, Record, RecordCount, RecordIndex, RollbackControl,
};
use hence_state::{ProblemSpec, Profile};
use serde_json::Value;

fn canonical(value: &Value) -> Canonical {
    Canonical::of(&parse(value.to_string().as_bytes()).unwrap())
}

fn digest(value: &Value) -> Value {
    canonical(value).digest().to_string().into()
}

/// Makes the hashes inside a result follow from its members.
fn rehash(record: &mut Value) {
    let Some(result) = record.get_mut("result").filter(|result| result.is_object()) else { return };
    // Only an outcome of a skill holds its own input; the output of another step may have a member of that name.
    let is_outcome =
        |result: &Value| result.pointer("/output/step_id").is_some() || result.get("outcome").is_some();
    let input = Some(&*result).filter(|result| is_outcome(result));
    let input = input
        .and_then(|result| result.pointer("/output/input").or_else(|| result.pointer("/outcome/input")))
        .cloned();
    if let Some(input) = input {
        result["input_hash"] = digest(&input);
    }
    if let Some(output) = result.get("output").cloned() {
        result["output_hash"] = digest(&output);
    }
}

/// Returns the journal of these records, sealed as far as each still is a record.
pub(super) fn seal(records: &[Value], problem: &[u8]) -> Vec<u8> {
    let problem = parse(problem).unwrap();
    let is_reason = RunKind::of(&problem) == RunKind::Reason;
    let profile = if is_reason { Profile::STRICT_2 } else { Profile::STRICT };
    let problem = ProblemSpec::decode(&problem, &profile).unwrap();
    let mut journal = Vec::new();
    let mut head: Option<Head> = None;
    let mut fold: Option<Fold> = None;
    for (at, record) in records.iter().enumerate() {
        let mut record = record.clone();
        rehash(&mut record);
        let line = canonical(&record).bytes().to_vec();
        let (bytes, next) = match Chained::decode(&line, &profile) {
            Ok(Chained { record: decoded, .. }) => {
                let before = fold.as_mut().map(|fold| fold.state_mut().digest());
                let decoded = follow(decoded, RecordIndex::new(at as u64), &mut fold, before, &problem);
                let sealed = decoded.seal(head);
                (sealed.line().to_vec(), sealed.head())
            }
            // What is no record any more is hashed as it is; a verification says so.
            Err(_) => plain(record, head, at as u64),
        };
        journal.extend_from_slice(&bytes);
        head = Some(next);
    }
    journal
}

/// Applies a record to the state, and gives it the hashes of the states around it.
fn follow(
    record: Record,
    index: RecordIndex,
    fold: &mut Option<Fold>,
    before: Option<Digest>,
    problem: &ProblemSpec,
) -> Record {
    if let Record::Header(header) = &record {
        let mut begun = Fold::new(header, Arc::new(problem.clone()));
        begun.snapshot(index);
        *fold = Some(begun);
        return record;
    }
    let (Some(fold), Some(before)) = (fold, before) else { return record };
    let key: Arc<str> = match &record {
        Record::Step(step) => match RunKind::of(problem.canonical().value()) {
            RunKind::Skill | RunKind::Solve => recorded_outcome_key(step),
            RunKind::Variables => "vars".into(),
            RunKind::Trace => "trace".into(),
            RunKind::Reason => {
                let name = step.result.step();
                let steps = Engine::new().outline(problem).unwrap_or_default();
                let found = steps.into_iter().find(|outline| outline.name == *name);
                found.map_or_else(|| name.clone(), |outline| outline.artifact_key)
            }
        },
        _ => "".into(),
    };
    // A result that the state refuses leaves it as it was, and a verification says so.
    let _ = fold.push(index, &record, &key, None);
    // A later rollback may return to any record.
    fold.snapshot(index);
    let after = fold.state_mut().digest();
    match record {
        Record::Step(mut step) => {
            (step.state_before_hash, step.state_after_hash) = (before, after);
            Record::Step(step)
        }
        Record::Control(Control::Complete { at, .. }) => {
            Record::Control(Control::Complete { state_hash: after, at })
        }
        Record::Control(Control::Checkpoint(control)) => {
            Record::Control(Control::Checkpoint(CheckpointControl { state_hash: after, ..control }))
        }
        Record::Control(Control::Rollback(control)) => {
            Record::Control(Control::Rollback(RollbackControl { state_hash: after, ..control }))
        }
        other => other,
    }
}

fn plain(mut record: Value, head: Option<Head>, index: u64) -> (Vec<u8>, Head) {
    if let (Some(head), Some(members)) = (head, record.as_object_mut()) {
        members.insert("prev_hash".to_owned(), head.hash.to_string().into());
        members.remove("record_hash");
    }
    let hash = canonical(&record).digest();
    record["record_hash"] = hash.to_string().into();
    let mut line = canonical(&record).bytes().to_vec();
    line.push(b'\n');
    (line, Head { hash, records: RecordCount::new(index + 1) })
}
