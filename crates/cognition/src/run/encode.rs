//! Outcomes as values: what a journal keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::{Note, StepOutcome};
use crate::failure::{CAUSES_MAX, ErrorClass, Failure};
use crate::state::{DecodeError, Place, StepStatus, TraceMetrics};

/// A value that is not an outcome.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a step outcome: {0}")]
pub struct OutcomeError(#[from] pub DecodeError);

impl StepOutcome {
    /// Returns the outcome as a value. Members that say nothing are left out.
    pub fn to_value(&self) -> Value {
        let texts = |list: &[Arc<str>]| list.iter().cloned().collect::<Value>();
        let mut members: Vec<(&str, Value)> = vec![
            ("step_id", self.step_id.clone().into()),
            ("uses", self.uses.clone().into()),
            ("status", self.status.name().into()),
            ("input", self.input.clone()),
            ("reads", texts(&self.reads)),
            ("writes", texts(&self.writes)),
            ("called", self.called.iter().map(|(id, times)| (id.clone(), *times)).collect::<Object>().into()),
            ("metrics", metrics_value(self.metrics)),
        ];
        members.extend(self.produced.clone().map(|produced| ("produced", produced)));
        // Most steps write what they produced, once; only others say so.
        if !matches!((self.commits.as_slice(), &self.produced), ([only], Some(produced)) if only == produced)
        {
            members.push(("commits", self.commits.iter().cloned().collect()));
        }
        members.extend(self.wired.clone().map(|wired| ("wired", wired.into())));
        if !self.control_reads.is_empty() {
            members.push(("control_reads", texts(&self.control_reads)));
        }
        if !self.meta.is_empty() {
            members.push(("meta", self.meta.clone().into()));
        }
        if !self.notes.is_empty() {
            members.push(("notes", self.notes.iter().map(note_value).collect()));
        }
        members.extend(self.failure.as_ref().map(|failure| ("failure", failure_value(failure))));
        members.into_iter().collect::<Object>().into()
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
            reads: root.member("reads").texts()?,
            control_reads: root.member("control_reads").texts()?,
            writes: root.member("writes").texts()?,
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

fn metrics_value(mut metrics: TraceMetrics) -> Value {
    let counters = metrics.counters().map(|(name, count)| (name, *count));
    counters.into_iter().filter(|(_, count)| *count > 0).collect::<Object>().into()
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
