//! JSON as `hence` hashes it: one value type, one strict parser, one canonical form, one digest.
//!
//! Everything above this crate identifies data by the SHA-256 of its canonical bytes (`json-c14n-v1`), so the
//! rules that make those bytes unique live here and nowhere else:
//!
//! - [`Value`] preserves the document: integers of any size stay exact, floats stay floats, object members
//!   stay in order. Cloning shares.
//! - [`parse`] refuses what cannot be hashed honestly — duplicate keys, lone surrogates, non-finite numbers —
//!   and reports the place. [`parse_lenient`] reports the same defects instead, for the one reader that needs it.
//! - [`Canonical`] is a value together with its canonical bytes; [`scan`] proves that bytes already are canonical.
//! - [`PartedDigest`] hashes a document in parts and repeats only the work after the first changed part.
//! - [`read`] reads typed data out of values and reports what does not fit, one [`Finding`](read::Finding) each.
//! - [`words!`] declares enums whose values are the words of a format.
//! - [`time`] reads and writes the spellings of times.
//!
//! It does no I/O, reads no clock, and knows nothing of runs, states or records.
//!
//! ```
//! use hence_canon::{Canonical, parse};
//!
//! let value = parse(br#"{"b": 1.50, "a": [true, null]}"#)?;
//! let canonical = Canonical::of(&value);
//! assert_eq!(canonical.bytes(), br#"{"a":[true,null],"b":1.5}"#);
//! assert_eq!(
//!     canonical.digest().to_string(),
//!     "10ab843e0579ffa73417d6bca190d6a5cec0ef198550dc9b7bb0be6a229f3dea",
//! );
//! # Ok::<(), hence_canon::ParseError>(())
//! ```

mod canonical;
mod digest;
mod float;
mod number;
mod object;
mod object_writer;
mod parse;
mod parted;
mod plain;
mod pointer;
mod pretty;
pub mod read;
pub mod scan;
mod similar;
pub mod time;
mod value;
mod words;
mod write;

pub use canonical::Canonical;
pub use digest::{Digest, Hasher, InvalidDigest};
pub use number::{Float, INT_DIGITS_MAX, Int, InvalidInt, NotFinite};
pub use object::{DuplicateKey, Object};
pub use object_writer::ObjectWriter;
pub use parse::{
    DEPTH_MAX, Defect, DefectKind, Lenient, ParseError, ParseErrorKind, Position, parse, parse_lenient,
};
pub use parted::{Midstate, Part, PartedDigest};
pub use pointer::{InvalidPointer, JsonPointer};
pub use pretty::pretty;
pub use similar::{did_you_mean, meant};
pub use value::{Kind, Value};
pub use words::UnknownWord;
pub use write::{canonical_bytes, write_string, write_texts};
