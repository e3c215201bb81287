//! Logs of one JSON object per line, read piece by piece.

use hence_canon::{Value, parse};

/// The longest line that is read. Agents write whole files into a line, so the limit is large; a longer line is
/// skipped and reported, and costs no memory.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The number of skipped lines that are listed; the others are counted.
pub const SKIPPED_LINES_LISTED: usize = 1000;

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// The number of the line, from 1.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

/// Splits bytes into lines and reads each. A torn line affects no other line.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of an unfinished line.
    begun: Vec<u8>,
    /// Whether that line is longer than the limit.
    overlong: bool,
    line: usize,
    /// The number of usable lines.
    used: usize,
    pub(super) skipped: Vec<SkippedLine>,
    pub(super) skipped_count: usize,
}

impl Lines {
    /// Reads bytes and passes every object to `each`, which returns the reason if it cannot use one.
    pub(super) fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Value) -> Result<(), String>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.begun.is_empty() && !self.overlong {
                self.read(line, each);
            } else {
                self.begin(line);
                let whole = std::mem::take(&mut self.begun);
                self.read(&whole, each);
            }
        }
        self.begin(bytes);
    }

    /// Reads the bytes after the last line feed.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Value) -> Result<(), String>) {
        if !self.begun.is_empty() || self.overlong {
            let last = std::mem::take(&mut self.begun);
            self.read(&last, each);
        }
    }

    fn begin(&mut self, part: &[u8]) {
        if self.overlong || self.begun.len() + part.len() > LINE_BYTES_MAX {
            self.overlong = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    fn read(&mut self, line: &[u8], each: &mut dyn FnMut(Value) -> Result<(), String>) {
        self.line += 1;
        if std::mem::take(&mut self.overlong) || line.len() > LINE_BYTES_MAX {
            return self.skip(format!("the line is longer than {LINE_BYTES_MAX} bytes"));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let used = match parse(line) {
            Ok(row @ Value::Object(_)) => each(row),
            Ok(other) => Err(format!("expected an object, found {}", other.kind())),
            // The skipped line is reported with its number, so the column is enough.
            Err(error) => Err(format!("{} at column {}", error.kind, error.position.column)),
        };
        match used {
            Ok(()) => self.used += 1,
            Err(reason) => self.skip(reason),
        }
    }

    /// Returns why the first line could not be read, if none of them could.
    pub(super) fn unreadable(&self) -> Option<&str> {
        let first = self.skipped.first().filter(|_| self.used == 0);
        first.map(|line| line.reason.as_str())
    }

    fn skip(&mut self, reason: String) {
        self.skipped_count += 1;
        if self.skipped.len() < SKIPPED_LINES_LISTED {
            self.skipped.push(SkippedLine { line: self.line, reason });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], width: usize) -> (Vec<Value>, Lines) {
        let (mut rows, mut lines) = (Vec::new(), Lines::default());
        let mut each = |row: Value| {
            rows.push(row);
            Ok(())
        };
        for chunk in bytes.chunks(width) {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        (rows, lines)
    }

    #[test]
    fn lines_do_not_depend_on_how_bytes_are_split() {
        let log = b"{\"a\":1}\n\n  \n[2]\n{\"b\":\n{\"c\":3}\r\n{\"d\":4}";
        let (rows, lines) = read(log, log.len());
        assert_eq!(rows.len(), 3);
        assert_eq!(lines.skipped.iter().map(|line| line.line).collect::<Vec<_>>(), [4, 5]);
        for width in 1..log.len() {
            let (again, cut) = read(log, width);
            assert_eq!(
                (again, cut.skipped),
                (rows.clone(), lines.skipped.clone()),
                "{width} bytes at a time"
            );
        }
    }

    #[test]
    fn a_line_at_the_limit_is_read_and_a_longer_one_skipped() {
        let line = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        let log = format!("{}\n{}\n{{}}", line(LINE_BYTES_MAX), line(LINE_BYTES_MAX + 1));
        let (rows, lines) = read(log.as_bytes(), 1 << 20);
        assert_eq!(rows.len(), 2);
        assert_eq!(lines.skipped.iter().map(|line| line.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn skipped_lines_beyond_the_limit_are_counted() {
        let log = "x\n".repeat(SKIPPED_LINES_LISTED + 1);
        let (_, lines) = read(log.as_bytes(), 4096);
        assert_eq!(
            (lines.skipped.len(), lines.skipped_count),
            (SKIPPED_LINES_LISTED, SKIPPED_LINES_LISTED + 1)
        );
    }
}
