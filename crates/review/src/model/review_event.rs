//! The events of a review log.

use hence_canon::read::{Finding, Findings};
use hence_canon::{JsonPointer, Value};

use crate::vocabulary::{ResidualKind, ResidualSeverity, words};

use super::field::{ArtifactId, CommentId, Field, ResidualId, ReviewItemId, Text, words_schema};
use super::record::{Definitions, ObjectSchema, encoded, mismatch, one, record};
use super::residual::Target;

words! {
    /// The kind of thing that is acknowledged, resolved or waived.
    SubjectType, "subject type" {
        Item = "item",
        Comment = "comment",
        Residual = "residual",
    }
}

words! {
    /// The outcome of a repeated check. Accepting a claim unchecked requires a note. A recorded result that was only read
    /// again is not checked.
    CheckOutcome, "outcome of a check" {
        Confirmed = "confirmed",
        Diverged = "diverged",
        Accepted = "accepted",
        Reread = "reread",
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
    /// A request of a reviewer. A blocking one prevents approval until it is resolved or waived.
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
    /// A gap that a reviewer declares.
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
    /// The acknowledgement, resolution or waiver of an item, a comment or a gap.
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
        /// One action of a reviewer.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum ReviewEvent {
            $($(#[$doc])* $variant($payload),)+
        }

        impl ReviewEvent {
            /// The words of the events.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the word of the event.
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
    /// A request of a reviewer.
    Item(ItemEvent) = "item",
    /// A gap that a reviewer declares.
    Gap(GapEvent) = "gap",
    /// A checkable artifact was checked again.
    Check(CheckEvent) = "check",
    /// An item or a gap is acknowledged.
    Acknowledge(SubjectEvent) = "acknowledge",
    /// An item or a comment is resolved.
    Resolve(SubjectEvent) = "resolve",
    /// An item or a gap is waived.
    Waive(SubjectEvent) = "waive",
    /// The trace is approved.
    Approve(DecisionEvent) = "approve",
    /// The trace is rejected.
    Reject(DecisionEvent) = "reject",
    /// The work needs changes: a successor trace is asked for.
    RequestChanges(DecisionEvent) = "request_changes",
    /// A person must decide.
    Escalate(DecisionEvent) = "escalate",
    /// The last decision is withdrawn.
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
