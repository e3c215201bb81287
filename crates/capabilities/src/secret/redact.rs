//! The redactor, which removes secrets from texts and values.

use std::collections::BTreeMap;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use hence_canon::{Object, Value};

/// The minimum length of an encoded part to search for; shorter parts occur in many texts.
const PART_BYTES_MIN: usize = 8;

/// The minimum length of a line of a multi-line secret to search for on its own.
const LINE_BYTES_MIN: usize = 16;

/// Replaces secrets in texts, also in base64, hexadecimal, percent-encoded, escaped as JSON, and line by line.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Needles>>);

struct Needles {
    finder: AhoCorasick,
    /// The name of the secret that each needle belongs to.
    names: Vec<Arc<str>>,
}

impl Redactor {
    /// Builds a redactor from secrets by name.
    pub(super) fn of(secrets: &BTreeMap<Arc<str>, Arc<str>>) -> Self {
        let mut needles: BTreeMap<String, Arc<str>> = BTreeMap::new();
        for (name, secret) in secrets {
            for needle in needles_of(secret) {
                needles.entry(needle).or_insert_with(|| name.clone());
            }
        }
        if needles.is_empty() {
            return Self(None);
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            // A key of many lines makes a large automaton. It is built once per set of secrets and used on short texts.
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(needles.keys())
            .expect("secrets are small, so their needles fit an automaton");
        Self(Some(Arc::new(Needles { finder, names: needles.into_values().collect() })))
    }

    /// Returns a text with every secret replaced by its name.
    pub fn text(&self, text: &str) -> String {
        self.changed(text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns a value with every secret replaced by its name, in texts, in names of members, and in the digits of
    /// numbers.
    pub fn value(&self, value: &Value) -> Value {
        if self.0.is_none() {
            return value.clone();
        }
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::String(text) => self.changed(text).map_or_else(|| value.clone(), Value::from),
            Value::Int(_) | Value::Float(_) => {
                self.changed(&value.to_string()).map_or_else(|| value.clone(), Value::from)
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(object) => self.object(object).into(),
        }
    }

    /// Returns an object with every secret replaced by its name.
    pub fn object(&self, object: &Object) -> Object {
        let mut members: Vec<(Arc<str>, Value)> = Vec::with_capacity(object.len());
        for (name, value) in object.iter() {
            let mut key = self.changed(name).map_or_else(|| name.clone(), Arc::from);
            // Two members must not get the same name.
            let is_taken = |key: &Arc<str>, members: &[(Arc<str>, Value)]| {
                key != name && (object.contains_key(key) || members.iter().any(|(other, _)| other == key))
            };
            while is_taken(&key, &members) {
                key = format!("{key}'").into();
            }
            members.push((key, self.value(value)));
        }
        members.into_iter().collect()
    }

    /// Returns the text without secrets; `None` when it contains none.
    fn changed(&self, text: &str) -> Option<String> {
        let needles = self.0.as_ref()?;
        let mut found: Vec<(std::ops::Range<usize>, &Arc<str>)> = needles
            .finder
            .find_overlapping_iter(text)
            .filter_map(|at| Some((at.range(), needles.names.get(at.pattern().as_usize())?)))
            .collect();
        if found.is_empty() {
            return None;
        }
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut clean = String::with_capacity(text.len());
        let mut end = 0;
        for (range, name) in found {
            // Overlapping matches are replaced together.
            if range.start >= end {
                clean.push_str(text.get(end..range.start).unwrap_or_default());
                clean.push_str(&format!("[secret {name}]"));
            }
            end = end.max(range.end);
        }
        clean.push_str(text.get(end..).unwrap_or_default());
        Some(clean)
    }
}

/// Returns every encoding in which a secret is searched for.
fn needles_of(secret: &str) -> Vec<String> {
    let mut needles = vec![secret.to_owned()];
    needles
        .extend(secret.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES_MIN).map(str::to_owned));
    let bytes = secret.as_bytes();
    let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    needles.extend([hexadecimal.to_uppercase(), hexadecimal]);
    let percent = |digits: fn(&u8) -> String| -> String {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        bytes
            .iter()
            .map(|byte| if plain(byte) { char::from(*byte).to_string() } else { digits(byte) })
            .collect()
    };
    needles.extend([percent(|byte| format!("%{byte:02X}")), percent(|byte| format!("%{byte:02x}"))]);
    let json = Value::from(secret).to_string();
    needles.extend(json.get(1..json.len().saturating_sub(1)).map(str::to_owned));
    for before in 0..3 {
        needles.extend(inside_base64(bytes, before));
    }
    needles.retain(|needle| needle == secret || needle.len() >= PART_BYTES_MIN);
    needles.sort();
    needles.dedup();
    needles
}

/// Returns the base64 characters of a secret that has `before` bytes before it and any bytes after it, as in
/// `user:secret`: the characters that depend on the secret alone, in both alphabets.
fn inside_base64(secret: &[u8], before: usize) -> [String; 2] {
    let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.iter().copied()).collect();
    // The first characters also depend on the bytes before the secret, the last on the bytes after it.
    let (skip, keep) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    let part = |encoded: String| encoded.get(skip..keep).unwrap_or_default().to_owned();
    [part(STANDARD_NO_PAD.encode(&padded)), part(URL_SAFE_NO_PAD.encode(&padded))]
}
