//! Logs of one JSON object per line, taken in as they come.

use hence_canon::{Value, parse};

/// The longest line that is read. Agents write whole files into a line, so it is large; a longer one is skipped and
/// reported, and costs no memory.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How many skipped lines are told one by one; the others are counted.
pub const SKIPPED_LINES_TOLD: usize = 1000;

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// The number of the line, from 1.
    pub line: usize,
    /// Why.
    pub reason: String,
}

/// Cuts what comes in into lines and reads each. A torn line loses itself alone.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// Whether that line is longer than is read.
    overlong: bool,
    line: usize,
    /// How many lines were of use.
    used: usize,
    pub(super) skipped: Vec<SkippedLine>,
    pub(super) skipped_count: usize,
}

impl Lines {
    /// Takes bytes in and hands every object to `each`, which says why it cannot use one.
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

    /// Reads what is left behind the last line feed.
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
            // The position is one in the log: its line is told beside it.
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
        if self.skipped.len() < SKIPPED_LINES_TOLD {
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
    fn however_bytes_come_the_lines_are_the_same() {
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
        let log = "x\n".repeat(SKIPPED_LINES_TOLD + 1);
        let (_, lines) = read(log.as_bytes(), 4096);
        assert_eq!((lines.skipped.len(), lines.skipped_count), (SKIPPED_LINES_TOLD, SKIPPED_LINES_TOLD + 1));
    }
}
