//! The code of a reply: its fenced blocks, and the prose around them.

/// The words after the opening fence that mark code to run.
const LANGUAGES: [&str; 4] = ["repl", "python", "py", "python3"];

/// The most blocks of one reply that run; the model is told about the rest.
pub const BLOCKS_MAX: usize = 20;

/// A reply in its parts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// The code of each block that runs.
    pub blocks: Vec<String>,
    /// The number of blocks that were left out because there are too many.
    pub left_out: usize,
    /// The text outside all fences.
    pub prose: String,
    /// Whether the code of a block without its closing fence was left out.
    pub has_open_block: bool,
}

/// The end of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyEnd {
    /// The model ended it.
    Whole,
    /// It was cut off: a block without its closing fence is a fragment, and does not run.
    Cut,
}

/// Finds the blocks of a reply.
///
/// A fence opens on a line that begins, after at most three spaces, with three or more backticks or tildes; it closes on
/// a line with at least as many of the same and nothing else, outside a text between triple quotes. So a fence inside a
/// text of the code does not cut the block. A text that no later block closes is a mistake of the code, and the first
/// fence in it closes the block. A block that is never closed runs to the end of the reply, unless the reply was cut.
pub fn parts(reply: &str, end: ReplyEnd) -> Parts {
    let lines: Vec<&str> = reply.lines().collect();
    let (mut parts, mut at) = (Parts::default(), 0);
    while let Some(line) = lines.get(at) {
        at += 1;
        match Fence::open(line) {
            Some(mut fence) => {
                at = fence.read(&lines, at);
                if fence.is_closed || end == ReplyEnd::Whole {
                    parts.add(fence);
                } else {
                    // The text after a fence inside a text that is never closed is part of the same fragment.
                    parts.has_open_block |= fence.runs;
                    break;
                }
            }
            None => {
                parts.prose.push_str(line);
                parts.prose.push('\n');
            }
        }
    }
    parts.prose = parts.prose.trim().to_owned();
    parts
}

impl Parts {
    fn add(&mut self, fence: Fence) {
        if !fence.runs || fence.body.trim().is_empty() {
            return;
        }
        if self.blocks.len() < BLOCKS_MAX {
            self.blocks.push(fence.body.trim_end().to_owned());
        } else {
            self.left_out += 1;
        }
    }
}

struct Fence {
    mark: char,
    length: usize,
    runs: bool,
    body: String,
    is_closed: bool,
}

impl Fence {
    fn open(line: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        if line.len() - text.len() > 3 {
            return None;
        }
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = text.chars().take_while(|letter| *letter == mark).count();
        let info = text.get(length..).unwrap_or_default().trim();
        if length < 3 || info.contains('`') {
            return None;
        }
        let word = info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let runs = LANGUAGES.contains(&&*word);
        Some(Self { mark, length, runs, body: String::new(), is_closed: false })
    }

    /// Reads the body from a line on, and returns the line after the fence that closes it.
    fn read(&mut self, lines: &[&str], from: usize) -> usize {
        let (mut text, mut first_in_text) = (None, None);
        for (at, line) in lines.iter().enumerate().skip(from) {
            if self.is_closed_by(line) {
                if text.is_none() || !self.runs {
                    self.is_closed = true;
                    return at + 1;
                }
                first_in_text.get_or_insert((at, self.body.len()));
            }
            text = text_after(line, text);
            self.body.push_str(line);
            self.body.push('\n');
        }
        let Some((at, length)) = first_in_text else { return lines.len() };
        self.body.truncate(length);
        at + 1
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        // An indented fence belongs to the code, as in a text between triple quotes.
        let indent = line.len() - line.trim_start_matches(' ').len();
        indent <= 3 && text.len() >= self.length && text.chars().all(|letter| letter == self.mark)
    }
}

/// Returns the quote of the text between triple quotes that is open after a line, given the one that is open before it.
fn text_after(line: &str, mut open: Option<u8>) -> Option<u8> {
    let (bytes, mut at) = (line.as_bytes(), 0);
    while let Some(byte) = bytes.get(at).copied() {
        let is_triple = |quote: u8| bytes.get(at..at + 3) == Some(&[quote; 3]);
        at += match (open, byte) {
            (_, b'\\') => 2,
            (Some(quote), _) if is_triple(quote) => {
                open = None;
                3
            }
            (Some(_), _) => 1,
            (None, b'#') => return None,
            (None, b'\'' | b'"') if is_triple(byte) => {
                open = Some(byte);
                3
            }
            (None, b'\'' | b'"') => short_text(bytes.get(at..).unwrap_or_default(), byte),
            (None, _) => 1,
        };
    }
    open
}

