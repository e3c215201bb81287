//! The names of attachments.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest attachment name.
pub const ATTACHMENT_NAME_BYTES_MAX: usize = 64;

/// The names that a store uses itself.
const RESERVED: [&str; 5] = ["trace.ndjson", "lock", "id", "batch", "made"];

/// The name of an attachment, such as `problem.json`.
///
/// Names are chosen by programs, not by users, so the rule is narrow: a lower-case letter or digit, then at most
/// 63 of lower-case letters, digits, `.`, `-` and `_`, not ending in a dot, and none of the names that a store uses itself
/// (`trace.ndjson`, `lock`, `id`, `batch`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AttachmentName(Arc<str>);

/// A text that cannot name an attachment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an attachment name is a-z or 0-9, then up to 63 of a-z 0-9 . - _, no dot at the end, \
     and not a name the store uses; found {found:?}"
)]
pub struct InvalidAttachmentName {
    /// The text.
    pub found: String,
}

impl AttachmentName {
    /// Checks that `text` is a name.
    ///
    /// # Errors
    /// [`InvalidAttachmentName`] when it breaks the rule.
    pub fn new(text: &str) -> Result<Self, InvalidAttachmentName> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = (1..=ATTACHMENT_NAME_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'-' | b'_'))
            && text.bytes().next().is_some_and(plain)
            && !text.ends_with('.')
            && !RESERVED.contains(&text);
        if fits { Ok(Self(text.into())) } else { Err(InvalidAttachmentName { found: text.to_owned() }) }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AttachmentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for AttachmentName {
    type Err = InvalidAttachmentName;

    fn from_str(text: &str) -> Result<Self, InvalidAttachmentName> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_narrow_and_never_the_stores_own() {
        for good in ["problem.json", "a", "0", "skill-1_2.json", &"a".repeat(ATTACHMENT_NAME_BYTES_MAX)] {
            assert!(AttachmentName::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(ATTACHMENT_NAME_BYTES_MAX + 1);
        for bad in ["", ".", "..", "a.", "a/b", "A", "é", "-a", "lock", "trace.ndjson", "id", "batch", &long]
        {
            assert!(AttachmentName::new(bad).is_err(), "{bad}");
        }
    }
}
