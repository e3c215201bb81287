//! How a word list is declared.

/// A word that is not in its list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{list} is one of {}; found {found:?}", expected.join(", "))]
pub struct UnknownWord {
    /// What the list names.
    pub list: &'static str,
    /// The current words.
    pub expected: &'static [&'static str],
    /// What was found.
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

        impl crate::model::Field for $name {
            fn decode(
                value: &hence_canon::Value,
                at: &crate::model::Path<'_>,
                defects: &mut crate::model::Defects,
            ) -> Option<Self> {
                let Some(word) = value.as_str() else {
                    defects.kind(at, "a word", value);
                    return None;
                };
                match word.parse() {
                    Ok(value) => Some(value),
                    Err(unknown) => {
                        defects.push(at, crate::vocabulary::UnknownWord::to_string(&unknown));
                        None
                    }
                }
            }

            fn encode(&self) -> Option<hence_canon::Value> {
                Some(self.as_str().into())
            }

            fn schema(_: &mut crate::model::Definitions) -> hence_canon::Value {
                crate::model::words_schema(Self::WORDS)
            }

            #[cfg(test)]
            fn sample(source: &mut crate::model::tests::Choices<'_>) -> Self {
                *source.pick(Self::ALL)
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
