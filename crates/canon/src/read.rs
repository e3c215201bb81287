//! Reading typed data out of a [`Value`], with one kind of finding for everything that does not fit.
//!
//! A [`Reader`] reads one object member by member. Every getter returns a `Result`: `?` stops at the first finding,
//! [`Findings::check`] collects all of them. Pointers are built only when there is a finding.
//!
//! ```
//! use hence_canon::read::{Finding, Findings, Reader};
//! use hence_canon::{Value, parse};
//!
//! struct Retries { max: u64, wait: Option<u64> }
//!
//! fn retries(value: &Value) -> Result<Retries, Finding> {
//!     let mut reader = Reader::new(value)?;
//!     let retries = Retries { max: reader.count("max")?, wait: reader.optional_count("wait")? };
//!     reader.refuse_unknown()?;
//!     Ok(retries)
//! }
//!
//! // The first finding stops the reading; its pointer starts at the outermost object.
//! let document = parse(br#"{"name": 1, "retries": {"max": "many"}, "other": true}"#)?;
//! let mut reader = Reader::new(&document)?;
//! let finding = reader.required("retries", retries).err().expect("`max` is a text");
//! assert_eq!(finding.to_string(), "at `/retries/max`: expected an integer of 0 or more, found string");
//!
//! // The same getters, with every finding collected.
//! let mut findings = Findings::default();
//! let name = findings.check(reader.text("name"));
//! findings.extend(reader.unknown());
//! assert_eq!(name, None);
//! let messages: Vec<String> = findings.iter().map(ToString::to_string).collect();
//! assert_eq!(messages, [
//!     "at `/name`: expected a text, found integer",
//!     "at `/other`: unknown member; expected name, retries",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{JsonPointer, Object, Value};

/// The most characters of a value that a message repeats, so that a finding stays a line.
const VALUE_CHARACTERS_MAX: usize = 60;

/// One defect of a document. `R` names the broken rule; readers with rules of their own put their own type there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding<R = Rule> {
    /// The place of the defect.
    pub pointer: JsonPointer,
    /// The broken rule.
    pub rule: R,
    /// The description of a value that would fit; the whole message when `found` is [`Found::Unstated`].
    pub expected: Cow<'static, str>,
    /// The value at the place.
    pub found: Found,
}

/// The rules that a [`Reader`] checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A required member is absent.
    Missing,
    /// A value is of another kind or out of range.
    Mismatch,
    /// An object has a member that the reader does not know.
    UnknownMember,
    /// A rule of the caller, which `expected` states as a sentence.
    Other,
}

/// The value at the place of a [`Finding`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// There is no value.
    Nothing,
    /// This value. Displayed by its kind only, because it may be large or secret.
    Value(Value),
    /// The message does not compare an expected value with a found one.
    Unstated,
}

impl Finding {
    /// Reports a value that does not fit.
    pub fn expected(expected: impl Into<Cow<'static, str>>, found: &Value) -> Self {
        Self::new(Rule::Mismatch, expected, Found::Value(found.clone()))
    }

    /// Reports a value that is not there.
    pub fn missing(expected: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Rule::Missing, expected, Found::Nothing)
    }

    /// Reports something else, in a sentence.
    pub fn other(message: impl fmt::Display) -> Self {
        Self::new(Rule::Other, message.to_string(), Found::Unstated)
    }
}

impl<R> Finding<R> {
    /// Reports a finding at the root; [`under`](Self::under) moves it to its place.
    pub fn new(rule: R, expected: impl Into<Cow<'static, str>>, found: Found) -> Self {
        Self { pointer: JsonPointer::root(), rule, expected: expected.into(), found }
    }

    /// Moves the finding of a part to the place of that part in a larger document.
    #[must_use]
    pub fn under(self, place: &JsonPointer) -> Self {
        Self { pointer: place.join(&self.pointer), ..self }
    }

