//! Names of variables and the advice about them.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::limits::NAME_BYTES_MAX;

/// The name of a variable: an ASCII identifier of at most [`NAME_BYTES_MAX`] characters. Case matters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// A text that is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// Something other than letters, digits and underscores, or a digit first.
    #[error("a name is letters, digits and underscores and does not start with a digit, found {found:?}")]
    Malformed {
        /// The text, cut for display.
        found: String,
    },
    /// An identifier longer than [`NAME_BYTES_MAX`].
    #[error("name has {length} characters, limit is {NAME_BYTES_MAX}")]
    TooLong {
        /// The length of the text.
        length: usize,
    },
}

/// The name of the variable with the task.
pub(crate) const PROMPT: &str = "prompt";

/// The variable whose first non-null value completes the task.
pub(crate) const FINAL: &str = "Final";

impl Name {
    /// Returns `Final`, the completion signal.
    pub fn final_answer() -> Self {
        Self(FINAL.into())
    }

    /// Returns `prompt`, the task.
    pub fn prompt() -> Self {
        Self(PROMPT.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text, shared.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }

    /// Returns whether this is `Final`.
    pub fn is_final(&self) -> bool {
        self.as_str() == FINAL
    }

    /// Returns whether this is `prompt`.
    pub fn is_prompt(&self) -> bool {
        self.as_str() == PROMPT
    }

    /// Returns whether this is one of the two special variables, which always belong to their own state.
    pub fn is_special(&self) -> bool {
        self.is_final() || self.is_prompt()
    }

    /// Returns the advice about this name. The two special names are beyond advice.
    pub fn lint(&self) -> Vec<NameWarning> {
        if self.is_special() {
            return Vec::new();
        }
        let text = self.as_str();
        let checks = [
            (text.len() <= 2, NameWarning::ShortName),
            (text.ends_with(|last: char| last.is_ascii_digit()), NameWarning::NumberedName),
            (text.contains(|any: char| any.is_ascii_uppercase()), NameWarning::NotSnakeCase),
        ];
        checks.into_iter().filter(|(applies, _)| *applies).map(|(_, warning)| warning).collect()
    }

    /// Returns whether `text` has the form of a name, whatever its length.
    pub(crate) fn is_identifier(text: &str) -> bool {
        let mut bytes = text.bytes();
        let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }
}

/// Advice about a name. It never refuses a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameWarning {
    /// A name of one or two characters is hard to understand.
    ShortName,
    /// Numbered names are usually better as a list.
    NumberedName,
    /// Names are lower case with underscores.
    NotSnakeCase,
}

impl NameWarning {
    /// Returns the advice with this code.
    pub fn find(code: &str) -> Option<Self> {
        [Self::ShortName, Self::NumberedName, Self::NotSnakeCase]
            .into_iter()
            .find(|warning| warning.code() == code)
    }

    /// Returns the advice as a sentence. The variable was written all the same.
    pub fn advice(self) -> &'static str {
        match self {
            Self::ShortName => "a name of one or two characters says little; the variable was written",
            Self::NumberedName => "numbered names are often better as one list; the variable was written",
            Self::NotSnakeCase => "names are usually lower case with underscores; the variable was written",
        }
    }

    /// Returns the code of the advice.
    pub fn code(self) -> &'static str {
        match self {
            Self::ShortName => "short_name",
            Self::NumberedName => "numbered_name",
            Self::NotSnakeCase => "not_snake_case",
        }
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        // The form is checked before the length, so that garbage of any size is called garbage.
        if !Self::is_identifier(text) {
            return Err(InvalidName::Malformed { found: text.chars().take(NAME_BYTES_MAX).collect() });
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(InvalidName::TooLong { length: text.len() });
        }
        Ok(Self(text.into()))
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascii_identifiers_are_names() {
        for good in ["a", "_", "_9", "Final", "doc_summary", "additionalProperties"] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
        for bad in ["", "9a", "a-b", "a b", "naïve", "a\n", "a\0", "é", "a/b", "a.b"] {
            assert!(matches!(bad.parse::<Name>(), Err(InvalidName::Malformed { .. })), "{bad:?}");
        }
    }

    #[test]
    fn the_length_limit_is_exact() {
        assert!("a".repeat(NAME_BYTES_MAX).parse::<Name>().is_ok());
        let length = NAME_BYTES_MAX + 1;
        assert_eq!("a".repeat(length).parse::<Name>(), Err(InvalidName::TooLong { length }));
    }

    #[test]
    fn advice_comes_in_a_fixed_order_and_spares_the_special_names() {
        let lint = |text: &str| text.parse::<Name>().unwrap().lint();
        assert_eq!(
            lint("X1"),
            [NameWarning::ShortName, NameWarning::NumberedName, NameWarning::NotSnakeCase]
        );
        assert_eq!(lint("doc_summary"), []);
        assert_eq!(lint("Final"), []);
        assert_eq!(lint("final"), []);
    }
}
