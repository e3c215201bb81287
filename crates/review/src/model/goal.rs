//! Goals and acceptance (§18).

use hence_canon::{Object, Value};

use crate::vocabulary::{AcceptanceKind, AcceptanceStatus, GoalStatus, Verdict};

use super::field::{Defects, Field, Path, Text};
use super::id::{AcceptanceId, GoalId, MetaActionId, PolicyId, ResidualId};
use super::record::{Members, Reader, Writer, members, record};
use super::schema::{Definitions, object_schema};

record! {
    /// What is to be achieved, and how one will know.
    Goal {
        id: GoalId,
        intent: Text,
        scope: Vec<Text>,
        acceptance: Vec<AcceptanceItem>,
        status: Option<GoalStatus>,
        meta_action_id: Option<MetaActionId>,
        intent_author: Option<Text>,
        intent_clauses: Vec<Text>,
        criteria_review: Option<CriteriaReview>,
    }
}

record! {
    /// What a reviewer says of the acceptance criteria.
    CriteriaReview {
        reviewed_by: Text,
        verdict: Verdict,
        at: Option<Text>,
        note: Option<Text>,
    }
}

record! {
    /// Bound to a change that mentions a symbol.
    ChangeBinding {
        symbol: Option<Text>,
        file: Option<Text>,
    }
}

record! {
    /// Bound to a verified property.
    PropertyBinding {
        symbol: Option<Text>,
        property: Option<Text>,
    }
}

record! {
    /// Bound to a policy that passes.
    ObligationBinding {
        policy_id: PolicyId,
    }
}

record! {
    /// Bound to a residual that is closed.
    GapBinding {
        residual_id: ResidualId,
    }
}

/// What an acceptance item is bound to; an item without a binding stands by its author's word.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the kinds of items")]
pub enum AcceptanceBinding {
    Change(Option<ChangeBinding>),
    Property(Option<PropertyBinding>),
    Obligation(Option<ObligationBinding>),
    Gap(Option<GapBinding>),
}

impl AcceptanceBinding {
    /// Returns the kind of item.
    pub fn kind(&self) -> AcceptanceKind {
        match self {
            Self::Change(_) => AcceptanceKind::Change,
            Self::Property(_) => AcceptanceKind::Property,
            Self::Obligation(_) => AcceptanceKind::Obligation,
            Self::Gap(_) => AcceptanceKind::Gap,
        }
    }
}

members! {
    /// What every acceptance item has.
    AcceptanceMembers {
        id: AcceptanceId,
        label: Text,
        status: Option<AcceptanceStatus>,
        required: Option<bool>,
        author: Option<Text>,
        covers: Vec<Text>,
        authored_at: Option<Text>,
        detail: Option<Text>,
    }
}

/// One thing that must hold for a goal to be met.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the specification")]
pub struct AcceptanceItem {
    pub id: AcceptanceId,
    pub label: Text,
    pub binding: AcceptanceBinding,
    pub status: Option<AcceptanceStatus>,
    pub required: Option<bool>,
    pub author: Option<Text>,
    pub covers: Vec<Text>,
    pub authored_at: Option<Text>,
    pub detail: Option<Text>,
    /// Members the specification does not know.
    pub extra: Object,
}

impl AcceptanceItem {
    fn of(members: AcceptanceMembers, binding: AcceptanceBinding, extra: Object) -> Self {
        let AcceptanceMembers { id, label, status, required, author, covers, authored_at, detail } = members;
        Self { id, label, binding, status, required, author, covers, authored_at, detail, extra }
    }
}

fn read_binding(reader: &mut Reader<'_>) -> Option<AcceptanceBinding> {
    Some(match reader.member::<AcceptanceKind>("kind")? {
        AcceptanceKind::Change => AcceptanceBinding::Change(reader.member("binding")?),
        AcceptanceKind::Property => AcceptanceBinding::Property(reader.member("binding")?),
        AcceptanceKind::Obligation => AcceptanceBinding::Obligation(reader.member("binding")?),
        AcceptanceKind::Gap => AcceptanceBinding::Gap(reader.member("binding")?),
    })
}

impl Field for AcceptanceItem {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        let mut reader = Reader::new(value, at, defects)?;
        let members = AcceptanceMembers::read(&mut reader);
        let binding = read_binding(&mut reader);
        let extra = reader.rest();
        Some(Self::of(members?, binding?, extra))
    }

    fn encode(&self) -> Option<Value> {
        let mut writer = Writer::default();
        writer.member("id", &self.id);
        writer.member("kind", &self.binding.kind());
        writer.member("label", &self.label);
        match &self.binding {
            AcceptanceBinding::Change(binding) => writer.member("binding", binding),
            AcceptanceBinding::Property(binding) => writer.member("binding", binding),
            AcceptanceBinding::Obligation(binding) => writer.member("binding", binding),
            AcceptanceBinding::Gap(binding) => writer.member("binding", binding),
        }
        writer.member("status", &self.status);
        writer.member("required", &self.required);
        writer.member("author", &self.author);
        writer.member("covers", &self.covers);
        writer.member("authored_at", &self.authored_at);
        writer.member("detail", &self.detail);
        Some(writer.finish(&self.extra))
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.define("AcceptanceItem", |definitions| {
            let mut properties = vec![("kind".into(), AcceptanceKind::schema(definitions))];
            let mut required = vec!["kind".into()];
            AcceptanceMembers::properties(definitions, &mut properties, &mut required);
            let bindings = [
                ChangeBinding::schema(definitions),
                PropertyBinding::schema(definitions),
                ObligationBinding::schema(definitions),
                GapBinding::schema(definitions),
                Object::from_iter([("type", "null")]).into(),
            ];
            let binding = Object::from_iter([("anyOf", bindings.into_iter().collect::<Value>())]);
            properties.push(("binding".into(), binding.into()));
            object_schema(properties, required)
        })
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        let binding = match AcceptanceKind::sample(source) {
            AcceptanceKind::Change => AcceptanceBinding::Change(Field::sample(source)),
            AcceptanceKind::Property => AcceptanceBinding::Property(Field::sample(source)),
            AcceptanceKind::Obligation => AcceptanceBinding::Obligation(Field::sample(source)),
            AcceptanceKind::Gap => AcceptanceBinding::Gap(Field::sample(source)),
        };
        let members = AcceptanceMembers::sample(source);
        Self::of(members, binding, source.extra())
    }
}