    /// Returns the same finding under a rule of the caller.
    pub fn with_rule<S>(self, rule: S) -> Finding<S> {
        Finding { pointer: self.pointer, rule, expected: self.expected, found: self.found }
    }

    /// Returns the finding in words, without its place.
    pub fn message(&self) -> String {
        match &self.found {
            Found::Unstated => self.expected.to_string(),
            found => format!("expected {}, found {found}", self.expected),
        }
    }

    /// Returns the message with the beginning of the found value: for documents that hold no secrets.
    pub fn message_with_value(&self) -> String {
        match &self.found {
            Found::Value(value) if !value.is_null() => {
                let text: String = value.to_string().chars().take(VALUE_CHARACTERS_MAX).collect();
                format!("{} {text}", self.message())
            }
            _ => self.message(),
        }
    }
}

impl<R> fmt::Display for Finding<R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_root() {
            write!(out, "at `{}`: ", self.pointer)?;
        }
        out.write_str(&self.message())
    }
}

impl<R: fmt::Debug> std::error::Error for Finding<R> {}

impl fmt::Display for Found {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => out.write_str("nothing"),
            Self::Value(value) => write!(out, "{}", value.kind()),
            Self::Unstated => out.write_str("something else"),
        }
    }
}

/// The findings of a document, in the order they were met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Findings<R = Rule>(Vec<Finding<R>>);

impl<R> Findings<R> {
    /// Adds a finding.
    pub fn report(&mut self, finding: Finding<R>) {
        self.0.push(finding);
    }

    /// Returns what a getter read, or adds its finding.
    pub fn check<T>(&mut self, read: Result<T, Finding<R>>) -> Option<T> {
        read.map_err(|finding| self.report(finding)).ok()
    }

    /// Returns `read` when there are no findings.
    ///
    /// # Errors
    /// The findings, when there are some.
    pub fn finish<T>(self, read: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(read) } else { Err(self) }
    }

    /// Returns whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the findings.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Finding<R>> {
        self.0.iter()
    }

    /// Returns the findings as a list.
    pub fn into_vec(self) -> Vec<Finding<R>> {
        self.0
    }
}

impl<R> Default for Findings<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R> Extend<Finding<R>> for Findings<R> {
    fn extend<I: IntoIterator<Item = Finding<R>>>(&mut self, findings: I) {
        self.0.extend(findings);
    }
}

impl<R> fmt::Display for Findings<R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(position, finding)| {
            let separator = if position == 0 { "" } else { "; " };
            write!(out, "{separator}{finding}")
        })
    }
}

impl<R: fmt::Debug> std::error::Error for Findings<R> {}

/// A cursor over one object that knows its place and remembers which members were read.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    object: &'a Object,
    pointer: JsonPointer,
    read: Vec<&'static str>,
    null_is_absent: bool,
}

impl<'a> Reader<'a> {
    /// Starts to read a whole document, or a part whose caller adds the place with [`Finding::under`].
    ///
    /// # Errors
    /// A finding when the value is not an object.
    pub fn new(value: &'a Value) -> Result<Self, Finding> {
        Self::at(value, JsonPointer::root())
    }

    /// Starts to read the object at a place in a document.
    ///
    /// # Errors
    /// A finding when the value is not an object.
    pub fn at(value: &'a Value, pointer: JsonPointer) -> Result<Self, Finding> {
        match object(value) {
            Ok(object) => Ok(Self::of(object, pointer)),
            Err(finding) => Err(finding.under(&pointer)),
        }
    }

    /// Starts to read an object.
    pub fn of(object: &'a Object, pointer: JsonPointer) -> Self {
        Self { object, pointer, read: Vec::new(), null_is_absent: false }
    }

    /// Treats members that are `null` as absent, in this object and in those read through it.
    #[must_use]
    pub fn with_null_as_absent(self) -> Self {
        Self { null_is_absent: true, ..self }
    }

