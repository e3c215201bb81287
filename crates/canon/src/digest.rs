//! SHA-256 digests.

use std::fmt;
use std::str::FromStr;

use sha2::Digest as _;

/// A SHA-256 digest. Displays and parses as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest is 64 lower-case hex digits, found {found:?}")]
pub struct InvalidDigest {
    /// The text.
    pub found: String,
}

impl Digest {
    /// Length of the text form.
    pub const HEX_BYTES: usize = 64;

    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Returns the digest of the concatenation of `parts`.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = sha2::Sha256::new();
        parts.into_iter().for_each(|part| hasher.update(part));
        Self(hasher.finalize().into())
    }

    /// Wraps the 32 bytes of a digest computed elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads exactly 64 lower-case hex digits.
    #[inline]
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        let text: &[u8; Self::HEX_BYTES] = text.try_into().ok()?;
        if !Self::is_hex(text) {
            return None;
        }
        const_hex::decode_to_array(text).ok().map(Self)
    }

    /// Returns whether a text is 64 lower-case hex digits, which is cheaper to find out than to decode them.
    #[inline]
    pub fn is_hex(text: &[u8; Self::HEX_BYTES]) -> bool {
        let mut wrong = 0;
        // Without an early exit the compiler tests many bytes at once.
        for byte in text {
            let (is_digit, is_letter) = (byte.wrapping_sub(b'0') < 10, byte.wrapping_sub(b'a') < 6);
            wrong |= u8::from(!(is_digit | is_letter));
        }
        wrong == 0
    }

    /// Appends the text form.
    pub fn write_hex(self, out: &mut Vec<u8>) {
        out.extend_from_slice(const_hex::Buffer::<32>::new().format(&self.0).as_bytes());
    }

    /// Returns the first eight hex digits, enough to recognise and too few to trust.
    pub fn short(&self) -> String {
        self.to_string().chars().take(8).collect()
    }
}

/// Computes the digest of bytes that arrive piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of everything that was added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(const_hex::Buffer::<32>::new().format(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        Self::from_hex(text.as_bytes()).ok_or_else(|| InvalidDigest { found: text.to_owned() })
    }
}

impl From<Digest> for crate::Value {
    fn from(digest: Digest) -> Self {
        digest.to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(Digest::of_parts([b"ab".as_slice(), b"c"]), Digest::of(b"abc"));
        assert_eq!(empty.parse::<Digest>().unwrap(), Digest::of(b""));
        let mut hasher = Hasher::default();
        [b"a".as_slice(), b"", b"bc"].into_iter().for_each(|bytes| hasher.update(bytes));
        assert_eq!(hasher.finish(), Digest::of(b"abc"));
    }

    #[test]
    fn only_lower_case_hex_of_the_right_length_is_a_digest() {
        let good = Digest::of(b"").to_string();
        for bad in [good.to_uppercase(), good[1..].to_owned(), format!("{good}0"), good.replace('e', "g")] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
        assert!(format!("0x{}", &good[2..]).parse::<Digest>().is_err());
    }
}
