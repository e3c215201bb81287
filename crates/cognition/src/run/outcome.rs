//! The outcome of one step, and its form in a journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::read::{self, Finding, Reader};
use hence_canon::{Canonical, JsonPointer, Object, ObjectWriter, Value};

use super::{Effect, MadeCall};
use crate::failure::{CAUSES_MAX, ErrorClass, Failure};
use crate::state::{Names, StepStatus, TraceMetrics};

/// The outcome of one step: everything a journal records about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepOutcome {
    /// The step.
    pub step_id: Arc<str>,
    /// The text of its `uses`.
    pub uses: Arc<str>,
    /// The status of the step.
    pub status: StepStatus,
    /// The input it was called with; of the last call, if it looped.
    pub input: Value,
    /// The output.
    pub produced: Option<Value>,
    /// The outputs to write, in order: one, or one per iteration of a loop, or none.
    pub commits: Vec<Value>,
    /// The output mapping from its capability's hints, if it has none of its own.
    pub wired: Option<Object>,
    /// References of its input mapping.
    pub reads: Names,
    /// References its control blocks read.
    pub control_reads: Names,
    /// Targets its commits wrote; filled when it is settled.
    pub writes: Names,
    /// The provider's report, and counts of loops and branches.
    pub meta: Object,
    /// The cost.
    pub metrics: TraceMetrics,
    /// The number of calls of each capability, gates left out.
    pub called: BTreeMap<Arc<str>, u64>,
    /// The calls that are not pure, also those of nested runs. Only an outcome that
    /// [lists its calls](Self::lists_calls) records them.
    pub calls: Vec<MadeCall>,
    /// Notes for readers of the events.
    pub notes: Vec<Note>,
    /// The failure, if it failed.
    pub failure: Option<Failure>,
}

/// The member of `meta` that names the branch whose output was used.
pub(super) const SCATTER_WINNER_KEY: &str = "scatter_winner";

/// Something that happened while a step was executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The type of the event.
    pub kind: Arc<str>,
    /// The message.
    pub message: Arc<str>,
}

impl StepOutcome {
    /// Returns what the rounds of a repeated step gave before the last one.
    pub fn earlier_rounds(&self) -> &[Value] {
        match self.commits.split_last() {
            Some((last, earlier)) if Some(last) == self.produced.as_ref() => earlier,
            _ => &[],
        }
    }

    /// Returns this outcome as a failure that writes nothing.
    #[must_use]
    pub(crate) fn failed(mut self, failure: Failure) -> Self {
        self.status = StepStatus::Failed;
        self.produced = None;
        self.commits = Vec::new();
        self.writes = Names::default();
        self.failure = Some(failure);
        self
    }

    /// Returns this outcome as one that ended without a call taking effect.
    #[must_use]
    pub(crate) fn without_effect(mut self, status: StepStatus) -> Self {
        self.status = status;
        self.produced = None;
        self.commits = Vec::new();
        self
    }
}

impl StepOutcome {
    /// Returns whether the record lists the calls: where they do not follow from input and output.
    ///
    /// That is so when the step [had trouble](Self::had_trouble), and when a nested skill or a gate acted.
    pub fn lists_calls(&self) -> bool {
        self.had_trouble() || self.has_inner_deeds()
    }

    /// Returns whether the calls need to be told apart: the step failed or was degraded, a call failed, a person confirmed
    /// one or decided what became of one, or the output of a branch that acted was not used.
    pub fn had_trouble(&self) -> bool {
        let is_unfinished = matches!(self.status, StepStatus::Failed | StepStatus::Degraded);
        let has_unused = self.meta.contains_key(SCATTER_WINNER_KEY)
            && self.calls.iter().filter(|call| call.effect == Effect::Acts).count() > 1;
        !self.calls.is_empty()
            && (is_unfinished
                || has_unused
                || self.calls.iter().any(|call| call.had_trouble() || call.is_confirmation()))
    }

    /// Returns whether a nested skill or a gate acted: neither is seen in the input and output of the step.
    fn has_inner_deeds(&self) -> bool {
        let nests = self.called.keys().any(|id| id.starts_with("skill:"));
        self.calls.iter().any(|call| call.effect == Effect::Acts && (nests || call.is_of_gate()))
    }

    /// Returns the calls that act and were made.
    pub fn acting_calls(&self) -> impl Iterator<Item = &MadeCall> {
        self.calls.iter().filter(|call| call.effect == Effect::Acts && !call.is_held())
    }

    /// Returns the call that policies hold back, where they stopped the step before it.
    pub fn held_call(&self) -> Option<&MadeCall> {
        self.calls.iter().find(|call| call.is_held())
    }

    /// Returns the calls that the record lists.
    pub fn listed_calls(&self) -> &[MadeCall] {
        if self.lists_calls() { &self.calls } else { &[] }
    }
}

/// The usual size of an outcome, in bytes.
const OUTCOME_ROOM: usize = 448;

