//! The redactor, which removes secrets from texts and values.
//!
//! There are many ways to encode a text, some inside others, so spellings are not listed. The text is decoded instead, the
//! secret is searched in what it stands for, and the place is mapped back ([`decoded`](super::decoded)).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use hence_canon::{Object, Value};

use super::SECRET_BYTES_MIN;
use super::decoded::Decoded;

/// The beginning of what stands for a secret in a record; its name follows.
pub(crate) const MARK: &str = "[secret ";

/// The minimum length of a part of a secret to search for at the ends of a text; shorter parts occur in many texts.
const PART_BYTES_MIN: usize = 8;

/// The longest spelling that is searched for at the ends of a text in part. A longer secret is found by its lines.
const CUT_NEEDLE_BYTES_MAX: usize = 512;

/// The minimum length of a line of a multi-line secret to search for on its own.
const LINE_BYTES_MIN: usize = 16;

/// Replaces secrets in texts, also in base64 (with line breaks too), hexadecimal (with anything between the bytes),
/// percent-encoded, escaped by backslashes, as entities of HTML, as quoted-printable, in quotations of shells, CSV and SQL, in UTF-16, up to three of these inside
/// each other, in base32, as a list of decimal bytes, in dumps over several lines, line by line, without the blanks at their ends, and where a text begins or
/// ends inside a secret.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Needles>>);

struct Needles {
    finder: AhoCorasick,
    /// Each needle and the name of the secret that it belongs to.
    needles: Vec<(Vec<u8>, Arc<str>)>,
}

impl Redactor {
    /// Builds a redactor from secrets by name.
    pub(super) fn of(secrets: &BTreeMap<Arc<str>, Arc<str>>) -> Self {
        let mut needles: BTreeMap<Vec<u8>, Arc<str>> = BTreeMap::new();
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
            // A list of bytes, as some programs write a text.
            Value::Array(items) if items.iter().all(|item| matches!(item, Value::Int(_))) => {
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
                clean.push_str(&format!("{MARK}{name}]"));
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
        let mut found: Vec<Found<'_>> = Vec::new();
        // The text itself comes first; no byte of it is the rest of an encoded one.
        let mut rest_max = 0;
        Decoded::each(text, &mut |decoded| {
            let matches = self.matches(decoded.bytes()).chain(self.cut(decoded.bytes(), rest_max));
            found.extend(matches.map(|(range, name)| (decoded.original(&range), name)));
            rest_max = REST_BYTES_MAX;
        });
        // A place that is not on the border of a character belongs to no text that was given to us.
        found.retain(|(range, _)| text.get(range.clone()).is_some());
        found
    }

    /// Finds the secrets inside which a text begins or ends.
    fn cut(&self, text: &[u8], rest_max: usize) -> Vec<Found<'_>> {
        let short = self.needles.iter().filter(|(needle, _)| needle.len() <= CUT_NEEDLE_BYTES_MAX);
        let cut = |needle: &[u8]| [cut_at_start(text, needle, rest_max), cut_at_end(text, needle, rest_max)];
        short
            .flat_map(|(needle, name)| cut(needle).into_iter().flatten().map(move |range| (range, name)))
            .collect()
    }

    fn matches(&self, bytes: &[u8]) -> impl Iterator<Item = Found<'_>> {
        let found: Vec<_> = self.finder.find_overlapping_iter(bytes).collect();
        found.into_iter().filter_map(|at| Some((at.range(), &self.needles.get(at.pattern().as_usize())?.1)))
    }
}

/// The bytes at the ends of a text that may be the rest of an encoded byte that was cut.
const REST_BYTES_MAX: usize = 12;

/// Returns the part of a secret with which a text begins: the end of an output may be cut inside a secret, and inside the
/// spelling of one of its bytes.
fn cut_at_start(text: &[u8], needle: &[u8], rest_max: usize) -> Option<Range<usize>> {
    let part = |rest: usize| {
        let text = text.get(rest..)?;
        let ends = (1..needle.len()).filter_map(|at| needle.get(at..));
        let end = ends.take_while(|end| end.len() >= PART_BYTES_MIN).find(|end| text.starts_with(end))?;
        Some(rest..rest + end.len())
    };
    (0..=rest_max).find_map(part)
}

/// Returns the part of a secret with which a text ends.
fn cut_at_end(text: &[u8], needle: &[u8], rest_max: usize) -> Option<Range<usize>> {
    let part = |rest: usize| {
        let before = text.get(..text.len().checked_sub(rest)?)?;
        let starts = (1..needle.len()).rev().filter_map(|at| needle.get(..at));
        let start =
            starts.take_while(|start| start.len() >= PART_BYTES_MIN).find(|start| before.ends_with(start))?;
        Some(before.len() - start.len()..before.len())
    };
    (0..=rest_max).find_map(part)
}

/// Returns everything that is searched for: the secret, without blanks at its ends, its lines, each also in UTF-16.
fn needles_of(secret: &str) -> Vec<Vec<u8>> {
    let trimmed = secret.trim();
    let lines = secret.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES_MIN);
    let mut plain: Vec<&str> = std::iter::once(secret).chain(lines).collect();
    plain.extend((trimmed.len() >= SECRET_BYTES_MIN).then_some(trimmed));
    let mut needles: Vec<Vec<u8>> = Vec::new();
    for text in plain {
        needles.push(text.as_bytes().to_vec());
        let units: Vec<u16> = text.encode_utf16().collect();
        for wide in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = units.iter().flat_map(|unit| wide(*unit)).collect();
            // A text that is not UTF-8 was read with a mark in place of each wrong byte.
            needles.push(String::from_utf8_lossy(&bytes).into_owned().into_bytes());
            needles.push(bytes);
        }
    }
    needles.sort();
    needles.dedup();
    needles
}
