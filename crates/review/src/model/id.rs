//! Ids, one type each.

use hence_canon::Value;

use super::field::{Defects, Field, Path, Text};
use super::schema::Definitions;

/// The number of an action.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActionId(pub i64);

impl std::fmt::Display for ActionId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

impl Field for ActionId {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        i64::decode(value, at, defects).map(Self)
    }

    fn encode(&self) -> Option<Value> {
        self.0.encode()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        i64::schema(definitions)
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        Self(i64::sample(source))
    }
}

macro_rules! text_ids {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(Text);

        impl $name {
            /// Wraps a text.
            pub fn new(text: impl Into<Text>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(&self.0)
            }
        }

        impl Field for $name {
            fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
                Text::decode(value, at, defects).map(Self)
            }

            fn encode(&self) -> Option<Value> {
                self.0.encode()
            }

            fn schema(definitions: &mut Definitions) -> Value {
                Text::schema(definitions)
            }

            #[cfg(test)]
            fn sample(source: &mut super::tests::Choices<'_>) -> Self {
                Self(source.text())
            }
        }
    )+};
}

text_ids! {
    /// The id of a trace.
    TraceId,
    /// The id of an artifact.
    ArtifactId,
    /// The id of a reference artifact.
    ReferenceArtifactId,
    /// The id of a meta-action.
    MetaActionId,
    /// The id of a residual.
    ResidualId,
    /// The id of a policy.
    PolicyId,
    /// The id of an execution environment.
    EnvironmentId,
    /// The id of a comment.
    CommentId,
    /// The id of a review item.
    ReviewItemId,
    /// The id of a link between traces.
    LinkId,
    /// The id of a goal.
    GoalId,
    /// The id of an acceptance item.
    AcceptanceId,
}
