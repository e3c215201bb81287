//! The terminal: its width, and colour for words that state how something is.
//!
//! Both are facts of the process that do not change while a command runs, so they are set once when it starts. Reports stay
//! readable without colour: a word says the same with and without it.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// The narrowest width that reports are laid out for.
const WIDTH_MIN: usize = 40;

static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
static COLOR: OnceLock<bool> = OnceLock::new();

/// The rule for colouring output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Sets the facts of the terminal. Only the first call counts.
pub(crate) fn set_up(color: Color) {
    let choice = match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    };
    choice.write_global();
    let is_colored = AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
    let _ = COLOR.set(is_colored);
    let _ = WIDTH.set(find_width());
}

/// Returns the width that `COLUMNS` states, or else that of the terminal. A pipe or a file has none.
pub(crate) fn find_width() -> Option<usize> {
    let found = || {
        let out = std::io::stdout();
        let size = out.is_terminal().then(|| rustix::termios::tcgetwinsize(&out).ok()).flatten()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    stated_width().or_else(found).map(|columns| columns.max(WIDTH_MIN))
}

/// Returns the width of messages, which go to stderr: the one that `COLUMNS` states, or else that of the terminal.
pub(crate) fn message_width() -> Option<usize> {
    stated_width().or_else(error_width).map(|columns| columns.max(WIDTH_MIN))
}

fn stated_width() -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    stated.filter(|columns| *columns > 0)
}

/// Returns the width of the terminal that stderr is, as it is now.
pub(crate) fn error_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns the number of characters in a line of the terminal; `None` if there is no limit.
pub(crate) fn width() -> Option<usize> {
    WIDTH.get().copied().flatten()
}

/// Returns the style of a word that states how something is.
fn style_of(word: &str) -> Option<Style> {
    let color = |color: AnsiColor| Some(Style::new().fg_color(Some(color.into())));
    match word {
        "completed" | "success" | "pass" | "passed" | "holds" | "ok" | "yes" | "approved" => {
            color(AnsiColor::Green)
        }
        "failed" | "FAIL" | "fail" | "broken" | "damaged" | "blocked" | "error" | "rejected" | "critical" => {
            color(AnsiColor::Red)
        }
        "waiting" | "partial" | "undecided" | "WARN" | "warn" | "warning" | "unknown" | "UNKNOWN"
        | "unfinished" | "degraded" | "high" => color(AnsiColor::Yellow),
        "skipped" | "n/a" | "none" => Some(Style::new().dimmed()),
        _ => None,
    }
}

/// Colours the words of a report that state how something is, if output is coloured.
///
/// Such a word is a whole cell of a table, the first word of a line, or stands before a `[` there, as in `error[rule]`.
pub(crate) fn paint(text: &str) -> std::borrow::Cow<'_, str> {
    match COLOR.get() {
        Some(true) => painted(text).into(),
        _ => text.into(),
    }
}

fn painted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let is_heading = line.len() > 3
            && line.contains("  ")
            && line.chars().all(|c| c.is_ascii_uppercase() || [' ', '(', ')', '/'].contains(&c));
        if is_heading {
            let bold = Style::new().bold();
            out.push_str(&format!("{bold}{line}{bold:#}"));
        } else {
            paint_line(line, &mut out);
        }
    }
    out
}

fn paint_line(line: &str, out: &mut String) {
    let mut rest = line;
    let mut is_first = true;
    while !rest.is_empty() {
        let cell_start = rest.len() - rest.trim_start_matches(' ').len();
        let (blank, cells) = rest.split_at(cell_start);
        out.push_str(blank);
        let end = cells.find("  ").unwrap_or(cells.len());
        let (cell, after) = cells.split_at(end);
        let word_end = cell.find([' ', '[', ':', ',', ';']).filter(|_| is_first).unwrap_or(cell.len());
        let (word, tail) = cell.split_at(word_end);
        match style_of(word) {
            Some(style) => out.push_str(&format!("{style}{word}{style:#}{tail}")),
            None => out.push_str(cell),
        }
        is_first = false;
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::painted;

    #[test]
    fn only_words_of_state_are_coloured_and_no_character_is_lost() {
        let text = "RUN  STATUS  HEAD\nok-run  completed  completed it\nerror[rule]: failed\n  FAIL x\n";
        let shown = painted(text);
        let plain: String = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(plain, text);
        let red = "\u{1b}[31m";
        assert!(shown.contains(&format!("{red}error\u{1b}[0m[rule]: failed")), "{shown:?}");
        assert!(shown.contains(&format!("{red}FAIL\u{1b}[0m x")), "{shown:?}");
        assert!(shown.contains("\u{1b}[32mcompleted\u{1b}[0m  completed it"), "{shown:?}");
        assert!(shown.contains("ok-run"), "{shown:?}");
    }
}
