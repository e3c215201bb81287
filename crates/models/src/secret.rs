//! Keys. A key goes into one header of a request and nowhere else.

use std::fmt;

/// Keys shorter than this are no secrets: local servers want any word at all, and no text could be kept free of it.
pub const SECRET_BYTES_MIN: usize = 8;

/// What stands where a key stood.
const HIDDEN: &str = "[key]";

/// A key that no text shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the key itself, for the one header it goes into.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether a text shows this key.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.len() >= SECRET_BYTES_MIN && text.contains(&self.0)
    }

    /// Returns a text without this key.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        if self.is_in(text) { text.replace(&self.0, HIDDEN) } else { text.to_owned() }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_in_no_text() {
        let key = Secret::new("sk-12345678");
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "[key] Some([key])");
        assert_eq!(key.hidden_in("with sk-12345678 and sk-12345678"), "with [key] and [key]");
        assert!(!key.is_in("sk-1234567"));
        assert!(Secret::new("12345678").is_in("12345678"));
        assert!(!Secret::new("1234567").is_in("1234567"), "too short to be one");
    }
}
