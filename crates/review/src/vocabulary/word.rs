//! The declaration of word lists.

/// An enum whose values are the words of a closed list.
pub(crate) trait Word: Copy {
    /// The current wire words.
    const WORDS: &'static [&'static str];

    /// Returns the wire word.
    fn word(self) -> &'static str;

    /// Reads a wire word, also one that an older version used.
    fn parse_word(word: &str) -> Result<Self, UnknownWord>;
}

/// A word that is not in its list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{list} is one of {}; found {found:?}", expected.join(", "))]
pub struct UnknownWord {
    /// The name of the list.
    pub list: &'static str,
    /// The current words.
    pub expected: &'static [&'static str],
    /// The word that was found.
    pub found: String,
}

/// Declares an enum with its wire words: `Variant = "word" | "older name"`.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $list:literal { $($variant:ident = $word:literal $(| $alias:literal)*),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "the variants are the words of the format")]
        pub enum $name { $($variant),+ }

        impl $name {
            /// Every value, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The wire words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the wire word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads a wire word, also one that an older version used.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word $(| $alias)* => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::vocabulary::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::from_word(word).ok_or_else(|| crate::vocabulary::UnknownWord {
                    list: $list,
                    expected: Self::WORDS,
                    found: word.to_owned(),
                })
            }
        }

        impl crate::vocabulary::Word for $name {
            const WORDS: &'static [&'static str] = Self::WORDS;

            fn word(self) -> &'static str {
                self.as_str()
            }

            fn parse_word(word: &str) -> Result<Self, crate::vocabulary::UnknownWord> {
                word.parse()
            }
        }

        impl From<$name> for hence_canon::Value {
            fn from(word: $name) -> Self {
                word.as_str().into()
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use crate::vocabulary::{ActionType, ArtifactType, GoalStatus, ReasoningType, ResidualSeverity};

    #[test]
    fn every_word_reads_back_to_its_value() {
        for value in ArtifactType::ALL {
            assert_eq!(value.as_str().parse(), Ok(*value));
        }
    }

    #[test]
    fn older_names_are_read_and_never_written() {
        assert_eq!(ActionType::from_word("DefineVG"), Some(ReasoningType::DefineVerificationGoal.into()));
        assert_eq!(ArtifactType::from_word("IMLModel").map(ArtifactType::as_str), Some("FormalModel"));
        assert_eq!(GoalStatus::from_word("GoalActive").map(GoalStatus::as_str), Some("active"));
    }

    #[test]
    fn a_foreign_word_names_the_list_and_its_words() {
        let error = "blocker".parse::<ResidualSeverity>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "residual severity is one of info, low, medium, high, critical; found \"blocker\""
        );
    }
}
