//! Actions and meta-actions (§8), evidence and observations (§9), reproducibility and environments (§12).

use hence_canon::read::{Finding, Findings};
use hence_canon::{Object, Value};

use crate::vocabulary::{
    ActionCategory, ActionType, ActivityType, CUSTOM_TYPE_BYTES_MAX, Confidence, CustomType, Determinism,
    EnvironmentKind, EvidenceType, GatewayType, GovernanceType, MetaSource, MetaStatus, ProcedureKind,
    ReasoningType, ReproducibilityStatus, ReproductionKind,
};

use super::field::{
    ActionId, ArtifactId, EnvironmentId, Field, MetaActionId, Number, ResidualId, Text, any_of, words_schema,
};
use super::record::{Definitions, Members, Reader, Writer, members, one, record};

members! {
    /// The members that every action has (§8.1).
    #[derive(Default)]
    ActionCommon {
        id: ActionId,
        label: Text,
        rationale: Text,
        detail: Option<Text>,
        inputs: Vec<ArtifactId>,
        outputs: Vec<ArtifactId>,
        evidence: Vec<Evidence>,
        observations: Vec<Observation>,
        execution: Option<ExecutionMetadata>,
        reproducibility: Option<ActionReproducibility>,
        meta_action_id: Option<MetaActionId>,
    }
}

members! {
    /// The request and the result of an action (§8.2); their structure is left to the tool.
    #[derive(Default)]
    ActionPayload {
        request: Option<Object>,
        result: Option<Object>,
        result_summary: Option<Text>,
    }
}

members! {
    /// The decision of a gateway (§8.1).
    #[derive(Default)]
    GatewayPayload {
        decision_basis: Option<Text>,
        supporting_inputs: Vec<ArtifactId>,
        options: Vec<DecisionOption>,
    }
}

record! {
    /// One option of a gateway (§8.1).
    #[derive(Default)]
    DecisionOption {
        label: Text,
        chosen: bool,
        rejected_because: Option<Text>,
        next_action_id: Option<ActionId>,
    }
}

record! {
    /// The execution of an action: tool, method, determinism, cost (§8.3).
    #[derive(Default)]
    ExecutionMetadata {
        tool: Option<Text>,
        version: Option<Text>,
        method: Option<Text>,
        determinism: Option<Determinism>,
        duration_ms: Option<i64>,
        cost: Option<Number>,
    }
}

record! {
    /// Evidence that a reader can look up (§9.1).
    Evidence {
        evidence_type as "type": EvidenceType,
        reference as "ref": Text,
        exit_code: Option<i64>,
    }
}

record! {
    /// An observation (§9.2).
    #[derive(Default)]
    Observation {
        observation_id: Option<Text>,
        derived_from: Vec<Text>,
        statement: Text,
        confidence: Option<Confidence>,
    }
}

record! {
    /// A unit of intent over some actions (§8.4).
    #[derive(Default)]
    MetaAction {
        id: MetaActionId,
        title: Text,
        intent: Option<Text>,
        action_ids: Vec<ActionId>,
        outcome: Option<Text>,
        status: Option<MetaStatus>,
        source: Option<MetaSource>,
        parent_id: Option<MetaActionId>,
        produced_artifact_ids: Vec<ArtifactId>,
        residual_ids: Vec<ResidualId>,
        tags: Vec<Text>,
    }
}

/// The family of an action, its type, and the members of that family.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the families of the specification")]
pub enum ActionStep {
    Activity(ActivityType, ActionPayload),
    Gateway(GatewayType, GatewayPayload),
    Reasoning(ReasoningType, ActionPayload),
    Governance(GovernanceType, ActionPayload),
    Custom(CustomType, ActionPayload),
}

impl ActionStep {
    /// Returns the type with its family.
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::Activity(word, _) => (*word).into(),
            Self::Gateway(word, _) => (*word).into(),
            Self::Reasoning(word, _) => (*word).into(),
            Self::Governance(word, _) => (*word).into(),
            Self::Custom(word, _) => (*word).into(),
        }
    }
}

/// An action (§8.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The members that every action has.
    pub common: ActionCommon,
    /// The type and the members of its family.
    pub step: ActionStep,
    /// Members the specification does not know.
    pub extra: Object,
}

/// The type of an action as a member.
impl Field for ActionType {
    fn decode(value: &Value) -> Result<Self, Findings> {
        let custom = || value.as_str().and_then(CustomType::from_word).map(Self::Custom);
        value.as_str().and_then(Self::from_word).or_else(custom).ok_or_else(|| {
            let found = value.as_str().map_or_else(|| value.kind().to_string(), |word| format!("{word:?}"));
            one(Finding::other(format!("expected an action type, found {found}")))
        })
    }

    fn encode(&self) -> Option<Value> {
        Some(self.as_str().into())
    }