/// A value that is not an outcome.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a step outcome: {0}")]
pub struct OutcomeError(#[from] pub Finding);

impl StepOutcome {
    /// Returns the outcome as a value.
    pub fn to_value(&self) -> Value {
        self.canonical().value().clone()
    }

    /// Returns the outcome as a journal records it. Empty members are left out.
    ///
    /// The bytes are written in the order of the keys, without a tree: this is done for every step of a run.
    pub fn canonical(&self) -> Canonical {
        self.canonical_with(self.listed_calls())
    }

    /// Returns the outcome as a journal records it when policies block it after its calls were made: it lists them all.
    pub fn canonical_with_calls(&self) -> Canonical {
        self.canonical_with(&self.calls)
    }

    fn canonical_with(&self, calls: &[MadeCall]) -> Canonical {
        let mut writer = ObjectWriter::with_capacity(OUTCOME_ROOM).object("called", |object| {
            self.called.iter().fold(object, |object, (id, times)| object.count(&**id, *times))
        });
        if !calls.is_empty() {
            writer = writer.value("calls", &calls.iter().map(MadeCall::to_value).collect());
        }
        // Most steps write what they produced, once; only others list their commits.
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
            .text("status", self.status.as_str())
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
        let mut reader = Reader::new(value)?;
        let produced = reader.value("produced").cloned();
        let commits = reader.optional("commits", |value| read::items(value, |item| Ok(item.clone())))?;
        let mut object = |key| Ok::<_, Finding>(reader.optional(key, read::object)?.cloned());
        let (input, meta) = (object("input")?.unwrap_or_default(), object("meta")?.unwrap_or_default());
        let mut texts = |key| reader.list(key, read::text).map(Names::from);
        let (reads, control_reads, writes) = (texts("reads")?, texts("control_reads")?, texts("writes")?);
        let status: StepStatus = reader.parsed("status")?;
        let failure = reader.optional("failure", or_null(failure))?.flatten();
        if failure.is_some() && status != StepStatus::Failed {
            let found = Value::from(status.to_string());
            return Err(Finding::expected("`failed`, because it states a failure", &found).into());
        }
        Ok(Self {
            step_id: reader.text("step_id")?,
            uses: reader.text("uses")?,
            status,
            input: input.into(),
            commits: commits.unwrap_or_else(|| produced.iter().cloned().collect()),
            produced,
            wired: reader.optional("wired", or_null(|value| read::object(value).cloned()))?.flatten(),
            reads,
            control_reads,
            writes,
            meta,
            metrics: reader.optional("metrics", metrics)?.unwrap_or_default(),
            called: reader.optional("called", called)?.unwrap_or_default(),
            calls: reader.list("calls", MadeCall::from_value)?,
            notes: reader.list("notes", note)?,
            failure,
        })
    }
}

/// Makes a decoder that reads `null` as nothing.
fn or_null<T>(
    decode: impl Fn(&Value) -> Result<T, Finding>,
) -> impl Fn(&Value) -> Result<Option<T>, Finding> {
    move |value| if value.is_null() { Ok(None) } else { decode(value).map(Some) }
}

fn write_metrics(mut metrics: TraceMetrics, object: ObjectWriter<'_>) -> ObjectWriter<'_> {
    let counters = metrics.counters().into_iter().filter(|(_, count)| **count > 0);
    counters.fold(object, |object, (name, count)| object.count(name, *count))
}

fn metrics(value: &Value) -> Result<TraceMetrics, Finding> {
    let mut reader = Reader::new(value)?;
    let mut metrics = TraceMetrics::default();
    for (name, counter) in metrics.counters() {
        *counter = reader.optional_count(name)?.unwrap_or(0);
    }
    Ok(metrics)
}

fn called(value: &Value) -> Result<BTreeMap<Arc<str>, u64>, Finding> {
    let times = |(key, value): (&Arc<str>, &Value)| {
        let times = read::count(value).map_err(|finding| finding.under(&JsonPointer::root().child(key)));
        Ok((key.clone(), times?))
    };
    read::object(value)?.iter().map(times).collect()
}

fn note_value(note: &Note) -> Value {
    Object::from_iter([("kind", note.kind.clone()), ("message", note.message.clone())]).into()
}

fn note(value: &Value) -> Result<Note, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(Note { kind: reader.text("kind")?, message: reader.text("message")? })
}

/// Writes the chain of causes as a list, outermost first: nesting it would nest the record.
fn failure_value(failure: &Failure) -> Value {
    let one = |cause: &Failure| {
        Object::from_iter([("class", cause.class.name().into()), ("message", cause.message.clone())])
    };
    failure.chain().take(CAUSES_MAX + 1).map(one).collect()
}

fn failure(value: &Value) -> Result<Failure, Finding> {
    let one = |value| {
        let mut reader = Reader::new(value)?;
        Ok(Failure::new(ErrorClass::named(&reader.text("class")?), reader.text("message")?))
    };
    let mut chain = read::items(value, one)?.into_iter().rev();
    let root = chain.next().ok_or_else(|| Finding::expected("a chain of at least one failure", value))?;
    Ok(chain.fold(root, |cause, failure| failure.because(cause)))
}
