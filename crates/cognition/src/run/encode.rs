//! Outcomes as values: what a journal keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Object, ObjectWriter, Value};

use super::{Note, StepOutcome};
use crate::failure::{CAUSES_MAX, ErrorClass, Failure};
use crate::state::{DecodeError, Place, StepStatus, TraceMetrics};

/// What an outcome takes as a rule.
const OUTCOME_ROOM: usize = 448;

/// A value that is not an outcome.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a step outcome: {0}")]
pub struct OutcomeError(#[from] pub DecodeError);

impl StepOutcome {
    /// Returns the outcome as a value.
    pub fn to_value(&self) -> Value {
        self.canonical().value().clone()
    }

    /// Returns the outcome as a journal keeps it. Members that say nothing are left out.
    ///
    /// It is written without a tree, in the order of the keys: this is done for every step of a run.
    pub fn canonical(&self) -> Canonical {
        let mut writer = ObjectWriter::with_capacity(OUTCOME_ROOM).object("called", |object| {
            self.called.iter().fold(object, |object, (id, times)| object.count(&**id, *times))
        });
        // Most steps write what they produced, once; only others say so.
        if !matches!((self.commits.as_slice(), &self.produced), ([only], Some(produced)) if only == produced)
        {
            writer = writer.list("commits", &self.commits);
        }
        if !self.control_reads.is_empty() {
            writer = writer.texts("control_reads", &self.control_reads);
        }
        if let Some(failure) = &self.failure {
            writer = writer.value("failure", &failure_value(failure));
        }
        writer = writer.value("input", &self.input);
        if !self.meta.is_empty() {
            writer = writer.value("meta", &self.meta.clone().into());
        }
        writer = writer.object("metrics", |object| write_metrics(self.metrics, object));
        if !self.notes.is_empty() {
            writer = writer.value("notes", &self.notes.iter().map(note_value).collect());
        }
        if let Some(produced) = &self.produced {
            writer = writer.value("produced", produced);
        }
        writer = writer
            .texts("reads", &self.reads)
            .text("status", self.status.name())
            .text("step_id", &self.step_id)
            .text("uses", &self.uses);
        if let Some(wired) = &self.wired {
            writer = writer.value("wired", &wired.clone().into());
        }
        writer.texts("writes", &self.writes).finish()
    }

    /// Reads an outcome back.
    ///
    /// # Errors
    /// [`OutcomeError`] at the first member that is not what it should be.
    pub fn from_value(value: &Value) -> Result<Self, OutcomeError> {
        let root = Place::root(value);
        root.object()?;
        let status = root.member("status");
        let produced = root.member("produced").value().cloned();
        let commits = match root.member("commits").value() {
            None => produced.iter().cloned().collect(),
            Some(_) => {
                root.member("commits").items()?.iter().filter_map(|item| item.value().cloned()).collect()
            }
        };
        let wired = root.member("wired");
        Ok(Self {
            step_id: root.member("step_id").text()?,
            uses: root.member("uses").text()?,
            status: status.text()?.parse::<StepStatus>().map_err(|_| status.error("a status of a step"))?,
            input: root.member("input").object_or_empty()?.into(),
            produced,
            commits,
            wired: if wired.is_absent_or_null() { None } else { Some(wired.object()?.clone()) },
            reads: root.member("reads").texts()?.into(),
            control_reads: root.member("control_reads").texts()?.into(),
            writes: root.member("writes").texts()?.into(),
            meta: root.member("meta").object_or_empty()?,
            metrics: metrics(&root.member("metrics"))?,
            called: called(&root.member("called"))?,
            notes: root.member("notes").items()?.iter().map(note).collect::<Result<_, _>>()?,
            failure: match root.member("failure") {
                place if place.is_absent_or_null() => None,
                place => Some(failure(&place)?),
            },
        })
    }
}

fn write_metrics(mut metrics: TraceMetrics, object: ObjectWriter<'_>) -> ObjectWriter<'_> {
    let counters = metrics.counters().into_iter().filter(|(_, count)| **count > 0);
    counters.fold(object, |object, (name, count)| object.count(name, *count))
}

pub(crate) fn metrics(place: &Place<'_>) -> Result<TraceMetrics, DecodeError> {
    place.object_or_empty()?;
    let mut metrics = TraceMetrics::default();
    for (name, counter) in metrics.counters() {
        let member = place.member(name);
        if let Some(value) = member.value() {
            *counter = value.as_u64().ok_or_else(|| member.error("a count"))?;
        }
    }
    Ok(metrics)
}

fn called(place: &Place<'_>) -> Result<BTreeMap<Arc<str>, u64>, DecodeError> {
    let count = |key: &Arc<str>| {
        let member = place.member(key);
        let times = member.value().and_then(Value::as_u64).ok_or_else(|| member.error("a count"))?;
        Ok((key.clone(), times))
    };
    place.object_or_empty()?.keys().map(count).collect()
}

fn note_value(note: &Note) -> Value {
    Object::from_iter([("kind", note.kind.clone()), ("message", note.message.clone())]).into()
}

fn note(place: &Place<'_>) -> Result<Note, DecodeError> {
    Ok(Note { kind: place.member("kind").text()?, message: place.member("message").text()? })
}

/// Writes the chain of causes as a list, outermost first: nesting it would nest the record.
fn failure_value(failure: &Failure) -> Value {
    let one = |cause: &Failure| {
        Object::from_iter([("class", cause.class.name().into()), ("message", cause.message.clone())])
    };
    failure.chain().take(CAUSES_MAX + 1).map(one).collect()
}

fn failure(place: &Place<'_>) -> Result<Failure, DecodeError> {
    let chain = place.items()?;
    let read = |place: &Place<'_>| {
        Ok(Failure::new(ErrorClass::named(&place.member("class").text()?), place.member("message").text()?))
    };
    let mut failures =
        chain.iter().rev().map(read).collect::<Result<Vec<Failure>, DecodeError>>()?.into_iter();
    let root = failures.next().ok_or_else(|| place.error("a chain of at least one failure"))?;
    Ok(failures.fold(root, |cause, failure| failure.because(cause)))
}
