//! What terms stand for.

use std::sync::Arc;

use hence_canon::{Object, Value};

/// The value of a term.
#[derive(Clone, Debug)]
pub(crate) enum Datum<'t> {
    /// A field that is not there, or null.
    Nothing,
    /// A value of the trace.
    Value(&'t Value),
    /// A text of the trace.
    Text(&'t str),
    /// A word or text of the formula.
    Literal(Arc<str>),
    /// A number of the formula, or a size.
    Number(u64),
    /// An action, by position.
    Action(usize),
    /// An artifact, by id.
    Artifact(&'t str),
    /// An item of a list of the trace.
    Element(Element<'t>),
    /// A set, in the order it was found.
    Set(Vec<Datum<'t>>),
}

/// An object in a list of the trace.
#[derive(Clone, Debug)]
pub(crate) struct Element<'t> {
    pub(crate) list: Arc<str>,
    pub(crate) index: usize,
    pub(crate) object: &'t Object,
}

impl Element<'_> {
    /// Returns how a person finds the element: by its id, or else by its place.
    pub(crate) fn name(&self) -> String {
        let singular = self.list.strip_suffix('s').unwrap_or(&self.list);
        let keys = [format!("{singular}_id"), "id".to_owned()];
        let id = keys.iter().find_map(|key| self.object.get(key)).filter(|id| !id.is_null());
        match id {
            Some(Value::String(id)) => id.to_string(),
            Some(id) => id.to_string(),
            None => format!("/{}/{}", self.list, self.index),
        }
    }
}

impl<'t> From<&'t Value> for Datum<'t> {
    fn from(value: &'t Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            other => Self::Value(other),
        }
    }
}

impl<'t> Datum<'t> {
    /// Returns whether this is nothing, blank, or without items or members.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Value(value) => match value {
                Value::Null => true,
                Value::String(text) => text.trim().is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(object) => object.is_empty(),
                Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
            },
            Self::Text(text) => text.trim().is_empty(),
            Self::Literal(text) => text.trim().is_empty(),
            Self::Set(items) => items.is_empty(),
            Self::Number(_) | Self::Action(_) | Self::Artifact(_) | Self::Element(_) => false,
        }
    }

    /// Returns the text, if this is one or names one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Value(value) => match value {
                Value::String(text) => Some(text),
                Value::Bool(true) => Some("true"),
                Value::Bool(false) => Some("false"),
                _ => None,
            },
            Self::Text(text) => Some(text),
            Self::Literal(text) => Some(text),
            Self::Artifact(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the items, if this is a set or a list; nothing is the empty set.
    pub(crate) fn items(&self) -> Option<Vec<Datum<'t>>> {
        match self {
            Self::Set(items) => Some(items.clone()),
            Self::Value(Value::Array(items)) => Some(items.iter().map(Datum::from).collect()),
            Self::Nothing => Some(Vec::new()),
            _ => None,
        }
    }
}
