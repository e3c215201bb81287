//! The border between this crate and the disk: files it reads through a trait, and files it hands over to be written.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hence_canon::Digest;

use crate::StateId;
use crate::limits::INLINE_VALUE_BYTES_MAX;

/// Reads files below the store's root. Implemented by whoever owns the disk.
pub trait Files {
    /// Returns the bytes of the file at `path`, read fresh.
    ///
    /// # Errors
    /// [`ReadFault`]; in particular an implementation must not follow a symbolic link out of the root and reports
    /// [`ReadFault::Escapes`] instead.
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault>;
}

/// The reason a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFault {
    /// There is no such file.
    #[error("no such file")]
    Missing,
    /// A symbolic link on the way leads out of the root.
    #[error("a symbolic link leads out of the store")]
    Escapes,
    /// The bytes of the file are not those that were written.
    #[error("{0}")]
    Corrupt(String),
    /// The disk or its permissions.
    #[error("{0}")]
    Unreadable(String),
}

/// A store without files, for states without references and large values.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

/// A large value on its way to disk. It must be durable before the event that refers to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpillFile {
    /// The path of the file.
    pub path: StorePath,
    /// The digest of its bytes, which its name carries.
    pub sha256: Digest,
    /// The bytes to write.
    pub content: SpillContent,
}

/// The bytes of a large value; a text is shared with the value it came from, never copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SpillContent {
    /// A string, as it is.
    Text(Arc<str>),
    /// Canonical JSON of a list or an object.
    Json(Arc<[u8]>),
}

impl SpillContent {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Json(bytes) => bytes,
        }
    }

    pub(crate) fn extension(&self) -> &'static str {
        match self {
            Self::Text(_) => "txt",
            Self::Json(_) => "json",
        }
    }
}

/// The folder every reference stays inside.
const ROOT: &str = ".aiwg/rlm/";

/// The prefix of a reference in a value.
const SCHEME: &str = "file:";

/// A relative path below `.aiwg/rlm/` that cannot name anything outside it.
///
/// The text alone proves it: no empty, `.` or `..` segment, no backslash, no NUL, no decoding of anything.
/// Whoever opens the file must check symbolic links, see [`Files`](crate::Files).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorePath(Arc<str>);

/// A text that is not a path below `.aiwg/rlm/`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct InvalidPath {
    /// The description of a valid path or reference.
    pub expected: &'static str,
    /// The text, cut for display.
    pub found: String,
}

impl InvalidPath {
    fn new(expected: &'static str, found: &str) -> Self {
        Self { expected, found: found.chars().take(120).collect() }
    }
}

impl StorePath {
    /// Reads a reference from a value of type `file_path`: `file:` and a path.
    ///
    /// # Errors
    /// [`InvalidPath`] when the scheme is missing or the path is not confined.
    pub fn from_reference(text: &str) -> Result<Self, InvalidPath> {
        // A reference never moves to a file itself, so it must fit inside a document.
        if text.len() as u64 > INLINE_VALUE_BYTES_MAX {
            return Err(InvalidPath::new("a reference of at most 10240 bytes", text));
        }
        let path = text.strip_prefix(SCHEME);
        path.ok_or_else(|| InvalidPath::new("a reference that starts with `file:.aiwg/rlm/`", text))?.parse()
    }

    /// Returns the reference to this path.
    pub fn to_reference(&self) -> String {
        format!("{SCHEME}{}", self.0)
    }

    /// Returns the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the root folder of all paths, and the path below it: whoever opens the file must not leave the root.
    pub fn from_root(&self) -> (&'static str, &str) {
        (ROOT.trim_end_matches('/'), self.0.strip_prefix(ROOT).unwrap_or_default())
    }

    /// Returns whether the file is to be read as JSON.
    pub fn is_json(&self) -> bool {
        self.0.ends_with(".json")
    }

    /// Returns the path of `rest` below the root; for paths this crate makes itself, from parts that are safe.
    pub(crate) fn below_root(rest: &str) -> Self {
        Self(format!("{ROOT}{rest}").into())
    }

    /// Returns where a large value of `state` lives: named by its content, so it never changes.
    pub(crate) fn of_spill(state: StateId, digest: Digest, extension: &str) -> Self {
        Self::below_root(&format!("states/{state}/variables/{digest}.{extension}"))
    }

