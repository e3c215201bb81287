//! A run, or a trace that is no run of this store, as actions, artifacts, units and gaps.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_review::wire::{Action, Artifact, MetaAction, Trace};
use hence_server::Window;

use super::Views;
use super::opened::Opened;
use super::shown::{List, Shown};
use crate::commands::trace::export;
use crate::prelude::*;

/// The most ids that a unit of the story lists.
const IDS_MAX: usize = 200;

/// A trace, read once for many views.
pub(super) struct Projected {
    pub(super) value: Value,
    pub(super) trace: Trace,
    /// The record of each action by the action's id; empty for a trace that is no run of ours.
    records: BTreeMap<i64, u64>,
    /// The ids of the actions of each record.
    actions: BTreeMap<u64, Vec<i64>>,
}

impl Projected {
    pub(super) fn of_trace(value: Value) -> Self {
        let trace = Trace::read(&value);
        Self { value, trace, records: BTreeMap::new(), actions: BTreeMap::new() }
    }

    fn of_run(value: Value, of_actions: &[hence_journal::RecordIndex]) -> Self {
        let mut projected = Self::of_trace(value);
        for (action, record) in projected.trace.actions().iter().zip(of_actions) {
            let Some(id) = action.id() else { continue };
            projected.records.insert(id, record.get());
            projected.actions.entry(record.get()).or_default().push(id);
        }
        projected
    }

    /// Returns the record that an action came from.
    pub(super) fn record_of(&self, action: i64) -> Option<u64> {
        self.records.get(&action).copied()
    }

    /// Returns the ids of the actions of a record.
    pub(super) fn actions_of(&self, record: u64) -> Vec<i64> {
        self.actions.get(&record).cloned().unwrap_or_default()
    }

    /// Returns the record that made an artifact.
    pub(super) fn record_of_artifact(&self, artifact: &Artifact) -> Option<u64> {
        self.record_of(artifact.producer_action_id()?)
    }
}

/// The thing that a view is about.
pub(super) enum Subject {
    /// A run of the store.
    Run(Box<Opened>),
    /// A trace that is no run of this store.
    Trace(Arc<Projected>),
}

impl Subject {
    pub(super) fn head(&self) -> Option<String> {
        match self {
            Self::Run(run) => run.head(),
            Self::Trace(_) => None,
        }
    }
}

/// A unit of the story.
#[derive(Serialize, JsonSchema)]
pub(super) struct StoryRow {
    /// Its id.
    id: Option<String>,
    /// Its title.
    title: String,
    /// Its purpose.
    intent: Option<String>,
    /// `completed`, `partial` or `abandoned`.
    status: Option<String>,
    /// Its outcome.
    outcome: Option<String>,
    /// The origin of the grouping: `plan_declared`, `agent_declared`, `tool_inferred` or `human_curated`.
    source: Option<String>,
    /// The unit that it belongs to.
    parent: Option<String>,
    /// The number of its actions.
    actions: usize,
    /// The ids of its first actions.
    action_ids: Vec<i64>,
    /// Its first and its last record.
    records: Option<[u64; 2]>,
    /// The artifacts that it produced, the first of them.
    artifact_ids: Vec<String>,
    /// The gaps that it introduced.
    gap_ids: Vec<String>,
    /// Its tags.
    tags: Vec<String>,
}

/// An action.
#[derive(Serialize, JsonSchema)]
pub(super) struct ActionRow {
    /// Its id.
    id: Option<i64>,
    /// The record that it came from.
    index: Option<u64>,
    /// `activity`, `gateway`, `reasoning` or `governance`.
    category: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    action_type: String,
    /// The actions.
    label: String,
    /// The reason.
    rationale: String,
    /// Its result in a sentence.
    result: Option<String>,
    /// Its status, where it has one.
    status: Option<String>,
    /// The unit of the story that it belongs to.
    unit: Option<String>,
    /// The artifacts that it used.
    inputs: Vec<String>,
    /// The artifacts that it made.
    outputs: Vec<String>,
    /// The person or agent who did it, where the trace says it.
    agent: Option<Data>,
    /// Its duration.
    duration_ms: Option<i64>,
    /// The gaps that it introduced.
    gap_ids: Vec<String>,
    /// The action as the trace has it.
    action: Shown,
}

/// An artifact.
#[derive(Serialize, JsonSchema)]
pub(super) struct ArtifactRow {
    /// Its id.
    id: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    artifact_type: String,
    /// Its name.
    name: Option<String>,
    /// Its content in a sentence.
    summary: Option<String>,
    /// The action that made it.
    producer: Option<i64>,
    /// The record of that action.
    index: Option<u64>,
    /// The artifacts it was made from.
    derived_from: Vec<String>,
    /// The digest under which its content is stored, where the trace names it.
    blob: Option<String>,
    /// The artifact as the trace has it.
    artifact: Shown,
}

impl ActionRow {
    /// Leaves out what the other members do not say.
    pub(super) fn leave_out_rest(&mut self) {
        self.action.leave_out();
    }
}

impl ArtifactRow {
    /// Leaves out what the other members do not say.
    pub(super) fn leave_out_rest(&mut self) {
        self.artifact.leave_out();
    }
}

impl Views {
    /// Returns the trace of a run, remembered until the run changes.
    pub(super) fn projected(&self, run: &Opened) -> Result<Arc<Projected>, CliError> {
        run.memory.projected.get(run.stamp, || {
            let (value, records) = export::projected(&self.context, &run.whole()?)?;
            Ok(Projected::of_run(value, &records))
        })
    }

