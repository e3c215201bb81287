//! Rows of telemetry, each with some spans: collectors append one export after another to a file.

use hence_canon::Value;

use super::{Format, langfuse, otlp};

/// Spans collected row by row.
pub(super) enum Spans {
    Telemetry(otlp::Collected),
    Langfuse(langfuse::Collected),
}

impl Spans {
    /// Begins to collect; nothing for formats that have no rows of spans.
    pub(super) fn of(format: Format) -> Option<Self> {
        match format {
            Format::Otlp | Format::OpenInference => Some(Self::Telemetry(otlp::Collected::new(format))),
            Format::Langfuse => Some(Self::Langfuse(langfuse::Collected::default())),
            Format::ClaudeCode | Format::Codex | Format::Gemini | Format::Pi => None,
        }
    }

    /// Takes a row in, or says why it holds no span.
    pub(super) fn take(&mut self, row: &Value) -> Result<(), String> {
        match self {
            Self::Telemetry(collected) => collected.take(row).map_err(|error| error.to_string()),
            Self::Langfuse(collected) => collected.take(row).map_err(|error| error.to_string()),
        }
    }

    /// Makes one trace per trace id, in the order in which they first occur.
    pub(super) fn traces(self) -> Vec<Value> {
        match self {
            Self::Telemetry(collected) => collected.traces(),
            Self::Langfuse(collected) => collected.traces(),
        }
    }
}
