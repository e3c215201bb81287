//! YAML 1.2 documents as JSON values, with the place of everything in the text.
//!
//! Skills and problems are written by people, and a finding is worth most where they can see it: a [`Document`]
//! knows for every JSON pointer where its key and its value stand. Reading follows the core schema of YAML 1.2 and
//! loses nothing: integers of any size stay exact, `no` stays a text, duplicate keys and what JSON cannot express
//! are errors. JSON is YAML, so JSON documents are read by the same words.
//!
//! It knows nothing of skills, opens no files, and bounds what a small text may grow to through aliases.
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
pub use reader::{DEPTH_MAX, NODES_MAX, parse, parse_value};

#[cfg(test)]
mod tests;
