//! Text in lines that fit a terminal: wrapped between words, continued below the place where the text began.
//!
//! Ids, paths and commands stay whole, because people copy them; so do lines of data.

use unicode_width::UnicodeWidthStr as _;

/// The fewest characters that a line of text gets; with fewer, wrapping makes it harder to read than an overlong line.
const ROOM_CHARACTERS_MIN: usize = 6;

/// The characters by which a line of a report is indented where it continues the one above.
const HANGING_CHARACTERS: usize = 2;

/// Returns how many columns of a terminal a text takes: two for a wide character, none for a combining one.
pub(crate) fn display_width(text: &str) -> usize {
    text.width()
}

/// Wraps every line of a report that is wider than the terminal.
pub(crate) fn fit(text: &str, width: Option<usize>) -> String {
    match width {
        Some(width) => fit_lines(text, width, HANGING_CHARACTERS),
        None => text.to_owned(),
    }
}

fn fit_lines(text: &str, width: usize, hanging: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        match display_width(line) <= width || is_data(line) {
            true => out.push_str(line),
            false => fit_line(line, width, hanging, &mut out),
        }
    }
    out
}

/// Wraps a page of Markdown: the lines of a paragraph are one text, and lines of code stay lines.
pub(crate) fn fit_page(page: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return page.to_owned() };
    let mut paragraphs: Vec<String> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        let begins = line.trim().is_empty()
            || is_fence
            || is_code
            || line.starts_with(['#', '|', '>'])
            || marker(line.trim_start()) > 0;
        match paragraphs.last_mut().filter(|_| is_open && !begins) {
            Some(paragraph) => {
                paragraph.push(' ');
                paragraph.push_str(line.trim());
            }
            None => paragraphs.push(line.to_owned()),
        }
        is_code ^= is_fence;
        is_open = !is_fence && !is_code && !line.trim().is_empty() && !line.starts_with(['#', '|']);
    }
    fit_lines(&(paragraphs.join("\n") + "\n"), width, 0)
}

/// Wraps a text between words; lines after the first are indented. A word that is longer than the room stays whole, and a
/// command stays on its line: people copy both.
pub(crate) fn wrap(text: &str, room: Option<usize>, indent: usize) -> String {
    let Some(room) = room.filter(|room| *room >= ROOM_CHARACTERS_MIN) else { return text.to_owned() };
    if display_width(text) <= room || text.contains('\n') || text.starts_with("hence ") {
        return text.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for piece in pieces(text, room) {
        let length = display_width(&line) + 1 + display_width(piece);
        if !line.is_empty() && length > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(piece);
    }
    lines.push(line);
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// Returns the length of the longest part of a text that is never broken.
pub(crate) fn longest_piece(text: &str, room: usize) -> usize {
    if text.starts_with("hence ") {
        return display_width(text);
    }
    pieces(text, room).map(display_width).max().unwrap_or(0)
}

/// Iterates over the parts of a text that stay whole: words, numbers with what they count, and what is quoted in backticks if
/// it fits or is a command.
fn pieces(text: &str, room: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let word_end = text.find(' ').unwrap_or(text.len());
        let mut end = word_end;
        if let Some(open) = text[..word_end].find('`') {
            let quoted = &text[open + 1..];
            if let Some(close) = quoted.find('`') {
                let after = open + 1 + close + 1;
                let whole = after + text[after..].find(' ').unwrap_or(text.len() - after);
                let stays = quoted.starts_with("hence ") || display_width(&text[..whole]) <= room;
                end = if stays && whole > word_end { whole } else { word_end };
            }
        }
        // A number stays with what it counts: `12 ms`, `3 records`.
        let is_number = word_end > 0 && text[..word_end].bytes().all(|byte| byte.is_ascii_digit());
        if let Some(next) = text.get(word_end + 1..).filter(|next| is_number && !next.starts_with([' ', '`']))
        {
            end = word_end + 1 + next.find(' ').unwrap_or(next.len());
        }
        let (piece, after) = text.split_at(end);
        rest = after.strip_prefix(' ');
        Some(piece)
    })
}

/// Wraps one line. It continues below its last cell, if that leaves half of the width, or else a little to the right of
/// its beginning.
fn fit_line(line: &str, width: usize, hanging: usize, out: &mut String) {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let (head, tail) = match text.rfind("  ") {
        Some(gap) => text.split_at(gap + 2),
        None => text.split_at(marker(text)),
    };
    let before = indent + display_width(head);
    if !head.is_empty() && before <= width / 2 {
        out.push_str(&" ".repeat(indent));
        out.push_str(head);
        out.push_str(&wrap(tail, Some(width - before), before));
        return;
    }
    // The first line has more room than the others, so its indentation is part of the text that is wrapped.
    let hanging = indent + hanging;
    let mut column = indent;
    out.push_str(&" ".repeat(indent));
    for (number, piece) in pieces(text, width.saturating_sub(hanging)).enumerate() {
        let length = display_width(piece);
        let gap = usize::from(number > 0);
        // A name and one word that fits nowhere stay on one line: breaking it would gain nothing.
        let is_hopeless = number == 1 && length + hanging > width;
        if number > 0 && column + gap + length > width && !is_hopeless {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(hanging));
            column = hanging;
        } else if number > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(piece);
        column += length;
    }
}

