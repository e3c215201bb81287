//! The value tree.

use std::fmt;
use std::sync::Arc;

use crate::{Float, Int, JsonPointer, Object};

/// A JSON value. Immutable; cloning shares everything below the clone.
///
/// Two values are equal exactly when their canonical bytes are: `1` and `1.0` differ, member order does not.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number token without fraction and exponent.
    Int(Int),
    /// A number token with fraction or exponent.
    Float(Float),
    /// A string.
    String(Arc<str>),
    /// A list.
    Array(Arc<[Value]>),
    /// An object.
    Object(Object),
}

/// The kind of a [`Value`], for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names of JSON's kinds")]
pub enum Kind {
    Null,
    Bool,
    Int,
    Float,
    String,
    Array,
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Int => "integer",
            Self::Float => "number",
            Self::String => "string",
            Self::Array => "list",
            Self::Object => "object",
        })
    }
}

impl Value {
    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::String(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// Returns whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the integer, if this is one.
    pub fn as_int(&self) -> Option<&Int> {
        match self {
            Self::Int(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the integer, if this is one that fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_int().and_then(Int::as_u64)
    }

    /// Returns the integer, if this is one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_int().and_then(Int::as_i64)
    }

    /// Returns the string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the items, if this is a list.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the object, if this is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// Returns the item at `index`, if this is a list that has it.
    pub fn at(&self, index: usize) -> Option<&Value> {
        self.as_array()?.get(index)
    }

    /// Returns what `pointer` names inside this value.
    pub fn pointer(&self, pointer: &JsonPointer) -> Option<&Value> {
        pointer.tokens().try_fold(self, |value, token| match value {
            Self::Object(object) => object.get(token),
            Self::Array(items) => items.get(JsonPointer::list_index(token)?),
            _ => None,
        })
    }

    /// Returns how deep containers nest: 0 for a scalar, 1 for `[]`.
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(object) => 1 + object.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }
}

/// The canonical text: what a person can paste and hash.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&String::from_utf8_lossy(&crate::canonical_bytes(self)))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(value) => fmt::Debug::fmt(value, out),
            Self::Int(value) => fmt::Debug::fmt(value, out),
            Self::Float(value) => fmt::Debug::fmt(value, out),
            Self::String(value) => fmt::Debug::fmt(value, out),
            Self::Array(items) => out.debug_list().entries(items.iter()).finish(),
            Self::Object(object) => fmt::Debug::fmt(object, out),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Int> for Value {
    fn from(value: Int) -> Self {
        Self::Int(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value.into())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(i64::from(value).into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(i64::from(value).into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(value.into())
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Int((value as u64).into())
    }
}

impl From<Float> for Value {
    fn from(value: Float) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(value: Arc<str>) -> Self {
        Self::String(value)
    }
}

impl From<Object> for Value {
    fn from(value: Object) -> Self {
        Self::Object(value)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}
