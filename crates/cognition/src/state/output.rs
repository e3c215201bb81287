//! The output block: what the result is, beside the flat `outputs`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hence_canon::{Object, Value};

/// A field of the output block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OutputField {
    /// `result`: any value.
    Result,
    /// One of the three texts.
    Text(OutputText),
}

/// A field of the output block that holds text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the names of the document's fields")]
pub enum OutputText {
    ResultType,
    Summary,
    StatusReason,
}

impl OutputField {
    /// Every field in the order of the document.
    pub const ALL: [Self; 4] = [
        Self::Result,
        Self::Text(OutputText::ResultType),
        Self::Text(OutputText::Summary),
        Self::Text(OutputText::StatusReason),
    ];

    /// Returns the name used in references.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Text(OutputText::ResultType) => "result_type",
            Self::Text(OutputText::Summary) => "summary",
            Self::Text(OutputText::StatusReason) => "status_reason",
        }
    }
}

impl fmt::Display for OutputField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A name that is no field of the output block.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the output block has no field `{0}`")]
pub struct UnknownOutputField(pub String);

impl FromStr for OutputField {
    type Err = UnknownOutputField;

    fn from_str(name: &str) -> Result<Self, UnknownOutputField> {
        Self::ALL
            .into_iter()
            .find(|field| field.name() == name)
            .ok_or_else(|| UnknownOutputField(name.to_owned()))
    }
}

/// Structured result metadata.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OutputBlock {
    pub(crate) result: Value,
    texts: [Option<Arc<str>>; 3],
}

impl OutputBlock {
    /// Returns the result.
    pub fn result(&self) -> &Value {
        &self.result
    }

    /// Returns a text.
    pub fn text(&self, field: OutputText) -> Option<&Arc<str>> {
        self.texts.get(field as usize).and_then(Option::as_ref)
    }

    pub(crate) fn set_text(&mut self, field: OutputText, text: Option<Arc<str>>) {
        if let Some(place) = self.texts.get_mut(field as usize) {
            *place = text;
        }
    }

    /// Returns the value of a field.
    pub fn field(&self, field: OutputField) -> Value {
        match field {
            OutputField::Result => self.result.clone(),
            OutputField::Text(text) => self.text(text).cloned().into(),
        }
    }

    /// Returns all fields as an object.
    pub fn to_object(&self) -> Object {
        OutputField::ALL.into_iter().map(|field| (field.name(), self.field(field))).collect()
    }
}
