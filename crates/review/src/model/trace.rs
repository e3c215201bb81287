//! The trace (§5) and its events (§6).

use hence_canon::read::Findings;
use hence_canon::{Object, Value};

use crate::vocabulary::words;

use super::action::{Action, MetaAction};
use super::action::{ExecutionEnvironment, TraceReproducibility};
use super::artifact::{Artifact, ReferenceArtifact};
use super::field::{Field, Text, TraceId, words_schema};
use super::goal::Goal;
use super::record::{Definitions, Members, Reader, Writer, members, record};
use super::residual::Residual;
use super::review::{Comment, Policy, PolicyEvaluation, ReviewItem, TraceLineage, TraceLink};

words! {
    /// The type of a trigger.
    TriggerType, "trigger type" {
        TaskReceived = "TaskReceived",
        TriggeredByEvent = "TriggeredByEvent",
    }
}

words! {
    /// The type of an outcome.
    OutcomeType, "outcome type" {
        ProcessCompleted = "ProcessCompleted",
        ProcessAborted = "ProcessAborted",
        ProcessInterrupted = "ProcessInterrupted",
    }
}

record! {
    /// The event that began the work (§6).
    Trigger {
        event_type as "type": TriggerType,
        description: Option<Text>,
        summary: Option<Text>,
        from_user: Option<Text>,
        reason: Option<Text>,
    }
}

record! {
    /// The event that ended the work (§6).
    Outcome {
        event_type as "type": OutcomeType,
        description: Option<Text>,
        summary: Option<Text>,
        from_user: Option<Text>,
        reason: Option<Text>,
    }
}

record! {
    /// Counts (§5.1).
    #[derive(Default)]
    Metrics {
        total_actions: Option<i64>,
        decision_points: Option<i64>,
        parallel_blocks: Option<i64>,
        loops: Option<i64>,
        max_loop_iterations: Option<i64>,
        meta_action_count: Option<i64>,
    }
}

members! {
    /// The members of a trace, without its version, which is chosen when it is written.
    TraceMembers {
        trace_id: TraceId,
        assistant: Text,
        model: Text,
        timestamp: Text,
        trigger: Trigger,
        actions: Vec<Action>,
        meta_actions: Vec<MetaAction>,
        outcome: Outcome,
        artifacts: Vec<Artifact>,
        reference_artifacts: Vec<ReferenceArtifact>,
        policies: Vec<Policy>,
        policy_evaluations: Vec<PolicyEvaluation>,
        execution_environments: Vec<ExecutionEnvironment>,
        reproducibility: Option<TraceReproducibility>,
        comments: Vec<Comment>,
        review_items: Vec<ReviewItem>,
        residuals: Vec<Residual>,
        trace_links: Vec<TraceLink>,
        trace_lineage: Option<TraceLineage>,
        files_modified: Vec<Text>,
        metrics: Option<Metrics>,
    }
}

/// A canonical trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The members of version 1.6.
    pub members: TraceMembers,
    /// The goals that came with version 1.7.
    pub goals: Vec<Goal>,
    /// Members the specification does not know.
    pub extra: Object,
}

impl Trace {
    /// Returns the version this trace is written as: the oldest of 1.6 and 1.7 that holds all of it.
    pub fn written_version(&self) -> &'static str {
        if self.goals.is_empty() { "1.6" } else { "1.7" }
    }
}

impl Field for Trace {
    fn decode(value: &Value) -> Result<Self, Findings> {
        let mut reader = Reader::new(value)?;
        reader.raw("spec_version");
        let members = TraceMembers::read(&mut reader);
        let goals = reader.member("goals");
        reader.finish(|extra| Some(Self { members: members?, goals: goals?, extra }))
    }

    fn encode(&self) -> Option<Value> {
        let mut writer = Writer::default();
        writer.member("trace_id", &self.members.trace_id);
        writer.member("spec_version", &Text::from(self.written_version()));
        self.members.write(&mut writer);
        if !self.goals.is_empty() {
            writer.member("goals", &self.goals);
        }
        Some(writer.finish(&self.extra))
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.object("Trace", |definitions, schema| {
            schema.required("spec_version", words_schema(&["1.6", "1.7"]));
            TraceMembers::describe(definitions, schema);
            schema.member::<Vec<Goal>>(definitions, "goals");
        })
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        let members = TraceMembers::sample(source);
        Self { members, goals: Field::sample(source), extra: source.extra() }
    }
}
