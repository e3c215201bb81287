//! One line of a journal: from raw bytes to proved canonical members.

use std::borrow::Cow;

use hence_canon::scan::{self, Member};
use hence_canon::{Digest, ParseErrorKind, Value, canonical_bytes, parse};

use super::fields::{DEPTH, Fields};

/// The longest line that is read.
///
/// Large values are stored outside the journal, so a longer line is a mistake or an attack; the limit bounds the memory
/// that reading one record can take.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A line that holds a JSON object, together with the canonical bytes of that object.
pub struct Line<'a> {
    canonical: Cow<'a, [u8]>,
}

/// The reasons why a line holds no JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The line is empty or blank.
    #[error("blank line")]
    Blank,
    /// A carriage return before the line feed.
    #[error("line ends with CR LF, expected LF alone")]
    CarriageReturn,
    /// A byte order mark.
    #[error("byte order mark before the first record")]
    ByteOrderMark,
    /// Bytes that are not UTF-8.
    #[error("bytes are not UTF-8")]
    InvalidUtf8,
    /// A key that occurs twice.
    #[error("{0}")]
    DuplicateKey(String),
    /// The line is not JSON for another reason.
    #[error("{0}")]
    InvalidJson(String),
    /// The line is JSON, but not an object.
    #[error("expected an object, found {0}")]
    NotObject(hence_canon::Kind),
    /// The line is longer than [`LINE_BYTES_MAX`].
    #[error("line has {0} bytes, limit is {LINE_BYTES_MAX}")]
    TooLong(usize),
}

impl LineError {
    /// Returns the stable word for this reason.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Blank => "blank_line",
            Self::CarriageReturn => "crlf",
            Self::ByteOrderMark => "bom",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::DuplicateKey(_) => "duplicate_key",
            Self::InvalidJson(_) => "invalid_json",
            Self::NotObject(_) => "not_object",
            Self::TooLong(_) => "line_too_long",
        }
    }
}

impl<'a> Line<'a> {
    /// Reads a line without its line feed.
    ///
    /// A line in canonical form is used as it is; any other spelling of an object is parsed and written canonically, so
    /// that the hash always covers canonical bytes, never bytes that a forger chose.
    ///
    /// # Errors
    /// [`LineError`] when it holds no JSON object.
    pub fn read(line: &'a [u8], members: &mut Vec<Member<'a>>) -> Result<Self, LineError> {
        if line.len() > LINE_BYTES_MAX {
            return Err(LineError::TooLong(line.len()));
        }
        members.clear();
        let is_object = line.first() == Some(&b'{');
        if is_object && scan::prove_with(line, DEPTH, |member| members.push(member)).is_ok() {
            return Ok(Self { canonical: Cow::Borrowed(line) });
        }
        members.clear();
        Ok(Self { canonical: Cow::Owned(canonical_form(line)?) })
    }

    /// Returns the canonical bytes of the record.
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// Runs `body` on the record's members.
    ///
    /// `members` are those collected by [`read`](Self::read); a line that was rewritten is scanned again.
    pub(crate) fn with_fields<T>(
        &self,
        members: &[Member<'a>],
        body: impl FnOnce(Fields<'_, '_>, &[u8]) -> T,
    ) -> T {
        match &self.canonical {
            Cow::Borrowed(bytes) => body(Fields::of_record(members), bytes),
            Cow::Owned(bytes) => {
                let mut members = Vec::new();
                let proved = scan::prove_with(bytes, DEPTH, |member| members.push(member));
                debug_assert!(proved.is_ok(), "the writer writes canonical bytes");
                body(Fields::of_record(&members), bytes)
            }
        }
    }
}

/// Returns the digest of a record: of its canonical bytes without the member `record_hash`.
pub(crate) fn record_hash(fields: Fields<'_, '_>, canonical: &[u8]) -> Digest {
    let Some(member) = fields.member("record_hash") else { return Digest::of(canonical) };
    // One of the commas around the member is removed with it.
    let leads = canonical.get(member.start.wrapping_sub(1)) == Some(&b',');
    let (start, end) = if leads { (member.start - 1, member.end) } else { (member.start, member.end + 1) };
    let before = canonical.get(..start).unwrap_or_default();
    let behind = canonical.get(end.min(canonical.len())..).unwrap_or_default();
    // A record with only its hash leaves an object without members.
    let behind = if before == b"{" && behind.is_empty() { b"}" } else { behind };
    Digest::of_parts([before, behind])
}

/// Parses a line that is not canonical, and writes it canonically.
fn canonical_form(line: &[u8]) -> Result<Vec<u8>, LineError> {
    if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) && !line.contains(&b'\r') {
        return Err(LineError::Blank);
    }
    if line.last() == Some(&b'\r') {
        return Err(LineError::CarriageReturn);
    }
    match parse(line) {
        Ok(value @ Value::Object(_)) => Ok(canonical_bytes(&value)),
        Ok(other) => Err(LineError::NotObject(other.kind())),
        Err(error) => Err(match error.kind {
            ParseErrorKind::ByteOrderMark => LineError::ByteOrderMark,
            ParseErrorKind::InvalidUtf8 => LineError::InvalidUtf8,
            ParseErrorKind::DuplicateKey(_) => LineError::DuplicateKey(error.to_string()),
            _ => LineError::InvalidJson(error.to_string()),
        }),
    }
}
