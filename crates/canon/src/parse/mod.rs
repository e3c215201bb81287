//! The JSON reader: strict by default, lenient where a defect must be reported later than parsing.

mod error;
mod interner;
mod reader;
mod text;

pub use error::{Defect, DefectKind, Lenient, ParseError, ParseErrorKind, Position};
use reader::{Mode, Reader};

use crate::Value;

/// How deep lists and objects may nest.
///
/// Deep nesting costs stack in every tool that touches a document; real documents stay far below. The public engine
/// reads about as deep as this, so its journals can be verified here.
pub const DEPTH_MAX: usize = 512;

/// Reads one JSON document.
///
/// # Errors
/// [`ParseError`] with line, column and JSON pointer for anything RFC 8259 does not allow, and for what cannot be
/// hashed honestly: duplicate keys, lone surrogates, numbers beyond the range of a double, nesting deeper than
/// [`DEPTH_MAX`].
pub fn parse(json: &[u8]) -> Result<Value, ParseError> {
    Reader::new(json, Mode::Strict)?.document().map(|(value, _)| value)
}

/// Reads one JSON document and reports, rather than refuses, what has no canonical form.
///
/// The last of several equal keys wins. Non-finite numbers and lone surrogates become placeholders named in
/// [`Lenient::defects`]; a caller must refuse a document that has any before using its value as data.
///
/// # Errors
/// [`ParseError`] for everything else that [`parse`] refuses.
pub fn parse_lenient(json: &[u8]) -> Result<Lenient, ParseError> {
    let (value, defects) = Reader::new(json, Mode::Lenient)?.document()?;
    Ok(Lenient { value, defects })
}

#[cfg(test)]
mod tests;
