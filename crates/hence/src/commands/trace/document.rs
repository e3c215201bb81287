//! Trace documents: a file or standard input, JSON or YAML.

use std::path::Path;

use hence_canon::{JsonPointer, Value, parse};
use hence_review::wire::Trace;

use super::export::exported;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::{hint, input};

/// The largest document whose findings are given a line and a column.
///
/// Locations are found by reading the text again as YAML, of which JSON is a part. For larger documents that costs
/// more than it helps; the pointer is reported instead.
pub(crate) const PLACES_BYTES_MAX: usize = 1024 * 1024;

/// A document that was read.
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) value: Value,
    bytes: Vec<u8>,
}

/// Bytes that are neither JSON nor YAML.
pub(crate) struct Unreadable {
    pub(crate) message: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// Whether a position in them means anything: they are neither empty nor binary.
    is_document: bool,
}

/// A position in a text, counted from 1.
#[derive(Clone, Copy)]
pub(crate) struct LineColumn {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Document {
    /// Reads a document.
    ///
    /// The outer error is about the file, the inner one about its content.
    pub(crate) fn read(name: &str) -> Result<Result<Self, Unreadable>, CliError> {
        let mut bytes = input::read_document(name).map_err(|error| match error.code {
            Code::File if !std::path::Path::new(name).exists() => error.with_hint(hint::TRACE_OF_A_RUN),
            _ => error,
        })?;
        let parsed = match input::not_a_document(name, &bytes) {
            Some(message) => Err(Unreadable { message, line: 1, column: 1, is_document: false }),
            None => parse_any(name, &bytes),
        };
        // The text of a large document is not needed again, so no copy is made.
        if bytes.len() > PLACES_BYTES_MAX {
            bytes = Vec::new();
        }
        Ok(parsed.map(|value| Self { name: name.to_owned(), value, bytes }))
    }

    /// Reads a document that must be readable.
    pub(crate) fn required(name: &str) -> Result<Self, CliError> {
        Self::read(name)?
            .map_err(|unreadable| {
                if !unreadable.is_document {
                    return CliError::new(Code::NotJson, unreadable.message).with_hint(hint::NOT_A_TRACE);
                }
                let message = format!("{}: {}", input::shown_name(name), unreadable.message);
                CliError::new(Code::NotJson, message)
            })?
            .checked()
    }

    /// Refuses a document that has nothing of a trace: every answer about it would be empty, and look like a good one.
    fn checked(self) -> Result<Self, CliError> {
        let shown = input::shown_name(&self.name);
        let message = match self.value.as_object() {
            None => format!("{shown}: expected a trace, which is an object, found {}", self.value.kind()),
            Some(object) if !["actions", "trace_id"].iter().any(|key| object.get(key).is_some()) => {
                format!("{shown}: expected a trace, found neither `trace_id` nor `actions`")
            }
            Some(_) => return Ok(self),
        };
        Err(CliError::new(Code::NotATrace, message).with_hint(hint::NOT_A_TRACE))
    }

    /// Reads a file that exists, or else writes the run of that name as a trace.
    pub(crate) fn of_file_or_run(context: &Context, name: &str) -> Result<Self, CliError> {
        file_or_run(context, name, Self::required, |name, value| Self { name, value, bytes: Vec::new() })
    }

    /// As [`read`](Self::read), or the run of that name as a trace.
    pub(crate) fn read_file_or_run(
        context: &Context,
        name: &str,
    ) -> Result<Result<Self, Unreadable>, CliError> {
        file_or_run(context, name, Self::read, |name, value| Ok(Self { name, value, bytes: Vec::new() }))
    }

    /// Reads the document as a trace: any JSON can be read.
    pub(crate) fn trace(&self) -> Trace {
        Trace::read(&self.value)
    }

    /// Returns a function from pointers to positions in the text, if the text is small enough.
    pub(crate) fn places(&self) -> impl Fn(&JsonPointer) -> Option<LineColumn> + use<> {
        let is_kept = !self.bytes.is_empty();
        let document = is_kept.then(|| hence_yaml::parse(&self.bytes).ok()).flatten();
        move |pointer| {
            let start = document.as_ref()?.place(pointer).head().start;
            Some(LineColumn { line: start.line, column: start.column })
        }
    }
}

/// Reads a file that exists, or else the trace of the run of that name.
///
/// The name of an existing file means the file: a run of the same name must not be read instead. A journal file is a run.
pub(crate) fn file_or_run<T>(
    context: &Context,
    name: &str,
    read: impl Fn(&str) -> Result<T, CliError>,
    of_run: impl FnOnce(String, Value) -> T,
) -> Result<T, CliError> {
    let path = Path::new(name);
    let is_journal = path.extension().is_some_and(|ending| ending == "ndjson");
    if name == "-" || (path.exists() && !is_journal) {
        return read(name);
    }
    match exported(context, name) {
        Ok((name, trace)) => Ok(of_run(name, trace)),
        // Without such a run the name means a file.
        Err(error) if matches!(error.code, Code::NoSuchRun | Code::NotAStore) && !path.exists() => {
            // A run with almost this name is a better guess than no guess.
            let meant = error.message.split_once("; did you mean").map(|(_, meant)| meant.to_owned());
            read(name).map_err(|mut error| {
                if let Some(meant) = meant.filter(|_| !error.message.contains("; did you mean")) {
                    error.message.push_str(&format!("; did you mean{meant}"));
                }
                error.with_hint(hint::NEITHER_FILE_NOR_RUN)
            })
        }
        Err(error) => Err(error),
    }
}

/// Parses JSON or YAML. The name decides if it ends in `.yaml`, `.yml` or `.json`; otherwise the first character
/// decides.
fn parse_any(name: &str, bytes: &[u8]) -> Result<Value, Unreadable> {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let looks_like_json = || {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        matches!(first, Some(b'{' | b'[') | None)
    };
    let is_yaml = match ending.as_deref() {
        Some("yaml" | "yml") => true,
        Some("json") => false,
        _ => !looks_like_json(),
    };
    if is_yaml {
        return hence_yaml::parse(bytes).map(|document| document.value().clone()).map_err(|error| {
            Unreadable {
                message: error.to_string(),
                line: error.position.line,
                column: error.position.column,
                is_document: true,
            }
        });
    }
    parse(bytes).map_err(|error| Unreadable {
        message: error.to_string(),
        line: error.position.line,
        column: error.position.column,
        is_document: true,
    })
}
