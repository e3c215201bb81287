//! Built-in capabilities: a contract and a function.

use std::sync::Arc;

use hence_canon::Object;
use hence_cognition::capability::CapabilitySpec;
use hence_cognition::skill::{Field, Need};

use crate::arguments::Arguments;
use crate::refusal::Refusal;

/// A built-in capability, which is a pure function.
pub(crate) struct BuiltIn {
    pub(crate) id: &'static str,
    /// A one-line description.
    pub(crate) does: &'static str,
    pub(crate) takes: &'static [Member],
    pub(crate) gives: &'static [Member],
    pub(crate) call: fn(&Arguments<'_>) -> Result<Object, Refusal>,
}

/// One declared input or output.
pub(crate) struct Member {
    name: &'static str,
    kind: &'static str,
    need: Need,
    about: &'static str,
    /// The only texts that are allowed, if not every one is.
    words: &'static [&'static str],
}

/// Returns an input that must be present, or an output that always is.
pub(crate) const fn required(name: &'static str, kind: &'static str, about: &'static str) -> Member {
    Member { name, kind, need: Need::Required, about, words: &[] }
}

/// Returns an input that may be absent.
pub(crate) const fn optional(name: &'static str, kind: &'static str, about: &'static str) -> Member {
    Member { name, kind, need: Need::Optional, about, words: &[] }
}

/// Returns an input that is one of several words; the first is the default.
pub(crate) const fn choice(
    name: &'static str,
    words: &'static [&'static str],
    about: &'static str,
) -> Member {
    Member { name, kind: "string", need: Need::Optional, about, words }
}

impl BuiltIn {
    /// Returns the contract.
    pub(crate) fn spec(&self) -> CapabilitySpec {
        CapabilitySpec {
            inputs: fields(self.takes),
            outputs: fields(self.gives),
            takes_only_declared: true,
            gives_only_declared: true,
            action: Some(crate::action::of_built_in(self.id).into()),
            ..CapabilitySpec::default()
        }
    }
}

impl BuiltIn {
    /// Returns the inputs that are one of several words.
    pub(crate) fn choices(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        self.takes.iter().filter(|member| !member.words.is_empty()).map(|member| (member.name, member.words))
    }
}

fn fields(members: &[Member]) -> Vec<(Arc<str>, Field)> {
    let field = |member: &Member| Field {
        kind: member.kind.into(),
        need: member.need,
        description: Some(member.about.into()),
        default: None,
    };
    members.iter().map(|member| (Arc::from(member.name), field(member))).collect()
}
