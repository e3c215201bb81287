//! The files that go into a commit by their names.

use std::collections::BTreeSet;

use super::{Deed, Part};
use crate::secret;

/// The files that the next commit takes in, as far as commands name them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staged(BTreeSet<String>);

impl Staged {
    /// Notes what a command other than a commit adds or takes away.
    pub(crate) fn note(&mut self, words: &[String]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let operands = || words.iter().skip(2).filter(|word| !word.starts_with('-')).copied();
        match words.as_slice() {
            ["git", "add" | "stage", ..] => self.0.extend(operands().map(str::to_owned)),
            ["git", "reset" | "restore" | "unstage" | "stash" | "checkout", ..] => self.0.clear(),
            ["git", "rm", ..] => operands().for_each(|path| self.0.retain(|known| !is_same(known, path))),
            _ => {}
        }
    }

    /// Takes the files that a commit with these words holds.
    pub(crate) fn commit(&mut self, words: &[String]) -> BTreeSet<String> {
        let mut taken = std::mem::take(&mut self.0);
        taken.extend(paths_of_commit(words));
        taken
    }
}

/// Adds to the commits of a line the private files that the line puts into them.
pub(super) fn add_private_files(parts: &mut [Part]) {
    let mut staged = Staged::default();
    for part in parts.iter_mut().filter(|part| part.can_have_happened()) {
        match part.deed {
            Deed::Commit => {
                let taken = staged.commit(&part.words).into_iter();
                part.private_files = taken.filter(|path| secret::is_private_file(path)).collect();
            }
            _ => staged.note(&part.words),
        }
    }
}

/// Returns the paths that a commit is given; the value of an option, as its message, is none.
fn paths_of_commit(words: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = words.iter().skip(2);
    let mut has_options = true;
    while let Some(word) = rest.next() {
        match word.strip_prefix('-').filter(|_| has_options) {
            Some("-") => has_options = false,
            Some(option) if takes_value(option) => drop(rest.next()),
            Some(_) => {}
            None => paths.push(word.clone()),
        }
    }
    paths
}

/// Returns whether the word after an option of `git commit`, without its first dash, is the option's value.
fn takes_value(option: &str) -> bool {
    const LONG: [&str; 7] =
        ["-author", "-date", "-file", "-message", "-reedit-message", "-reuse-message", "-template"];
    match option.starts_with('-') {
        true => LONG.contains(&option),
        // In `-am text` the last letter takes the value; in `-mtext` it is attached.
        false => option.find(['m', 'F', 'C', 'c', 't']).is_some_and(|at| at + 1 == option.len()),
    }
}

/// Returns whether two paths name one file, where one of them may begin at another folder.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    let (left, right) = (left.trim_start_matches("./"), right.trim_start_matches("./"));
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    !left.is_empty() && !right.is_empty() && (left == right || ends(left, right) || ends(right, left))
}
