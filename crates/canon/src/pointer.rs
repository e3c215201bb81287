//! JSON pointers (RFC 6901): where something is inside a document.

use std::fmt;
use std::str::FromStr;

/// A place inside a JSON document. Displays in RFC 6901 form; the whole document is the empty text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct JsonPointer(Vec<String>);

/// A text that is not an RFC 6901 pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPointer {
    /// A non-empty pointer starts with a slash.
    #[error("a JSON pointer is empty or starts with `/`, found {0:?}")]
    NoLeadingSlash(String),
    /// A tilde is followed by `0` or `1`.
    #[error("in a JSON pointer `~` is written `~0` and `/` is written `~1`, found {0:?}")]
    BadEscape(String),
}

impl JsonPointer {
    /// Returns the pointer to the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns whether this is the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the pointer to `token` inside what this names.
    #[must_use]
    pub fn child(&self, token: impl fmt::Display) -> Self {
        let mut tokens = self.0.clone();
        tokens.push(token.to_string());
        Self(tokens)
    }

    /// Returns `other` read from where this points.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// Returns the unescaped tokens from the outside in.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        self.0.iter().map(String::as_str)
    }

    /// Reads a token as a list index: digits without leading zeros.
    pub fn list_index(token: &str) -> Option<usize> {
        let plain =
            token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
        if plain { token.parse().ok() } else { None }
    }

    /// Builds the pointer of a parse error while the parser unwinds, innermost token first.
    pub(crate) fn from_innermost_first(mut tokens: Vec<String>) -> Self {
        tokens.reverse();
        Self(tokens)
    }
}

impl<T: fmt::Display> FromIterator<T> for JsonPointer {
    fn from_iter<I: IntoIterator<Item = T>>(tokens: I) -> Self {
        Self(tokens.into_iter().map(|token| token.to_string()).collect())
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| write!(out, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

impl FromStr for JsonPointer {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let rest = text.strip_prefix('/').ok_or_else(|| InvalidPointer::NoLeadingSlash(text.to_owned()))?;
        rest.split('/')
            .map(unescape)
            .collect::<Option<_>>()
            .map(Self)
            .ok_or_else(|| InvalidPointer::BadEscape(text.to_owned()))
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let mut rest = part.chars();
        plain.push(match rest.next()? {
            '0' => '~',
            '1' => '/',
            _ => return None,
        });
        plain.push_str(rest.as_str());
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_tokens_convert_both_ways() {
        for text in ["", "/", "/a", "/a~1b/0", "/~0~01", "//x"] {
            assert_eq!(text.parse::<JsonPointer>().unwrap().to_string(), text);
        }
        let pointer: JsonPointer = "/a~1b/~0".parse().unwrap();
        assert_eq!(pointer.tokens().collect::<Vec<_>>(), ["a/b", "~"]);
    }

    #[test]
    fn a_malformed_pointer_is_refused() {
        for text in ["a", "#/a", "/~", "/~2"] {
            assert!(text.parse::<JsonPointer>().is_err(), "{text}");
        }
    }

    #[test]
    fn list_indices_have_one_spelling() {
        assert_eq!(JsonPointer::list_index("10"), Some(10));
        for token in ["", "01", "-1", "+1", "1.0", "99999999999999999999999"] {
            assert_eq!(JsonPointer::list_index(token), None, "{token}");
        }
    }
}
