//! YAML 1.2 documents as JSON values, with the position of every value in the text.
//!
//! People write skills and problems, and a finding helps most when it points into their text: a [`Document`] knows the
//! position of the key and the value at every JSON pointer. Reading follows the core schema of YAML 1.2 and loses
//! nothing: integers of any size stay exact, `no` stays a text, and duplicate keys and values that JSON cannot express
//! are errors. JSON is YAML, so the same reader reads JSON documents.
//!
//! This crate knows nothing of skills, opens no files, and limits the size to which aliases can expand a small text.
//!
//! ```
//! let document = hence_yaml::parse(b"steps:\n  - id: a\n    uses: text.split\n")?;
//! assert_eq!(document.value().to_string(), r#"{"steps":[{"id":"a","uses":"text.split"}]}"#);
//! let uses = document.place(&"/steps/0/uses".parse()?);
//! assert_eq!((uses.value.start.line, uses.value.start.column), (3, 11));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod document;
mod error;
mod place;
mod reader;
mod scalar;

pub use document::Document;
pub use error::{YamlError, YamlErrorKind};
pub use place::{Place, Span};
pub use reader::{DEPTH_MAX, EXPANDED_BYTES_MAX, NODES_MAX, parse, parse_repeated, parse_value};

#[cfg(test)]
mod tests;
