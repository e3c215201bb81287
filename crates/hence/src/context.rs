//! What every command needs: where the store is, and how to speak.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use hence_store::FileStore;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::Args;
use crate::error::CliError;
pub(crate) use crate::escape::escape;
use crate::escape::{escape_json, is_visible_json};
use crate::hint::Hint;
use crate::report::Text;

/// How a command speaks and where it finds runs.
pub(crate) struct Context {
    pub(crate) folder: PathBuf,
    json: bool,
}

/// An error as JSON, on stderr.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorReport<'a> {
    /// What ended the command.
    error: ErrorBody<'a>,
}

/// What ended a command.
#[derive(Serialize, JsonSchema)]
struct ErrorBody<'a> {
    /// A code that `hence explain` knows.
    code: &'a str,
    /// What happened, where, what was expected and found.
    message: &'a str,
    /// Single findings, when there are several.
    findings: &'a [String],
    /// What to do next.
    hint: &'a str,
}

impl Context {
    pub(crate) fn new(args: &Args) -> Self {
        Self { folder: args.store.clone(), json: args.json }
    }

    /// Opens the store, which must be there.
    pub(crate) fn store(&self) -> Result<FileStore, CliError> {
        Ok(FileStore::open(&self.folder)?)
    }

    /// Opens the store, made if there is none.
    pub(crate) fn store_or_new(&self) -> Result<FileStore, CliError> {
        Ok(FileStore::open_or_create(&self.folder)?)
    }

    /// Returns whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns whether a person watches, so that progress is worth showing.
    pub(crate) fn is_watched(&self) -> bool {
        !self.json && std::io::stderr().is_terminal()
    }

    /// Says something that is not data, in a line.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        if !self.json {
            talk(escape(&text.to_string()));
        }
    }

    /// Gives advice after a report.
    pub(crate) fn hint(&self, hint: Hint) {
        self.say(format_args!("hint: {hint}"));
    }

    /// Prints a report: as text for people, as JSON for programs.
    pub(crate) fn print<R: Text + Serialize>(&self, report: &R) -> Result<(), CliError> {
        // What is printed may be large, so no copy is made to end it with a line feed.
        if self.json { self.print_as_json(report) } else { self.print_as_text(report) }
    }

    /// Prints a report as text, whatever else was asked for.
    pub(crate) fn print_as_text<R: Text>(&self, report: &R) -> Result<(), CliError> {
        self.write_document(&report.text())
    }

    /// Prints a report as JSON, whatever else was asked for.
    pub(crate) fn print_as_json<R: Serialize>(&self, report: &R) -> Result<(), CliError> {
        self.write_document(&to_json(report))
    }

    /// Writes a text that ends with exactly one line feed.
    pub(crate) fn write_document(&self, text: &str) -> Result<(), CliError> {
        self.write(text.trim_end_matches('\n').as_bytes())?;
        self.write(b"\n")
    }

    /// Prints a report to stderr, where stdout carries something else.
    pub(crate) fn print_aside<R: Text + Serialize>(&self, report: &R) {
        talk(self.render(report).trim_end_matches('\n'));
    }

    fn render<R: Text + Serialize>(&self, report: &R) -> String {
        let text = if self.json { to_json(report) } else { report.text() };
        format!("{}\n", text.trim_end_matches('\n'))
    }

    /// Writes bytes to stdout exactly as they are. A reader that went away is not an error.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), CliError> {
        // Not through anstream: it takes escape sequences out, and these bytes may be hashed by whoever reads them.
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(CliError::file("write", "standard output".as_ref(), error))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn report_error(&self, error: &CliError) {
        if self.json {
            let body = ErrorBody {
                code: error.code.as_str(),
                message: &error.message,
                findings: &error.findings,
                hint: error.hint.as_str(),
            };
            talk(to_json(&ErrorReport { error: body }));
            return;
        }
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        talk(format_args!("{red}error[{}]{red:#}: {}", error.code, escape(&error.message)));
        for finding in &error.findings {
            talk(format_args!("  {}", escape(finding)));
        }
        for cause in error.causes() {
            talk(format_args!("  caused by: {}", escape(&cause)));
        }
        let hint = escape(error.hint.as_str());
        talk(format_args!("{cyan}hint{cyan:#}: {hint}; `hence explain {}` says more", error.code));
    }
}

/// Writes a line to stderr. Nobody may be listening there any more, and that must not end a command.
fn talk(text: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

fn to_json(report: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(report).expect("reports have string keys and valid JSON inside");
    // Most texts need nothing, and one that does may be large.
    if is_visible_json(&text) { text } else { escape_json(&text) }
}
