//! A builder of objects whose members may be absent, and the decoders of counts and of objects with typed keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::read::{self, Finding};
use hence_canon::{JsonPointer, Object, Value};

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

/// Decodes a count. A whole number may be spelled as a float, as in JSON Schema.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be whole and in range"
)]
pub(crate) fn whole_count(value: &Value) -> Result<u64, Finding> {
    /// Whole doubles up to here are exact integers.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Float(float) if float.get().fract() == 0.0 && (0.0..=EXACT_MAX).contains(&float.get()) => {
            Ok(float.get() as u64)
        }
        other => other.as_u64().ok_or_else(|| Finding::expected("an integer from 0 to 2^64 - 1", other)),
    }
}

/// Reads an object whose keys are typed.
pub(crate) fn by_key<K: Ord, V, E: std::fmt::Display>(
    value: &Value,
    key: impl Fn(&str) -> Result<K, E>,
    decode: impl Fn(&Value) -> Result<V, Finding>,
) -> Result<BTreeMap<K, V>, Finding> {
    let member = |(name, value): (&Arc<str>, &Value)| {
        let read = key(name).map_err(Finding::other).and_then(|key| Ok((key, decode(value)?)));
        read.map_err(|finding| finding.under(&JsonPointer::root().child(name)))
    };
    read::object(value)?.iter().map(member).collect()
}
