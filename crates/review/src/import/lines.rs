//! Logs of one JSON object per line.

use hence_canon::{Value, parse};

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// The number of the line, from 1.
    pub line: usize,
    /// Why.
    pub reason: String,
}

/// Reads the rows of a log. A torn line loses itself alone.
pub(super) fn read(bytes: &[u8]) -> (Vec<Value>, Vec<SkippedLine>) {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse(line) {
            Ok(row @ Value::Object(_)) => rows.push(row),
            Ok(other) => {
                skipped.push(SkippedLine {
                    line: index + 1,
                    reason: format!("expected an object, found {}", other.kind()),
                });
            }
            Err(error) => skipped.push(SkippedLine { line: index + 1, reason: error.to_string() }),
        }
    }
    (rows, skipped)
}
