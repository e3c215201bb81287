//! The hash that binds reviews, commits and successors to the content of a trace.

use std::fmt;
use std::str::FromStr;

use hence_canon::{Digest, InvalidDigest, Object, Value, canonical_bytes};

/// Members that say where and when a trace was bound, not what it records.
const UNHASHED: &[&str] = &["timestamp", "content_hash", "repo", "branch", "commit_sha"];

/// The SHA-256 of a trace without its binding stamps. Displays as `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContentHash(Digest);

/// A text that is not a content hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidContentHash {
    /// The algorithm is part of the text.
    #[error("a content hash starts with `sha256:`, found {found:?}")]
    Algorithm {
        /// The text.
        found: String,
    },
    /// The digest is malformed.
    #[error(transparent)]
    Digest(#[from] InvalidDigest),
}

impl ContentHash {
    /// Computes the hash of a trace; what is not an object is hashed as it is.
    pub fn of(trace: &Value) -> Self {
        let content = match trace {
            Value::Object(members) => Value::from(
                members
                    .iter()
                    .filter(|(key, _)| !UNHASHED.contains(&&***key))
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect::<Object>(),
            ),
            other => other.clone(),
        };
        Self(Digest::of(&canonical_bytes(&content)))
    }

    /// Returns the digest.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sha256:{}", self.0)
    }
}

impl FromStr for ContentHash {
    type Err = InvalidContentHash;

    fn from_str(text: &str) -> Result<Self, InvalidContentHash> {
        let hex = text.strip_prefix("sha256:");
        let hex = hex.ok_or_else(|| InvalidContentHash::Algorithm { found: text.to_owned() })?;
        Ok(Self(hex.parse()?))
    }
}

impl From<ContentHash> for Value {
    fn from(hash: ContentHash) -> Self {
        hash.to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn stamps_do_not_change_the_hash_and_content_does() {
        let hash = |text: &str| ContentHash::of(&parse(text.as_bytes()).unwrap());
        let plain = hash(r#"{"trace_id": "t", "actions": []}"#);
        assert_eq!(hash(r#"{"actions": [], "trace_id": "t", "commit_sha": "f00", "timestamp": 1}"#), plain);
        assert_ne!(hash(r#"{"trace_id": "u", "actions": []}"#), plain);
        assert_eq!(plain.to_string().parse(), Ok(plain));
        let bytes = br#"{"actions":[],"trace_id":"t"}"#;
        assert_eq!(plain.to_string(), format!("sha256:{}", Digest::of(bytes)));
    }

    #[test]
    fn other_algorithms_are_refused() {
        assert!(matches!("md5:00".parse::<ContentHash>(), Err(InvalidContentHash::Algorithm { .. })));
        assert!(matches!("sha256:00".parse::<ContentHash>(), Err(InvalidContentHash::Digest(_))));
    }
}