    /// Returns what a name stands for: the trace that is served, or a run.
    pub(super) fn subject(&self, name: &str) -> Result<Subject, CliError> {
        match &self.trace {
            Some((id, trace)) if id == name => Ok(Subject::Trace(trace.clone())),
            _ => Ok(Subject::Run(Box::new(Opened::find(self, name)?))),
        }
    }

    /// Returns the trace of a subject.
    pub(super) fn trace_of(&self, subject: &Subject) -> Result<Arc<Projected>, CliError> {
        match subject {
            Subject::Run(run) => self.projected(run),
            Subject::Trace(trace) => Ok(trace.clone()),
        }
    }
}

fn texts(ids: impl Iterator<Item = impl Into<String>>) -> Vec<String> {
    ids.take(IDS_MAX).map(Into::into).collect()
}

/// Returns the units of the story in a window.
pub(super) fn story(projected: &Projected, window: Window) -> List<StoryRow> {
    let units: Vec<MetaAction> = projected.trace.meta_actions().collect();
    List::of_slice(window, &units, |unit| story_row(projected, unit))
}

fn story_row(projected: &Projected, unit: &MetaAction) -> StoryRow {
    let text = |key: &str| unit.text(key).map(str::to_owned);
    let records: Vec<u64> = unit.action_ids().filter_map(|id| projected.record_of(id)).collect();
    let span = records.iter().min().zip(records.iter().max());
    StoryRow {
        id: unit.id().map(str::to_owned),
        title: unit.title().to_owned(),
        intent: text("intent"),
        status: text("status"),
        outcome: text("outcome"),
        source: text("source"),
        parent: unit.parent_id().map(str::to_owned),
        actions: unit.action_ids().count(),
        action_ids: unit.action_ids().take(IDS_MAX).collect(),
        records: span.map(|(first, last)| [*first, *last]),
        artifact_ids: texts(unit.texts("produced_artifact_ids")),
        gap_ids: texts(unit.texts("residual_ids")),
        tags: texts(unit.texts("tags")),
    }
}

/// Returns the actions in a window, of one unit or one type if they are named.
pub(super) fn actions(
    projected: &Projected,
    window: Window,
    unit: Option<&str>,
    action_type: Option<&str>,
) -> List<ActionRow> {
    let gaps = gaps_by_action(&projected.trace);
    let is_wanted = |action: &&Action| {
        unit.is_none_or(|unit| action.text("meta_action_id") == Some(unit))
            && action_type.is_none_or(|wanted| action.type_word() == wanted)
    };
    let found: Vec<&Action> = projected.trace.actions().iter().filter(is_wanted).collect();
    List::of_slice(window, &found, |action| action_row(projected, action, &gaps))
}

fn gaps_by_action(trace: &Trace) -> BTreeMap<i64, Vec<String>> {
    let mut gaps: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for gap in trace.residuals() {
        if let (Some(action), Some(id)) = (gap.int("introduced_by_action_id"), gap.id()) {
            gaps.entry(action).or_default().push(id.to_owned());
        }
    }
    gaps
}

fn action_row(projected: &Projected, action: &Action, gaps: &BTreeMap<i64, Vec<String>>) -> ActionRow {
    let text = |key: &str| action.text(key).map(str::to_owned);
    let id = action.id();
    ActionRow {
        id,
        index: id.and_then(|id| projected.record_of(id)),
        category: text("category"),
        action_type: action.type_word().to_owned(),
        label: action.label().to_owned(),
        rationale: action.rationale().to_owned(),
        result: action.result_summary().map(str::to_owned),
        status: text("status").or_else(|| Some(action.object("result")?.get("status")?.as_str()?.to_owned())),
        unit: text("meta_action_id"),
        inputs: texts(action.inputs()),
        outputs: texts(action.outputs()),
        agent: action.member("agent").cloned().map(Data),
        duration_ms: action.object("execution").and_then(|execution| execution.get("duration_ms")?.as_i64()),
        gap_ids: id.and_then(|id| gaps.get(&id).cloned()).unwrap_or_default(),
        action: Shown::of(&as_value(action.source())),
    }
}

fn as_value(object: &Object) -> Value {
    object.clone().into()
}

/// Returns the artifacts in a window.
pub(super) fn artifacts(projected: &Projected, window: Window) -> List<ArtifactRow> {
    List::of_slice(window, projected.trace.artifacts(), |artifact| {
        let text = |key: &str| artifact.text(key).map(str::to_owned);
        let reference = artifact.text("content_ref").unwrap_or_default();
        ArtifactRow {
            id: artifact.id().map(str::to_owned),
            artifact_type: artifact.type_word().to_owned(),
            name: artifact.name().map(str::to_owned),
            summary: text("summary"),
            producer: artifact.producer_action_id(),
            index: projected.record_of_artifact(artifact),
            derived_from: texts(artifact.derived_from()),
            blob: blob_of(reference),
            artifact: Shown::of(&as_value(artifact.source())),
        }
    })
}

/// Returns the digest in a reference to a blob.
fn blob_of(reference: &str) -> Option<String> {
    let digest = reference.rsplit(['/', ':']).next()?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_digest && reference.contains("blob")).then(|| digest.to_owned())
}
