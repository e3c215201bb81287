//! Reads from command lines what each of their commands does.
//!
//! A command line is read as a shell reads it. Each command of it is classified by its program and arguments, never by
//! a word that merely occurs in the line, and what is known of its end follows from the exit code of the whole line.
//! Imported logs and runs of skills are read by the same rules.

mod aliases;
mod builders;
mod code;
mod echoed;
mod ended;
mod exit_code;
mod files;
mod formatters;
mod git;
mod given;
mod manifests;
mod names;
mod open;
mod partial;
mod patched;
mod piped;
mod program;
mod scripts;
mod services;
mod staged;
mod tools;
mod unlisted;
mod values;
mod voice;
mod walk;
mod windows;
mod wrapper;

use hence_canon::{Object, Value};

use crate::secret;
use crate::show::shell_word;
use crate::vocabulary::{ActionType, ActivityType};

pub use echoed::echoed_end;
pub use ended::{Signs, is_failed_line, without_commits};
pub use exit_code::exit_codes;
pub use given::{Callee, folder_given, lines_given, push_given};
pub use names::ShellNames;
pub use patched::{Patched, patched};
pub(crate) use staged::{Staged, is_same};
pub use tools::{part_of_tool, private_files_given};
pub use walk::{parts, parts_after};

/// The kind of thing a command did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Deed {
    Tests,
    Lint,
    Types,
    Status,
    Diff,
    Commit,
    Push,
    Edit,
    Create,
    Delete,
    Rename,
    Read,
    Search,
    List,
    Install,
    Build,
    Format,
    Deploy,
    Release,
    /// It removes something that is no file of the project.
    Destroy,
    /// A program that is not listed.
    Other,
    /// It only prepares or shows something: `cd`, `echo`, a filter in a pipe.
    Neutral,
}

impl Deed {
    /// Returns whether the deed says more than that a command ran.
    pub fn is_known(self) -> bool {
        !matches!(self, Self::Other | Self::Neutral)
    }

    /// Returns whether it checks something and says how that ended.
    pub fn checks(self) -> bool {
        matches!(self, Self::Tests | Self::Lint | Self::Types)
    }

    /// Returns whether it writes a file.
    pub fn writes_file(self) -> bool {
        matches!(self, Self::Edit | Self::Create | Self::Rename)
    }

    /// Returns whether it changes something outside of the files: history, other machines, what users get.
    pub fn is_consequential(self) -> bool {
        matches!(self, Self::Commit | Self::Push | Self::Deploy | Self::Release)
    }

    /// Returns whether it changes a file: writes or deletes it.
    pub fn changes_file(self) -> bool {
        self.writes_file() || self == Self::Delete
    }

    /// Returns the type of an action that did this.
    pub fn action_type(self) -> ActionType {
        let activity = match self {
            Self::Tests => ActivityType::RunTests,
            Self::Lint => ActivityType::Lint,
            Self::Types => ActivityType::TypeCheck,
            Self::Status => ActivityType::GitStatus,
            Self::Diff => ActivityType::GitDiff,
            Self::Commit => ActivityType::GitCommit,
            Self::Push => ActivityType::GitPush,
            Self::Edit => ActivityType::EditFile,
            Self::Create => ActivityType::CreateFile,
            Self::Delete => ActivityType::DeleteFile,
            Self::Rename => ActivityType::RenameFile,
            Self::Read => ActivityType::ReadFile,
            Self::Search => ActivityType::SearchCode,
            Self::List => ActivityType::ExploreDirectory,
            Self::Deploy => ActivityType::Deploy,
            Self::Release => ActivityType::Release,
            // It rewrites files that it does not name.
            Self::Format => ActivityType::Change,
            Self::Install | Self::Build | Self::Destroy | Self::Other | Self::Neutral => {
                ActivityType::RunCommand
            }
        };
        activity.into()
    }

    /// Returns whether running it again can show the same: it only looks or checks.
    pub fn only_looks(self) -> bool {
        matches!(
            self,
            Self::Tests
                | Self::Lint
                | Self::Types
                | Self::Status
                | Self::Diff
                | Self::Read
                | Self::Search
                | Self::List
                | Self::Build
        )
    }

    /// Returns the word for deeds that have no action type of their own.
    pub fn method(self) -> Option<&'static str> {
        match self {
            Self::Install => Some("install"),
            Self::Build => Some("build"),
            Self::Format => Some("format"),
            Self::Destroy => Some("destroy"),
            _ => None,
        }
    }
}

/// Whether a command of a line ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Ran {
    /// It ran.
    Yes,
    /// It depends on something the log does not show.
    Maybe,
    /// It did not run.
    No,
}

/// The end of a command of a line, as far as the end of the line shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With success.
    Well,
    /// With an error.
    Badly,
    /// Nothing shows how.
    Unknown,
    /// It did not run, or it ran and failed: in both cases it had no effect.
    NotDone,
}

/// A file that a command names, and what it became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedFile {
    /// The path, relative to the folder of the log or the call unless it begins with `/`.
    pub path: String,
    /// Its new path, if it was moved.
    pub renamed_to: Option<String>,
}