    /// Returns the object.
    pub fn source(&self) -> &'a Object {
        self.object
    }

    /// Returns the place of the object.
    pub fn pointer(&self) -> &JsonPointer {
        &self.pointer
    }

    /// Returns the place of a member.
    pub fn pointer_to(&self, key: &str) -> JsonPointer {
        self.pointer.child(key)
    }

    /// Reports something about a member, in a sentence.
    pub fn finding(&self, key: &str, message: impl fmt::Display) -> Finding {
        Finding::other(message).under(&self.pointer_to(key))
    }

    /// Returns a member as it is.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        if !self.read.contains(&key) {
            self.read.push(key);
        }
        self.object.get(key).filter(|value| !(self.null_is_absent && value.is_null()))
    }

    /// Reads a member that may be absent; `decode` reports findings relative to the member.
    ///
    /// # Errors
    /// The finding of `decode`.
    pub fn optional<T>(
        &mut self,
        key: &'static str,
        decode: impl FnOnce(&'a Value) -> Result<T, Finding>,
    ) -> Result<Option<T>, Finding> {
        let Some(value) = self.value(key) else { return Ok(None) };
        decode(value).map(Some).map_err(|finding| finding.under(&self.pointer_to(key)))
    }

    /// Reads a member that must be there; `decode` reports findings relative to the member.
    ///
    /// # Errors
    /// The finding of `decode`, or [`Rule::Missing`].
    pub fn required<T>(
        &mut self,
        key: &'static str,
        decode: impl FnOnce(&'a Value) -> Result<T, Finding>,
    ) -> Result<T, Finding> {
        let read = self.optional(key, decode)?;
        read.ok_or_else(|| Finding::missing("a value").under(&self.pointer_to(key)))
    }
}

/// The getters for the usual kinds; each returns a finding when the member is of another kind, or absent though required.
#[expect(clippy::missing_errors_doc, reason = "every getter fails the same way")]
impl<'a> Reader<'a> {
    /// Reads a text.
    pub fn text(&mut self, key: &'static str) -> Result<Arc<str>, Finding> {
        self.required(key, text)
    }

    /// Reads a text that may be absent.
    pub fn optional_text(&mut self, key: &'static str) -> Result<Option<Arc<str>>, Finding> {
        self.optional(key, text)
    }

    /// Reads an integer from 0 to 2^64 - 1.
    pub fn count(&mut self, key: &'static str) -> Result<u64, Finding> {
        self.required(key, count)
    }

    /// Reads an integer from 0 to 2^64 - 1 that may be absent.
    pub fn optional_count(&mut self, key: &'static str) -> Result<Option<u64>, Finding> {
        self.optional(key, count)
    }

    /// Reads `true` or `false`, which may be absent.
    pub fn optional_bool(&mut self, key: &'static str) -> Result<Option<bool>, Finding> {
        self.optional(key, boolean)
    }

    /// Reads a text as a type; the type's own error is the message.
    pub fn parsed<T: FromStr<Err: fmt::Display>>(&mut self, key: &'static str) -> Result<T, Finding> {
        self.required(key, parsed)
    }

    /// Reads a text that may be absent as a type; the type's own error is the message.
    pub fn optional_parsed<T: FromStr<Err: fmt::Display>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, Finding> {
        self.optional(key, parsed)
    }

    /// Reads the object under a member.
    pub fn object(&mut self, key: &'static str) -> Result<Reader<'a>, Finding> {
        let object = self.required(key, object)?;
        Ok(Reader { object, pointer: self.pointer_to(key), read: Vec::new(), ..*self })
    }

    /// Reads the object under a member that may be absent.
    pub fn optional_object(&mut self, key: &'static str) -> Result<Option<Reader<'a>>, Finding> {
        if self.value(key).is_some() { self.object(key).map(Some) } else { Ok(None) }
    }

    /// Reads a list, item by item; an absent one is empty.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        decode: impl FnMut(&'a Value) -> Result<T, Finding>,
    ) -> Result<Vec<T>, Finding> {
        Ok(self.optional(key, |value| items(value, decode))?.unwrap_or_default())
    }
}

/// The members that were not read.
impl Reader<'_> {
    /// Returns the members that were not read.
    pub fn rest(&self) -> Object {
        let unread = self.object.iter().filter(|(key, _)| !self.read.contains(&&***key));
        unread.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Returns a finding for every member that was not read.
    pub fn unknown(&self) -> Vec<Finding> {
        let unread = self.object.keys().filter(|key| !self.read.contains(&&***key));
        let finding = |key: &Arc<str>| {
            let mut known = self.read.clone();
            known.sort_unstable();
            let message = format!("unknown member; expected {}", known.join(", "));
            Finding::new(Rule::UnknownMember, message, Found::Unstated).under(&self.pointer_to(key))
        };
        unread.map(finding).collect()
    }

    /// Refuses members that were not read.
    ///
    /// # Errors
    /// The finding for the first of them.
    pub fn refuse_unknown(self) -> Result<(), Finding> {
        self.unknown().into_iter().next().map_or(Ok(()), Err)
    }
}

/// Decodes a text.
///
/// # Errors
/// A finding for any other kind.
pub fn text(value: &Value) -> Result<Arc<str>, Finding> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(Finding::expected("a text", other)),
    }
}

