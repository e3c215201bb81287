//! Hashing a growing document in proportion to what changed.

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};

use crate::{Canonical, Digest};

/// One stretch of a document: a short literal, then optionally a value.
///
/// The literal carries punctuation and keys (`,"evidence":`), so the value's bytes are shared with other
/// holds them and never copied.
#[derive(Clone, Debug)]
pub struct Part {
    literal: Box<[u8]>,
    value: Option<Canonical>,
}

impl Part {
    /// Creates a part of plain bytes.
    pub fn literal(bytes: impl Into<Vec<u8>>) -> Self {
        Self { literal: bytes.into().into_boxed_slice(), value: None }
    }

    /// Creates a part of plain bytes followed by a value.
    pub fn with_value(bytes: impl Into<Vec<u8>>, value: Canonical) -> Self {
        Self { literal: bytes.into().into_boxed_slice(), value: Some(value) }
    }

    fn slices(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&*self.literal).chain(self.value.iter().map(Canonical::bytes))
    }
}

/// A document in parts, with the hasher's state remembered before each part.
///
/// SHA-256 reads front to back: a change at part `k` leaves the work for parts before `k` valid. [`digest`]
/// resumes there, so appending to a document of any size costs the appended bytes and those after them.
///
/// [`digest`]: PartedDigest::digest
#[derive(Clone, Default)]
pub struct PartedDigest {
    /// The hasher before the first part: after the bytes that a [`Midstate`] stands for, or fresh.
    start: Sha256,
    parts: Vec<Part>,
    /// `before[k]` is the hasher after parts `0..k`; valid for all `k < before.len()`.
    before: Vec<Sha256>,
}

/// The hasher in the middle of a document: enough to hash what follows, without the bytes before.
#[derive(Clone)]
pub struct Midstate(Sha256);

impl Midstate {
    /// Returns the midstate in hex digits.
    pub fn to_hex(&self) -> String {
        const_hex::encode(self.0.serialize())
    }

    /// Reads the hex digits; `None` when they are not a midstate.
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = const_hex::decode(text).ok()?;
        Sha256::deserialize(bytes.as_slice().try_into().ok()?).ok().map(Self)
    }
}

impl std::fmt::Debug for Midstate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Midstate").field(&self.to_hex()).finish()
    }
}

impl PartedDigest {
    /// Starts an empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Continues a document after the bytes that a midstate stands for. They are no longer available.
    pub fn after(midstate: Midstate) -> Self {
        Self { start: midstate.0, ..Self::default() }
    }

    /// Returns the hasher before the part at `index`, if the document was hashed up to there.
    pub fn midstate(&self, index: usize) -> Option<Midstate> {
        self.before.get(index).cloned().map(Midstate)
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns whether there are no parts.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds a part at the end.
    pub fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// Inserts a part at `index`, or at the end when `index` is past it.
    pub fn insert(&mut self, index: usize, part: Part) {
        let index = index.min(self.parts.len());
        self.parts.insert(index, part);
        self.forget_from(index);
    }

    /// Replaces the part at `index`, if there is one.
    pub fn replace(&mut self, index: usize, part: Part) {
        if let Some(slot) = self.parts.get_mut(index) {
            *slot = part;
            self.forget_from(index);
        }
    }

    fn forget_from(&mut self, index: usize) {
        // The hash state before the changed part is still valid; those after it are not.
        self.before.truncate(index + 1);
    }

    /// Returns the digest of the whole document.
    pub fn digest(&mut self) -> Digest {
        let mut hasher = match self.before.pop() {
            Some(hasher) => hasher,
            None => self.start.clone(),
        };
        for part in self.parts.iter().skip(self.before.len()) {
            self.before.push(hasher.clone());
            part.slices().for_each(|slice| hasher.update(slice));
        }
        // The hash state after the last part is stored too, so that a push costs only the pushed bytes.
        self.before.push(hasher.clone());
        Digest::from_bytes(hasher.finalize().into())
    }

    /// Returns the bytes of all parts: the whole document, unless it continues after a midstate.
    pub fn bytes(&self) -> Vec<u8> {
        self.parts.iter().flat_map(Part::slices).flatten().copied().collect()
    }
}

impl std::fmt::Debug for PartedDigest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PartedDigest").field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Edit {
        Push(Vec<u8>),
        Insert(usize, Vec<u8>),
        Replace(usize, Vec<u8>),
        Digest,
    }

    fn edit() -> impl Strategy<Value = Edit> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
        prop_oneof![
            bytes().prop_map(Edit::Push),
            (0..12usize, bytes()).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
            (0..12usize, bytes()).prop_map(|(at, bytes)| Edit::Replace(at, bytes)),
            Just(Edit::Digest),
        ]
    }

    #[test]
    fn a_document_continues_after_a_midstate_that_was_written_down() {
        for first in [0, 1, 63, 64, 65, 1000] {
            let (before, after) = (vec![b'a'; first], vec![b'b'; 77]);
            let mut whole = PartedDigest::new();
            whole.push(Part::literal(before));
            whole.push(Part::literal(after.clone()));
            let digest = whole.digest();
            let hex = whole.midstate(1).unwrap().to_hex();
            let mut continued = PartedDigest::after(Midstate::from_hex(&hex).unwrap());
            continued.push(Part::literal(after));
            assert_eq!(continued.digest(), digest);
            assert!(Midstate::from_hex(&hex[2..]).is_none());
        }
        assert!(Midstate::from_hex("no").is_none());
        assert!(Midstate::from_hex(&"ff".repeat(200)).is_none());
    }

    proptest! {
        #[test]
        fn whatever_changes_the_digest_is_that_of_the_bytes(edits in proptest::collection::vec(edit(), 0..40)) {
            let mut document = PartedDigest::new();
            for edit in edits {
                match edit {
                    Edit::Push(bytes) => document.push(Part::literal(bytes)),
                    Edit::Insert(at, bytes) => document.insert(at, Part::literal(bytes)),
                    Edit::Replace(at, bytes) => document.replace(at, Part::literal(bytes)),
                    Edit::Digest => {}
                }
                prop_assert_eq!(document.digest(), Digest::of(&document.bytes()));
            }
        }
    }
}
