//! Members of a record as spans of its canonical bytes.

use std::borrow::Cow;

use hence_canon::Digest;
use hence_canon::scan::{Member, Proved};

/// The depth to which members are reported: those of the record, and those of `result` and `stop_condition`.
pub(super) const DEPTH: usize = 2;

/// The members of a record, or of an object inside one.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a, 'm> {
    members: &'m [Member<'a>],
    depth: usize,
    span: (usize, usize),
}

impl<'a, 'm> Fields<'a, 'm> {
    pub(super) fn of_record(members: &'m [Member<'a>]) -> Self {
        Self { members, depth: 1, span: (0, usize::MAX) }
    }

    /// Returns the members of an object that is itself a member.
    pub(crate) fn inside(&self, key: &str) -> Option<Self> {
        let outer = self.member(key)?;
        let is_object = outer.value.bytes().first() == Some(&b'{');
        is_object.then_some(Self { members: self.members, depth: 2, span: (outer.start, outer.end) })
    }

    pub(crate) fn member(&self, key: &str) -> Option<Member<'a>> {
        self.iter().find(|member| member.raw_key == key.as_bytes())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Member<'a>> {
        let (start, end) = self.span;
        let depth = self.depth;
        self.members
            .iter()
            .copied()
            .filter(move |member| member.depth == depth && member.start >= start && member.end <= end)
    }

    pub(crate) fn get(&self, key: &str) -> Option<Proved<'a>> {
        self.member(key).map(|member| member.value)
    }

    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(text)
    }

    pub(crate) fn digest(&self, key: &str) -> Option<Digest> {
        self.get(key)
            .and_then(|value| Digest::from_hex(value.bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?))
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        let bytes = self.get(key)?.bytes();
        let plain = bytes.iter().all(u8::is_ascii_digit);
        str::from_utf8(bytes).ok().filter(|_| plain)?.parse().ok()
    }
}

/// Decodes a canonical string.
pub(super) fn text(value: Proved<'_>) -> Option<Cow<'_, str>> {
    let inside = value.bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inside.contains(&b'\\') {
        return str::from_utf8(inside).ok().map(Cow::Borrowed);
    }
    hence_canon::parse(value.bytes()).ok()?.as_str().map(|text| Cow::Owned(text.to_owned()))
}
