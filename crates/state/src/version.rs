//! Version numbers.

use std::fmt;
use std::sync::Arc;

use crate::Typing;
use crate::text::decimal_digit;

/// A semantic version, in its original spelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    text: Arc<str>,
    major: Option<u64>,
}

/// A text that is not a semantic version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a semantic version such as 1.0.0, found {found:?}")]
pub struct InvalidVersion {
    /// The text.
    pub found: String,
}

impl Version {
    /// Reads a semantic version (SemVer 2.0, ASCII).
    ///
    /// # Errors
    /// [`InvalidVersion`] for any other text.
    pub fn parse(text: &str) -> Result<Self, InvalidVersion> {
        let parsed = semver::Version::parse(text).map_err(|_| InvalidVersion { found: text.to_owned() })?;
        Ok(Self { text: text.into(), major: Some(parsed.major) })
    }

    /// Reads three numbers with dots in digits of any script, with or without a line feed at the end.
    ///
    /// # Errors
    /// [`InvalidVersion`] for any other text.
    pub fn parse_lax(text: &str) -> Result<Self, InvalidVersion> {
        let invalid = || InvalidVersion { found: text.to_owned() };
        let numbers: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('.').collect();
        let is_number =
            |number: &&str| !number.is_empty() && number.chars().all(|c| decimal_digit(c).is_some());
        let [major, _, _] = numbers.as_slice() else { return Err(invalid()) };
        if !numbers.iter().all(is_number) {
            return Err(invalid());
        }
        let major = major
            .chars()
            .filter_map(decimal_digit)
            .try_fold(0u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit)));
        Ok(Self { text: text.into(), major })
    }

    /// Returns whether a text is a version under `typing`.
    pub fn is_valid(text: &str, typing: Typing) -> bool {
        match typing {
            Typing::Strict => Self::parse(text).is_ok(),
            Typing::Lax => Self::parse_lax(text).is_ok(),
        }
    }

    /// Returns the first number, if it fits 64 bits.
    pub fn major(&self) -> Option<u64> {
        self.major
    }

    /// Returns the original text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_versions_are_semver() {
        for good in ["1.0.0", "0.1.0", "1.2.3-rc.1", "1.0.0+build.5"] {
            assert!(Version::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "1", "1.0", "01.2.3", "1.0.0\n", "v1.0.0", "1.0.0 ", "١.0.0", "1.0.0.0"] {
            assert!(Version::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lax_versions_are_three_runs_of_digits() {
        for (good, major) in [("1.0.0", 1), ("01.2.3", 1), ("1.0.0\n", 1), ("٢.0.0", 2)] {
            assert_eq!(Version::parse_lax(good).unwrap().major(), Some(major), "{good:?}");
        }
        for bad in ["", "1.0", "1.0.0\n\n", "1.0.0 ", "1.0.0-rc", "1..0", "1.0.0.0"] {
            assert!(Version::parse_lax(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Version::parse_lax("99999999999999999999999.0.0").unwrap().major(), None);
    }
}
