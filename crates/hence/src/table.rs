//! Tables for people. On a narrow terminal columns are left out in a stated order, the last one is wrapped or moved below
//! its row, and only what is still too wide is cut.

use unicode_width::UnicodeWidthChar as _;

use crate::layout::{display_width, longest_piece, wrap};
use crate::terminal;

/// The least number of characters that a column keeps when the terminal is narrow.
const COLUMN_CHARACTERS_MIN: usize = 6;

/// The number of characters between two columns.
const GAP: usize = 2;

/// The indentation of a cell that is moved below its row.
const BELOW: usize = 4;

/// A table, and the columns it leaves out to fit the terminal.
pub(crate) struct Table {
    /// The rows.
    pub(crate) text: String,
    left_out: Vec<String>,
}

impl Table {
    /// Returns a line that names the columns that are left out, if there are any.
    pub(crate) fn note(&self) -> String {
        match self.left_out.is_empty() {
            true => String::new(),
            false => format!("left out to fit: {}; --json has all\n", self.left_out.join(", ")),
        }
    }

    /// Returns the rows and the note.
    pub(crate) fn with_note(self) -> String {
        let note = self.note();
        self.text + &note
    }
}

/// Lays rows out in columns; the last column is not padded.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    laid_out(&borrowed(rows), terminal::width())
}

/// Lays out rows below a heading. If they do not fit, the columns of these headings are left out one after the other, the
/// least useful first.
pub(crate) fn table<const N: usize>(rows: &[[String; N]], least_useful_first: &[&str]) -> Table {
    table_within(rows, least_useful_first, terminal::width())
}

/// The columns of a table whose rows appear one after the other: they are fixed before the first row is printed.
pub(crate) struct FixedColumns {
    layout: Layout,
    /// The positions of the columns that are left out, each among those that are left, and their titles.
    left_out: Vec<(usize, String)>,
    available: Option<usize>,
}

impl FixedColumns {
    /// Fixes the columns so that these rows fit, of which the first is the heading.
    pub(crate) fn of<const N: usize>(rows: &[[String; N]], least_useful_first: &[&str]) -> Self {
        let available = terminal::width();
        let mut rows = borrowed(rows);
        let left_out = leave_out(&mut rows, least_useful_first, available);
        Self { layout: Layout::of(&rows, available), left_out, available }
    }

    /// Lays out more rows below those before.
    pub(crate) fn rows<const N: usize>(&self, rows: &[[String; N]]) -> Table {
        let mut rows = borrowed(rows);
        for (position, _) in &self.left_out {
            for row in &mut rows {
                row.remove(*position);
            }
        }
        let left_out = self.left_out.iter().map(|(_, title)| title.clone()).collect();
        Table { text: self.layout.text(&rows, self.available), left_out }
    }
}

fn table_within<const N: usize>(rows: &[[String; N]], first: &[&str], available: Option<usize>) -> Table {
    let mut rows = borrowed(rows);
    let left_out = leave_out(&mut rows, first, available).into_iter().map(|(_, title)| title).collect();
    Table { text: laid_out(&rows, available), left_out }
}

/// Removes columns until the rows fit. Returns the position that each one had when it was removed, and its title.
fn leave_out(rows: &mut [Vec<&str>], first: &[&str], available: Option<usize>) -> Vec<(usize, String)> {
    let mut left_out = Vec::new();
    for title in first {
        if available.is_none_or(|available| is_readable(rows, available)) {
            break;
        }
        let found = rows.first().and_then(|heading| heading.iter().position(|cell| cell == title));
        let Some(position) = found else { continue };
        for row in rows.iter_mut() {
            row.remove(position);
        }
        left_out.push((position, (*title).to_owned()));
    }
    left_out
}

fn borrowed<const N: usize>(rows: &[[String; N]]) -> Vec<Vec<&str>> {
    rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect()
}

/// Returns whether rows fit with every column whole, the last one wrapped beside the others.
fn is_readable(rows: &[Vec<&str>], available: usize) -> bool {
    let widths = natural(rows);
    let last = widths.last().copied().unwrap_or(0);
    let before = before_last(&widths);
    before + last <= available || before + beside(rows, available) <= available
}

/// Returns the width of each column that cuts nothing.
fn natural(rows: &[Vec<&str>]) -> Vec<usize> {
    let mut widths = vec![0; rows.iter().map(Vec::len).max().unwrap_or(0)];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(display_width(cell));
        }
    }
    widths
}

/// Returns the width of all columns before the last one, with the gaps.
fn before_last(widths: &[usize]) -> usize {
    widths.iter().take(widths.len().saturating_sub(1)).map(|width| width + GAP).sum()
}

/// Returns the least room that the last column needs beside the others, where it is wrapped between words.
fn beside(rows: &[Vec<&str>], available: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.last());
    let longest = cells.map(|cell| longest_piece(cell, available)).max().unwrap_or(0);
    longest.max(available * 2 / 5)
}

fn laid_out(rows: &[Vec<&str>], available: Option<usize>) -> String {
    Layout::of(rows, available).text(rows, available)
}

/// The widths of the columns, and whether a last cell that does not fit is moved below its row.
struct Layout {
    widths: Vec<usize>,
    is_below: bool,
}

