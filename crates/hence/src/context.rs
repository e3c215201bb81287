//! What every command needs: where the store is, and how to speak.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use hence_store::FileStore;
use serde::Serialize;

use crate::args::Args;
use crate::error::CliError;
use crate::report::Text;

/// How a command speaks and where it finds runs.
pub(crate) struct Context {
    pub(crate) folder: PathBuf,
    json: bool,
}

/// An error as JSON.
#[derive(Serialize)]
struct JsonError<'a> {
    error: JsonErrorBody<'a>,
}

#[derive(Serialize)]
struct JsonErrorBody<'a> {
    code: &'a str,
    message: &'a str,
    findings: &'a [String],
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

    /// Returns whether a person watches, so that progress is worth showing.
    pub(crate) fn is_watched(&self) -> bool {
        !self.json && std::io::stderr().is_terminal()
    }

    /// Says something that is not data.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        if !self.json {
            anstream::eprintln!("{text}");
        }
    }

    /// Prints a report: as text for people, as JSON for programs.
    pub(crate) fn print<R: Text + Serialize>(&self, report: &R) -> Result<(), CliError> {
        let text = if self.json { to_json(report) } else { report.text() };
        self.write(text.trim_end_matches('\n').as_bytes())?;
        self.write(b"\n")
    }

    /// Prints a report to stderr, where stdout carries something else.
    pub(crate) fn print_aside<R: Text + Serialize>(&self, report: &R) {
        let text = if self.json { to_json(report) } else { report.text() };
        anstream::eprintln!("{}", text.trim_end_matches('\n'));
    }

    /// Writes raw bytes to stdout. A reader that went away is not an error.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), CliError> {
        let mut out = anstream::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(CliError::file("write", "standard output".as_ref(), &error))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn report_error(&self, error: &CliError) {
        if self.json {
            let body = JsonErrorBody {
                code: error.code.as_str(),
                message: &error.message,
                findings: &error.findings,
                hint: &error.hint,
            };
            anstream::eprintln!("{}", to_json(&JsonError { error: body }));
            return;
        }
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        anstream::eprintln!("{red}error[{}]{red:#}: {}", error.code, escape(&error.message));
        for finding in &error.findings {
            anstream::eprintln!("  {}", escape(finding));
        }
        anstream::eprintln!("{cyan}hint{cyan:#}: {}; `hence explain {}` says more", error.hint, error.code);
    }
}

fn to_json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report)
        .unwrap_or_else(|error| format!("{{\"error\":{:?}}}", error.to_string()))
}

/// Makes control characters visible: text from a journal must not drive a terminal.
pub(crate) fn escape(text: &str) -> String {
    let visible = |c: char| {
        if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.to_string() }
    };
    text.chars().map(visible).collect()
}
