//! Enums whose values are the words of a format.

/// A text that is none of the words allowed in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}, found {found:?}", allowed.join(", "))]
pub struct UnknownWord {
    /// The allowed words.
    pub allowed: &'static [&'static str],
    /// The text, cut for display.
    pub found: String,
}

impl UnknownWord {
    /// The number of characters of a text that an error repeats.
    const FOUND_MAX: usize = 80;

    /// Reports a text that is none of the words.
    pub fn new(allowed: &'static [&'static str], found: &str) -> Self {
        Self { allowed, found: found.chars().take(Self::FOUND_MAX).collect() }
    }
}

/// Declares an enum with the word that a format uses for each value: how it is written, read and displayed.
///
/// ```
/// hence_canon::words! {
///     /// The direction of a change.
///     pub enum Direction {
///         /// Towards the sky.
///         Up = "up",
///         /// Towards the ground.
///         Down = "down",
///     }
/// }
///
/// assert_eq!(Direction::Up.as_str(), "up");
/// assert_eq!("down".parse(), Ok(Direction::Down));
/// assert_eq!("Up".parse::<Direction>().unwrap_err().to_string(), r#"expected one of up, down, found "Up""#);
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $visibility enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        #[allow(dead_code, reason = "not every list of words needs every function")]
        impl $name {
            /// Every value, in the order of the format.
            $visibility const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Every word, in the same order.
            $visibility const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the word for the value.
            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(text: &str) -> ::std::result::Result<Self, $crate::UnknownWord> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    other => Err($crate::UnknownWord::new(Self::WORDS, other)),
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, out: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                out.pad(self.as_str())
            }
        }

        impl ::std::convert::From<$name> for $crate::Value {
            fn from(word: $name) -> Self {
                word.as_str().into()
            }
        }
    };
}
