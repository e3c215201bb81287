//! Names and times of a queue.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest name of a queue or a schedule, in bytes: it is a column of a table and a word on a command line.
pub const NAME_BYTES_MAX: usize = 64;

/// The longest name of a worker, a group or a capability, in bytes.
pub const LABEL_BYTES_MAX: usize = 256;

/// A text that cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the name of a {of} has {expected}, found {found:?}")]
pub struct InvalidName {
    /// The kind of name.
    pub of: &'static str,
    /// The rule.
    pub expected: &'static str,
    /// The beginning of the text.
    pub found: String,
}

const WORD_RULE: &str = "1 to 64 bytes of a-z 0-9 . - _";
const LABEL_RULE: &str = "1 to 256 bytes without control characters";

fn is_word(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(fits)
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.len() <= LABEL_BYTES_MAX && !text.chars().any(char::is_control)
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $of:literal, $check:ident, $rule:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(std::sync::Arc<str>);

        impl $type {
            /// Checks that `text` is such a name.
            ///
            /// # Errors
            /// [`InvalidName`] when it is not.
            pub fn new(text: &str) -> Result<Self, InvalidName> {
                if $check(text) {
                    return Ok(Self(text.into()));
                }
                let found = text.chars().take(NAME_BYTES_MAX).collect();
                Err(InvalidName { of: $of, expected: $rule, found })
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::new(&text)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0.as_ref().to_owned()
            }
        }
    };
}

name! {
    /// The name of a queue.
    QueueName, "queue", is_word, WORD_RULE
}
name! {
    /// The name of a schedule.
    ScheduleName, "schedule", is_word, WORD_RULE
}
name! {
    /// The name of a worker, unique among the workers that are alive.
    WorkerName, "worker", is_label, LABEL_RULE
}
name! {
    /// The name of a group of jobs that share a limit, such as the jobs of one customer.
    GroupName, "group", is_label, LABEL_RULE
}
name! {
    /// The name of a capability that a run may call.
    CapabilityName, "capability", is_label, LABEL_RULE
}

/// The queue that always exists.
pub const DEFAULT_QUEUE: &str = "default";

impl QueueName {
    /// Returns the name of the queue that always exists.
    pub fn default_queue() -> Self {
        Self(DEFAULT_QUEUE.into())
    }
}

/// An instant by the clock of the queue, in milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// Returns the instant so many milliseconds after the beginning of 1970.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Returns the instant `later` milliseconds after this one; the last one there is when that is out of range.
    #[must_use]
    pub const fn plus(self, later: Millis) -> Self {
        Self(self.0.saturating_add(later.0))
    }

    /// Returns the time that passed since `earlier`; nothing if that is later.
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

/// A duration in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(u64);

impl Millis {
    /// Returns a duration of so many milliseconds.
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns a duration of so many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Returns the number of milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the duration for the standard library.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_at_most_64_bytes_and_a_label_256() {
        assert!(QueueName::new(&"q".repeat(NAME_BYTES_MAX)).is_ok());
        assert!(QueueName::new(&"q".repeat(NAME_BYTES_MAX + 1)).is_err());
        assert!(GroupName::new(&"é".repeat(LABEL_BYTES_MAX / 2)).is_ok());
        assert!(GroupName::new(&"é".repeat(LABEL_BYTES_MAX / 2 + 1)).is_err());
    }

    #[test]
    fn a_refused_name_says_what_a_name_is() {
        let refused = QueueName::new("Night Shift").unwrap_err().to_string();
        assert_eq!(refused, r#"the name of a queue has 1 to 64 bytes of a-z 0-9 . - _, found "Night Shift""#);
        assert!(QueueName::new("").is_err());
        assert!(WorkerName::new("a\nb").is_err());
    }
}
