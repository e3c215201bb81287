//! The layout of reports for people.

/// A report as text.
pub(crate) trait Text {
    /// Returns the text, readable without colour.
    fn text(&self) -> String;
}

/// Lays rows out in columns; the last column is not padded.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (position, (cell, width)) in row.iter().zip(widths).enumerate() {
            line.push_str(cell);
            if position + 1 < N {
                let missing = width - cell.chars().count();
                line.extend(std::iter::repeat_n(' ', missing + 2));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
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
