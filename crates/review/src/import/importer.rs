//! Reading a log piece by piece, in the way its format needs.

use hence_canon::{Digest, ParseError, Value, parse};
use sha2::{Digest as _, Sha256};

use super::lines::Lines;
use super::session::Session;
use super::{
    Format, ImportError, Imported, Surroundings, build, claude, codex, gemini, langfuse, otlp, pi, protobuf,
};

/// The largest log that is read as one document. Formats of one object per line have no such limit.
pub const LOG_DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Reads a log piece by piece, and makes its traces at the end.
///
/// Of a log with one object per line only the parts a trace shows are stored, so memory grows with the trace and not
/// with the log. A log that is one document is held whole, up to [`LOG_DOCUMENT_BYTES_MAX`].
pub struct Importer {
    format: Format,
    digest: Sha256,
    lines: Lines,
    content: Content,
}

/// The content read so far.
enum Content {
    /// Rows of a session.
    Session(Box<Session>, fn(&mut Session, &Value)),
    /// Rows that hold spans.
    Spans(Spans),
    /// One document, or bytes that may turn out to be lines.
    Document(Vec<u8>),
}

impl Importer {
    /// Starts reading a log of a format.
    pub fn new(format: Format) -> Self {
        let session = |row: fn(&mut Session, &Value)| Content::Session(Box::default(), row);
        let content = match format {
            Format::ClaudeCode => session(claude::row),
            Format::Codex => session(codex::row),
            Format::Pi => session(pi::row),
            Format::Gemini | Format::Otlp | Format::OpenInference | Format::Langfuse => {
                Content::Document(Vec::new())
            }
        };
        let mut digest = Sha256::new();
        digest.update(b"hence/import/v1\0");
        digest.update(format.as_str());
        digest.update(b"\0");
        Self { format, digest, lines: Lines::default(), content }
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    /// [`ImportError::TooLarge`] when the log is one document beyond the limit.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.digest.update(bytes);
        match &mut self.content {
            Content::Session(session, row) => self.lines.push(bytes, &mut |value| {
                row(session, &value);
                Ok(())
            }),
            Content::Spans(spans) => self.lines.push(bytes, &mut |value| spans.add(&value)),
            Content::Document(held) => {
                if held.len() + bytes.len() > LOG_DOCUMENT_BYTES_MAX && !self.try_lines() {
                    let (format, limit) = (self.format, LOG_DOCUMENT_BYTES_MAX);
                    return Err(ImportError::TooLarge { format, limit });
                }
                match &mut self.content {
                    Content::Document(held) => held.extend_from_slice(bytes),
                    Content::Spans(spans) => self.lines.push(bytes, &mut |value| spans.add(&value)),
                    Content::Session(..) => {}
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
        let document = match &self.content {
            Content::Document(held) => Some(parse(held)),
            _ => None,
        };
        if matches!(document, Some(Err(_))) {
            self.try_lines();
        }
        let traces = match self.content {
            Content::Session(mut session, row) => {
                self.lines.finish(&mut |value| {
                    row(&mut session, &value);
                    Ok(())
                });
                if let Some(reason) = self.lines.unreadable() {
                    return Err(ImportError::NoLine { format: self.format, reason: reason.to_owned() });
                }
                vec![build::trace(session.close(), self.format, surroundings, &finished(self.digest))]
            }
            Content::Spans(mut spans) => {
                self.lines.finish(&mut |value| spans.add(&value));
                spans.traces()
            }
            Content::Document(held) => {
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

    /// Reads the held bytes as lines, if the format has such a form and the first line is an object.
    fn try_lines(&mut self) -> bool {
        let Content::Document(held) = &mut self.content else { return false };
        let first = held.split(|byte| *byte == b'\n').find(|line| !line.iter().all(u8::is_ascii_whitespace));
        let is_row = first.is_some_and(|line| matches!(parse(line), Ok(Value::Object(_))));
        let Some(mut spans) = Spans::of(self.format).filter(|_| is_row) else { return false };
        let held = std::mem::take(held);
        self.lines.push(&held, &mut |value| spans.add(&value));
        self.content = Content::Spans(spans);
        true
    }
}

fn finished(digest: Sha256) -> Digest {
    Digest::from_bytes(digest.finalize().into())
}

/// Reads telemetry that is not JSON as protobuf; bytes that look like JSON keep their parse error.
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

/// Spans collected row by row: collectors append one export after another to a file.
enum Spans {
    Telemetry(otlp::Collected),
    Langfuse(langfuse::Collected),
}

impl Spans {
    /// Makes an empty collection; `None` for formats without rows of spans.
    fn of(format: Format) -> Option<Self> {
        match format {
            Format::Otlp | Format::OpenInference => Some(Self::Telemetry(otlp::Collected::new(format))),
            Format::Langfuse => Some(Self::Langfuse(langfuse::Collected::default())),
            Format::ClaudeCode | Format::Codex | Format::Gemini | Format::Pi => None,
        }
    }

    /// Adds the spans of a row.
    ///
    /// # Errors
    /// The reason why the row has no span.
    fn add(&mut self, row: &Value) -> Result<(), String> {
        match self {
            Self::Telemetry(collected) => collected.add(row).map_err(|error| error.to_string()),
            Self::Langfuse(collected) => collected.add_document(row).map_err(|error| error.to_string()),
        }
    }

    /// Makes one trace per trace id, in the order in which they first occur.
    fn traces(self) -> Vec<Value> {
        match self {
            Self::Telemetry(collected) => collected.traces(),
            Self::Langfuse(collected) => collected.traces(),
        }
    }
}
