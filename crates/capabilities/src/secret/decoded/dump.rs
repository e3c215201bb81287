//! Dumps of bytes over several lines, as `hexdump`, `xxd` and `od` print them.
//!
//! A line of a dump is an offset, groups of digits or letters, and a column of text. Offset and text stand between the
//! bytes of two lines and may contain digits themselves, so a line is taken apart before its groups are decoded. Which
//! tool wrote the lines is not known: every reading of the groups is tried, and one that is wrong finds no secret.

use std::ops::Range;

use super::{Decoded, KINDS, nibble};
use crate::secret::SECRET_BYTES_MAX;

/// Bytes, each with the place of its letters.
type Letters = Vec<(u8, Range<usize>)>;

/// The digits from which on the first word of a line is an offset. `xxd` writes a colon after it, which needs fewer.
const OFFSET_DIGITS_MIN: usize = 6;

/// The words before an offset that are passed over, such as the time and the stream that a log writes before each line.
const PREFIX_WORDS_MAX: usize = 4;

/// The bytes that the lines left out of a dump (`*`) may add, besides as many as the text has.
const REPEATED_BYTES_MAX: usize = 8 * SECRET_BYTES_MAX;

/// The width of a column of `od -c`.
const CELL_CHARACTERS: usize = 4;

/// A reading of the groups of a line.
#[derive(Clone, Copy)]
enum Groups {
    /// Words, each of which stands for some bytes.
    Words(fn(&[u8]) -> Option<Vec<u8>>),
    /// Letters in columns, with octal digits and names for what is no letter.
    Letters,
}

const READINGS: [Groups; 9] = [
    Groups::Words(hexadecimal),
    Groups::Words(hexadecimal_reversed),
    Groups::Words(octal),
    Groups::Words(decimal::<1>),
    Groups::Words(decimal::<2>),
    Groups::Words(decimal::<4>),
    Groups::Words(decimal::<8>),
    Groups::Words(binary),
    Groups::Letters,
];

/// Whether the lines of a dump begin with offsets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offsets {
    Present,
    Absent,
}

/// A line of a dump.
struct Line {
    /// The value of the offset as hexadecimal, octal and decimal digits.
    offset: [Option<u64>; 3],
    /// The bytes, each with the place of the group it was read from.
    bytes: Vec<(u8, Range<usize>)>,
    /// The end of the line, if there is something after the groups.
    text_end: Option<usize>,
}

/// A word of a line: its place, and the number of blanks before it.
struct WordPlace {
    range: Range<usize>,
    blanks: usize,
}

impl Decoded {
    /// Calls `each` with every reading of the lines as a dump, and with what one more encoding inside of it stands for.
    pub(super) fn each_dump(&self, each: &mut dyn FnMut(&Self)) {
        for offsets in [Offsets::Present, Offsets::Absent] {
            for groups in READINGS {
                if let Some(dump) = self.read_dump(groups, offsets) {
                    each(&dump);
                    dump.each_inside(&KINDS, &KINDS, 1, each);
                }
            }
        }
    }

    fn read_dump(&self, groups: Groups, offsets: Offsets) -> Option<Self> {
        let mut dump = Self { bytes: Vec::new(), places: Vec::new() };
        let mut repeated_left = self.bytes.len().saturating_add(REPEATED_BYTES_MAX);
        let mut last: Option<Line> = None;
        let mut start = 0;
        for text in self.bytes.split(|byte| *byte == b'\n') {
            let range = start..start + text.len();
            start = range.end + 1;
            if text.trim_ascii() == b"*"
                && let Some(line) = &last
            {
                self.push_line(line, &mut dump);
                repeated_left = self.push_repeated(line, &range, repeated_left, &mut dump);
                last = None;
                continue;
            }
            let line = self.read_line(&range, groups, offsets);
            if let Some(mut before) = last.take() {
                if let Some(line) = &line {
                    before.cut_before(line);
                }
                self.push_line(&before, &mut dump);
            }
            if line.is_none() && dump.bytes.last().is_some_and(|byte| *byte != b'\n') {
                // What stands apart stays apart.
                dump.push(b'\n', &self.original(&(range.start..range.start)));
            }
            last = line;
        }
        if let Some(line) = &last {
            self.push_line(line, &mut dump);
        }
        (dump.bytes.len() >= super::super::SECRET_BYTES_MIN).then_some(dump)
    }

    fn push_line(&self, line: &Line, dump: &mut Self) {
        for (byte, place) in &line.bytes {
            // The column of text shows the same bytes, so it goes with them.
            let end = line.text_end.unwrap_or(place.end);
            dump.push(*byte, &self.original(&(place.start..end)));
        }
    }