impl Layout {
    fn of(rows: &[Vec<&str>], available: Option<usize>) -> Self {
        let mut widths = natural(rows);
        let is_pairs = widths.len() < 3;
        let mut is_below = false;
        if let Some(available) = available {
            let last = widths.last().copied().unwrap_or(0);
            let mut least = vec![COLUMN_CHARACTERS_MIN; widths.len()];
            if let Some(least) = least.last_mut() {
                *least = beside(rows, available).min(last);
                // A name and its value stay on one line: the value may be longer than any line.
                *least = if is_pairs { (*least).min(available / 2) } else { *least };
            }
            let needed = before_last(&widths) + least.last().copied().unwrap_or(0);
            is_below = !is_pairs && needed > available;
            if is_below {
                let mut others: Vec<usize> = widths.iter().take(widths.len() - 1).copied().collect();
                shrink(&mut others, &least, available);
                others.push(last);
                widths = others;
            } else {
                shrink(&mut widths, &least, available);
            }
        }
        Self { widths, is_below }
    }

    fn text(&self, rows: &[Vec<&str>], available: Option<usize>) -> String {
        let Self { widths, is_below } = self;
        let before = before_last(widths);
        let mut text = String::new();
        for row in rows {
            let mut line = String::new();
            for (position, (cell, width)) in row.iter().zip(widths).enumerate() {
                if position + 1 < widths.len() {
                    // Without a terminal a row is whole, even if it is wider than the columns that were fixed before it.
                    let cell = if available.is_some() { cut(cell, *width) } else { (*cell).to_owned() };
                    line.push_str(&cell);
                    let missing = width.saturating_sub(display_width(&cell));
                    line.extend(std::iter::repeat_n(' ', missing + GAP));
                    continue;
                }
                let room = available.map(|available| available.saturating_sub(before));
                let fits = room.is_none_or(|room| display_width(cell) <= room);
                if *is_below && !fits {
                    line.truncate(line.trim_end().len());
                    line.push('\n');
                    line.push_str(&" ".repeat(BELOW));
                    line.push_str(&wrap(
                        cell,
                        available.map(|available| available.saturating_sub(BELOW)),
                        BELOW,
                    ));
                } else {
                    line.push_str(&wrap(cell, room, before));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
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
    if display_width(cell) <= width {
        return cell.to_owned();
    }
    let mut used = 0;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used < width
    };
    let kept: String = cell.chars().take_while(fits).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::{borrowed, cut, laid_out, table_within};

    fn rows() -> Vec<[String; 3]> {
        [["RUN", "STATUS", "HEAD"], ["a-very-long-run-id-indeed", "completed", "two words and more of them"]]
            .map(|row| row.map(str::to_owned))
            .to_vec()
    }

    #[test]
    fn a_table_fits_the_terminal_or_is_as_wide_as_it_needs() {
        let whole = laid_out(&borrowed(&rows()), None);
        assert!(whole.lines().all(|line| !line.contains('…')));
        for width in [30, 40, 60, 80] {
            let text = laid_out(&borrowed(&rows()), Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
        assert_eq!(laid_out(&borrowed(&rows()), Some(80)), whole);
    }

    #[test]
    fn rows_that_come_later_stand_under_the_heading_of_the_first() {
        let heading = ["RUN", "STATUS", "HEAD"].map(str::to_owned);
        let row = |run: &str| [[run, "completed", "0a1b2c"].map(str::to_owned)];
        for available in [None, Some(24), Some(16), Some(80)] {
            let mut rows = borrowed(std::slice::from_ref(&heading));
            let widest = row("a-long-run");
            rows.extend(borrowed(&widest));
            let removed = super::leave_out(&mut rows, &["HEAD"], available);
            let fixed = super::FixedColumns {
                layout: super::Layout::of(&rows, available),
                left_out: removed,
                available,
            };
            let first = fixed.rows(std::slice::from_ref(&heading)).text;
            let second = fixed.rows(&row("r")).text;
            assert_eq!(first.find("STATUS"), second.find("compl"), "{available:?}:\n{first}{second}");
            assert_eq!(first.contains("HEAD"), second.contains("0a1b2c"), "{available:?}:\n{first}{second}");
        }
    }

    #[test]
    fn a_cut_cell_counts_columns() {
        assert_eq!(cut("你好世界", 5), "你好…");
        assert_eq!(cut("你好世界", 4), "你…");
        assert_eq!(cut("你好世界", 8), "你好世界");
        assert_eq!(cut("abcdef", 4), "abc…");
    }

    #[test]
    fn a_last_column_without_room_moves_below_its_row() {
        let text = laid_out(&borrowed(&rows()), Some(44));
        assert_eq!(
            text,
            "RUN                        STATUS     HEAD\na-very-long-run-id-indeed  completed\n    two words and more of them\n"
        );
    }

    #[test]
    fn the_least_useful_columns_are_left_out_first_and_named() {
        let titles = |width| {
            let table = table_within(&rows(), &["HEAD", "STATUS"], Some(width));
            (table.text.lines().next().unwrap_or_default().to_owned(), table.note())
        };
        assert_eq!(titles(80).1, "");
        let (heading, note) = titles(40);
        assert_eq!(heading, "RUN                        STATUS");
        assert_eq!(note, "left out to fit: HEAD; --json has all\n");
        assert_eq!(titles(30).1, "left out to fit: HEAD, STATUS; --json has all\n");
    }
}