impl NamedFile {
    fn at(path: String) -> Self {
        Self { path, renamed_to: None }
    }
}

/// One command of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The kind of thing it did.
    pub deed: Deed,
    /// The files it names.
    pub files: Vec<NamedFile>,
    /// The program and its arguments, wrappers removed.
    pub words: Vec<String>,
    /// The places of the words whose text is not known and that may be options.
    pub open: Vec<usize>,
    /// Whether a push overwrites history, as far as its words are known.
    pub force: bool,
    /// Whether it removes what cannot be brought back.
    pub is_destructive: bool,
    /// Its text as written.
    pub source: String,
    /// The folder it ran in, if the line changed it.
    pub folder: Option<String>,
    /// The text that was written to the file, if the line holds it.
    pub content: Option<String>,
    /// The files that a commit takes in whose names say that they hold secrets, as far as the line names them.
    pub private_files: Vec<String>,
    /// Whether the output of the line is that of this part. Of a check it is not where another command of the line may have
    /// printed it.
    pub owns_output: bool,
    /// Whether it ran.
    pub ran: Ran,
    /// The end.
    pub ended: Ended,
}

impl Part {
    /// Returns whether the part may have had an effect.
    pub fn can_have_happened(&self) -> bool {
        self.ran != Ran::No && self.ended != Ended::NotDone
    }

    /// Returns the arguments as a request shows them, without secrets. An argument whose text is not known is marked, so
    /// that no rule takes it for a plain word.
    pub fn arguments(&self) -> Vec<Value> {
        let words = secret::words_without_secrets(&self.words);
        let argument = |(place, word): (usize, &String)| match self.open.contains(&place) {
            true => not_known(word),
            false => word.as_str().into(),
        };
        words.iter().enumerate().skip(1).map(argument).collect()
    }

    /// Returns whether a push overwrites history, as a request says it: with a word that may be any option, nobody knows.
    pub fn force_value(&self) -> Value {
        match self.open.first().and_then(|place| self.words.get(*place)) {
            Some(word) if !self.force => not_known(&secret::without_secrets(word)),
            _ => self.force.into(),
        }
    }

    /// Returns one file for each action that the part is: a change of several files is one action per file, anything
    /// else is one action.
    pub fn targets(&self) -> Vec<Option<&NamedFile>> {
        let is_each = self.deed.changes_file() && !self.files.is_empty();
        if is_each { self.files.iter().map(Some).collect() } else { vec![None] }
    }
}

/// The member of a value of a trace that marks it as not known. What a rule says of such a value is undecided.
pub const NOT_KNOWN: &str = "not_known";

fn not_known(source: &str) -> Value {
    Object::from_iter([(NOT_KNOWN, source)]).into()
}

/// Returns the parts that did something of a known kind and may have had an effect. Neighbors of the same kind are
/// joined: two runs of tests in one line are one action, the files of two reads one list.
pub fn merged(parts: &[Part]) -> Vec<Part> {
    let mut found: Vec<Part> = Vec::new();
    for part in parts.iter().filter(|part| part.deed.is_known() && part.can_have_happened()) {
        let joins = found.last().is_some_and(|last| {
            let is_same = last.deed == part.deed
                && last.force == part.force
                && last.ran == part.ran
                && last.open.is_empty() == part.open.is_empty();
            is_same && !part.deed.changes_file()
        });
        match found.last_mut().filter(|_| joins) {
            Some(last) => {
                last.files.extend(part.files.iter().cloned());
                last.source = format!("{}; {}", last.source, part.source);
                last.private_files.extend(part.private_files.iter().cloned());
                last.is_destructive |= part.is_destructive;
                last.owns_output &= part.owns_output;
                last.ended = match (last.ended, part.ended) {
                    (Ended::Badly, _) | (_, Ended::Badly) => Ended::Badly,
                    (Ended::Well, Ended::Well) => Ended::Well,
                    _ => Ended::Unknown,
                };
            }
            None => found.push(part.clone()),
        }
    }
    found
}

/// Returns a program and its arguments as a command line that a shell would read as exactly these words.
pub fn line_of<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// The known facts about the end of a command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineEnd {
    /// The exit code was zero, or the tool reported no error.
    Well,
    /// With an error.
    Badly,
    /// The log has no result.
    Absent,
    /// Something else decided about the exit code that the log shows.
    Hidden,
}

/// The class of one command.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Class {
    deed: Deed,
    files: Vec<NamedFile>,
    force: bool,
    is_destructive: bool,
}

impl From<Deed> for Class {
    fn from(deed: Deed) -> Self {
        Self { deed, files: Vec::new(), force: false, is_destructive: deed == Deed::Destroy }
    }
}

impl Class {
    fn with_files(deed: Deed, files: Vec<NamedFile>) -> Self {
        Self { files, ..deed.into() }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_changes;
#[cfg(test)]
mod tests_ends;
#[cfg(test)]
mod tests_names;
#[cfg(test)]
mod tests_spellings;
#[cfg(test)]
mod tests_wrapped;