    /// Repeats a line as often as a secret could go on: a dump does not show lines that equal the one before.
    fn push_repeated(&self, line: &Line, star: &Range<usize>, mut left: usize, dump: &mut Self) -> usize {
        let size = line.bytes.len();
        let spelled = self.original(star);
        let mut added = 0;
        while size > 0 && added < SECRET_BYTES_MAX && size <= left {
            line.bytes.iter().for_each(|(byte, _)| dump.push(*byte, &spelled));
            (added, left) = (added + size, left - size);
        }
        left
    }

    fn read_line(&self, range: &Range<usize>, groups: Groups, offsets: Offsets) -> Option<Line> {
        let words = words(&self.bytes, range);
        let (offset, rest, has_colon) = match offsets {
            Offsets::Absent => ([None; 3], words.as_slice(), false),
            Offsets::Present => {
                let at = words
                    .iter()
                    .take(PREFIX_WORDS_MAX + 1)
                    .position(|word| offset_of(self.word(word)).is_some())?;
                let (digits, has_colon) = offset_of(self.word(words.get(at)?))?;
                let digits = str::from_utf8(digits).ok()?;
                let value = |radix| u64::from_str_radix(digits, radix).ok();
                ([value(16), value(8), value(10)], words.get(at + 1..)?, has_colon)
            }
        };
        let begin = match offsets {
            Offsets::Absent => range.start,
            Offsets::Present => words.iter().rev().nth(rest.len())?.range.end,
        };
        let (bytes, end) = match groups {
            Groups::Words(decode) => self.read_words(rest, decode, has_colon),
            Groups::Letters => self.read_letters(begin..range.end)?,
        };
        if bytes.is_empty() && offsets == Offsets::Absent {
            return None;
        }
        let after = words.iter().find(|word| word.range.start >= end);
        // Without an offset, only a column that is set apart is one of text: the words after a group may be anything.
        let is_text = after.is_some_and(|word| {
            let mark = self.bytes.get(word.range.start);
            offsets == Offsets::Present || word.blanks > 1 || matches!(mark, Some(b'|' | b'>'))
        });
        let text_end = words.last().filter(|_| is_text).map(|word| word.range.end);
        Some(Line { offset, bytes, text_end })
    }

    fn word(&self, word: &WordPlace) -> &[u8] {
        self.bytes.get(word.range.clone()).unwrap_or_default()
    }

    /// Decodes words up to the first that is none of the reading, and returns where they end.
    fn read_words(
        &self,
        words: &[WordPlace],
        decode: fn(&[u8]) -> Option<Vec<u8>>,
        has_colon: bool,
    ) -> (Vec<(u8, Range<usize>)>, usize) {
        let mut bytes = Vec::new();
        let mut end = words.first().map_or(0, |word| word.range.start);
        for word in words {
            // `xxd` puts two blanks before its text, and one before a group.
            if has_colon && word.blanks > 1 && !bytes.is_empty() {
                break;
            }
            let Some(group) = self.bytes.get(word.range.clone()).and_then(decode) else { break };
            bytes.extend(group.into_iter().map(|byte| (byte, word.range.clone())));
            end = word.range.end;
        }
        (bytes, end)
    }

    /// Decodes the columns of `od -c`, `od -a` and `hexdump -c`. A blank is a column without a letter.
    fn read_letters(&self, range: Range<usize>) -> Option<(Letters, usize)> {
        let text = str::from_utf8(self.bytes.get(range.clone())?).ok()?.trim_end_matches('\r');
        let letters: Vec<(usize, char)> = text.char_indices().collect();
        let mut bytes = Vec::new();
        // Columns are aligned at the right: a text whose first blanks were removed has a short first one.
        let first = match letters.len() % CELL_CHARACTERS {
            0 => CELL_CHARACTERS,
            rest => rest,
        };
        let (mut from, mut to) = (0, first.min(letters.len()));
        while from < to {
            let begin = letters.get(from)?.0;
            let end = letters.get(to).map_or(text.len(), |(place, _)| *place);
            let cell = text.get(begin..end)?;
            let plain = match cell.trim_matches(' ') {
                "" => vec![b' '],
                name => letter(name)?,
            };
            // The place of a cell is that of its letter, so that blanks before it stay.
            let begin = begin + cell.len() - cell.trim_start_matches(' ').len().max(1);
            let place = range.start + begin..range.start + end;
            bytes.extend(plain.into_iter().map(|byte| (byte, place.clone())));
            (from, to) = (to, (to + CELL_CHARACTERS).min(letters.len()));
        }
        Some((bytes, range.start + text.len()))
    }
}

