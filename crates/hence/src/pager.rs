//! The pager: shows long output page by page on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

/// The pager, unless `PAGER` names another: it ends at once if the output fits, and shows colour.
const DEFAULT: &str = "less -FRX";

/// Whether a pager showed the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    Yes,
    No,
}

/// Shows a text with the pager, if standard output is a terminal with fewer lines.
pub(crate) fn show(text: &str) -> Shown {
    let out = std::io::stdout();
    if !out.is_terminal() || !std::io::stdin().is_terminal() {
        return Shown::No;
    }
    let rows = rustix::termios::tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_row));
    if rows == 0 || text.lines().count() < rows {
        return Shown::No;
    }
    let named = std::env::var("PAGER").unwrap_or_else(|_| DEFAULT.to_owned());
    // The words of `PAGER` are a program and its arguments; no shell reads them.
    let mut words = named.split_whitespace();
    let Some(program) = words.next() else { return Shown::No };
    let Ok(mut child) = Command::new(program).args(words).stdin(Stdio::piped()).spawn() else {
        return Shown::No;
    };
    if let Some(mut input) = child.stdin.take() {
        // A person may end the pager before everything is written.
        let _ = input.write_all(text.as_bytes());
    }
    let _ = child.wait();
    Shown::Yes
}
