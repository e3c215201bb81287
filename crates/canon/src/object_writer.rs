//! Canonical objects written from parts that are canonical already.

use std::borrow::Cow;
use std::io::Write as _;
use std::ops::Range;

use crate::{Canonical, Digest, Value, write};

/// The capacity of a small object in bytes.
const ROOM: usize = 256;
/// The expected number of members.
const MEMBERS: usize = 12;

/// Assembles a canonical object without building a tree of it.
///
/// Records embed outputs of any size; with this they are copied once, not parsed and written again. Members may be
/// added in any order, and cost least in that of their keys: then the bytes are written where they belong. A key
/// added twice has its last value.
pub struct ObjectWriter<'a> {
    /// The bytes before the object, its brace, and the members in the order they were added, with commas.
    bytes: Vec<u8>,
    /// The offset of the object.
    start: usize,
    /// The keys in the order they were added, and the spans of their members.
    members: Vec<(Cow<'a, str>, Range<usize>)>,
    order: Order,
    deepest: usize,
}

/// Whether the members came in the order of their keys, each once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Kept,
    Lost,
}

impl<'a> ObjectWriter<'a> {
    /// Starts an object without members.
    pub fn new() -> Self {
        Self::with_capacity(ROOM)
    }

    /// Starts an object without members that is expected to take so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self::behind(Vec::with_capacity(bytes))
    }

    /// Starts an object after bytes that are written already.
    fn behind(mut bytes: Vec<u8>) -> Self {
        let start = bytes.len();
        bytes.push(b'{');
        Self { bytes, start, members: Vec::with_capacity(MEMBERS), order: Order::Kept, deepest: 0 }
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

    /// Adds a member that is a list of texts.
    #[must_use]
    pub fn texts<T: AsRef<str>>(mut self, key: impl Into<Cow<'a, str>>, texts: &[T]) -> Self {
        self.deepest = self.deepest.max(1);
        self.add(key.into(), |out| write::write_texts(texts, out))
    }

    /// Adds a member that is a list of values.
    #[must_use]
    pub fn list(mut self, key: impl Into<Cow<'a, str>>, items: &[Value]) -> Self {
        let deepest = items.iter().map(Value::depth).max().unwrap_or(0);
        self.deepest = self.deepest.max(1 + deepest);
        self.add(key.into(), |out| write::write_list(items, out, write::write))
    }

    /// Adds a count.
    #[must_use]
    pub fn count(self, key: impl Into<Cow<'a, str>>, count: u64) -> Self {
        self.add(key.into(), |out| write!(out, "{count}").expect("writing to memory does not fail"))
    }

    /// Adds a digest, as its text.
    #[must_use]
    pub fn digest(self, key: impl Into<Cow<'a, str>>, digest: Digest) -> Self {
        self.add(key.into(), |out| {
            out.push(b'"');
            digest.write_hex(out);
            out.push(b'"');
        })
    }

    /// Adds a member whose bytes exist already.
    #[must_use]
    pub fn canonical(mut self, key: impl Into<Cow<'a, str>>, value: &Canonical) -> Self {
        self.deepest = self.deepest.max(value.depth());
        self.add(key.into(), |out| out.extend_from_slice(value.bytes()))
    }

    /// Adds a member that is an object, written in its place.
    #[must_use]
    pub fn object<'b>(
        mut self,
        key: impl Into<Cow<'a, str>>,
        write: impl FnOnce(ObjectWriter<'b>) -> ObjectWriter<'b>,
    ) -> Self {
        let start = self.begin(key.into());
        let inner = write(ObjectWriter::behind(std::mem::take(&mut self.bytes)));
        self.deepest = self.deepest.max(1 + inner.deepest);
        self.bytes = inner.close();
        self.end(start);
        self
    }

    fn add(mut self, key: Cow<'a, str>, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let start = self.begin(key);
        write(&mut self.bytes);
        self.end(start);
        self
    }

    /// Writes a key and returns where its member begins.
    fn begin(&mut self, key: Cow<'a, str>) -> usize {
        if let Some((last, _)) = self.members.last() {
            if key <= *last {
                self.order = Order::Lost;
            }
            self.bytes.push(b',');
        }
        let start = self.bytes.len();
        write::write_string(&key, &mut self.bytes);
        self.bytes.push(b':');
        self.members.push((key, start..start));
        start
    }

    fn end(&mut self, start: usize) {
        let end = self.bytes.len();
        if let Some((_, range)) = self.members.last_mut() {
            *range = start..end;
        }
    }

    /// Closes the object and returns all bytes.
    fn close(mut self) -> Vec<u8> {
        if self.order == Order::Lost {
            self.put_in_order();
        }
        self.bytes.push(b'}');
        self.bytes
    }

    fn put_in_order(&mut self) {
        // The sort is stable, so the last of equal keys is the one added last.
        self.members.sort_by(|(left, _), (right, _)| left.cmp(right));
        self.members.reverse();
        self.members.dedup_by(|next, kept| next.0 == kept.0);
        self.members.reverse();
        let came = self.bytes.split_off(self.start + 1);
        let offset = self.start + 1;
        for (_, range) in &mut self.members {
            let member = came.get(range.start - offset..range.end - offset).unwrap_or_default();
            if self.bytes.len() > offset {
                self.bytes.push(b',');
            }
            let start = self.bytes.len();
            self.bytes.extend_from_slice(member);
            *range = start..self.bytes.len();
        }
        self.order = Order::Kept;
    }

    /// Returns the object.
    pub fn finish(self) -> Canonical {
        let depth = 1 + self.deepest;
        Canonical::from_writer(self.close(), depth)
    }

    /// Returns the object's bytes, and the offset at which a member `key`, which it lacks, would be.
    pub fn bytes_and_place(mut self, key: &str) -> (Vec<u8>, usize) {
        if self.order == Order::Lost {
            self.put_in_order();
        }
        let before = self.members.iter().rev().find(|(name, _)| name.as_ref() < key);
        let place = before.map_or(self.start + 1, |(_, range)| range.end);
        (self.close(), place)
    }
}

