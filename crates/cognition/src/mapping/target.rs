//! Targets: where a step's output may go.

use std::fmt;
use std::sync::Arc;

use crate::reference::{Access, Namespace};
use crate::state::{ListSlot, OutputField, OutputText, Slot, UnknownOutputField, UnknownSlot};

/// A place a step may write to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    text: Arc<str>,
    path: TargetPath,
}

/// The parsed form of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetPath {
    /// One key of `vars`, dots included.
    Var(Arc<str>),
    /// One key of `outputs`, dots included.
    Output(Arc<str>),
    /// A list slot as a whole: list elements cannot be written one by one.
    Slot(ListSlot),
    /// Keys below `working.artifacts`; none for the whole slot.
    Artifact(Box<[Arc<str>]>),
    /// Keys below `output.result`; none for the whole field.
    Result(Box<[Arc<str>]>),
    /// A text of the output block.
    Text(OutputText),
    /// Keys below `extensions`, at least one.
    Extension(Box<[Arc<str>]>),
}

/// A text that is not a target.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidTarget {
    /// No namespace in front of a dot.
    #[error("a target is a namespace, a dot and a path, found {0:?}")]
    NoDot(String),
    /// `inputs`, `frame` or `trace`.
    #[error("`{0}` is read-only")]
    ReadOnly(String),
    /// Anything else that is not writable.
    #[error("`{0}` is not a namespace; writable are vars, outputs, working, output and extensions")]
    UnknownNamespace(String),
    /// Nothing after the dot, or nothing between two dots.
    #[error("a target path has no empty segments, found {0:?}")]
    EmptySegment(String),
    /// `working.` followed by no slot.
    #[error(transparent)]
    UnknownSlot(#[from] UnknownSlot),
    /// `output.` followed by no field.
    #[error(transparent)]
    UnknownOutputField(#[from] UnknownOutputField),
    /// A path into something that has no members to write.
    #[error("`{0}` is written as a whole, nothing inside it")]
    NotAMap(String),
}

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// [`InvalidTarget`] with what is wrong about the text.
    pub fn parse(text: &str) -> Result<Self, InvalidTarget> {
        let (first, path) = text.split_once('.').ok_or_else(|| InvalidTarget::NoDot(text.to_owned()))?;
        if first == "trace" {
            return Err(InvalidTarget::ReadOnly(first.to_owned()));
        }
        let namespace =
            first.parse::<Namespace>().map_err(|_| InvalidTarget::UnknownNamespace(first.to_owned()))?;
        if namespace.access() == Access::ReadOnly {
            return Err(InvalidTarget::ReadOnly(first.to_owned()));
        }
        Ok(Self { text: text.into(), path: target_path(namespace, path, text)? })
    }

    /// Returns the text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns what the text means.
    pub fn path(&self) -> &TargetPath {
        &self.path
    }

    /// Returns the number of maps around a value written here.
    pub(super) fn depth(&self) -> usize {
        match &self.path {
            TargetPath::Var(_) | TargetPath::Output(_) | TargetPath::Slot(_) | TargetPath::Text(_) => 1,
            TargetPath::Artifact(keys) | TargetPath::Result(keys) => 1 + keys.len(),
            TargetPath::Extension(keys) => keys.len(),
        }
    }
}

fn target_path(namespace: Namespace, path: &str, text: &str) -> Result<TargetPath, InvalidTarget> {
    let empty = || InvalidTarget::EmptySegment(text.to_owned());
    if path.is_empty() {
        return Err(empty());
    }
    match namespace {
        // Flat namespaces take the rest as one key: `vars.a.b` is read back by the same words.
        Namespace::Vars => return Ok(TargetPath::Var(path.into())),
        Namespace::Outputs => return Ok(TargetPath::Output(path.into())),
        _ => {}
    }
    let mut segments = path.split('.');
    if path.split('.').any(str::is_empty) {
        return Err(empty());
    }
    let keys = |segments: std::str::Split<'_, char>| segments.map(Arc::from).collect::<Box<[Arc<str>]>>();
    if namespace == Namespace::Extensions {
        return Ok(TargetPath::Extension(keys(segments)));
    }
    let first = segments.next().unwrap_or_default();
    let rest = keys(segments);
    let whole = |path: TargetPath| match rest.is_empty() {
        true => Ok(path),
        false => Err(InvalidTarget::NotAMap(format!("{namespace}.{first}"))),
    };
    if namespace == Namespace::Working {
        return match first.parse()? {
            Slot::Artifacts => Ok(TargetPath::Artifact(rest)),
            Slot::List(slot) => whole(TargetPath::Slot(slot)),
        };
    }
    match first.parse()? {
        OutputField::Result => Ok(TargetPath::Result(rest)),
        OutputField::Text(field) => whole(TargetPath::Text(field)),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}
