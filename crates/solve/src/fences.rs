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
}

/// Finds the blocks of a reply.
///
/// A fence opens on a line that begins, after at most three spaces, with three or more backticks or tildes; it closes on
/// a line with at least as many of the same and nothing else. So a fence inside a string of the code, indented or
/// followed by more text, does not cut the block. A block that is never closed runs to the end of the reply.
pub fn parts(reply: &str) -> Parts {
    let mut parts = Parts::default();
    let mut open: Option<Fence> = None;
    for line in reply.lines() {
        match open.take() {
            None => match Fence::open(line) {
                Some(fence) => open = Some(fence),
                None => {
                    parts.prose.push_str(line);
                    parts.prose.push('\n');
                }
            },
            Some(fence) if fence.is_closed_by(line) => parts.add(fence),
            Some(mut fence) => {
                fence.body.push_str(line);
                fence.body.push('\n');
                open = Some(fence);
            }
        }
    }
    if let Some(fence) = open {
        parts.add(fence);
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
        Some(Self { mark, length, runs: LANGUAGES.contains(&&*word), body: String::new() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        // An indented fence belongs to the code, as in a text between triple quotes.
        let indent = line.len() - line.trim_start_matches(' ').len();
        indent <= 3 && text.len() >= self.length && text.chars().all(|letter| letter == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_of_both_words_run_in_order_and_others_do_not() {
        let reply = "First.\n```repl\nx = 1\n```\nThen\n```python\ny = 2\n\nz = 3\n```\n```json\n{}\n```\n```\nplain\n```\nend";
        let found = parts(reply);
        assert_eq!(found.blocks, ["x = 1", "y = 2\n\nz = 3"]);
        assert_eq!(found.prose, "First.\nThen\nend");
    }

    #[test]
    fn a_fence_inside_a_string_does_not_cut_the_block() {
        let reply =
            "```python\ntext = '''\n    ```\n```not a fence\n'''\nprint('```')\n```\n````repl\n```\na\n````";
        let found = parts(reply);
        assert_eq!(found.blocks, ["text = '''\n    ```\n```not a fence\n'''\nprint('```')", "```\na"]);
    }

    #[test]
    fn an_unclosed_block_runs_and_empty_ones_do_not() {
        assert_eq!(parts("```repl\nx = 1").blocks, ["x = 1"]);
        assert!(parts("```repl\n\n```").blocks.is_empty());
        assert!(parts("").blocks.is_empty());
        let many: String = (0..BLOCKS_MAX + 2).map(|_| "```repl\nx\n```\n").collect();
        assert_eq!((parts(&many).blocks.len(), parts(&many).left_out), (BLOCKS_MAX, 2));
    }
}
