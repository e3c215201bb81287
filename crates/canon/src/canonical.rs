//! A value together with its canonical bytes.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::{Digest, Value, scan};

/// A JSON value as its canonical bytes, with the digest and the tree made at most once and only when asked for.
///
/// An output is hashed, written into a record and stored in the state; with this type it is encoded once. A
/// journal that is folded back needs the trees of very few values; with this type it builds only those.
#[derive(Clone)]
pub struct Canonical(Arc<Inner>);

struct Inner {
    bytes: Vec<u8>,
    depth: usize,
    digest: OnceLock<Digest>,
    value: OnceLock<Value>,
}

/// The fraction of its bytes that a value may waste as unused capacity.
const ROOM_LEFT: usize = 8;
/// The unused capacity that even a short value may have.
const ROOM_LEFT_MIN: usize = 256;

impl Canonical {
    /// Encodes `value`.
    pub fn of(value: &Value) -> Self {
        let this = Self::wrap(crate::canonical_bytes(value), value.depth());
        // The tree is available and shared, so it is stored instead of parsed again later.
        this.0.value.get_or_init(|| value.clone());
        this
    }

    /// Wraps bytes that are already canonical.
    ///
    /// # Errors
    /// [`scan::NotCanonical`] with the offset at which the proof breaks.
    pub fn from_canonical(bytes: &[u8]) -> Result<Self, scan::NotCanonical> {
        scan::prove(bytes).map(Self::from_proved)
    }

    /// Copies a span that [`scan`] has proved canonical as part of a larger document.
    pub fn from_proved(span: scan::Proved<'_>) -> Self {
        Self::wrap(span.bytes().to_vec(), span.depth())
    }

    /// Wraps the bytes of [`ObjectWriter`](crate::ObjectWriter), which are canonical by construction.
    pub(crate) fn from_writer(bytes: Vec<u8>, depth: usize) -> Self {
        Self::wrap(bytes, depth)
    }

    fn wrap(mut bytes: Vec<u8>, depth: usize) -> Self {
        // Giving room back costs a move; a little of it is not worth one.
        if bytes.capacity() > bytes.len() + bytes.len() / ROOM_LEFT + ROOM_LEFT_MIN {
            bytes.shrink_to_fit();
        }
        Self(Arc::new(Inner { bytes, depth, digest: OnceLock::new(), value: OnceLock::new() }))
    }

    /// Returns the canonical bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// Returns the canonical text.
    pub fn text(&self) -> &str {
        str::from_utf8(&self.0.bytes).expect("canonical bytes are UTF-8")
    }

    /// Returns how deep containers nest: 0 for a scalar, 1 for `[]`.
    pub fn depth(&self) -> usize {
        self.0.depth
    }

    /// Returns the digest of the canonical bytes.
    pub fn digest(&self) -> Digest {
        *self.0.digest.get_or_init(|| Digest::of(&self.0.bytes))
    }

    /// Returns the tree.
    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| crate::parse(&self.0.bytes).expect("canonical bytes are JSON"))
    }
}

impl PartialEq for Canonical {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.bytes == other.0.bytes
    }
}

impl Eq for Canonical {}

impl fmt::Debug for Canonical {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

impl From<Value> for Canonical {
    fn from(value: Value) -> Self {
        Self::of(&value)
    }
}
