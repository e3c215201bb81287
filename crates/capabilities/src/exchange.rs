//! Exchanges with models on their way to the record: cut to a bounded size, stored as blobs, and named by digest.
//!
//! Secrets have been removed before; a text is cut only afterwards, so that no secret is cut in two.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hence_canon::{Canonical, Digest, Object, Value};

/// The longest text of an exchange that is stored whole.
pub const EXCHANGE_TEXT_BYTES_MAX: usize = 1024 * 1024;

/// The most bytes of text in one exchange. What comes after is cut to [`EXCHANGE_REST_BYTES`] a text.
pub const EXCHANGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The beginning of a text that is stored when an exchange has no room left.
pub const EXCHANGE_REST_BYTES: usize = 1024;

/// A place where exchanges are stored, by digest.
pub trait ExchangeStore: Send + Sync {
    /// Stores an exchange durably and returns the reference by which a record names it.
    ///
    /// # Errors
    /// The reason why it could not be stored.
    fn put(&self, exchange: &Canonical) -> Result<Value, String>;
}

/// The store of exchanges, and what failed calls left there.
#[derive(Default)]
pub(crate) struct Exchanges {
    store: OnceLock<Arc<dyn ExchangeStore>>,
    /// The exchanges of calls without a reply, by the key of the call. A reply names its exchange itself.
    of_failed: Mutex<BTreeMap<String, Value>>,
}

impl Exchanges {
    /// Sets the store, unless there is one.
    pub(crate) fn store_in(&self, store: Arc<dyn ExchangeStore>) {
        let _ = self.store.set(store);
    }

    /// Stores an exchange and returns what the record says of it: a reference, or why there is none. `None` when nothing
    /// is stored here at all.
    pub(crate) fn keep(&self, exchange: &Value) -> Option<Value> {
        let store = self.store.get()?;
        let exchange = Canonical::of(&Cut { left: EXCHANGE_BYTES_MAX }.value(exchange));
        Some(match store.put(&exchange) {
            Ok(reference) => reference,
            Err(reason) => Object::from_iter([("not_stored", reason)]).into(),
        })
    }

    pub(crate) fn note_failed(&self, key: String, exchange: Value) {
        self.of_failed.lock().unwrap_or_else(PoisonError::into_inner).insert(key, exchange);
    }

    pub(crate) fn take_failed(&self, key: &str) -> Option<Value> {
        self.of_failed.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }
}

/// Cuts long texts, and all texts once there is no room left.
struct Cut {
    left: usize,
}

impl Cut {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(object) => {
                let members = object.iter().map(|(key, value)| (key.clone(), self.value(value)));
                members.collect::<Object>().into()
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> Value {
        let room = self.left.clamp(EXCHANGE_REST_BYTES, EXCHANGE_TEXT_BYTES_MAX);
        self.left = self.left.saturating_sub(text.len().min(room));
        if text.len() <= room {
            return text.into();
        }
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let start = text.get(..end).unwrap_or_default();
        let cut = Object::from_iter([
            ("text", Value::from(start)),
            ("bytes", text.len().into()),
            ("sha256", Digest::of(text.as_bytes()).into()),
        ]);
        Object::from_iter([("cut", cut)]).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(value: &Value) -> Value {
        Cut { left: EXCHANGE_BYTES_MAX }.value(value)
    }

    #[test]
    fn a_long_text_keeps_its_start_its_length_and_its_digest() {
        let short: Value = "ä".repeat(EXCHANGE_TEXT_BYTES_MAX / 2).into();
        assert_eq!(cut(&short), short);
        let long = "ä".repeat(EXCHANGE_TEXT_BYTES_MAX / 2) + "b";
        let stored = cut(&long.as_str().into());
        let stored = stored.get("cut").unwrap();
        assert_eq!(stored.get("bytes").and_then(Value::as_u64), Some(long.len() as u64));
        assert_eq!(stored.get("sha256"), Some(&Digest::of(long.as_bytes()).into()));
        assert_eq!(stored.get("text").unwrap().as_str().unwrap().len(), EXCHANGE_TEXT_BYTES_MAX);
    }

    #[test]
    fn many_texts_together_are_bounded() {
        let texts: Value = (0..500).map(|_| Value::from("x".repeat(EXCHANGE_TEXT_BYTES_MAX))).collect();
        let stored = Canonical::of(&cut(&texts)).bytes().len();
        assert!(stored < EXCHANGE_BYTES_MAX + 500 * (EXCHANGE_REST_BYTES + 200), "{stored}");
    }
}
