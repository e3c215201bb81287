//! Taking a log in as it comes.

use hence_canon::{Digest, ParseError, Value, parse};
use sha2::{Digest as _, Sha256};

use super::lines::Lines;
use super::session::Session;
use super::spans::Spans;
use super::{
    Format, ImportError, Imported, Surroundings, build, claude, codex, gemini, langfuse, otlp, pi, protobuf,
};

/// The largest log that is read as one document. Formats of one object per line have no such limit.
pub const LOG_DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Takes a log in as it comes, and makes traces of it at its end.
///
/// Of logs with one object per line only what a trace tells is kept, so memory grows with the trace and not with the
/// log. A log that is one document is held whole, up to [`LOG_DOCUMENT_BYTES_MAX`].
pub struct Importer {
    format: Format,
    digest: Sha256,
    lines: Lines,
    taken: Taken,
}

/// What was taken in so far.
enum Taken {
    /// Rows of a session.
    Session(Box<Session>, fn(&mut Session, &Value)),
    /// Rows that hold spans.
    Spans(Spans),
    /// One document, or bytes of which nobody knows yet whether they are lines.
    Document(Vec<u8>),
}

impl Importer {
    /// Begins to take in a log of a format.
    pub fn new(format: Format) -> Self {
        let session = |row: fn(&mut Session, &Value)| Taken::Session(Box::default(), row);
        let taken = match format {
            Format::ClaudeCode => session(claude::row),
            Format::Codex => session(codex::row),
            Format::Pi => session(pi::row),
            Format::Gemini | Format::Otlp | Format::OpenInference | Format::Langfuse => {
                Taken::Document(Vec::new())
            }
        };
        let mut digest = Sha256::new();
        digest.update(b"hence/import/v1\0");
        digest.update(format.as_str());
        digest.update(b"\0");
        Self { format, digest, lines: Lines::default(), taken }
    }

    /// Takes in the next bytes.
    ///
    /// # Errors
    /// [`ImportError::TooLarge`] when the log is one document beyond the limit.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.digest.update(bytes);
        match &mut self.taken {
            Taken::Session(session, row) => self.lines.push(bytes, &mut |value| {
                row(session, &value);
                Ok(())
            }),
            Taken::Spans(spans) => self.lines.push(bytes, &mut |value| spans.take(&value)),
            Taken::Document(held) => {
                if held.len() + bytes.len() > LOG_DOCUMENT_BYTES_MAX && !self.try_lines() {
                    let (format, limit) = (self.format, LOG_DOCUMENT_BYTES_MAX);
                    return Err(ImportError::TooLarge { format, limit });
                }
                match &mut self.taken {
                    Taken::Document(held) => held.extend_from_slice(bytes),
                    Taken::Spans(spans) => self.lines.push(bytes, &mut |value| spans.take(&value)),
                    Taken::Session(..) => {}
                }
            }
        }
        Ok(())
    }

    /// Makes the traces.
    ///
    /// # Errors
    /// [`ImportError`] when the bytes are no log of the format at all; single bad lines are skipped and reported.
    pub fn finish(mut self, surroundings: &Surroundings) -> Result<Imported, ImportError> {
        let document = match &self.taken {
            Taken::Document(held) => Some(parse(held)),
            _ => None,
        };
        if matches!(document, Some(Err(_))) {
            self.try_lines();
        }
        let traces = match self.taken {
            Taken::Session(mut session, row) => {
                self.lines.finish(&mut |value| {
                    row(&mut session, &value);
                    Ok(())
                });
                if let Some(reason) = self.lines.unreadable() {
                    return Err(ImportError::NoLine { format: self.format, reason: reason.to_owned() });
                }
                vec![build::trace(session.close(), self.format, surroundings, &finished(self.digest))]
            }
            Taken::Spans(mut spans) => {
                self.lines.finish(&mut |value| spans.take(&value));
                spans.traces()
            }
            Taken::Document(held) => {
                let document = document.unwrap_or_else(|| parse(&held));
                match self.format {
                    Format::Gemini => {
                        let session = gemini::read(&document?)?;
                        vec![build::trace(session, self.format, surroundings, &finished(self.digest))]
                    }
                    Format::Langfuse => langfuse::traces(&document?)?,
                    format => {
                        let document = document.or_else(|error| encoded(format, &held, error))?;
                        otlp::traces(&document, format)?
                    }
                }
            }
        };
        let Lines { skipped, skipped_count, .. } = self.lines;
        Ok(Imported { traces, skipped, skipped_count })
    }

    /// Takes what is held for lines, if its first line is an object by itself and the format has such a form.
    fn try_lines(&mut self) -> bool {
        let Taken::Document(held) = &mut self.taken else { return false };
        let first = held.split(|byte| *byte == b'\n').find(|line| !line.iter().all(u8::is_ascii_whitespace));
        let is_row = first.is_some_and(|line| matches!(parse(line), Ok(Value::Object(_))));
        let Some(mut spans) = Spans::of(self.format).filter(|_| is_row) else { return false };
        let held = std::mem::take(held);
        self.lines.push(&held, &mut |value| spans.take(&value));
        self.taken = Taken::Spans(spans);
        true
    }
}

fn finished(digest: Sha256) -> Digest {
    Digest::from_bytes(digest.finalize().into())
}

/// Reads telemetry that is no JSON: the protobuf encoding of the same, unless it was meant to be JSON.
fn encoded(format: Format, bytes: &[u8], error: ParseError) -> Result<Value, ImportError> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let decoded = protobuf::document(bytes);
    decoded.ok_or_else(|| match first {
        Some(b'{' | b'[') => error.into(),
        _ => {
            let expected = "spans as JSON, or as the protobuf encoding of an export request";
            ImportError::Shape { format, expected }
        }
    })
}
