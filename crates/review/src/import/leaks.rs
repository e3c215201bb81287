//! Secrets that a session shows on their way into a commit.
//!
//! A commit holds a secret if its message does, if a diff of what is staged shows one, or if it takes in a file whose
//! text was shown with one. A file whose name says that it is private, as `.env` does, counts as one too, unless its text was
//! shown without a secret.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::command::{Deed, Part, Staged, is_same};
use crate::secret;

/// The bytes of an output that are searched for secrets.
const SEARCHED_BYTES_MAX: usize = 256 * 1024;
/// The files of one session that are known to hold secrets.
const FILES_MAX: usize = 1000;

/// The secrets and the files that an output shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// Whether the text holds a secret.
    holds_secret: bool,
    /// Whether a line that a diff adds holds a secret.
    adds_secret: bool,
    /// The files of a diff that add one, as far as it names them.
    adding: BTreeSet<String>,
    /// The files that git names as new after a commit.
    created: BTreeSet<String>,
    is_empty: bool,
}

impl Shown {
    /// Looks for secrets in the whole text of a result.
    pub(super) fn of(text: &str) -> Self {
        let mut end = text.len().min(SEARCHED_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = text.get(..end).unwrap_or_default();
        let mut shown = Self {
            holds_secret: secret::contains(text),
            is_empty: text.trim().is_empty(),
            ..Self::default()
        };
        let mut file: Option<&str> = None;
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("+++ ") {
                file = path.split('\t').next().map(|path| path.strip_prefix("b/").unwrap_or(path));
            } else if let Some(added) = line.strip_prefix('+').filter(|_| shown.holds_secret) {
                if secret::contains(added) {
                    shown.adds_secret = true;
                    shown.adding.extend(file.map(str::to_owned));
                }
            } else if let Some(made) = line.trim_start().strip_prefix("create mode ") {
                shown.created.extend(made.split_once(' ').map(|(_, path)| path.trim().to_owned()));
            }
        }
        shown
    }
}

/// The secrets that the commits of one command line hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Committed {
    /// Whether one holds a secret.
    pub(super) holds_secret: bool,
    /// The files that count as secrets because of their names; their texts are not in the log.
    pub(super) private_files: BTreeSet<String>,
}

impl Committed {
    /// Returns the member of the commit's request that says which names it was judged by.
    pub(super) fn member(&self) -> Option<(&'static str, Value)> {
        let names = || self.private_files.iter().map(|path| Value::from(path.as_str())).collect();
        (!self.private_files.is_empty()).then(|| ("private_files", names()))
    }
}

/// The secrets that are known to be in files, and in what the next commit takes in.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaks {
    files: BTreeSet<String>,
    /// The files whose text was shown without a secret.
    clean: BTreeSet<String>,
    staged: Staged,
    /// The files of the last diff that added a secret; empty if the diff named none.
    in_diff: Option<BTreeSet<String>>,
}

impl Leaks {
    /// Notes that the text of a file was shown.
    pub(super) fn read(&mut self, path: &str, shown: &Shown) {
        match shown.holds_secret {
            true => self.add(path),
            false if !shown.is_empty && !has(&self.files, path) => self.add_clean(path),
            false => {}
        }
    }

    /// Notes that a file was written; `holds` says whether its new text holds a secret, if that is known.
    pub(super) fn written(&mut self, path: &str, holds: Option<bool>) {
        match holds {
            Some(true) => self.add(path),
            Some(false) => {
                self.forget(path);
                self.add_clean(path);
            }
            None => self.clean.retain(|known| !is_same(known, path)),
        }
        // What a diff showed is no longer what the file holds.
        if self.in_diff.as_ref().is_some_and(|files| files.is_empty() || has(files, path)) {
            self.in_diff = None;
        }
    }

    fn forget(&mut self, path: &str) {
        self.files.retain(|known| !is_same(known, path));
    }

    fn add_clean(&mut self, path: &str) {
        if self.clean.len() < FILES_MAX {
            self.clean.insert(path.to_owned());
        }
    }

    fn add(&mut self, path: &str) {
        self.clean.retain(|known| !is_same(known, path));
        if self.files.len() < FILES_MAX {
            self.files.insert(path.to_owned());
        }
    }

