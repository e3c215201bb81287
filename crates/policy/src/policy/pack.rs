//! Packs: policies that belong together, and the ones that come with `hence`.

use hence_canon::{Object, Value};

use super::document::Document;
use super::{PolicyId, PolicySet, parse_toml};

/// Policies that belong together.
#[derive(Clone, Debug)]
pub struct Pack {
    id: String,
    source: Object,
    members: Vec<PolicyId>,
}

impl Pack {
    /// Reads the header of a pack; `None` if it has no id.
    pub(super) fn read(source: &Object) -> Option<Self> {
        let id = source.get("id").and_then(Value::as_str)?.to_owned();
        Some(Self { id, source: source.without("policies").without("policy"), members: Vec::new() })
    }

    pub(super) fn with_members(self, members: Vec<PolicyId>) -> Self {
        Self { members, ..self }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name, or else the id.
    pub fn name(&self) -> &str {
        self.source.get("name").and_then(Value::as_str).unwrap_or(&self.id)
    }

    /// Returns the header with all its members.
    pub fn source(&self) -> &Object {
        &self.source
    }

    /// Returns the ids of its policies.
    pub fn members(&self) -> &[PolicyId] {
        &self.members
    }
}

/// The packs that come with `hence`: name and TOML text.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("engineering", include_str!("../../../../policies/engineering.toml")),
    ("reasoning", include_str!("../../../../policies/reasoning.toml")),
    ("data-flow", include_str!("../../../../policies/data-flow.toml")),
    ("oversight", include_str!("../../../../policies/oversight.toml")),
    ("budgets", include_str!("../../../../policies/budgets.toml")),
    ("records", include_str!("../../../../policies/records.toml")),
];

/// Loads the packs that come with `hence`.
pub fn built_in() -> PolicySet {
    let document = |(name, text): &(&str, &str)| {
        let value = parse_toml(text).expect("a test parses every pack that is built in");
        Document { name: (*name).to_owned(), value }
    };
    let documents: Vec<Document> = BUILT_IN.iter().map(document).collect();
    PolicySet::load(&documents).expect("a test loads every pack that is built in")
}
