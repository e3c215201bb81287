//! The arguments of `hence new` and `hence init`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// The kinds of documents that can be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum NewKind {
    /// A problem with goals, constraints and evidence
    Problem,
    /// A skill with a loop, a branch, a command and a question, in a folder of its own
    Skill,
    /// A capabilities file with a command
    Capabilities,
    /// A policy with examples
    Policy,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence new skill notes\n         hence new policy house-rules")]
pub(crate) struct NewArgs {
    /// The kind of document
    pub(crate) kind: NewKind,
    /// Its name
    pub(crate) name: String,
    /// The folder to write to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence init --store /srv/hence")]
pub(crate) struct InitArgs {}