    /// Notes what the commands of a line did, in their order, and returns the secrets that commits among them hold.
    pub(super) fn line(&mut self, parts: &[Part], shown: &Shown) -> Committed {
        let mut held = Committed::default();
        for part in parts.iter().filter(|part| part.can_have_happened()) {
            self.part(part, shown, &mut held);
        }
        held
    }

    fn part(&mut self, part: &Part, shown: &Shown, held: &mut Committed) {
        let words: Vec<&str> = part.words.iter().map(String::as_str).collect();
        if part.deed != Deed::Commit {
            self.staged.note(&part.words);
        }
        let operands = || words.iter().skip(2).filter(|word| !word.starts_with('-')).copied();
        match (part.deed, words.as_slice()) {
            (Deed::Diff, _) if shown.adds_secret => self.in_diff = Some(shown.adding.clone()),
            (Deed::Diff, _) if !shown.is_empty => self.in_diff = None,
            (Deed::Read, _) if shown.holds_secret => {
                let only = part.files.len() == 1;
                let files = part.files.iter().map(|file| file.path.as_str());
                files.filter(|path| only || is_telling(path)).for_each(|path| self.add(path));
            }
            // Several files are shown together, or one of them in part.
            (Deed::Read, ["cat", path]) => self.read(path, shown),
            (_, ["git", "reset" | "restore" | "unstage" | "stash" | "checkout", ..]) => {
                self.in_diff = None;
            }
            (_, ["git", "rm", ..]) => {
                for path in operands() {
                    self.forget(path);
                    self.in_diff = self.in_diff.take().filter(|files| !files.is_empty() && !has(files, path));
                }
            }
            (Deed::Create, ["cp" | "install" | "ln" | "rsync", sources @ ..]) => {
                let holds = sources.iter().any(|source| has(&self.files, source));
                part.files.iter().for_each(|file| self.written(&file.path, holds.then_some(true)));
            }
            (Deed::Edit | Deed::Create, _) => {
                let holds = part.content.as_deref().map(secret::contains);
                let holds = holds.filter(|holds| *holds || part.deed == Deed::Create);
                part.files.iter().for_each(|file| self.written(&file.path, holds));
            }
            (Deed::Delete, _) => part.files.iter().for_each(|file| {
                self.forget(&file.path);
                self.written(&file.path, None);
            }),
            (Deed::Rename, _) => {
                for file in &part.files {
                    if let (Some(to), true) = (&file.renamed_to, has(&self.files, &file.path)) {
                        self.forget(&file.path);
                        self.add(to);
                    }
                }
            }
            (Deed::Commit, _) => {
                let mut taken = self.staged.commit(&part.words);
                taken.extend(shown.created.iter().cloned());
                held.holds_secret |= holds_secret(part)
                    || self.in_diff.is_some()
                    || taken.iter().any(|path| has(&self.files, path));
                let is_seen = |path: &str| has(&self.files, path) || has(&self.clean, path);
                let is_private = |path: &String| secret::is_private_file(path) && !is_seen(path);
                held.private_files.extend(taken.into_iter().filter(is_private));
                held.holds_secret |= !held.private_files.is_empty();
                self.in_diff = None;
            }
            _ => {}
        }
    }
}

/// Returns whether the words of a command, or what it reads, hold a secret. A variable that is set for it is not
/// committed.
pub(super) fn holds_secret(part: &Part) -> bool {
    let program = part.words.first().map_or("", String::as_str);
    let at = part.source.find(program).unwrap_or(0);
    let line = part.words.join(" ");
    secret::contains(&line)
        || part.content.as_deref().is_some_and(secret::contains)
        || part.words.iter().any(|word| secret::contains(word))
        || part.source.get(at..).is_some_and(secret::contains)
}

/// Returns whether the name of a file says that it holds secrets.
fn is_telling(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    name.starts_with(".env") || ["secret", "credential", "password"].iter().any(|word| name.contains(word))
}

fn has(files: &BTreeSet<String>, path: &str) -> bool {
    files.iter().any(|known| is_same(known, path))
}
