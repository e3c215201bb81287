//! The layout of reports for people.

use crate::layout;

/// The table that reports are made of.
pub(crate) use crate::table::columns;

/// A report as text.
pub(crate) trait Text {
    /// Returns the text, readable without colour.
    fn text(&self) -> String;

    /// Returns how the text is fitted to a terminal.
    fn form(&self) -> Form {
        Form::Lines
    }

    /// Returns the text in lines that fit a terminal of this width.
    fn fitted(&self, width: Option<usize>) -> String {
        match (self.form(), width) {
            (Form::Lines, Some(_)) => layout::fit(&self.text(), width),
            (Form::Page, Some(_)) => layout::fit_page(&self.text(), width),
            // The text may be large, so it is not copied.
            (Form::Document, _) | (_, None) => self.text(),
        }
    }
}

/// How a text is fitted to a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Lines that are wrapped where they are too long.
    Lines,
    /// A page of Markdown, to read.
    Page,
    /// A document that people copy or that is fitted already: it stays as it is.
    Document,
}

/// Lays out names and their values in two columns.
pub(crate) fn pairs(rows: &[(&str, String)]) -> String {
    let rows: Vec<[String; 2]> =
        rows.iter().map(|(name, value)| [(*name).to_owned(), value.clone()]).collect();
    columns(&rows)
}

/// Returns a number and what it counts: `1 record`, `2 records`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Shortens a text to one line of at most `limit` characters.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let flat = crate::escape::escape(&text.replace('\n', " "));
    let short: String = flat.chars().take(limit).collect();
    if short.len() < flat.len() { format!("{short}…") } else { short }
}
