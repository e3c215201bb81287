//! The context every command runs in: the store and the terminal.

use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use hence_store::{StoreError, StoreHandle};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::Args;
use crate::error::CliError;
use crate::escape::{escape, escape_json, is_visible_json};
use crate::hint::Hint;
use crate::layout::fit;
use crate::pager::{self, Shown};
use crate::report::Text;
use crate::store_place::StorePlace;
use crate::{live, terminal};

/// The place of the store and the form of the output.
pub(crate) struct Context {
    pub(crate) place: StorePlace,
    json: bool,
    quiet: bool,
    pager: Pager,
    output: Output,
    /// The store that every part of a command shares: a database, whose connections are one pool, and the store that the
    /// drives of a worker write to, whose writers sync together.
    shared: OnceLock<StoreHandle>,
}

/// The place that reports are printed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Output {
    Standard,
    /// Nobody reads them.
    Nowhere,
}

/// Whether long output is shown page by page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pager {
    OnTerminals,
    Never,
}

/// An error as JSON, printed to stderr.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorReport<'a> {
    /// The error that ended the command.
    error: ErrorBody<'a>,
}

/// The error that ended a command.
#[derive(Serialize, JsonSchema)]
struct ErrorBody<'a> {
    /// The code, which `hence explain` explains.
    code: &'a str,
    /// The event, its place, what was expected and what was found.
    message: &'a str,
    /// The single findings, if there are several.
    findings: &'a [String],
    /// The next thing to do.
    hint: &'a str,
}

impl Context {
    pub(crate) fn new(args: &Args) -> Self {
        let pager = if args.no_pager { Pager::Never } else { Pager::OnTerminals };
        Self {
            place: args.store.clone(),
            shared: OnceLock::new(),
            json: args.json,
            quiet: args.quiet,
            pager,
            output: Output::Standard,
        }
    }

    /// Makes the context of a server on a store: nothing is said on the terminal.
    pub(crate) fn of_server(place: StorePlace) -> Self {
        let (pager, output) = (Pager::Never, Output::Standard);
        Self { place, json: true, quiet: true, pager, output, shared: OnceLock::new() }
    }

    /// Makes the context of a worker's drives: nothing is printed, the queue and the store are told.
    pub(crate) fn of_worker(place: StorePlace, store: StoreHandle) -> Self {
        let (pager, output) = (Pager::Never, Output::Nowhere);
        Self { place, json: true, quiet: true, pager, output, shared: OnceLock::from(store) }
    }

    /// Opens the store, which must exist.
    pub(crate) fn store(&self) -> Result<StoreHandle, CliError> {
        self.connected(StorePlace::open)
    }

    /// Opens the store, and creates it if there is none.
    pub(crate) fn store_or_new(&self) -> Result<StoreHandle, CliError> {
        self.connected(StorePlace::open_or_create)
    }

    /// Opens the store: a folder each time, a database once.
    fn connected(
        &self,
        open: impl FnOnce(&StorePlace) -> Result<StoreHandle, StoreError>,
    ) -> Result<StoreHandle, CliError> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared.clone());
        }
        let store = open(&self.place)?;
        Ok(match self.place {
            StorePlace::Folder(_) => store,
            StorePlace::Database(_) => self.shared.get_or_init(|| store).clone(),
        })
    }

    /// Returns whether JSON was requested.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns whether only results and errors are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns whether a person is watching, so that progress is worth showing.
    pub(crate) fn is_watched(&self) -> bool {
        !self.json && !self.quiet && std::io::stderr().is_terminal()
    }

    /// Prints a message to stderr; nothing with --json.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        if !self.json && !self.quiet {
            talk(fit(&escape(&text.to_string()), terminal::message_width()));
        }
    }

    /// Gives advice after a report.
    pub(crate) fn hint(&self, hint: Hint) {
        self.say(format_args!("hint: {hint}"));
    }

    /// Prints a report: as text for people, as JSON for programs.
    pub(crate) fn print<R: Text + Serialize>(&self, report: &R) -> Result<(), CliError> {
        if self.json { self.print_as_json(report) } else { self.print_as_text(report) }
    }

    /// Prints a report as text, even with --json.
    pub(crate) fn print_as_text<R: Text>(&self, report: &R) -> Result<(), CliError> {
        self.write_document(&terminal::paint(&report.fitted(terminal::width())))
    }

    /// Prints a report that may be long: as [`print`](Self::print) does, and page by page on a terminal that it does not fit.
    pub(crate) fn print_paged<R: Text + Serialize>(&self, report: &R) -> Result<(), CliError> {
        if self.json || self.pager == Pager::Never {
            return self.print(report);
        }
        let text = report.fitted(terminal::width());
        match pager::show(&terminal::paint(&text)) {
            Shown::Yes => Ok(()),
            Shown::No => self.print_as_text(report),
        }
    }

    /// Prints a report as JSON, even without --json.
    pub(crate) fn print_as_json<R: Serialize>(&self, report: &R) -> Result<(), CliError> {
        self.write_document(&to_json(report))
    }

    /// Writes a text that ends with exactly one line feed. The text may be large, so it is not copied.
    pub(crate) fn write_document(&self, text: &str) -> Result<(), CliError> {
        self.write(text.trim_end_matches('\n').as_bytes())?;
        self.write(b"\n")
    }

    /// Prints a report to stderr, when stdout carries other data.
    pub(crate) fn print_aside<R: Text + Serialize>(&self, report: &R) {
        talk(self.render(report).trim_end_matches('\n'));
    }

    fn render<R: Text + Serialize>(&self, report: &R) -> String {
        let text = if self.json { to_json(report) } else { report.fitted(terminal::message_width()) };
        format!("{}\n", text.trim_end_matches('\n'))
    }

    /// Writes bytes to stdout unchanged. A closed pipe is not an error.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), CliError> {
        if self.output == Output::Nowhere {
            return Ok(());
        }
        // Not through anstream: it removes escape sequences, and the reader may hash these bytes.
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
            talk(error_json(error));
            return;
        }
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        let width = terminal::message_width();
        let tagged = |style: Style, tag: &str, text: &str| {
            let lines = fit(&format!("{tag}: {text}"), width);
            let rest = lines.strip_prefix(tag).unwrap_or_default();
            talk(format_args!("{style}{tag}{style:#}{rest}"));
        };
        tagged(red, &format!("error[{}]", error.code), &escape(&error.message));
        for finding in &error.findings {
            talk(fit(&format!("  {}", escape(finding)), width));
        }
        for cause in error.causes() {
            talk(fit(&format!("  caused by: {}", escape(&cause)), width));
        }
        if self.quiet {
            return;
        }
        let hint = escape(error.hint.as_str());
        tagged(cyan, "hint", &format!("{hint}; `hence explain {}` says more", error.code));
    }
}

/// Returns an error as a JSON document.
pub(crate) fn error_json(error: &CliError) -> String {
    let body = ErrorBody {
        code: error.code.as_str(),
        message: &error.message,
        findings: &error.findings,
        hint: error.hint.as_str(),
    };
    to_json(&ErrorReport { error: body })
}

/// Writes a line to stderr. A closed stderr must not end a command.
fn talk(text: impl std::fmt::Display) {
    let _aside = live::make_room();
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

fn to_json(report: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(report).expect("reports have string keys and valid JSON inside");
    // Most texts need no escaping, and one that does may be large.
    if is_visible_json(&text) { text } else { escape_json(&text) }
}
