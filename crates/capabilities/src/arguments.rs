//! The input of a call, read member by member. Error messages name the member.

use hence_canon::{JsonPointer, Object, Value};

use crate::refusal::Refusal;

/// The input of a call.
pub(crate) struct Arguments<'a>(pub(crate) &'a Object);

impl<'a> Arguments<'a> {
    /// Returns a member; `null` counts as absent.
    pub(crate) fn find(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Returns a required member, which may be `null`.
    pub(crate) fn value(&self, name: &str) -> Result<&'a Value, Refusal> {
        self.0.get(name).ok_or_else(|| Refusal::input(format_args!("the input `{name}` is missing")))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        let value = self.value(name)?;
        value.as_str().ok_or_else(|| unlike(name, "a string", value))
    }

    pub(crate) fn text_or(&self, name: &str, default: &'static str) -> Result<&'a str, Refusal> {
        match self.find(name) {
            None => Ok(default),
            Some(value) => value.as_str().ok_or_else(|| unlike(name, "a string", value)),
        }
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'a [Value], Refusal> {
        let value = self.value(name)?;
        value.as_array().ok_or_else(|| unlike(name, "a list", value))
    }

    pub(crate) fn object(&self, name: &str) -> Result<&'a Object, Refusal> {
        let value = self.value(name)?;
        value.as_object().ok_or_else(|| unlike(name, "an object", value))
    }

    pub(crate) fn object_or_empty(&self, name: &str) -> Result<Object, Refusal> {
        match self.find(name) {
            None => Ok(Object::new()),
            Some(value) => value.as_object().cloned().ok_or_else(|| unlike(name, "an object", value)),
        }
    }

    /// Reads a boolean that is false by default.
    pub(crate) fn is_on(&self, name: &str) -> Result<bool, Refusal> {
        match self.find(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| unlike(name, "true or false", value)),
        }
    }

    pub(crate) fn count_or(&self, name: &str, default: u64) -> Result<u64, Refusal> {
        match self.find(name) {
            None => Ok(default),
            Some(value) => value.as_u64().ok_or_else(|| unlike(name, "a count", value)),
        }
    }

    /// Reads one of several words, the first of which is the default.
    pub(crate) fn word(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Refusal> {
        let first = words.first().copied().unwrap_or_default();
        let given = self.text_or(name, first)?;
        let found = words.iter().copied().find(|word| *word == given);
        found.ok_or_else(|| {
            Refusal::input(format_args!("`{name}` is one of {}, found {given:?}", words.join(", ")))
        })
    }

    pub(crate) fn place(&self, name: &str) -> Result<JsonPointer, Refusal> {
        place(name, self.text(name)?)
    }

    pub(crate) fn place_or_root(&self, name: &str) -> Result<JsonPointer, Refusal> {
        place(name, self.text_or(name, "")?)
    }
}

/// Reads a location inside an item: a JSON pointer, or the bare name of a member.
pub(crate) fn place(name: &str, text: &str) -> Result<JsonPointer, Refusal> {
    if !text.is_empty() && !text.starts_with('/') {
        return Ok(JsonPointer::root().child(text));
    }
    text.parse().map_err(|error| Refusal::input(format_args!("`{name}`: {error}")))
}

fn unlike(name: &str, expected: &str, found: &Value) -> Refusal {
    Refusal::input(format_args!("the input `{name}` is {expected}, found {}", found.kind()))
}
