//! The values that members of the canonical model can hold: texts, numbers, words, ids, lists and open values.

use std::sync::Arc;

use hence_canon::read::{Finding, Findings};
use hence_canon::{Float, Int, Object, Value};

use crate::vocabulary::Word;

use super::record::{Definitions, mismatch, one};

/// A text of a document, shared with it.
pub type Text = Arc<str>;

/// A number of either kind, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    /// Written without fraction and exponent.
    Int(Int),
    /// Written with a fraction or an exponent.
    Float(Float),
}

/// A value that a member of an object can hold.
pub(crate) trait Field: Sized {
    /// Reads a value that is not null.
    fn decode(value: &Value) -> Result<Self, Findings>;

    /// Returns the meaning of a missing member; nothing when the member is required.
    fn absent() -> Option<Self> {
        None
    }

    /// Writes the value; nothing when the member is left out.
    fn encode(&self) -> Option<Value>;

    /// Returns the JSON Schema.
    fn schema(definitions: &mut Definitions) -> Value;

    /// Draws a value from a source of choices.
    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self;
}

fn type_schema(name: &str) -> Value {
    Object::from_iter([("type", name)]).into()
}

/// Returns the schema of a closed list of words.
pub(crate) fn words_schema(words: &[&str]) -> Value {
    Object::from_iter([("enum", words.iter().copied().collect::<Value>())]).into()
}

/// Returns the schema of any of several schemas.
pub(crate) fn any_of(schemas: impl IntoIterator<Item = Value>) -> Value {
    Object::from_iter([("anyOf", schemas.into_iter().collect::<Value>())]).into()
}

/// Implements a field that is one value of JSON.
macro_rules! plain {
    ($type:ty, $schema:expr, $expected:literal, |$value:ident| $read:expr, |$source:ident| $sample:expr) => {
        impl Field for $type {
            fn decode($value: &Value) -> Result<Self, Findings> {
                $read.ok_or_else(|| mismatch($expected, $value))
            }

            fn encode(&self) -> Option<Value> {
                Some(Value::from(self.clone()))
            }

            fn schema(_: &mut Definitions) -> Value {
                $schema
            }

            #[cfg(test)]
            fn sample($source: &mut super::tests::Choices<'_>) -> Self {
                $sample
            }
        }
    };
}

plain!(
    Text,
    type_schema("string"),
    "a text",
    |value| match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    },
    |source| source.text()
);
plain!(bool, type_schema("boolean"), "true or false", |value| value.as_bool(), |source| source.below(2) == 1);
plain!(
    Number,
    type_schema("number"),
    "a number",
    |value| match value {
        Value::Int(int) => Some(Self::Int(int.clone())),
        Value::Float(float) => Some(Self::Float(*float)),
        _ => None,
    },
    |source| match source.below(2) {
        0 => Self::Int(i64::sample(source).into()),
        _ => Self::Float(Float::new(f64::from(source.byte()) / 8.0).unwrap()),
    }
);
// An open object: the specification leaves its members to the implementation.
plain!(Object, type_schema("object"), "an object", |value| value.as_object().cloned(), |source| source
    .object());
// An open value: anything but null, which means absence.
plain!(Value, Object::new().into(), "a value", |value| Some(value.clone()), |source| source.object().into());

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(int) => int.into(),
            Number::Float(float) => float.into(),
        }
    }
}

impl Field for i64 {
    fn decode(value: &Value) -> Result<Self, Findings> {
        value.as_i64().ok_or_else(|| {
            let found = value.as_int().map_or_else(|| value.kind().to_string(), ToString::to_string);
            one(Finding::other(format!("expected an integer of 64 bits, found {found}")))
        })
    }

    fn encode(&self) -> Option<Value> {
        Some((*self).into())
    }

    fn schema(_: &mut Definitions) -> Value {
        type_schema("integer")
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        i64::from(source.byte()) - 3
    }
}

impl<W: Word> Field for W {
    fn decode(value: &Value) -> Result<Self, Findings> {
        let word = value.as_str().ok_or_else(|| mismatch("a word", value))?;
        Self::parse_word(word).map_err(|unknown| one(Finding::other(unknown)))
    }

    fn encode(&self) -> Option<Value> {
        Some(self.word().into())
    }

    fn schema(_: &mut Definitions) -> Value {
        words_schema(Self::WORDS)
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        Self::parse_word(source.pick::<&str>(Self::WORDS)).unwrap()
    }
}

impl<T: Field> Field for Option<T> {
    fn decode(value: &Value) -> Result<Self, Findings> {
        T::decode(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn encode(&self) -> Option<Value> {
        self.as_ref().and_then(T::encode)
    }

    fn schema(definitions: &mut Definitions) -> Value {
        any_of([T::schema(definitions), type_schema("null")])
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        (source.below(3) > 0).then(|| T::sample(source))
    }
}

impl<T: Field> Field for Vec<T> {
    fn decode(value: &Value) -> Result<Self, Findings> {
        let items = value.as_array().ok_or_else(|| mismatch("a list", value))?;
        let (mut read, mut findings) = (Self::with_capacity(items.len()), Findings::default());
        for (index, item) in items.iter().enumerate() {
            match T::decode(item) {
                Ok(item) => read.push(item),
                Err(found) => {
                    let place = hence_canon::JsonPointer::root().child(index);
                    findings.extend(found.into_vec().into_iter().map(|finding| finding.under(&place)));
                }
            }
        }
        findings.finish(read)
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn encode(&self) -> Option<Value> {
        Some(self.iter().filter_map(T::encode).collect())
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let items = T::schema(definitions);
        let list = Object::from_iter([("type", Value::from("array")), ("items", items)]).into();
        any_of([list, type_schema("null")])
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        (0..source.below(3)).map(|_| T::sample(source)).collect()
    }
}

/// The number of an action.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ActionId(pub i64);

impl std::fmt::Display for ActionId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

/// Implements a field that wraps another one.
macro_rules! wrapper {
    ($($name:ident($inner:ty)),+ $(,)?) => {$(
        impl Field for $name {
            fn decode(value: &Value) -> Result<Self, Findings> {
                <$inner>::decode(value).map(Self)
            }

            fn encode(&self) -> Option<Value> {
                self.0.encode()
            }

            fn schema(definitions: &mut Definitions) -> Value {
                <$inner>::schema(definitions)
            }

            #[cfg(test)]
            fn sample(source: &mut super::tests::Choices<'_>) -> Self {
                Self(Field::sample(source))
            }
        }
    )+};
}

macro_rules! text_ids {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {
        $(
            $(#[$meta])*
            #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
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
        )+
        wrapper!(ActionId(i64), $($name(Text)),+);
    };
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