    /// Returns the digest of the large value at this path, if it is the path of one.
    pub fn spill_digest(&self) -> Option<Digest> {
        let rest = self.0.strip_prefix(ROOT)?.strip_prefix("states/")?;
        let (state, rest) = rest.split_once('/')?;
        let name = rest.strip_prefix("variables/")?;
        let digest = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".json"))?;
        state.parse::<StateId>().ok()?;
        digest.parse().ok()
    }

    /// Returns the path if it is that of a file that another program writes: the large values of variables have paths
    /// that only this crate makes.
    pub(crate) fn of_another_program(self) -> Result<Self, InvalidPath> {
        match self.spill_digest() {
            None => Ok(self),
            Some(_) => Err(InvalidPath::new("a path other than that of a large value", &self.0)),
        }
    }

    /// Returns where a checkpoint's snapshot lives.
    pub(crate) fn of_snapshot(state: StateId, checkpoint: crate::CheckpointId) -> Self {
        Self::below_root(&format!("states/{state}/checkpoints/{checkpoint}.json"))
    }
}

impl FromStr for StorePath {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        const EXPECTED: &str =
            "a path below `.aiwg/rlm/` with no empty, `.` or `..` segment, no backslash and no NUL";
        let safe = |rest: &str| rest.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
        let confined = text.strip_prefix(ROOT).is_some_and(safe) && !text.contains(['\\', '\0']);
        if confined { Ok(Self(text.into())) } else { Err(InvalidPath::new(EXPECTED, text)) }
    }
}

impl fmt::Display for StorePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl fmt::Debug for StorePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_cannot_name_anything_outside_the_root() {
        for bad in [
            "",
            "file:",
            ".aiwg/rlm/x",
            "file:/etc/passwd",
            "file:///etc/passwd",
            "file:.aiwg/rlm",
            "file:.aiwg/rlm/",
            "file:.aiwg/rlm/a/",
            "file:.aiwg/rlm//a",
            "file:.aiwg/rlm/./a",
            "file:.aiwg/rlm/../a",
            "file:.aiwg/rlm/a/..",
            "file:.aiwg/rlmx/a",
            "file:.AIWG/rlm/a",
            "file:./.aiwg/rlm/a",
            "file:.aiwg/rlm/a\\b",
            "file:.aiwg/rlm/a\0",
            "FILE:.aiwg/rlm/a",
            " file:.aiwg/rlm/a",
            "file:C:/.aiwg/rlm/a",
        ] {
            assert!(StorePath::from_reference(bad).is_err(), "{bad:?}");
        }
        for good in
            ["file:.aiwg/rlm/a", "file:.aiwg/rlm/a%2e%2e/b", "file:.aiwg/rlm/.../b", "file:.aiwg/rlm/a b"]
        {
            assert_eq!(StorePath::from_reference(good).unwrap().to_reference(), good);
        }
    }

    #[test]
    fn a_path_is_the_root_and_the_rest() {
        let path: StorePath = ".aiwg/rlm/notes/a.txt".parse().unwrap();
        assert_eq!(path.from_root(), (".aiwg/rlm", "notes/a.txt"));
    }

    #[test]
    fn only_the_place_of_a_large_value_names_a_digest() {
        let digest = Digest::of(b"x");
        let path = StorePath::of_spill(StateId::from_number(1), digest, "txt");
        assert_eq!(path.spill_digest(), Some(digest));
        let elsewhere = |text: String| text.parse::<StorePath>().unwrap().spill_digest();
        assert_eq!(elsewhere(format!(".aiwg/rlm/states/x/variables/{digest}.txt")), None);
        assert_eq!(elsewhere(format!(".aiwg/rlm/states/state-00000001/{digest}.txt")), None);
        assert_eq!(elsewhere(format!(".aiwg/rlm/states/state-00000001/variables/{digest}")), None);
    }

    #[test]
    fn a_reference_must_fit_where_values_stand() {
        let reference = |bytes: u64| format!("file:.aiwg/rlm/{}", "x".repeat(bytes as usize - 15));
        assert!(StorePath::from_reference(&reference(INLINE_VALUE_BYTES_MAX)).is_ok());
        assert!(StorePath::from_reference(&reference(INLINE_VALUE_BYTES_MAX + 1)).is_err());
    }
}
