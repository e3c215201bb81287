//! `hence trace validate`: every broken rule, with its place.

use hence_canon::Value;
use hence_review::ContentHash;
use hence_review::validate::{Finding, validate, validate_canonical};

use super::document::{Document, LineColumn, Unreadable};
use super::findings;
use crate::args::{FindingsFormat, TraceValidateArgs};
use crate::prelude::*;

/// The rule for bytes that are neither JSON nor YAML. It is not a rule of the format.
pub(super) const UNREADABLE: &str = "document.unreadable";

/// The findings of validation in some traces.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ValidateReport {
    /// Whether no file has an error.
    valid: bool,
    /// The number of errors in all files.
    errors: usize,
    /// The number of warnings in all files.
    warnings: usize,
    /// Each file, in the order given.
    pub(super) files: Vec<FileReport>,
}

/// The findings of validation in one file.
#[derive(Serialize, JsonSchema)]
pub(super) struct FileReport {
    /// The name as given.
    pub(super) file: String,
    /// The trace's id, if it has one.
    pub(super) trace_id: Option<String>,
    /// The content hash of the document; null for bytes that cannot be read.
    content_hash: Option<String>,
    /// The number of errors.
    pub(super) errors: usize,
    /// The number of warnings.
    pub(super) warnings: usize,
    /// All findings, in document order per family of rules.
    pub(super) findings: Vec<FindingRow>,
}

/// One broken rule.
#[derive(Serialize, JsonSchema)]
pub(super) struct FindingRow {
    /// `error` or `warning`.
    pub(super) level: &'static str,
    /// The rule's id.
    pub(super) rule: &'static str,
    /// The place, as a JSON pointer.
    pub(super) pointer: String,
    /// The subject, by the ids a reader knows.
    pub(super) subject: String,
    /// The expected and the found value.
    pub(super) message: String,
    /// The line in the text, from 1, when it could be found.
    pub(super) line: Option<usize>,
    /// The column in the line, from 1, when it could be found.
    pub(super) column: Option<usize>,
}

impl Text for ValidateReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            text.push_str(&format!("{}: {}\n", escape(&file.file), file.verdict()));
            for finding in &file.findings {
                text.push_str(&format!("  {}\n", finding.text()));
            }
        }
        text
    }
}

impl FileReport {
    fn verdict(&self) -> String {
        let count = |count: usize, thing: &str| match count {
            1 => format!("1 {thing}"),
            count => format!("{count} {thing}s"),
        };
        match (self.errors, self.warnings) {
            (0, 0) => "valid".to_owned(),
            (0, warnings) => format!("valid, {}", count(warnings, "warning")),
            (errors, warnings) => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
        }
    }
}

impl FindingRow {
    fn of(finding: &Finding, place: Option<LineColumn>) -> Self {
        Self {
            level: finding.severity.as_str(),
            rule: finding.rule.id(),
            pointer: finding.pointer.to_string(),
            subject: finding.subject.clone(),
            message: finding.message.clone(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
        }
    }

    fn text(&self) -> String {
        let place = match (self.line, self.column) {
            (Some(line), Some(column)) => format!(" ({line}:{column})"),
            _ => String::new(),
        };
        let pointer = if self.pointer.is_empty() { "the document".to_owned() } else { escape(&self.pointer) };
        format!("{:<7}  {}  {pointer}{place}: {}", self.level, self.rule, escape(&self.message))
    }
}

pub(super) fn run(context: &Context, args: &TraceValidateArgs) -> Result<Exit, CliError> {
    let files =
        args.files.iter().map(|name| judge(context, name, args.canonical)).collect::<Result<Vec<_>, _>>()?;
    let (errors, warnings) = (
        files.iter().map(|file| file.errors).sum::<usize>(),
        files.iter().map(|file| file.warnings).sum::<usize>(),
    );
    let report = ValidateReport { valid: errors == 0, errors, warnings, files };
    match args.format {
        None => context.print(&report)?,
        Some(FindingsFormat::Text) => context.print_as_text(&report)?,
        Some(FindingsFormat::Json) => context.print_as_json(&report)?,
        Some(FindingsFormat::Sarif) => context.write_document(&findings::sarif_log(&report))?,
        Some(FindingsFormat::Junit) => context.write_document(&findings::junit_document(&report))?,
    }
    Ok(if report.valid { Exit::Yes } else { Exit::No })
}

fn judge(context: &Context, name: &str, canonical: bool) -> Result<FileReport, CliError> {
    let document = match Document::read_file_or_run(context, name)? {
        Ok(document) => document,
        Err(unreadable) => return Ok(unreadable_report(name, unreadable)),
    };
    // The hash comes first: its canonical bytes are as large as the document and are freed before anything else is
    // built.
    let content_hash = Some(ContentHash::of(&document.value).to_string());
    let report = if canonical { validate_canonical(&document.value) } else { validate(&document.value) };
    let findings = if report.findings().is_empty() {
        Vec::new()
    } else {
        let place = document.places();
        report.findings().iter().map(|finding| FindingRow::of(finding, place(&finding.pointer))).collect()
    };
    Ok(FileReport {
        file: document.name.clone(),
        trace_id: document.value.get("trace_id").and_then(Value::as_str).map(str::to_owned),
        content_hash,
        errors: report.errors().count(),
        warnings: report.warnings().count(),
        findings,
    })
}

fn unreadable_report(name: &str, unreadable: Unreadable) -> FileReport {
    let finding = FindingRow {
        level: "error",
        rule: UNREADABLE,
        pointer: String::new(),
        subject: String::new(),
        message: unreadable.message,
        line: Some(unreadable.line),
        column: Some(unreadable.column),
    };
    FileReport {
        file: name.to_owned(),
        trace_id: None,
        content_hash: None,
        errors: 1,
        warnings: 0,
        findings: vec![finding],
    }
}
