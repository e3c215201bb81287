//! Binding a trace to its content and to a commit.
//!
//! A bound trace carries its content hash and the place it belongs to; the stamps are not part of the hash. Nothing here
//! reads a repository: the caller names the commit.

use hence_canon::{Object, Value};

use crate::ContentHash;
use crate::residuals::predecessors;
use crate::vocabulary::words;
use crate::wire::Trace;

/// The place of a trace in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPlace {
    /// The repository, as `owner/name`.
    pub repo: Option<String>,
    /// The branch; nothing on a detached head.
    pub branch: Option<String>,
    /// The commit.
    pub commit_sha: String,
}

words! {
    /// The state of a trace's binding stamps.
    Bound, "binding" {
        Unbound = "unbound",
        Dirty = "dirty",
        Stale = "stale",
        Bound = "bound",
    }
}

/// The facts about a trace in a commit's note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceNote {
    /// The trace's id.
    pub trace_id: String,
    /// Its content hash, if the note has it.
    pub content_hash: Option<String>,
}

/// An error of binding a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The document is no trace.
    #[error("a trace is an object, found {0}")]
    NotATrace(hence_canon::Kind),
    /// A note could not name it.
    #[error("the trace has no id that fits on a line")]
    NoId,
    /// A commit has one trace.
    #[error("the commit belongs to trace {0:?}, which this one does not supersede")]
    Taken(String),
    /// The same trace with other content would be another trace.
    #[error(
        "the commit's note binds this trace to {noted}, its content is {found}; a changed trace is a successor"
    )]
    Changed {
        /// The hash in the note.
        noted: String,
        /// The hash of the content.
        found: ContentHash,
    },
}

/// Stamps a trace.
///
/// # Errors
/// [`BindError::NotATrace`].
pub fn stamped(trace: &Value, place: &CommitPlace) -> Result<Value, BindError> {
    let Value::Object(object) = trace else { return Err(BindError::NotATrace(trace.kind())) };
    let mut stamped = object
        .with("commit_sha", place.commit_sha.as_str())
        .with("content_hash", ContentHash::of(trace).to_string());
    for (key, text) in [("repo", &place.repo), ("branch", &place.branch)] {
        // A stamp of another place would be wrong; none is honest.
        stamped = match text {
            Some(text) => stamped.with(key, text.as_str()),
            None => stamped.without(key),
        };
    }
    Ok(stamped.into())
}

/// Returns the state of a trace's binding stamps, given the commit that is checked out.
pub fn bound(trace: &Value, head: Option<&str>) -> Bound {
    let text = |key: &str| trace.as_object().and_then(|object: &Object| object.get(key)?.as_str());
    let (Some(hash), Some(commit)) = (text("content_hash"), text("commit_sha")) else {
        return Bound::Unbound;
    };
    if hash != ContentHash::of(trace).to_string() {
        Bound::Dirty
    } else if head != Some(commit) {
        Bound::Stale
    } else {
        Bound::Bound
    }
}

/// Reads the lines of a commit's note.
pub fn read_note(text: &str) -> Option<TraceNote> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    Some(TraceNote { trace_id: value("Trace-Id")?, content_hash: value("Content-Hash") })
}

/// Writes the note of a commit, if its note before allows it: a commit has one trace, and another one only as its
/// successor.
///
/// # Errors
/// [`BindError`] when the commit belongs to another trace or to other content.
pub fn note(trace: &Value, before: Option<&TraceNote>) -> Result<String, BindError> {
    let read = Trace::read(trace);
    let is_line =
        |id: &&str| !id.trim().is_empty() && id.trim() == *id && !id.contains(crate::show::is_hidden);
    let id = read.trace_id().filter(is_line).ok_or(BindError::NoId)?;
    let hash = ContentHash::of(trace);
    match before {
        Some(known) if known.trace_id == id => {
            let noted = known.content_hash.clone().filter(|noted| *noted != hash.to_string());
            if let Some(noted) = noted {
                return Err(BindError::Changed { noted, found: hash });
            }
        }
        Some(known) if !predecessors(&read).contains(&known.trace_id) => {
            return Err(BindError::Taken(known.trace_id.clone()));
        }
        _ => {}
    }
    Ok(format!("Trace-Id: {id}\nContent-Hash: {hash}\n"))
}

/// Returns the `owner/name` of a remote's address, without what might be a secret in it.
pub fn repo_slug(address: &str) -> Option<String> {
    let trimmed = address.trim().trim_end_matches('/');
    let trimmed = trimmed.strip_suffix(".git").unwrap_or(trimmed);
    let path = match trimmed.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        // `git@host:owner/name`, or a path.
        None => trimmed.split_once(':').map_or(trimmed, |(_, path)| path),
    };
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let (name, owner) = (parts.next()?, parts.next());
    Some(owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}/{name}")))
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn trace(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    fn place(commit: &str) -> CommitPlace {
        CommitPlace { repo: Some("o/r".into()), branch: None, commit_sha: commit.into() }
    }

    #[test]
    fn a_stamped_trace_is_bound_until_its_content_or_the_head_moves() {
        let plain = trace(r#"{"trace_id": "t", "branch": "old"}"#);
        assert_eq!(bound(&plain, Some("f00")), Bound::Unbound);
        let stamped = stamped(&plain, &place("f00")).unwrap();
        assert!(stamped.get("branch").is_none());
        assert_eq!(bound(&stamped, Some("f00")), Bound::Bound);
        assert_eq!(bound(&stamped, Some("f01")), Bound::Stale);
        let dirty = stamped.as_object().unwrap().with("trace_id", "u").into();
        assert_eq!(bound(&dirty, Some("f00")), Bound::Dirty);
    }

    #[test]
    fn a_commit_has_one_trace_and_then_its_successor() {
        let first = trace(r#"{"trace_id": "t"}"#);
        let written = note(&first, None).unwrap();
        let known = read_note(&written).unwrap();
        assert_eq!(note(&first, Some(&known)), Ok(written));
        let other = trace(r#"{"trace_id": "u"}"#);
        assert_eq!(note(&other, Some(&known)), Err(BindError::Taken("t".into())));
        let successor = trace(r#"{"trace_id": "u", "trace_lineage": {"parent_trace_id": "t"}}"#);
        assert!(note(&successor, Some(&known)).is_ok());
        let changed = trace(r#"{"trace_id": "t", "title": "x"}"#);
        assert!(matches!(note(&changed, Some(&known)), Err(BindError::Changed { .. })));
        for bad in [r#"{}"#, r#"{"trace_id": "a\nTrace-Id: b"}"#, r#"{"trace_id": " "}"#] {
            assert_eq!(note(&trace(bad), None), Err(BindError::NoId), "{bad}");
        }
        assert_eq!(read_note("nothing of ours"), None);
    }

    #[test]
    fn a_slug_tells_no_secret() {
        for (address, slug) in [
            ("https://user:token@host.example/o/r.git", "o/r"),
            ("git@host.example:o/r.git", "o/r"),
            ("ssh://git@host.example:22/deep/o/r/", "o/r"),
            ("/srv/repos/r.git", "repos/r"),
            ("r", "r"),
        ] {
            assert_eq!(repo_slug(address).as_deref(), Some(slug), "{address}");
        }
        assert_eq!(repo_slug(""), None);
    }
}