    fn schema(_: &mut Definitions) -> Value {
        let lists = [ActivityType::WORDS, GatewayType::WORDS, ReasoningType::WORDS, GovernanceType::WORDS];
        let custom = Object::from_iter([
            ("type", Value::from("string")),
            ("pattern", "^[A-Z][A-Za-z0-9]*$".into()),
            ("maxLength", CUSTOM_TYPE_BYTES_MAX.into()),
        ]);
        any_of([words_schema(&lists.concat()), custom.into()])
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        match source.below(4) {
            0 => ActivityType::sample(source).into(),
            1 => GatewayType::sample(source).into(),
            2 => ReasoningType::sample(source).into(),
            _ => GovernanceType::sample(source).into(),
        }
    }
}

fn read_step(reader: &mut Reader<'_>) -> Option<ActionStep> {
    let category = reader.member::<Option<ActionCategory>>("category");
    let action_type = reader.member::<ActionType>("type")?;
    // A missing category is implied by the type; a contradiction is not resolved for the author.
    if let Some(category) = category?.filter(|category| *category != action_type.category()) {
        let message =
            format!("{} belongs to {}, found {category}", action_type.as_str(), action_type.category());
        reader.refuse("category", message);
        return None;
    }
    Some(match action_type {
        ActionType::Activity(word) => ActionStep::Activity(word, ActionPayload::read(reader)?),
        ActionType::Gateway(word) => ActionStep::Gateway(word, GatewayPayload::read(reader)?),
        ActionType::Reasoning(word) => ActionStep::Reasoning(word, ActionPayload::read(reader)?),
        ActionType::Governance(word) => ActionStep::Governance(word, ActionPayload::read(reader)?),
        ActionType::Custom(word) => ActionStep::Custom(word, ActionPayload::read(reader)?),
    })
}

impl Field for Action {
    fn decode(value: &Value) -> Result<Self, Findings> {
        let mut reader = Reader::new(value)?;
        let common = ActionCommon::read(&mut reader);
        let step = read_step(&mut reader);
        reader.finish(|extra| Some(Self { common: common?, step: step?, extra }))
    }

    fn encode(&self) -> Option<Value> {
        let mut writer = Writer::default();
        let action_type = self.step.action_type();
        writer.member("category", &action_type.category());
        writer.member("type", &action_type);
        self.common.write(&mut writer);
        match &self.step {
            ActionStep::Gateway(_, payload) => payload.write(&mut writer),
            ActionStep::Activity(_, payload)
            | ActionStep::Reasoning(_, payload)
            | ActionStep::Governance(_, payload)
            | ActionStep::Custom(_, payload) => payload.write(&mut writer),
        }
        Some(writer.finish(&self.extra))
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.object("Action", |definitions, schema| {
            schema.member::<ActionCategory>(definitions, "category");
            schema.member::<ActionType>(definitions, "type");
            ActionCommon::describe(definitions, schema);
            ActionPayload::describe(definitions, schema);
            GatewayPayload::describe(definitions, schema);
        })
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        let common = ActionCommon::sample(source);
        let step = match ActionType::sample(source) {
            ActionType::Activity(word) => ActionStep::Activity(word, ActionPayload::sample(source)),
            ActionType::Gateway(word) => ActionStep::Gateway(word, GatewayPayload::sample(source)),
            ActionType::Reasoning(word) => ActionStep::Reasoning(word, ActionPayload::sample(source)),
            ActionType::Governance(word) => ActionStep::Governance(word, ActionPayload::sample(source)),
            ActionType::Custom(word) => ActionStep::Custom(word, ActionPayload::sample(source)),
        };
        Self { common, step, extra: source.extra() }
    }
}

record! {
    /// The reproducibility of a trace (§12.1).
    TraceReproducibility {
        status: ReproducibilityStatus,
        entrypoints: Vec<Text>,
        required_artifact_ids: Vec<ArtifactId>,
        required_environment_ids: Vec<EnvironmentId>,
        limitations: Vec<Text>,
        notes: Option<Text>,
    }
}

record! {
    /// The reproducibility of an action (§12.2).
    ActionReproducibility {
        status: ReproducibilityStatus,
        reproduction_kind: ReproductionKind,
        input_artifact_ids: Vec<ArtifactId>,
        environment_id: Option<EnvironmentId>,
        procedure: ReproductionProcedure,
        expected_output: Option<ExpectedOutput>,
        limitations: Vec<Text>,
        notes: Option<Text>,
    }
}

record! {
    /// The procedure that reproduces an action (§12.2).
    ReproductionProcedure {
        kind: ProcedureKind,
        command: Option<Text>,
        working_directory: Option<Text>,
        arguments: Vec<Text>,
        steps: Vec<Text>,
        reference: Option<Text>,
    }
}

record! {
    /// The expected output of a reproduction (§12.2).
    #[derive(Default)]
    ExpectedOutput {
        artifact_ids: Vec<ArtifactId>,
        result_summary: Option<Text>,
    }
}

record! {
    /// The environment of an action (§12.3).
    ExecutionEnvironment {
        environment_id: EnvironmentId,
        kind: EnvironmentKind,
        name: Text,
        components: Vec<EnvironmentComponent>,
        configuration: Option<Object>,
        notes: Option<Text>,
    }
}

record! {
    /// A part of an environment (§12.3).
    #[derive(Default)]
    EnvironmentComponent {
        name: Text,
        version: Option<Text>,
    }
}
