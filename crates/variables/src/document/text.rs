//! Documents as text.

use hence_canon::{ParseError, Value, parse};
use hence_yaml::YamlError;

/// How a document is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML 1.2, core schema.
    Yaml,
}

/// A text that cannot be read as a document at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON.
    #[error(transparent)]
    Json(#[from] ParseError),
    /// It is not YAML, or YAML that JSON cannot express.
    #[error(transparent)]
    Yaml(#[from] YamlError),
}

/// Reads a text into a value, losing nothing: duplicate keys are refused and integers stay exact.
///
/// # Errors
/// [`Unreadable`] with line and column.
pub fn read(text: &[u8], format: Format) -> Result<Value, Unreadable> {
    match format {
        Format::Json => Ok(parse(text)?),
        Format::Yaml => Ok(hence_yaml::parse_value(text)?),
    }
}
