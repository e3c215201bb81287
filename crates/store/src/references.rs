//! Which blobs are named in stored bytes.
//!
//! Records are opaque here, so any run of exactly 64 lower-case hex digits counts as the name of a blob. That can keep a blob
//! that nobody means, and never gives up one that somebody does.

use std::collections::BTreeSet;

use hence_canon::Digest;

/// Collects the digests named in bytes that arrive piece by piece.
#[derive(Debug, Default)]
pub(crate) struct References {
    found: BTreeSet<Digest>,
    /// The hex digits since the last other byte; one more than a digest's is kept of longer runs.
    digits: Vec<u8>,
}

impl References {
    /// Looks through the next piece.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'0'..=b'9' | b'a'..=b'f' => {
                    if self.digits.len() <= Digest::HEX_BYTES {
                        self.digits.push(*byte);
                    }
                }
                _ => self.finish(),
            }
        }
    }

    /// Ends a text, so that digits at its end and at the next one's start are not joined.
    pub(crate) fn finish(&mut self) {
        self.found.extend(Digest::from_hex(&self.digits));
        self.digits.clear();
    }

    pub(crate) fn contains(&self, digest: &Digest) -> bool {
        self.found.contains(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_found_across_pieces_and_only_whole() {
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        let text = format!("{{\"sha256\":\"{one}\"}} 0{two} {}", &two.to_string()[1..]);
        for cut in 0..text.len() {
            let mut references = References::default();
            references.read(&text.as_bytes()[..cut]);
            references.read(&text.as_bytes()[cut..]);
            references.finish();
            assert!(references.contains(&one));
            assert!(!references.contains(&two));
        }
        let mut references = References::default();
        references.read(two.to_string().as_bytes());
        references.finish();
        assert!(references.contains(&two));
    }
}
