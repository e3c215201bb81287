//! What a reviewer does to a trace, beside it: the events of a review journal.

use hence_canon::read::{Finding, Findings};
use hence_canon::{JsonPointer, Value};

use crate::vocabulary::{ResidualKind, ResidualSeverity, words};

use super::field::{ArtifactId, CommentId, Field, ResidualId, ReviewItemId, Text, words_schema};
use super::record::{Definitions, ObjectSchema, encoded, mismatch, one, record};
use super::residual::Target;

words! {
    /// What an acknowledgement, a resolution or a waiver is about.
    SubjectType, "subject type" {
        Item = "item",
        Comment = "comment",
        Residual = "residual",
    }
}

words! {
    /// What came of checking something again; accepting it unchecked is said openly and takes a note.
    CheckOutcome, "outcome of a check" {
        Confirmed = "confirmed",
        Diverged = "diverged",
        Accepted = "accepted",
    }
}

record! {
    /// A remark.
    CommentEvent {
        comment_id: CommentId,
        target: Target,
        body: Text,
        thread_parent_id: Option<CommentId>,
    }
}

record! {
    /// Something a reviewer wants done. A blocking one stops approval until it is resolved or waived.
    ItemEvent {
        review_item_id: ReviewItemId,
        target: Target,
        title: Text,
        body: Option<Text>,
        assignee: Option<Text>,
        blocking: bool,
    }
}

record! {
    /// A gap that nobody declared.
    GapEvent {
        residual_id: ResidualId,
        kind: ResidualKind,
        severity: ResidualSeverity,
        statement: Text,
        target: Target,
        suggested_check: Option<Text>,
    }
}

record! {
    /// What happens to an item, a comment or a gap.
    SubjectEvent {
        subject_type: SubjectType,
        subject_id: Text,
        note: Option<Text>,
    }
}

record! {
    /// A checkable artifact that was checked again.
    CheckEvent {
        artifact_id: ArtifactId,
        outcome: CheckOutcome,
        note: Option<Text>,
    }
}

record! {
    /// A decision on the whole trace.
    DecisionEvent {
        note: Option<Text>,
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident($payload:ty) = $word:literal),+ $(,)?) => {
        /// One thing a reviewer did.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum ReviewEvent {
            $($(#[$doc])* $variant($payload),)+
        }

        impl ReviewEvent {
            /// The words that say which event it is.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the word that says which event it is.
            pub const fn word(&self) -> &'static str {
                match self { $(Self::$variant(_) => $word),+ }
            }
        }

        impl Field for ReviewEvent {
            fn decode(value: &Value) -> Result<Self, Findings> {
                let object = value.as_object().ok_or_else(|| mismatch("an object", value))?;
                let rest: Value = object.without("event").into();
                match object.get("event").and_then(Value::as_str) {
                    $(Some($word) => <$payload>::decode(&rest).map(Self::$variant),)+
                    found => {
                        let found = found.unwrap_or("nothing");
                        let message = format!("event is one of {}; found {found:?}", Self::WORDS.join(", "));
                        Err(one(Finding::other(message).under(&JsonPointer::root().child("event"))))
                    }
                }
            }

            fn encode(&self) -> Option<Value> {
                let payload = match self { $(Self::$variant(payload) => payload.encode()),+ };
                let members = payload.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
                Some(members.with("event", self.word()).into())
            }

            fn schema(_: &mut Definitions) -> Value {
                let mut schema = ObjectSchema::default();
                schema.required("event", words_schema(Self::WORDS));
                schema.build()
            }

            #[cfg(test)]
            fn sample(source: &mut super::tests::Choices<'_>) -> Self {
                let samples: Vec<fn(&mut super::tests::Choices<'_>) -> Self> =
                    vec![$(|source| Self::$variant(<$payload>::sample(source))),+];
                source.pick(&samples)(source)
            }
        }
    };
}

events! {
    /// A remark.
    Comment(CommentEvent) = "comment",
    /// Something a reviewer wants done.
    Item(ItemEvent) = "item",
    /// A gap that nobody declared.
    Gap(GapEvent) = "gap",
    /// A checkable artifact was checked again.
    Check(CheckEvent) = "check",
    /// Seen and taken seriously.
    Acknowledge(SubjectEvent) = "acknowledge",
    /// Done.
    Resolve(SubjectEvent) = "resolve",
    /// Accepted as it is.
    Waive(SubjectEvent) = "waive",
    /// The trace is approved.
    Approve(DecisionEvent) = "approve",
    /// The trace is rejected.
    Reject(DecisionEvent) = "reject",
    /// The work needs changes: a successor trace is asked for.
    RequestChanges(DecisionEvent) = "request_changes",
    /// A person must decide.
    Escalate(DecisionEvent) = "escalate",
    /// The last decision is taken back.
    Rescind(DecisionEvent) = "rescind",
}

impl ReviewEvent {
    /// Reads an event.
    ///
    /// # Errors
    /// All defects of the value.
    pub fn from_value(value: &Value) -> Result<Self, super::DecodeError> {
        super::codec::decode_field(value)
    }
}

encoded!(ReviewEvent);
