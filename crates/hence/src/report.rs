//! The layout of reports for people.

use crate::terminal;

/// A report as text.
pub(crate) trait Text {
    /// Returns the text, readable without colour.
    fn text(&self) -> String;
}

/// The least number of characters that a column keeps when the terminal is narrow.
const COLUMN_CHARACTERS_MIN: usize = 6;

/// The number of characters between two columns.
const GAP: usize = 2;

/// Lays rows out in columns; the last column is not padded. On a narrow terminal the widest columns are cut, and the last
/// one is wrapped.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    columns_within(rows, terminal::width())
}

fn columns_within<const N: usize>(rows: &[[String; N]], available: Option<usize>) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    if let Some(available) = available {
        let mut least = [COLUMN_CHARACTERS_MIN; N];
        if let Some(last) = least.last_mut() {
            // The last column is wrapped between words, so it is as wide as its longest word.
            let words = rows.iter().filter_map(|row| row.last()).flat_map(|cell| cell.split(' '));
            let longest = words.map(|word| word.chars().count()).max().unwrap_or(0);
            *last = longest.min(available / 2).max(COLUMN_CHARACTERS_MIN);
        }
        shrink(&mut widths, &least, available);
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (position, (cell, width)) in row.iter().zip(widths).enumerate() {
            if position + 1 < N {
                let cell = cut(cell, width);
                line.push_str(&cell);
                let missing = width.saturating_sub(cell.chars().count());
                line.extend(std::iter::repeat_n(' ', missing + GAP));
            } else {
                let before = widths.iter().take(N - 1).map(|width| width + GAP).sum();
                let room = available.map(|available| available.saturating_sub(before));
                line.push_str(&wrap(cell, room, before));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Shrinks the widest columns until a row fits, or every column has its least width.
fn shrink(widths: &mut [usize], least: &[usize], available: usize) {
    let gaps = GAP * widths.len().saturating_sub(1);
    loop {
        let over = (widths.iter().sum::<usize>() + gaps).saturating_sub(available);
        let can_shrink = |(width, least): &(&mut usize, &usize)| **width > **least;
        let sizes: Vec<usize> =
            widths.iter_mut().zip(least).filter(can_shrink).map(|(width, _)| *width).collect();
        let Some(widest) = sizes.iter().copied().max().filter(|_| over > 0) else { return };
        // The widest go down together to the next one, so that no column pays for all.
        let next = sizes.iter().copied().filter(|width| *width < widest).max().unwrap_or(0);
        let count = sizes.iter().filter(|width| **width == widest).count();
        let target = next.max(widest.saturating_sub(over.div_ceil(count)));
        for (width, least) in widths.iter_mut().zip(least).filter(can_shrink) {
            if *width == widest {
                *width = target.max(*least);
            }
        }
    }
}

/// Cuts a cell to a width, with `…` at its end.
fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    let kept: String = cell.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Wraps a text between words; lines after the first are indented. A word that is longer than the room stays whole, and a
/// command stays on its line: people copy both.
pub(crate) fn wrap(text: &str, room: Option<usize>, indent: usize) -> String {
    let Some(room) = room.filter(|room| *room >= COLUMN_CHARACTERS_MIN) else { return text.to_owned() };
    if text.chars().count() <= room || text.contains('\n') || text.starts_with("hence ") {
        return text.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let length = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && length > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join(&format!("\n{}", " ".repeat(indent)))
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

#[cfg(test)]
mod tests {
    use super::{columns_within, wrap};

    fn rows() -> Vec<[String; 3]> {
        [["RUN", "STATUS", "HEAD"], ["a-very-long-run-id-indeed", "completed", "two words and more of them"]]
            .map(|row| row.map(str::to_owned))
            .to_vec()
    }

    #[test]
    fn a_table_fits_the_terminal_or_is_as_wide_as_it_needs() {
        assert!(columns_within(&rows(), None).lines().all(|line| !line.contains('…')));
        for width in [30, 40, 60, 80] {
            let text = columns_within(&rows(), Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
        assert_eq!(columns_within(&rows(), Some(80)), columns_within(&rows(), None));
    }

    #[test]
    fn words_and_commands_stay_whole() {
        assert_eq!(wrap("abcdefghijkl mno", Some(8), 2), "abcdefghijkl\n  mno");
        assert_eq!(wrap("hence log vendor-choice", Some(8), 2), "hence log vendor-choice");
        assert_eq!(wrap("a\nb c d e f g h i", Some(8), 2), "a\nb c d e f g h i");
    }
}