impl Line {
    /// Leaves out what was read beyond the offset of the next line: words of the text that look like groups.
    fn cut_before(&mut self, next: &Self) {
        let differences =
            self.offset.iter().zip(&next.offset).filter_map(|(this, next)| (*next)?.checked_sub((*this)?));
        let size = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        // Which digits the offsets have is not known: the reading that leaves most bytes is the one that fits.
        let fitting = differences.filter(|difference| (1..=size).contains(difference)).max();
        if let Some(kept) = fitting.and_then(|kept| usize::try_from(kept).ok()) {
            self.bytes.truncate(kept);
        }
    }
}

/// Returns the digits of an offset, and whether a colon follows; `None` when a word is none. Signs before it, such as the
/// quotation mark of a text of JSON, are passed over.
fn offset_of(word: &[u8]) -> Option<(&[u8], bool)> {
    let signs = word.iter().take_while(|byte| byte.is_ascii_punctuation()).count();
    let word = word.get(signs..)?;
    let (digits, has_colon) = match word.strip_suffix(b":") {
        Some(digits) => (digits, true),
        None => (word, false),
    };
    let digits_min = if has_colon { 2 } else { OFFSET_DIGITS_MIN };
    (digits.len() >= digits_min && digits.iter().all(u8::is_ascii_hexdigit)).then_some((digits, has_colon))
}

fn words(bytes: &[u8], range: &Range<usize>) -> Vec<WordPlace> {
    let mut words = Vec::new();
    let (mut at, mut blanks) = (range.start, 0);
    while at < range.end {
        let rest = bytes.get(at..range.end).unwrap_or_default();
        let length = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        if length == 0 {
            (at, blanks) = (at + 1, blanks + 1);
        } else {
            words.push(WordPlace { range: at..at + length, blanks });
            (at, blanks) = (at + length, 0);
        }
    }
    words
}

/// Reads hexadecimal digits, two for each byte.
fn hexadecimal(word: &[u8]) -> Option<Vec<u8>> {
    if word.is_empty() || !word.len().is_multiple_of(2) {
        return None;
    }
    word.chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
            _ => None,
        })
        .collect()
}

/// Reads a number in hexadecimal digits, its lowest byte first, as most machines store it.
fn hexadecimal_reversed(word: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = hexadecimal(word).filter(|bytes| bytes.len() <= 16)?;
    bytes.reverse();
    Some(bytes)
}

/// Reads a number in octal digits, whose count tells the bytes it has.
fn octal(word: &[u8]) -> Option<Vec<u8>> {
    let size = match word.len() {
        3 => 1,
        6 => 2,
        11 => 4,
        22 => 8,
        _ => return None,
    };
    number_bytes(i128::from_str_radix(str::from_utf8(word).ok()?, 8).ok()?, size)
}

/// Reads a number of so many bytes in decimal digits, with or without a sign.
fn decimal<const SIZE: usize>(word: &[u8]) -> Option<Vec<u8>> {
    // The longest number of eight bytes has twenty digits.
    let text = str::from_utf8(word).ok().filter(|text| text.len() <= 20)?;
    number_bytes(text.parse().ok()?, SIZE)
}

/// Reads eight binary digits.
fn binary(word: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(word).ok().filter(|text| text.len() == 8)?;
    number_bytes(i128::from_str_radix(text, 2).ok()?, 1)
}

/// Returns a number in so many bytes, the lowest first; `None` if it does not fit.
fn number_bytes(number: i128, size: usize) -> Option<Vec<u8>> {
    let bits = u32::try_from(size * 8).ok()?;
    let fits = number >= -(1_i128 << (bits - 1)) && number < 1_i128 << bits;
    fits.then(|| number.to_le_bytes().into_iter().take(size).collect())
}

/// Reads a column of letters: one letter, three octal digits, an escape, or the name of a letter.
fn letter(name: &str) -> Option<Vec<u8>> {
    let byte = match name {
        "\\0" | "nul" => 0,
        "\\a" | "bel" => 7,
        "\\b" | "bs" => 8,
        "\\t" | "ht" => b'\t',
        "\\n" | "nl" => b'\n',
        "\\v" | "vt" => 11,
        "\\f" | "ff" => 12,
        "\\r" | "cr" => b'\r',
        "sp" => b' ',
        // The rest of a letter of several bytes, which stands in the column before.
        "**" => return Some(Vec::new()),
        _ if name.chars().count() == 1 => return Some(name.as_bytes().to_vec()),
        _ if name.len() == 3 => return octal(name.as_bytes()),
        _ => return None,
    };
    Some(vec![byte])
}