impl Default for ObjectWriter<'_> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use proptest::prelude::*;

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
    fn objects_lists_counts_and_digests_are_what_their_trees_would_be() {
        let digest = Digest::of(b"");
        let written = ObjectWriter::new()
            .object("b", |inner| inner.text("y", "1").texts("x", &["\n", "é"]).object("z", |empty| empty))
            .list("a", &[parse(b"[1]").unwrap(), Value::Null])
            .count("n", u64::MAX)
            .digest("d", digest)
            .finish();
        let tree = format!(
            r#"{{"a":[[1],null],"b":{{"x":["\n","é"],"y":"1","z":{{}}}},"d":"{digest}","n":18446744073709551615}}"#
        );
        let tree = parse(tree.as_bytes()).unwrap();
        assert_eq!((&written, written.depth()), (&Canonical::of(&tree), tree.depth()));
    }

    proptest! {
        #[test]
        fn members_may_come_in_any_order(keys in proptest::collection::vec("[a-c\"é\u{0}]{0,2}", 0..8)) {
            let numbered = || keys.iter().zip(0u64..);
            let written = numbered().fold(ObjectWriter::new(), |writer, (key, at)| writer.count(&**key, at));
            // A key added twice has its last value.
            let tree: std::collections::BTreeMap<_, _> = numbered().collect();
            let tree: crate::Object = tree.into_iter().map(|(key, at)| (key.as_str(), Value::from(at))).collect();
            prop_assert_eq!(written.finish(), Canonical::of(&tree.into()));
        }
    }

    #[test]
    fn the_place_is_behind_the_last_smaller_key() {
        let object = || ObjectWriter::new().value("a", &Value::from(1)).value("c", &Value::from(2));
        assert_eq!(object().bytes_and_place("b").1, r#"{"a":1"#.len());
        assert_eq!(object().bytes_and_place("A").1, 1);
        assert_eq!(object().bytes_and_place("d").1, r#"{"a":1,"c":2"#.len());
    }
}
