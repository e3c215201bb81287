//! What every store checks of a blob.

use hence_canon::Digest;

use crate::StoreError;

/// Refuses a blob above `limit`.
pub(crate) fn check_size(bytes: u64, limit: u64) -> Result<(), StoreError> {
    if bytes > limit { Err(StoreError::BlobTooLarge { bytes, limit }) } else { Ok(()) }
}

/// Refuses bytes that are not those a blob is named after.
pub(crate) fn check_content(digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
    let found = Digest::of(bytes);
    if found == *digest {
        return Ok(());
    }
    let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Err(StoreError::BlobCorrupt { digest: *digest, found, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BLOB_BYTES_MAX;

    #[test]
    fn a_blob_holds_up_to_the_limit() {
        assert!(check_size(BLOB_BYTES_MAX, BLOB_BYTES_MAX).is_ok());
        let refused = check_size(BLOB_BYTES_MAX + 1, BLOB_BYTES_MAX).unwrap_err().to_string();
        assert_eq!(refused, "a blob of 1073741825 bytes, the limit is 1073741824");
    }
}
