//! The texts of all actions in one place, lower-cased, for custom words.

use hence_review::wire::Action;
use memchr::memmem;

use super::bits::Bits;

/// The members of an action a custom word is looked for in, in this order.
const SEARCHED: [&str; 5] = ["type", "label", "detail", "rationale", "result_summary"];

/// All texts, one after the other: a word is then found by one scan.
#[derive(Debug)]
pub(crate) struct Texts {
    all: String,
    /// Where the text of each action ends.
    ends: Vec<usize>,
}

impl Texts {
    pub(crate) fn of(actions: &[Action]) -> Self {
        let mut texts = Self { all: String::new(), ends: Vec::with_capacity(actions.len()) };
        for action in actions {
            texts.push(action);
        }
        texts
    }

    fn push(&mut self, action: &Action) {
        self.all.push_str(&searched_text(action));
        // A word never holds a line end, so no match spans two actions.
        self.all.push('\n');
        self.ends.push(self.all.len());
    }

    /// Returns the actions whose text has `word` in it, where `_` reads as a space.
    pub(crate) fn containing(&self, word: &str) -> Bits {
        let mut bits = Bits::filled(self.ends.len(), false);
        let mut action = 0;
        let needle = needle(word);
        for found in memmem::find_iter(self.all.as_bytes(), &needle) {
            while self.ends.get(action).is_some_and(|end| *end <= found) {
                action += 1;
            }
            bits.set(action);
        }
        bits
    }
}

/// Returns what a custom word looks for.
pub(crate) fn needle(word: &str) -> String {
    word.replace('_', " ").to_lowercase()
}

/// Returns the text of one action that custom words are looked for in.
pub(crate) fn searched_text(action: &Action) -> String {
    let texts: Vec<&str> = SEARCHED.iter().map(|key| action.text(key).unwrap_or("")).collect();
    texts.join(" ").to_lowercase()
}
