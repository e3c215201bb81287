//! Sessions of other agents, and exports of their telemetry, as traces.
//!
//! Each format has a small adapter; what a trace looks like is decided once, in the core. Import is
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
mod gemini;
pub(crate) mod instant;
mod langfuse;
mod lines;
mod otlp;
mod pi;
mod redact;
mod session;
mod span;
mod text;
mod units;

use hence_canon::{ParseError, Value, parse};

pub use lines::SkippedLine;

/// The formats that can be imported.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names of the formats")]
pub enum Format {
    ClaudeCode,
    Codex,
    Gemini,
    Pi,
    /// OpenTelemetry spans as JSON.
    Otlp,
    Langfuse,
}

impl Format {
    /// Returns the word for commands and trace ids.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Pi => "pi",
            Self::Otlp => "otlp",
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
    /// Lines that could not be read.
    pub skipped: Vec<SkippedLine>,
}

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A format of one document per file.
    #[error("not a JSON document: {0}")]
    Document(#[from] ParseError),
    /// A document, but not of this format.
    #[error("not a {format} log: {expected}", format = .format.as_str())]
    Shape {
        /// The format asked for.
        format: Format,
        /// What it would have.
        expected: &'static str,
    },
}

/// Imports a log.
///
/// # Errors
/// [`ImportError`] when the bytes are no log of the format at all; single bad lines are skipped and reported.
pub fn import(bytes: &[u8], format: Format, surroundings: &Surroundings) -> Result<Imported, ImportError> {
    match format {
        Format::ClaudeCode => Ok(session_lines(bytes, format, surroundings, claude::read)),
        Format::Pi => Ok(session_lines(bytes, format, surroundings, pi::read)),
        Format::Codex => Ok(session_lines(bytes, format, surroundings, codex::read)),
        Format::Gemini => {
            let session = gemini::read(&parse(bytes)?)?;
            let trace = build::trace(session, format, surroundings, bytes);
            Ok(Imported { traces: vec![trace], skipped: Vec::new() })
        }
        Format::Otlp => Ok(Imported { traces: otlp::traces(&parse(bytes)?)?, skipped: Vec::new() }),
        Format::Langfuse => Ok(Imported { traces: langfuse::traces(&parse(bytes)?)?, skipped: Vec::new() }),
    }
}

fn session_lines(
    bytes: &[u8],
    format: Format,
    surroundings: &Surroundings,
    read: fn(&[Value]) -> session::Session,
) -> Imported {
    let (rows, skipped) = lines::read(bytes);
    let trace = build::trace(read(&rows), format, surroundings, bytes);
    Imported { traces: vec![trace], skipped }
}

/// Recognises the format of a log by what its first rows hold.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    if let Ok(document) = parse(bytes)
        && let Some(format) = detect_document(&document)
    {
        return Some(format);
    }
    let (rows, _) = lines::read(bytes);
    rows.iter().take(ROWS_LOOKED_AT).find_map(detect_row)
}

/// How many rows are looked at before a log counts as unknown.
const ROWS_LOOKED_AT: usize = 50;

fn detect_document(document: &Value) -> Option<Format> {
    let has = |key: &str| document.get(key).is_some();
    let first = document.at(0);
    let first_has = |key: &str| first.is_some_and(|item| item.get(key).is_some());
    if has("resourceSpans")
        || has("resource_spans")
        || has("spans")
        || first_has("spanId")
        || first_has("span_id")
    {
        Some(Format::Otlp)
    } else if has("messages") && (has("sessionId") || has("projectHash")) {
        Some(Format::Gemini)
    } else if has("observations") || has("data") || first_has("traceId") || first_has("parentObservationId") {
        Some(Format::Langfuse)
    } else {
        detect_row(document)
    }
}

fn detect_row(row: &Value) -> Option<Format> {
    let word = |key: &str| row.get(key).and_then(Value::as_str);
    match word("type")? {
        "session_meta" | "turn_context" | "response_item" | "event_msg" => Some(Format::Codex),
        "function_call" | "function_call_output" | "local_shell_call" => Some(Format::Codex),
        "session" | "model_change" | "thinking_level_change" => Some(Format::Pi),
        "message" if row.get("message").and_then(|message| message.get("role")).is_some() => Some(Format::Pi),
        "user" | "assistant" if row.get("message").is_some() => Some(Format::ClaudeCode),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
