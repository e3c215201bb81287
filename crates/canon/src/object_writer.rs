//! Canonical objects written from parts that are canonical already.

use std::borrow::Cow;
use std::ops::Range;

use crate::{Canonical, Value, write};

/// Assembles a canonical object without building a tree of it.
///
/// Records embed outputs of any size; with this they are copied once, not parsed and written again. Members may be
/// added in any order. A key added twice keeps its last value.
#[derive(Default)]
pub struct ObjectWriter<'a> {
    members: Vec<(Cow<'a, str>, Bytes<'a>)>,
    /// The short values one behind the other: an allocation each would cost more than writing them.
    written: Vec<u8>,
    deepest: usize,
}

/// Where the bytes of a member's value are.
enum Bytes<'a> {
    Written(Range<usize>),
    Borrowed(&'a [u8]),
}

impl<'a> ObjectWriter<'a> {
    /// Starts an object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member.
    #[must_use]
    pub fn value(mut self, key: impl Into<Cow<'a, str>>, value: &Value) -> Self {
        self.deepest = self.deepest.max(value.depth());
        self.add(key.into(), |out| write::write(value, out))
    }

    /// Adds a text member.
    #[must_use]
    pub fn text(self, key: impl Into<Cow<'a, str>>, text: &str) -> Self {
        self.add(key.into(), |out| write::write_string(text, out))
    }

    /// Adds a member whose bytes exist already.
    #[must_use]
    pub fn canonical(mut self, key: impl Into<Cow<'a, str>>, value: &'a Canonical) -> Self {
        self.deepest = self.deepest.max(value.depth());
        self.members.push((key.into(), Bytes::Borrowed(value.bytes())));
        self
    }

    fn add(mut self, key: Cow<'a, str>, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let start = self.written.len();
        write(&mut self.written);
        self.members.push((key, Bytes::Written(start..self.written.len())));
        self
    }

    /// Returns the object.
    pub fn finish(self) -> Canonical {
        let depth = 1 + self.deepest;
        Canonical::from_writer(self.bytes_and_place("").0, depth)
    }

    /// Returns the object's bytes, and where in them a member `key` that it lacks would stand.
    pub fn bytes_and_place(mut self, key: &str) -> (Vec<u8>, usize) {
        // A stable sort keeps later additions behind earlier ones, so the last of equals is the one to keep.
        self.members.sort_by(|(left, _), (right, _)| left.cmp(right));
        let bytes_of = |value: &Bytes<'a>| match value {
            Bytes::Written(range) => self.written.get(range.clone()).unwrap_or_default(),
            Bytes::Borrowed(bytes) => bytes,
        };
        let size: usize =
            self.members.iter().map(|(name, value)| name.len() + bytes_of(value).len() + 4).sum();
        let mut bytes = Vec::with_capacity(size + 2);
        let mut place = 1;
        bytes.push(b'{');
        let mut members = self.members.iter().peekable();
        while let Some((name, value)) = members.next() {
            if members.peek().is_some_and(|(next, _)| next == name) {
                continue;
            }
            if bytes.len() > 1 {
                bytes.push(b',');
            }
            write::write_string(name, &mut bytes);
            bytes.push(b':');
            bytes.extend_from_slice(bytes_of(value));
            if name.as_ref() < key {
                place = bytes.len();
            }
        }
        bytes.push(b'}');
        (bytes, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn the_object_is_what_the_tree_would_be() {
        let inner = Canonical::of(&parse(br#"{"z":[1.50]}"#).unwrap());
        let written = ObjectWriter::new()
            .value("n", &Value::from(1))
            .canonical("inner", &inner)
            .text("é\n", "\"")
            .text("n", "again")
            .finish();
        let tree = parse(br#"{"n":"again","inner":{"z":[1.5]},"\u00e9\n":"\""}"#).unwrap();
        assert_eq!((&written, written.depth()), (&Canonical::of(&tree), tree.depth()));
        assert_eq!(ObjectWriter::new().finish().bytes(), b"{}");
    }

    #[test]
    fn the_place_is_behind_the_last_smaller_key() {
        let object = || ObjectWriter::new().value("a", &Value::from(1)).value("c", &Value::from(2));
        assert_eq!(object().bytes_and_place("b").1, r#"{"a":1"#.len());
        assert_eq!(object().bytes_and_place("A").1, 1);
        assert_eq!(object().bytes_and_place("d").1, r#"{"a":1,"c":2"#.len());
    }
}
