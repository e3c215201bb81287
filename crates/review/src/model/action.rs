//! Actions and meta-actions (§8), evidence and observations (§9).

use hence_canon::read::{Finding, Findings};
use hence_canon::{Object, Value};

use crate::vocabulary::{
    ActionCategory, ActionType, ActivityType, Confidence, Determinism, EvidenceType, GatewayType,
    GovernanceType, MetaSource, MetaStatus, ReasoningType,
};

use super::field::{ActionId, ArtifactId, Field, MetaActionId, Number, ResidualId, Text, words_schema};
use super::record::{Definitions, Members, Reader, Writer, members, one, record};
use super::reproduction::ActionReproducibility;

members! {
    /// What every action has (§8.1).
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
    /// What an action asked and got (§8.2); its structure is left to the tool.
    ActionPayload {
        request: Option<Object>,
        result: Option<Object>,
        result_summary: Option<Text>,
    }
}

members! {
    /// What a gateway decided (§8.1).
    GatewayPayload {
        decision_basis: Option<Text>,
        supporting_inputs: Vec<ArtifactId>,
        options: Vec<DecisionOption>,
    }
}

record! {
    /// One way a gateway could go (§8.1).
    DecisionOption {
        label: Text,
        chosen: bool,
        rejected_because: Option<Text>,
        next_action_id: Option<ActionId>,
    }
}

record! {
    /// How an action was carried out (§8.3).
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
    /// Something that can be looked at (§9.1).
    Evidence {
        evidence_type as "type": EvidenceType,
        reference as "ref": Text,
        exit_code: Option<i64>,
    }
}

record! {
    /// Something that was noticed (§9.2).
    Observation {
        observation_id: Option<Text>,
        derived_from: Vec<Text>,
        statement: Text,
        confidence: Option<Confidence>,
    }
}

record! {
    /// A unit of intent over some actions (§8.4).
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

/// The family of an action, its type, and what only that family carries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the families of the specification")]
pub enum ActionStep {
    Activity(ActivityType, ActionPayload),
    Gateway(GatewayType, GatewayPayload),
    Reasoning(ReasoningType, ActionPayload),
    Governance(GovernanceType, ActionPayload),
}

impl ActionStep {
    /// Returns the type with its family.
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::Activity(word, _) => (*word).into(),
            Self::Gateway(word, _) => (*word).into(),
            Self::Reasoning(word, _) => (*word).into(),
            Self::Governance(word, _) => (*word).into(),
        }
    }
}

/// An action (§8.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What every action has.
    pub common: ActionCommon,
    /// What its family has.
    pub step: ActionStep,
    /// Members the specification does not know.
    pub extra: Object,
}

/// The type of an action as a member.
impl Field for ActionType {
    fn decode(value: &Value) -> Result<Self, Findings> {
        value.as_str().and_then(Self::from_word).ok_or_else(|| {
            let found = value.as_str().map_or_else(|| value.kind().to_string(), |word| format!("{word:?}"));
            one(Finding::other(format!("expected an action type of the specification, found {found}")))
        })
    }

    fn encode(&self) -> Option<Value> {
        Some(self.as_str().into())
    }

    fn schema(_: &mut Definitions) -> Value {
        let lists = [ActivityType::WORDS, GatewayType::WORDS, ReasoningType::WORDS, GovernanceType::WORDS];
        words_schema(&lists.concat())
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
            | ActionStep::Governance(_, payload) => payload.write(&mut writer),
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
        };
        Self { common, step, extra: source.extra() }
    }
}
