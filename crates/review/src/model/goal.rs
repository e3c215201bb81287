//! Goals and acceptance (§18).

use hence_canon::Object;

use crate::vocabulary::{AcceptanceKind, AcceptanceStatus, GoalStatus, Verdict};

use super::field::{AcceptanceId, Field, GoalId, MetaActionId, PolicyId, ResidualId, Text, any_of};
use super::record::{Definitions, Members, ObjectSchema, Reader, Writer, record};

record! {
    /// An intent and its acceptance items.
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
    /// A review of the acceptance items.
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

/// The evidence an acceptance item is bound to; without a binding the author's status counts.
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

impl Members for AcceptanceBinding {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(match reader.member::<AcceptanceKind>("kind")? {
            AcceptanceKind::Change => Self::Change(reader.member("binding")?),
            AcceptanceKind::Property => Self::Property(reader.member("binding")?),
            AcceptanceKind::Obligation => Self::Obligation(reader.member("binding")?),
            AcceptanceKind::Gap => Self::Gap(reader.member("binding")?),
        })
    }

    fn write(&self, writer: &mut Writer) {
        writer.member("kind", &self.kind());
        match self {
            Self::Change(binding) => writer.member("binding", binding),
            Self::Property(binding) => writer.member("binding", binding),
            Self::Obligation(binding) => writer.member("binding", binding),
            Self::Gap(binding) => writer.member("binding", binding),
        }
    }

    fn describe(definitions: &mut Definitions, schema: &mut ObjectSchema) {
        schema.member::<AcceptanceKind>(definitions, "kind");
        let bindings = [
            ChangeBinding::schema(definitions),
            PropertyBinding::schema(definitions),
            ObligationBinding::schema(definitions),
            GapBinding::schema(definitions),
            Object::from_iter([("type", "null")]).into(),
        ];
        schema.optional("binding", any_of(bindings));
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        match AcceptanceKind::sample(source) {
            AcceptanceKind::Change => Self::Change(Field::sample(source)),
            AcceptanceKind::Property => Self::Property(Field::sample(source)),
            AcceptanceKind::Obligation => Self::Obligation(Field::sample(source)),
            AcceptanceKind::Gap => Self::Gap(Field::sample(source)),
        }
    }
}

record! {
    /// One condition that must hold for a goal to be met.
    AcceptanceItem [binding: AcceptanceBinding] {
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
