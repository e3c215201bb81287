//! The hash that binds reviews, commits and successors to the content of a trace.

use std::fmt;
use std::str::FromStr;

use hence_canon::{Digest, InvalidDigest, Value, canonical_bytes, write_string};
use sha2::{Digest as _, Sha256};

/// Members about the binding of a trace to a commit, which are not part of its content.
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
        let Value::Object(members) = trace else { return Self(Digest::of(&canonical_bytes(trace))) };
        let mut stream = Stream::default();
        stream.push(b"{");
        let content = members.iter_sorted().filter(|(key, _)| !UNHASHED.contains(&&***key));
        for (position, (key, value)) in content.enumerate() {
            if position > 0 {
                stream.push(b",");
            }
            stream.key(key);
            stream.value(value);
        }
        stream.push(b"}");
        Self(Digest::from_bytes(stream.0.finalize().into()))
    }

    /// Returns the digest.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

/// The canonical bytes of an object on their way into a digest, one member and one item of a list at a time: a trace
/// is nearly all lists, and its canonical text as a whole would be as large as its file.
#[derive(Default)]
struct Stream(Sha256);

impl Stream {
    fn push(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn key(&mut self, key: &str) {
        let mut bytes = Vec::new();
        write_string(key, &mut bytes);
        bytes.push(b':');
        self.push(&bytes);
    }

    fn value(&mut self, value: &Value) {
        let Value::Array(items) = value else { return self.push(&canonical_bytes(value)) };
        self.push(b"[");
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.push(b",");
            }
            self.push(&canonical_bytes(item));
        }
        self.push(b"]");
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
    fn the_hash_covers_the_canonical_bytes_without_binding_members() {
        for text in [
            "{}",
            r#"{"timestamp": 1}"#,
            r#"{"z": [], "a\"": [{"b": 1.50, "a": [2, [3]]}, "é", null], "timestamp": [1], "b": {"y": 1, "x": []}}"#,
            r#"[{"timestamp": 1}]"#,
            "3",
        ] {
            let value = parse(text.as_bytes()).unwrap();
            let rest = value.as_object().map_or(value.clone(), |members| members.without("timestamp").into());
            assert_eq!(ContentHash::of(&value).digest(), Digest::of(&canonical_bytes(&rest)), "{text}");
        }
    }

    #[test]
    fn other_algorithms_are_refused() {
        assert!(matches!("md5:00".parse::<ContentHash>(), Err(InvalidContentHash::Algorithm { .. })));
        assert!(matches!("sha256:00".parse::<ContentHash>(), Err(InvalidContentHash::Digest(_))));
    }
}
