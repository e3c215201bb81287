//! Sessions of other agents, and exports of their telemetry, as traces.
//!
//! Each format has a small adapter; what a trace looks like is decided once, in the core. An [`Importer`] takes a log in
//! as it comes. Import is
//! deterministic: ids come from the log or its content, times from the log, nothing from here. What a log does
//! not say is not invented, and what looks like a secret is not copied.
//!
//! Only the specification's words are written. What the source called an action stands in
//! `execution.method`; an input nobody produced becomes a reference artifact.

mod artifacts;
mod build;
mod claude;
mod codex;
mod command;
mod detect;
mod gemini;
mod importer;
pub(crate) mod instant;
mod langfuse;
mod lines;
mod otlp;
mod pi;
mod protobuf;
mod redact;
mod session;
mod span;
mod spans;
mod text;
mod units;

use hence_canon::{ParseError, Value};

pub use detect::{describe, detect};
pub use importer::{Importer, LOG_DOCUMENT_BYTES_MAX};
pub use lines::{LINE_BYTES_MAX, SKIPPED_LINES_TOLD, SkippedLine};

/// The formats that can be imported.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names of the formats")]
pub enum Format {
    ClaudeCode,
    Codex,
    Gemini,
    Pi,
    /// OpenTelemetry spans, as JSON or in the protobuf encoding.
    Otlp,
    /// Spans with the attributes of OpenInference, in any form of OpenTelemetry or as its tools export them.
    OpenInference,
    Langfuse,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Pi,
        Self::Otlp,
        Self::OpenInference,
        Self::Langfuse,
    ];

    /// Returns the format of that word.
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == word)
    }

    /// Returns the word for commands and trace ids.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Pi => "pi",
            Self::Otlp => "otlp",
            Self::OpenInference => "openinference",
            Self::Langfuse => "langfuse",
        }
    }
}

/// Where a session ran, to shorten its paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The project folder. Paths inside it become relative.
    pub working_directory: Option<String>,
    /// The home folder. Paths inside it begin with `~`.
    pub home: Option<String>,
}

/// What an import gave.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Imported {
    /// The traces; a session gives one, an export one per trace id.
    pub traces: Vec<Value>,
    /// Lines that could not be read, the first [`SKIPPED_LINES_TOLD`] of them.
    pub skipped: Vec<SkippedLine>,
    /// How many lines could not be read.
    pub skipped_count: usize,
}

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A format of one document per file.
    #[error("not a JSON document: {0}")]
    Document(#[from] ParseError),
    /// A log that is one document must be held whole.
    #[error("a log of the format {format} that is one document has at most {limit} bytes", format = .format.as_str())]
    TooLarge {
        /// The format asked for.
        format: Format,
        /// The limit.
        limit: usize,
    },
    /// A format of one object per line, and not a single one.
    #[error("not a log of the format {format}: no line of it can be read, the first because {reason}", format = .format.as_str())]
    NoLine {
        /// The format asked for.
        format: Format,
        /// Why the first line could not be read.
        reason: String,
    },
    /// A document, but not of this format.
    #[error("not a log of the format {format}: expected {expected}", format = .format.as_str())]
    Shape {
        /// The format asked for.
        format: Format,
        /// What it would have.
        expected: &'static str,
    },
}

/// Imports a log that is at hand as a whole.
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
