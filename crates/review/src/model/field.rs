//! How single members are read and written.

use std::sync::Arc;

use hence_canon::{Float, Int, JsonPointer, Object, Value};

use super::codec::Defect;
use super::schema::Definitions;

/// A text of a document, shared with it.
pub type Text = Arc<str>;

/// A number of either kind; which kind it was is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    /// Written without fraction and exponent.
    Int(Int),
    /// Written with one of them.
    Float(Float),
}

/// A place in a document, as a list of steps on the stack: a pointer is built only when there is a defect.
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    token: Token<'a>,
}

enum Token<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path { parent: None, token: Token::Root };

    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), token: Token::Key(key) }
    }

    pub(crate) fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), token: Token::Index(index) }
    }

    fn pointer(&self) -> JsonPointer {
        let above = self.parent.map(Self::pointer).unwrap_or_default();
        match self.token {
            Token::Root => above,
            Token::Key(key) => above.child(key),
            Token::Index(index) => above.child(index),
        }
    }
}

/// Defects found so far.
#[derive(Default)]
pub(crate) struct Defects(pub(super) Vec<Defect>);

impl Defects {
    pub(crate) fn push(&mut self, at: &Path<'_>, message: String) {
        self.0.push(Defect { pointer: at.pointer(), message });
    }

    /// Reports a value of the wrong kind.
    pub(crate) fn kind(&mut self, at: &Path<'_>, expected: &str, found: &Value) {
        self.push(at, format!("expected {expected}, found {}", found.kind()));
    }
}

/// Something a member of an object can hold.
pub(crate) trait Field: Sized {
    /// Reads a value that is not null; says in `defects` why not when it gives nothing back.
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self>;

    /// Returns what a missing member means; nothing when it must be there.
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

impl Field for Text {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        if let Value::String(text) = value {
            return Some(text.clone());
        }
        defects.kind(at, "a text", value);
        None
    }

    fn encode(&self) -> Option<Value> {
        Some(self.clone().into())
    }

    fn schema(_: &mut Definitions) -> Value {
        type_schema("string")
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        source.text()
    }
}

impl Field for i64 {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        let number = value.as_i64();
        if number.is_none() {
            let found = value.as_int().map_or_else(|| value.kind().to_string(), ToString::to_string);
            defects.push(at, format!("expected an integer of 64 bits, found {found}"));
        }
        number
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

impl Field for bool {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        let truth = value.as_bool();
        if truth.is_none() {
            defects.kind(at, "true or false", value);
        }
        truth
    }

    fn encode(&self) -> Option<Value> {
        Some((*self).into())
    }

    fn schema(_: &mut Definitions) -> Value {
        type_schema("boolean")
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        source.below(2) == 1
    }
}

impl Field for Number {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        match value {
            Value::Int(int) => Some(Self::Int(int.clone())),
            Value::Float(float) => Some(Self::Float(*float)),
            other => {
                defects.kind(at, "a number", other);
                None
            }
        }
    }

    fn encode(&self) -> Option<Value> {
        Some(match self {
            Self::Int(int) => int.clone().into(),
            Self::Float(float) => (*float).into(),
        })
    }

    fn schema(_: &mut Definitions) -> Value {
        type_schema("number")
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        match source.below(2) {
            0 => Self::Int(i64::sample(source).into()),
            _ => Self::Float(Float::new(f64::from(source.byte()) / 8.0).unwrap()),
        }
    }
}

/// An open object: the specification leaves its members to the implementation.
impl Field for Object {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        if let Value::Object(object) = value {
            return Some(object.clone());
        }
        defects.kind(at, "an object", value);
        None
    }

    fn encode(&self) -> Option<Value> {
        Some(self.clone().into())
    }

    fn schema(_: &mut Definitions) -> Value {
        type_schema("object")
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        source.object()
    }
}

/// An open value: anything but null, which means absence.
impl Field for Value {
    fn decode(value: &Value, _: &Path<'_>, _: &mut Defects) -> Option<Self> {
        Some(value.clone())
    }

    fn encode(&self) -> Option<Value> {
        Some(self.clone())
    }

    fn schema(_: &mut Definitions) -> Value {
        Object::new().into()
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        source.object().into()
    }
}

impl<T: Field> Field for Option<T> {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        T::decode(value, at, defects).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn encode(&self) -> Option<Value> {
        self.as_ref().and_then(T::encode)
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let present = T::schema(definitions);
        Object::from_iter([("anyOf", Value::from(vec![present, type_schema("null")]))]).into()
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        (source.below(3) > 0).then(|| T::sample(source))
    }
}

impl<T: Field> Field for Vec<T> {
    fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
        let Value::Array(items) = value else {
            defects.kind(at, "a list", value);
            return None;
        };
        let before = defects.0.len();
        let items: Vec<T> = items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| T::decode(item, &at.index(index), defects))
            .collect();
        (defects.0.len() == before).then_some(items)
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn encode(&self) -> Option<Value> {
        Some(self.iter().filter_map(T::encode).collect())
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let items = T::schema(definitions);
        let list: Value = Object::from_iter([("type", Value::from("array")), ("items", items)]).into();
        Object::from_iter([("anyOf", Value::from(vec![list, type_schema("null")]))]).into()
    }

    #[cfg(test)]
    fn sample(source: &mut super::tests::Choices<'_>) -> Self {
        (0..source.below(3)).map(|_| T::sample(source)).collect()
    }
}
