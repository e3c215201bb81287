//! The members of one object of a capabilities file, read strictly.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::{JsonPointer, Object, Value, did_you_mean};
use hence_cognition::secret::secret_reference;

use super::Findings;

/// The members of one object: each is read by name, and a member that is never read is a finding.
///
/// Providers read their members through this type, so that all files are read equally strictly.
pub struct Members<'a, 'f> {
    object: &'a Object,
    place: JsonPointer,
    asked: Vec<&'static str>,
    findings: &'f mut Findings,
    base: &'a Path,
}

impl<'a, 'f> Members<'a, 'f> {
    /// Starts reading an object; a value that is not an object is a finding.
    pub fn of(
        value: &'a Value,
        place: JsonPointer,
        base: &'a Path,
        findings: &'f mut Findings,
    ) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self { object, place, asked: Vec::new(), findings, base }),
            other => {
                findings.add(place, format_args!("expected an object, found {}", other.kind()));
                None
            }
        }
    }

    /// Returns the folder that relative paths start at.
    pub fn base(&self) -> &'a Path {
        self.base
    }

    /// Returns the pointer of a member.
    pub fn place(&self, key: &str) -> JsonPointer {
        self.place.child(key)
    }

    /// Adds a finding about a member.
    pub fn refuse(&mut self, key: &str, message: impl fmt::Display) {
        let place = self.place(key);
        self.findings.add(place, message);
    }

    /// Adds a finding about the object as a whole.
    pub fn refuse_whole(&mut self, message: impl fmt::Display) {
        self.findings.add(self.place.clone(), message);
    }

    /// Returns the findings, for members that other functions read.
    pub fn findings(&mut self) -> &mut Findings {
        self.findings
    }

    /// Returns a member without checking it; `null` counts as absent.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.push(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Reads an optional text.
    pub fn text(&mut self, key: &'static str) -> Option<Arc<str>> {
        match self.value(key)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            other => {
                self.refuse(key, format_args!("expected a text that is not empty, found {}", shown(other)));
                None
            }
        }
    }

    /// Reads a required text.
    pub fn required_text(&mut self, key: &'static str) -> Option<Arc<str>> {
        if self.object.contains_key(key) {
            return self.text(key);
        }
        self.asked.push(key);
        self.refuse_whole(format_args!("`{key}` is missing"));
        None
    }

    /// Reads a list of texts; an absent list is empty.
    pub fn texts(&mut self, key: &'static str) -> Vec<Arc<str>> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.refuse(key, format_args!("expected a list of texts, found {}", value.kind()));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                other => {
                    let place = self.place(key).child(index);
                    self.findings.add(place, format_args!("expected a text, found {}", other.kind()));
                }
            }
        }
        texts
    }

    /// Reads an optional object.
    pub fn object(&mut self, key: &'static str) -> Option<&'a Object> {
        match self.value(key)? {
            Value::Object(object) => Some(object),
            other => {
                self.refuse(key, format_args!("expected an object, found {}", other.kind()));
                None
            }
        }
    }

    /// Reads an optional count within a range.
    pub fn count(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        let count = value.as_u64().filter(|count| range.contains(count));
        if count.is_none() {
            let (low, high) = (range.start(), range.end());
            self.refuse(key, format_args!("expected a count from {low} to {high}, found {}", shown(value)));
        }
        count
    }

    /// Reads an optional number of seconds above 0.
    pub fn seconds(&mut self, key: &'static str) -> Option<Duration> {
        let value = self.value(key)?;
        let seconds = match value {
            Value::Int(int) => int.to_f64_lossy(),
            Value::Float(float) => float.get(),
            _ => f64::NAN,
        };
        let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
        if duration.is_none() {
            self.refuse(key, format_args!("expected a number of seconds above 0, found {}", shown(value)));
        }
        duration
    }

    /// Reads one of several words, if the member is present.
    pub fn word(&mut self, key: &'static str, words: &[&'static str]) -> Option<&'static str> {
        let value = self.value(key)?;
        let found = value.as_str().and_then(|text| words.iter().copied().find(|word| *word == text));
        if found.is_none() {
            self.refuse(key, format_args!("expected one of {}, found {}", words.join(", "), shown(value)));
        }
        found
    }

    /// Reads a reference to a secret, `{"$secret": NAME}`. It does not read the value of the secret.
    pub fn secret(&mut self, key: &'static str) -> Option<Arc<str>> {
        let value = self.value(key)?;
        self.secret_at(value, self.place(key))
    }

    /// Reads a reference to a secret anywhere below this object.
    pub fn secret_at(&mut self, value: &Value, place: JsonPointer) -> Option<Arc<str>> {
        match secret_reference(value).cloned() {
            Some(name) => {
                self.findings.needs_secret(place, name.clone());
                Some(name)
            }
            None => {
                let message = r#"expected {"$secret": NAME}: a secret is never written down here"#;
                self.findings.add(place, message);
                None
            }
        }
    }

    /// Ends the reading: every member that was not read is a finding.
    pub fn finish(self) {
        for key in self.object.keys().filter(|key| !self.asked.contains(&&***key)) {
            let mut known = self.asked.clone();
            known.sort_unstable();
            known.dedup();
            let meant = did_you_mean(key, known.iter().copied());
            let message = format_args!("unknown member; expected {}{meant}", known.join(", "));
            self.findings.add(self.place.child(key), message);
        }
    }
}

/// Returns a text for messages: lists and objects are shown by their kind, other values in full.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => value.kind().to_string(),
        other => other.to_string(),
    }
}
