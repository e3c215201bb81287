//! The JSON reader: strict by default, lenient where a defect must be reported later than parsing.

mod error;
mod interner;
mod reader;
mod text;

pub use error::{Defect, DefectKind, Lenient, ParseError, ParseErrorKind, Position};
use reader::{Mode, Reader};

use crate::Value;

/// The maximum nesting depth of lists and objects.
///
/// Deep nesting uses stack in every tool that reads a document, and real documents are far less deep. The public engine
/// reads to about the same depth, so its journals can be verified here.
pub const DEPTH_MAX: usize = 512;

/// Reads one JSON document.
///
/// # Errors
/// [`ParseError`] with line, column and JSON pointer for anything RFC 8259 does not allow, and for values without a
/// canonical form: duplicate keys, lone surrogates, numbers beyond the range of a double, nesting deeper than
/// [`DEPTH_MAX`].
pub fn parse(json: &[u8]) -> Result<Value, ParseError> {
    Reader::new(json, Mode::Strict)?.document().map(|(value, _)| value)
}

/// Reads one JSON document and reports values without a canonical form as defects instead of refusing the document.
///
/// The last of several equal keys wins. Non-finite numbers and lone surrogates become placeholders listed in
/// [`Lenient::defects`]; a caller must refuse a document that has defects before using its value as data.
///
/// # Errors
/// [`ParseError`] for everything else that [`parse`] refuses.
pub fn parse_lenient(json: &[u8]) -> Result<Lenient, ParseError> {
    let (value, defects) = Reader::new(json, Mode::Lenient)?.document()?;
    Ok(Lenient { value, defects })
}

#[cfg(test)]
mod tests;
