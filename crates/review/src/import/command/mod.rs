//! Reads from the commands in a log what each of them did.
//!
//! A command line is read as a shell reads it. Each command of it is classified by its program and arguments, never by
//! a word that merely occurs in the line, and what is known of its end follows from the exit code of the whole line.

mod builders;
mod ended;
mod files;
mod git;
mod program;
mod services;
mod walk;
mod wrapper;

pub(super) use ended::Signs;
pub(super) use walk::parts;

/// The kind of thing a command did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
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
    pub(super) fn is_known(self) -> bool {
        !matches!(self, Self::Other | Self::Neutral)
    }

    /// Returns whether running it again can show the same: it only looks or checks.
    pub(super) fn only_looks(self) -> bool {
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
    pub(super) fn method(self) -> Option<&'static str> {
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
pub(super) enum Ran {
    Yes,
    /// It depends on something the log does not show.
    Maybe,
    No,
}

/// How a command of a line ended, as far as the end of the line shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    Well,
    Badly,
    Unknown,
    /// It did not run, or it ran and failed: in both cases it had no effect.
    NotDone,
}

/// A file that a command names, and what it became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NamedFile {
    pub(super) path: String,
    pub(super) renamed_to: Option<String>,
}

impl NamedFile {
    fn at(path: String) -> Self {
        Self { path, renamed_to: None }
    }
}

/// One command of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) deed: Deed,
    pub(super) files: Vec<NamedFile>,
    /// The program and its arguments, wrappers removed.
    pub(super) words: Vec<String>,
    /// Whether a push overwrites history.
    pub(super) force: bool,
    /// Whether it removes what cannot be brought back.
    pub(super) is_destructive: bool,
    /// Its text as written.
    pub(super) source: String,
    /// The folder it ran in, if the line changed it.
    pub(super) folder: Option<String>,
    /// The text that was written to the file, if the line holds it.
    pub(super) content: Option<String>,
    pub(super) ran: Ran,
    pub(super) ended: Ended,
}

/// The known facts about the end of a command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineEnd {
    /// The exit code was zero, or the tool reported no error.
    Well,
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
