//! A value and the positions of its parts in the text.

use std::collections::BTreeMap;

use hence_canon::{JsonPointer, Value};

use crate::{Place, Span, YamlError};

/// A YAML document that has been read.
#[derive(Clone, Debug)]
pub struct Document {
    value: Value,
    root: Span,
    places: BTreeMap<JsonPointer, Place>,
    repeated: Vec<YamlError>,
}

impl Document {
    pub(crate) fn new(value: Value, root: Span, places: BTreeMap<JsonPointer, Place>) -> Self {
        Self { value, root, places, repeated: Vec::new() }
    }

    pub(crate) fn with_repeated(self, repeated: Vec<YamlError>) -> Self {
        Self { repeated, ..self }
    }

    /// Returns the keys that occur a second time in their mapping, of a document that was read in spite of them. The
    /// first member with a key counts.
    pub fn repeated(&self) -> &[YamlError] {
        &self.repeated
    }

    /// Returns the value of the document.
    pub fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn into_value(self) -> Value {
        self.value
    }

    /// Returns the place of the value at `pointer`, or of the nearest enclosing value that exists.
    ///
    /// A finding about a missing member is shown at the object that lacks the member.
    pub fn place(&self, pointer: &JsonPointer) -> Place {
        let tokens: Vec<&str> = pointer.tokens().collect();
        let around = (0..=tokens.len()).rev().find_map(|length| {
            let around: JsonPointer = tokens.iter().take(length).collect();
            self.places.get(&around)
        });
        around.copied().unwrap_or(Place { key: None, value: self.root })
    }
}