/// Decodes an integer from 0 to 2^64 - 1.
///
/// # Errors
/// A finding for any other value.
pub fn count(value: &Value) -> Result<u64, Finding> {
    value.as_u64().ok_or_else(|| Finding::expected("an integer of 0 or more", value))
}

/// Decodes `true` or `false`.
///
/// # Errors
/// A finding for any other kind.
pub fn boolean(value: &Value) -> Result<bool, Finding> {
    value.as_bool().ok_or_else(|| Finding::expected("true or false", value))
}

/// Decodes an object without looking at its members.
///
/// # Errors
/// A finding for any other kind.
pub fn object(value: &Value) -> Result<&Object, Finding> {
    value.as_object().ok_or_else(|| Finding::expected("an object", value))
}

/// Decodes a text as a type.
///
/// # Errors
/// A finding for any other kind, and the type's own error.
pub fn parsed<T: FromStr<Err: fmt::Display>>(value: &Value) -> Result<T, Finding> {
    let text = value.as_str().ok_or_else(|| Finding::expected("a text", value))?;
    text.parse().map_err(Finding::other)
}

/// Returns a decoder for one of a few words.
pub fn word<T: Copy>(words: &[(&'static str, T)]) -> impl Fn(&Value) -> Result<T, Finding> {
    move |value| {
        let found = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        found
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| Finding::expected(format!("one of {}", known()), value))
    }
}

/// Decodes a list item by item, up to the first finding.
///
/// # Errors
/// A finding for any other kind, and the first finding of `decode`.
pub fn items<'a, T>(
    value: &'a Value,
    mut decode: impl FnMut(&'a Value) -> Result<T, Finding>,
) -> Result<Vec<T>, Finding> {
    let items = value.as_array().ok_or_else(|| Finding::expected("a list", value))?;
    let item =
        |(index, item)| decode(item).map_err(|finding| finding.under(&JsonPointer::root().child(index)));
    items.iter().enumerate().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Value {
        crate::parse(text.as_bytes()).unwrap()
    }

    fn told<T: fmt::Debug>(read: Result<T, Finding>) -> (Rule, String) {
        let finding = read.unwrap_err();
        (finding.rule, finding.to_string())
    }

    #[test]
    fn members_are_read_by_kind() {
        let value = document(r#"{"t":"x","n":3,"b":true,"l":["a","b"],"w":"on","d":"7","o":{"i":1}}"#);
        let mut reader = Reader::new(&value).unwrap();
        assert_eq!(&*reader.text("t").unwrap(), "x");
        assert_eq!((reader.count("n").unwrap(), reader.optional_bool("b").unwrap()), (3, Some(true)));
        assert_eq!(reader.list("l", text).unwrap().len(), 2);
        assert_eq!(reader.required("w", word(&[("off", 0), ("on", 1)])).unwrap(), 1);
        assert_eq!(reader.parsed::<u8>("d").unwrap(), 7);
        assert_eq!(reader.object("o").unwrap().count("i").unwrap(), 1);
        assert_eq!(reader.optional_text("absent").unwrap(), None);
        assert!(reader.list("absent", text).unwrap().is_empty());
        assert!(reader.optional_object("absent").unwrap().is_none());
        assert!(reader.rest().is_empty());
        reader.refuse_unknown().unwrap();
    }

    #[test]
    fn findings_state_place_expectation_and_kind() {
        let value = document(r#"{"t":1,"l":["a",null],"w":"up","d":"x","o":{"i":-1},"b":"yes"}"#);
        let mut reader = Reader::new(&value).unwrap();
        assert_eq!(
            told(reader.text("t")),
            (Rule::Mismatch, "at `/t`: expected a text, found integer".into())
        );
        assert_eq!(
            told(reader.text("gone")),
            (Rule::Missing, "at `/gone`: expected a value, found nothing".into())
        );
        assert_eq!(told(reader.list("l", text)).1, "at `/l/1`: expected a text, found null");
        assert_eq!(
            told(reader.required("w", word(&[("off", 0), ("on", 1)]))).1,
            "at `/w`: expected one of off, on, found string"
        );
        assert_eq!(
            told(reader.parsed::<u8>("d")),
            (Rule::Other, "at `/d`: invalid digit found in string".into())
        );
        assert_eq!(
            told(reader.object("o").unwrap().count("i")).1,
            "at `/o/i`: expected an integer of 0 or more, found integer"
        );
        assert_eq!(told(reader.optional_bool("b")).1, "at `/b`: expected true or false, found string");
        assert_eq!(told(Reader::new(&Value::Null)).1, "expected an object, found null");
        assert_eq!(reader.finding("t", "it is odd").to_string(), "at `/t`: it is odd");
        let finding = Finding::expected("a list", &Value::from("x"));
        assert_eq!(finding.message_with_value(), "expected a list, found string \"x\"");
        let finding = Finding::expected("a list", &Value::Null);
        assert_eq!(finding.message_with_value(), "expected a list, found null");
    }

    #[test]
    fn null_is_a_value_unless_the_reader_takes_it_as_absent() {
        let value = document(r#"{"t":null,"o":{"t":null}}"#);
        assert!(Reader::new(&value).unwrap().optional_text("t").is_err());
        let mut reader = Reader::new(&value).unwrap().with_null_as_absent();
        assert_eq!(reader.optional_text("t").unwrap(), None);
        assert_eq!(told(reader.text("t")).0, Rule::Missing);
        assert_eq!(reader.object("o").unwrap().optional_text("t").unwrap(), None);
    }

    #[test]
    fn members_nobody_read_are_refused_or_returned() {
        let value = document(r#"{"a":1,"b":2,"c":3}"#);
        let mut reader = Reader::at(&value, "/x".parse().unwrap()).unwrap();
        reader.count("b").unwrap();
        reader.count("b").unwrap();
        assert_eq!(reader.rest(), Object::from_iter([("a", 1), ("c", 3)]));
        assert_eq!(reader.unknown().len(), 2);
        assert_eq!(
            told(reader.refuse_unknown()),
            (Rule::UnknownMember, "at `/x/a`: unknown member; expected b".into())
        );
    }

    #[test]
    fn findings_collect_until_the_end() {
        let mut findings = Findings::default();
        assert_eq!(findings.check(Ok(1)), Some(1));
        assert_eq!(findings.clone().finish(2), Ok(2));
        assert_eq!(findings.check::<u8>(Err(Finding::other("a"))), None);
        findings.report(Finding::other("b"));
        assert_eq!(findings.clone().finish(2).unwrap_err().to_string(), "a; b");
        assert_eq!(findings.into_vec().len(), 2);
        assert_eq!(Finding::other("a").with_rule("mine").rule, "mine");
    }
}
