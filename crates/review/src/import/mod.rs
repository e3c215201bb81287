//! Import of other agents' sessions and telemetry as traces.
//!
//! Each format has a small adapter that fills a session or a list of spans; the trace is built in one place. An
//! [`Importer`] reads a log piece by piece. Import is deterministic: ids and times come from the log. Nothing is invented
//! that a log does not contain, and secrets are not copied.
//!
//! Traces use only the words of the specification. The source's own word for an action is in `execution.method`; an
//! input nobody produced becomes a reference artifact.

mod approval;
mod artifacts;
mod build;
mod claude;
mod codex;
mod detect;
mod exec_header;
mod expand;
mod gemini;
mod importer;
mod instruction;
mod json;
mod langfuse;
mod late;
mod leaks;
mod lines;
mod otlp;
mod outcome;
mod pi;
mod protobuf;
mod session;
mod span;
mod text;
mod units;
mod usage;

use hence_canon::{ParseError, Value};

pub use detect::{describe, detect};
pub use importer::{Importer, LOG_DOCUMENT_BYTES_MAX};
pub use lines::{LINE_BYTES_MAX, SKIPPED_LINES_LISTED, SkippedLine};
pub(crate) use span::parse_time;

hence_canon::words! {
    /// The formats that can be imported, with their words in commands and trace ids.
    #[allow(missing_docs, reason = "the names of the formats")]
    pub enum Format {
        ClaudeCode = "claude-code",
        Codex = "codex",
        Gemini = "gemini",
        Pi = "pi",
        /// OpenTelemetry spans, as JSON or in the protobuf encoding.
        Otlp = "otlp",
        /// Spans with the attributes of OpenInference, in any form of OpenTelemetry or as its tools export them.
        OpenInference = "openinference",
        Langfuse = "langfuse",
    }
}

/// The folders a session ran in, to shorten its paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The project folder. Paths inside it become relative.
    pub working_directory: Option<String>,
    /// The home folder. Paths inside it begin with `~`.
    pub home: Option<String>,
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Imported {
    /// The traces; a session gives one, an export one per trace id.
    pub traces: Vec<Value>,
    /// The first [`SKIPPED_LINES_LISTED`] lines that could not be read.
    pub skipped: Vec<SkippedLine>,
    /// The number of lines that could not be read.
    pub skipped_count: usize,
}

/// The reasons why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A log of one document is not JSON.
    #[error("not a JSON document: {0}")]
    Document(#[from] ParseError),
    /// A log of one document, which must be held in memory, is too large.
    #[error("a log of the format {format} that is one document has at most {limit} bytes", format = .format.as_str())]
    TooLarge {
        /// The format asked for.
        format: Format,
        /// The limit.
        limit: usize,
    },
    /// A log of one object per line has no such line.
    #[error("not a log of the format {format}: no line of it can be read, the first because {reason}", format = .format.as_str())]
    NoLine {
        /// The format asked for.
        format: Format,
        /// The reason why the first line could not be read.
        reason: String,
    },
    /// A document is not of this format.
    #[error("not a log of the format {format}: expected {expected}", format = .format.as_str())]
    Shape {
        /// The format asked for.
        format: Format,
        /// The members a log of the format has.
        expected: &'static str,
    },
}

/// Imports a log from memory.
///
/// # Errors
/// [`ImportError`] when the bytes are no log of the format at all; single bad lines are skipped and reported.
pub fn import(bytes: &[u8], format: Format, surroundings: &Surroundings) -> Result<Imported, ImportError> {
    let mut importer = Importer::new(format);
    importer.push(bytes)?;
    importer.finish(surroundings)
}

#[cfg(test)]
mod tests;