/// Returns the length of a text in one line that begins with its quote.
fn short_text(bytes: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(reply: &str) -> Parts {
        parts(reply, ReplyEnd::Whole)
    }

    #[test]
    fn a_block_without_its_closing_fence_runs_unless_the_reply_was_cut() {
        for (reply, blocks, prose) in [
            ("So.\n```repl\nx = 1\n```\n```repl\nFinal=4", vec!["x = 1"], "So."),
            ("```repl\nFinal=4\n``", vec![], ""),
            // The fence may be one inside a text whose end was cut off.
            ("```repl\ns = \'\'\'\n```\nFINAL(4)", vec![], ""),
        ] {
            let cut = parts(reply, ReplyEnd::Cut);
            assert_eq!(cut.blocks, blocks, "{reply}");
            assert_eq!((&*cut.prose, cut.has_open_block), (prose, true), "{reply}");
            let found = whole(reply);
            assert!(!found.has_open_block && !found.blocks.is_empty(), "{reply}");
        }
        let closed = parts("```repl\nFinal=42\n```", ReplyEnd::Cut);
        assert_eq!((closed.blocks, closed.has_open_block), (vec!["Final=42".to_owned()], false));
        assert!(!parts("```json\n{", ReplyEnd::Cut).has_open_block);
    }

    #[test]
    fn fences_of_both_words_run_in_order_and_others_do_not() {
        let reply = "First.\n```repl\nx = 1\n```\nThen\n```python\ny = 2\n\nz = 3\n```\n```json\n{}\n```\n```\nplain\n```\nend";
        let found = whole(reply);
        assert_eq!(found.blocks, ["x = 1", "y = 2\n\nz = 3"]);
        assert_eq!(found.prose, "First.\nThen\nend");
    }

    #[test]
    fn a_fence_inside_a_string_does_not_cut_the_block() {
        let reply =
            "```python\ntext = '''\n    ```\n```not a fence\n'''\nprint('```')\n```\n````repl\n```\na\n````";
        let found = whole(reply);
        assert_eq!(found.blocks, ["text = '''\n    ```\n```not a fence\n'''\nprint('```')", "```\na"]);
    }

    #[test]
    fn a_fence_between_triple_quotes_does_not_cut_the_block() {
        for (reply, expected) in [
            (
                "```repl\ns = \'\'\'\n```\nnot a fence\n```\n\'\'\'\nx = 1\n```\nend",
                vec!["s = \'\'\'\n```\nnot a fence\n```\n\'\'\'\nx = 1"],
            ),
            (
                "```python\ns = f\"\"\"a \'\'\' # b\n```\n\"\"\"\n```\n```repl\ny\n```",
                vec!["s = f\"\"\"a \'\'\' # b\n```\n\"\"\"", "y"],
            ),
            // Quotes in comments and short texts open nothing.
            (
                "```repl\nx = 1 # \'\'\'\ny = \"\'\'\'\" + '\\'' # \"\"\"\n```\n```repl\nz\n```",
                vec!["x = 1 # \'\'\'\ny = \"\'\'\'\" + '\\'' # \"\"\"", "z"],
            ),
            // A text that is never closed is a mistake, and the next block is another one.
            ("```repl\ns = \'\'\'a\n```\nprose\n```repl\ny = 2\n```", vec!["s = \'\'\'a", "y = 2"]),
            ("```repl\ns = \'\'\'a\\\'\'\'\n```", vec!["s = \'\'\'a\\\'\'\'"]),
        ] {
            assert_eq!(whole(reply).blocks, expected, "{reply}");
        }
    }

    #[test]
    fn an_unclosed_block_runs_and_empty_ones_do_not() {
        assert_eq!(whole("```repl\nx = 1").blocks, ["x = 1"]);
        assert!(whole("```repl\n\n```").blocks.is_empty());
        assert!(whole("").blocks.is_empty());
        let many: String = (0..BLOCKS_MAX + 2).map(|_| "```repl\nx\n```\n").collect();
        assert_eq!((whole(&many).blocks.len(), whole(&many).left_out), (BLOCKS_MAX, 2));
    }
}
