//! The closed vocabularies of a state: scopes, statuses, value types, operations, execution modes.

/// A text that is none of the words allowed in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}, found {found:?}", allowed.join(", "))]
pub struct UnknownWord {
    /// The words.
    pub allowed: &'static [&'static str],
    /// The text, cut for display.
    pub found: String,
}

/// Declares an enum of words: how each is spelled, read and shown.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Every word, as documents spell them.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Returns the word documents use.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;

            fn from_str(text: &str) -> Result<Self, $crate::words::UnknownWord> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    other => Err($crate::words::UnknownWord {
                        allowed: Self::WORDS,
                        found: other.chars().take(80).collect(),
                    }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.as_str())
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

words!(
    /// Where a variable lives and who sees it. Ordered from the narrowest to the widest, which is lookup order.
    Scope {
        /// This state only; dies with it or by its time to live.
        Temporary = "temporary",
        /// Every state of the same task tree.
        Tree = "tree",
        /// Every state of the same session.
        Session = "session",
        /// Every state.
        Global = "global",
    }
);

impl Scope {
    /// All scopes in lookup order.
    pub const LOOKUP_ORDER: [Self; 4] = [Self::Temporary, Self::Tree, Self::Session, Self::Global];
}

words!(
    /// How far a state is.
    Status {
        /// `Final` is null.
        Incomplete = "incomplete",
        /// `Final` has a value.
        Complete = "complete",
        /// The task failed.
        Error = "error",
        /// The task was called off.
        Cancelled = "cancelled",
    }
);

impl Status {
    /// Returns whether the state is sealed: nothing is written any more, except by rollback.
    pub fn is_terminal(self) -> bool {
        self != Self::Incomplete
    }
}

words!(
    /// What a mutation did.
    Operation {
        /// A variable came to be.
        Create = "create",
        /// A variable got a value.
        Update = "update",
        /// A variable went away.
        Delete = "delete",
        /// A variable got another name.
        Rename = "rename",
    }
);

words!(
    /// The type of a variable's value.
    ValueType {
        /// A string.
        Text = "text",
        /// A finite number.
        Number = "number",
        /// True or false.
        Boolean = "boolean",
        /// Null.
        Null = "null",
        /// An object or a list.
        Json = "json",
        /// A list.
        Array = "array",
        /// A reference to a file under the store's root.
        FilePath = "file_path",
        /// The text of a file.
        FileContent = "file_content",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_case_matters() {
        for word in ValueType::WORDS {
            assert_eq!(word.parse::<ValueType>().unwrap().as_str(), *word);
        }
        assert!("Text".parse::<ValueType>().is_err());
        assert!("".parse::<Scope>().is_err());
        let message = "local".parse::<Scope>().unwrap_err().to_string();
        assert_eq!(message, "expected one of temporary, tree, session, global, found \"local\"");
    }

    #[test]
    fn lookup_goes_from_the_narrowest_scope_to_the_widest() {
        assert!(Scope::LOOKUP_ORDER.is_sorted());
        assert_eq!(Scope::LOOKUP_ORDER.len(), Scope::WORDS.len());
    }
}
