//! The namespaces a reference can name.

use std::fmt;

/// A namespace that steps can read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the names of the document's namespaces")]
pub enum Namespace {
    Inputs,
    Vars,
    Outputs,
    Frame,
    Working,
    Output,
    Extensions,
}

/// What a reference to something that is not there means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnMissing {
    /// It is `null`.
    Null,
    /// It is an error.
    Error,
}

/// Whether a step may write to a namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Steps read and write it.
    ReadWrite,
    /// Steps only read it, or do not even read it (`trace`).
    ReadOnly,
}

impl Namespace {
    /// Every readable namespace in the order of the document.
    pub const ALL: [Self; 7] =
        [Self::Inputs, Self::Vars, Self::Outputs, Self::Frame, Self::Working, Self::Output, Self::Extensions];

    /// Returns the name used in references.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Vars => "vars",
            Self::Outputs => "outputs",
            Self::Frame => "frame",
            Self::Working => "working",
            Self::Output => "output",
            Self::Extensions => "extensions",
        }
    }

    /// Finds a namespace by its exact name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|namespace| namespace.name() == name)
    }

    /// Returns what a missing value means in an input mapping.
    pub fn on_missing(self) -> OnMissing {
        match self {
            Self::Inputs | Self::Frame | Self::Output | Self::Extensions => OnMissing::Null,
            Self::Vars | Self::Outputs | Self::Working => OnMissing::Error,
        }
    }

    /// Returns whether steps may write here.
    pub fn access(self) -> Access {
        match self {
            Self::Inputs | Self::Frame => Access::ReadOnly,
            Self::Vars | Self::Outputs | Self::Working | Self::Output | Self::Extensions => Access::ReadWrite,
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
