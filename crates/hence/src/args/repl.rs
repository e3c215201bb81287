//! What a person can type to start a prompt, and at it.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser};

use super::vars::VarsCommand;

#[derive(ClapArgs)]
#[command(after_help = "Example: hence repl audit")]
pub(crate) struct ReplArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// The folder that file references lie under, as .aiwg/rlm/…
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

/// One line: a command of `hence vars`, without the run.
#[derive(Parser)]
#[command(name = "hence vars", no_binary_name = true, disable_help_flag = true)]
pub(crate) struct ReplLine {
    #[command(subcommand)]
    pub(crate) command: VarsCommand,
}
