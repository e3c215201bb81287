//! Reading members of an object, with the place of what is wrong.

use std::str::FromStr;
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

/// Something in a stored form that cannot be what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pointer}`: {reason}")]
pub struct Malformed {
    /// Where.
    pub pointer: JsonPointer,
    /// What was expected and found.
    pub reason: String,
}

impl Malformed {
    pub(crate) fn new(pointer: JsonPointer, reason: impl ToString) -> Self {
        Self { pointer, reason: reason.to_string() }
    }
}

/// An object being read, and where it stands.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    pub(crate) object: &'a Object,
    pub(crate) pointer: JsonPointer,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value, pointer: JsonPointer) -> Result<Self, Malformed> {
        match value {
            Value::Object(object) => Ok(Self { object, pointer }),
            other => Err(Malformed::new(pointer, format!("expected an object, found {}", other.kind()))),
        }
    }

    pub(crate) fn at(&self, key: &str) -> JsonPointer {
        self.pointer.child(key)
    }

    pub(crate) fn wrong(&self, key: &str, reason: impl ToString) -> Malformed {
        Malformed::new(self.at(key), reason)
    }

    pub(crate) fn optional(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key)
    }

    pub(crate) fn required(&self, key: &str) -> Result<&'a Value, Malformed> {
        self.optional(key).ok_or_else(|| self.wrong(key, "missing"))
    }

    fn expect<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Malformed> {
        let Some(value) = self.optional(key) else { return Ok(None) };
        let found = read(value);
        let wrong = || self.wrong(key, format!("expected {expected}, found {}", value.kind()));
        found.map(Some).ok_or_else(wrong)
    }

    pub(crate) fn optional_text(&self, key: &str) -> Result<Option<Arc<str>>, Malformed> {
        self.expect(key, "a text", |value| match value {
            Value::String(text) => Some(text.clone()),
            _ => None,
        })
    }

    pub(crate) fn text(&self, key: &str) -> Result<Arc<str>, Malformed> {
        self.optional_text(key)?.ok_or_else(|| self.wrong(key, "missing"))
    }

    pub(crate) fn optional_parsed<T: FromStr<Err: ToString>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, Malformed> {
        let text = self.optional_text(key)?;
        text.map(|text| text.parse().map_err(|error: T::Err| self.wrong(key, error))).transpose()
    }

    pub(crate) fn parsed<T: FromStr<Err: ToString>>(&self, key: &str) -> Result<T, Malformed> {
        self.optional_parsed(key)?.ok_or_else(|| self.wrong(key, "missing"))
    }

    /// Reads a count. An integer may be spelled as a float, as JSON Schema has it.
    pub(crate) fn optional_count(&self, key: &str) -> Result<Option<u64>, Malformed> {
        self.expect(key, "an integer from 0 to 2^64 - 1", as_count)
    }

    pub(crate) fn count(&self, key: &str) -> Result<u64, Malformed> {
        self.optional_count(key)?.ok_or_else(|| self.wrong(key, "missing"))
    }

    pub(crate) fn optional_bool(&self, key: &str) -> Result<Option<bool>, Malformed> {
        self.expect(key, "a boolean", Value::as_bool)
    }

    pub(crate) fn optional_object(&self, key: &str) -> Result<Option<Fields<'a>>, Malformed> {
        self.optional(key).map(|value| Fields::of(value, self.at(key))).transpose()
    }

    pub(crate) fn list(&self, key: &str) -> Result<&'a [Value], Malformed> {
        let items = self.expect(key, "a list", Value::as_array)?;
        Ok(items.unwrap_or_default())
    }

    /// Returns the members not in `known`.
    pub(crate) fn rest(&self, known: &[&str]) -> Object {
        let unknown = self.object.iter().filter(|(key, _)| !known.contains(&&***key));
        unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// Reads a whole number from 0, spelled either way.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be whole and in range"
)]
fn as_count(value: &Value) -> Option<u64> {
    /// Whole doubles up to here are exact integers.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Float(float) if float.get().fract() == 0.0 && (0.0..=EXACT_MAX).contains(&float.get()) => {
            Some(float.get() as u64)
        }
        other => other.as_u64(),
    }
}

/// Builds an object from members that may be absent.
#[derive(Default)]
pub(crate) struct Members(Vec<(Arc<str>, Value)>);

impl Members {
    pub(crate) fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.push((key.into(), value.into()));
        self
    }

    pub(crate) fn some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    pub(crate) fn non_empty(self, key: &str, object: Object) -> Self {
        if object.is_empty() { self } else { self.set(key, object) }
    }

    /// Adds members this crate does not know, which never replace one it does.
    pub(crate) fn rest(mut self, extra: &Object) -> Self {
        for (key, value) in extra.iter() {
            if !self.0.iter().any(|(known, _)| known == key) {
                self.0.push((key.clone(), value.clone()));
            }
        }
        self
    }

    pub(crate) fn object(self) -> Object {
        self.0.into_iter().collect()
    }
}
