//! The redactor, which removes secrets from texts and values.
//!
//! There are many ways to percent-encode or escape a text, so those spellings are not listed. The text is decoded instead,
//! the secret is searched in what it stands for, and the place is mapped back ([`decoded`](super::decoded)).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use hence_canon::{Object, Value};

use super::SECRET_BYTES_MIN;
use super::decoded::Decoded;

/// The minimum length of an encoded part to search for; shorter parts occur in many texts.
const PART_BYTES_MIN: usize = 8;

/// The longest spelling that is searched for at the ends of a text in part. A longer secret is found by its lines.
const CUT_NEEDLE_BYTES_MAX: usize = 512;

/// The minimum length of a line of a multi-line secret to search for on its own.
const LINE_BYTES_MIN: usize = 16;

/// Replaces secrets in texts, also in base64 (with line breaks too), hexadecimal, percent-encoded, escaped as JSON, line
/// by line, without the blanks at their ends, and where a text begins or ends inside a secret.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Needles>>);

struct Needles {
    finder: AhoCorasick,
    /// Each needle and the name of the secret that it belongs to.
    needles: Vec<(String, Arc<str>)>,
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
        Self(Some(Arc::new(Needles { finder, needles: needles.into_iter().collect() })))
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
        let mut found = needles.find(text);
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

/// The bytes of a text that belong to a secret, and its name.
type Found<'a> = (Range<usize>, &'a Arc<str>);

impl Needles {
    fn find(&self, text: &str) -> Vec<Found<'_>> {
        let mut found: Vec<Found<'_>> = self.matches(text.as_bytes()).collect();
        for decoded in Decoded::of(text) {
            let mapped = self.matches(decoded.bytes()).map(|(range, name)| (decoded.original(&range), name));
            found.extend(mapped);
        }
        let short = self.needles.iter().filter(|(needle, _)| needle.len() <= CUT_NEEDLE_BYTES_MAX);
        found.extend(short.flat_map(|(needle, name)| {
            let cut = [cut_at_start(text, needle), cut_at_end(text, needle)];
            cut.into_iter().flatten().map(move |range| (range, name))
        }));
        // A place that is not on the border of a character belongs to no text that was given to us.
        found.retain(|(range, _)| text.get(range.clone()).is_some());
        found
    }

    fn matches(&self, bytes: &[u8]) -> impl Iterator<Item = Found<'_>> {
        let found: Vec<_> = self.finder.find_overlapping_iter(bytes).collect();
        found.into_iter().filter_map(|at| Some((at.range(), &self.needles.get(at.pattern().as_usize())?.1)))
    }
}

/// Returns the part of a secret with which a text begins: the end of an output may be cut inside a secret.
fn cut_at_start(text: &str, needle: &str) -> Option<Range<usize>> {
    let ends = needle.char_indices().map(|(at, _)| needle.get(at..).unwrap_or_default()).skip(1);
    let end = ends.take_while(|end| end.len() >= PART_BYTES_MIN).find(|end| text.starts_with(end))?;
    Some(0..end.len())
}

/// Returns the part of a secret with which a text ends.
fn cut_at_end(text: &str, needle: &str) -> Option<Range<usize>> {
    let starts = needle.char_indices().rev().map(|(at, _)| needle.get(..at).unwrap_or_default());
    let start =
        starts.take_while(|start| start.len() >= PART_BYTES_MIN).find(|start| text.ends_with(start))?;
    Some(text.len() - start.len()..text.len())
}

/// Returns every encoding in which a secret is searched for.
fn needles_of(secret: &str) -> Vec<String> {
    let trimmed = secret.trim();
    let mut needles = vec![secret.to_owned()];
    if trimmed.len() >= SECRET_BYTES_MIN {
        needles.push(trimmed.to_owned());
    }
    let lines = secret.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES_MIN);
    let mut encoded: Vec<String> = lines.map(str::to_owned).collect();
    for bytes in [secret.as_bytes(), trimmed.as_bytes()] {
        let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        encoded.extend([hexadecimal.to_uppercase(), hexadecimal]);
        encoded.extend((0..3).flat_map(|before| inside_base64(bytes, before)));
    }
    encoded.retain(|needle| needle.len() >= PART_BYTES_MIN);
    needles.extend(encoded);
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
