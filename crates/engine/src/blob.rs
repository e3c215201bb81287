//! Blobs: large values, stored by their digest and referenced from records and states.

use std::collections::BTreeMap;

use hence_canon::{Canonical, Digest, Object, ParseError, Value, parse};

/// Outputs above this size are stored as blobs. 10 KiB is the inline limit of the documents.
pub const INLINE_VALUE_BYTES_MAX: usize = 10 * 1024;
const _: () = assert!(INLINE_VALUE_BYTES_MAX < hence_journal::LINE_BYTES_MAX);

/// The member that marks a reference.
const REFERENCE_KEY: &str = "$blob";
/// The media type of a blob, which is canonical JSON.
const MEDIA_TYPE: &str = "application/json";

/// A source of blobs.
pub trait Blobs {
    /// Returns the bytes with that digest, or `None` when there are none.
    ///
    /// # Errors
    /// The error of reading them.
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Box<dyn std::error::Error + Send + Sync>>;
}

/// A blob that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The blob does not exist.
    #[error("blob {0} is missing")]
    Missing(Digest),
    /// The value could not be read.
    #[error("blob {digest} could not be read: {source}")]
    Unreadable {
        /// The blob.
        digest: Digest,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Its bytes do not have the digest they are stored under.
    #[error("blob {expected} holds bytes that hash to {found}")]
    Altered {
        /// The digest it is stored under.
        expected: Digest,
        /// The digest of the stored bytes.
        found: Digest,
    },
    /// The bytes are not JSON.
    #[error("blob {digest}: {source}")]
    NotJson {
        /// The blob.
        digest: Digest,
        /// The defect.
        source: ParseError,
    },
}

/// No blobs: for profiles that store everything inline, and for verifying a bare journal.
pub struct NoBlobs;

impl Blobs for NoBlobs {
    fn get(&self, _: &Digest) -> Result<Option<Vec<u8>>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(None)
    }
}

impl Blobs for BTreeMap<Digest, Vec<u8>> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(BTreeMap::get(self, digest).cloned())
    }
}

/// Makes the reference that replaces a large value in records and states.
pub fn reference(value: &Canonical) -> Canonical {
    let members: [(&str, Value); 3] = [
        ("sha256", value.digest().into()),
        ("bytes", value.bytes().len().into()),
        ("media_type", MEDIA_TYPE.into()),
    ];
    let inner: Object = members.into_iter().collect();
    let outer: Object = [(REFERENCE_KEY, inner)].into_iter().collect();
    Canonical::of(&outer.into())
}

/// Returns the digest a reference names; `None` when the value is not a reference.
pub fn referenced(value: &Value) -> Option<Digest> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object.get(REFERENCE_KEY)?.get("sha256")?.as_str()?.parse().ok()
}

/// Returns whether a value is a reference. Values that do not begin like one are not parsed.
pub fn is_reference(value: &Canonical) -> bool {
    value.bytes().starts_with(br#"{"$blob":{"#) && referenced(value.value()).is_some()
}

/// Returns a value, fetched and checked if it is a reference.
///
/// # Errors
/// [`BlobError`] when the value is not available.
pub fn resolve(value: &Canonical, blobs: &dyn Blobs) -> Result<Value, BlobError> {
    if !is_reference(value) {
        return Ok(value.value().clone());
    }
    let Some(digest) = referenced(value.value()) else { return Ok(value.value().clone()) };
    let bytes = blobs.get(&digest).map_err(|source| BlobError::Unreadable { digest, source })?;
    let bytes = bytes.ok_or(BlobError::Missing(digest))?;
    let found = Digest::of(&bytes);
    if found != digest {
        return Err(BlobError::Altered { expected: digest, found });
    }
    parse(&bytes).map_err(|source| BlobError::NotJson { digest, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_its_value_and_is_checked_when_resolved() {
        let value = Canonical::of(&Value::from("x".repeat(20_000)));
        let reference = reference(&value);
        assert!(is_reference(&reference) && !is_reference(&value));
        let kept: BTreeMap<Digest, Vec<u8>> = [(value.digest(), value.bytes().to_vec())].into();
        assert_eq!(resolve(&reference, &kept).unwrap(), *value.value());
        assert!(matches!(resolve(&reference, &NoBlobs), Err(BlobError::Missing(_))));
        let altered: BTreeMap<Digest, Vec<u8>> = [(value.digest(), b"1".to_vec())].into();
        assert!(matches!(resolve(&reference, &altered), Err(BlobError::Altered { .. })));
    }
}