/// Returns the length of the mark with which an item of a list begins, or 0.
fn marker(text: &str) -> usize {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match text.get(digits..) {
        Some(rest) if digits > 0 && rest.starts_with(". ") => digits + 2,
        Some(rest) if digits == 0 && (rest.starts_with("- ") || rest.starts_with("* ")) => 2,
        _ => 0,
    }
}

/// Returns whether a line is data, source or a command, of which every character counts.
fn is_data(line: &str) -> bool {
    let text = line.trim_start();
    let after_number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with(['"', '{', '[', '|'])
        || text.starts_with("hence ")
        || text.starts_with("$ ")
        || text.starts_with("--> ")
        || after_number.starts_with(" | ")
}

#[cfg(test)]
mod tests {
    use super::{fit, fit_page, wrap};

    #[test]
    fn words_and_commands_stay_whole() {
        assert_eq!(wrap("abcdefghijkl mno", Some(8), 2), "abcdefghijkl\n  mno");
        assert_eq!(wrap("hence log vendor-choice", Some(8), 2), "hence log vendor-choice");
        assert_eq!(wrap("a\nb c d e f g h i", Some(8), 2), "a\nb c d e f g h i");
        assert_eq!(wrap("run `hence log x y`, then", Some(8), 0), "run\n`hence log x y`,\nthen");
        assert_eq!(wrap("slowest 12 ms, all", Some(10), 0), "slowest\n12 ms, all");
        assert_eq!(wrap("an unclosed `quote of words", Some(8), 0), "an\nunclosed\n`quote\nof words");
        assert_eq!(wrap("`a ∧ b ∧ c ∧ d` never", Some(8), 0), "`a ∧ b ∧\nc ∧ d`\nnever");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(wrap("你好 世界 你好", Some(9), 0), "你好 世界\n你好");
        assert_eq!(fit("cafe\u{301} cafe\u{301} ab", Some(9)), "cafe\u{301} cafe\u{301}\n  ab");
    }

    #[test]
    fn a_line_continues_below_its_text() {
        let width = Some(20);
        assert_eq!(fit("  that nothing was cut from", width), "  that nothing was\n    cut from");
        assert_eq!(fit("name  some text that is long", width), "name  some text that\n      is long");
        assert_eq!(fit("- an item of a list of it", width), "- an item of a list\n  of it");
        assert_eq!(fit("1. an item of a list of it", width), "1. an item of a list\n   of it");
        assert_eq!(fit("a-very-long-name  its text", width), "a-very-long-name\n  its text");
        assert_eq!(fit("short\nlines\n", width), "short\nlines\n");
        assert_eq!(fit("some text that is long", None), "some text that is long");
    }

    #[test]
    fn data_source_and_commands_are_not_broken() {
        for line in [
            "  \"text\": \"a long sentence\",",
            "{\"a\": 1, \"b\": 2, \"c\": 3}",
            "12 | some: source that is long",
            "   | some: source that is long",
            "$ hence run a-long-name --input x=1",
            "head  0123456789012345678901234567890",
            "head 0123456789012345678901234567890",
        ] {
            assert_eq!(fit(line, Some(20)), line);
        }
    }

    #[test]
    fn the_lines_of_a_paragraph_are_one_text_and_code_stays_in_lines() {
        let page =
            "# E0102\n\nOne long line of\na paragraph.\n\n- item one\n  goes on\n- two\n\n```\na\nb\n```\n";
        let expected =
            "# E0102\n\nOne long line of a paragraph.\n\n- item one goes on\n- two\n\n```\na\nb\n```\n";
        assert_eq!(fit_page(page, Some(40)), expected);
        assert_eq!(fit_page(page, None), page);
        assert!(fit_page(page, Some(20)).contains("One long line of a\nparagraph."));
    }

    #[test]
    fn no_text_is_lost_and_no_line_is_wider_than_its_longest_word() {
        let texts = [
            "",
            " ",
            "   ",
            "a  b  c",
            "`",
            "``",
            "é `ü ö` ä",
            "- ",
            "1. ",
            "  - x  y `z `",
            "\n\n",
            "… … …",
        ];
        for text in texts {
            for width in 0..12 {
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(words(&fit(text, Some(width))), words(text), "{text:?} at {width}");
                assert_eq!(words(&fit_page(text, Some(width))), words(text), "{text:?} at {width}");
            }
        }
    }
}
