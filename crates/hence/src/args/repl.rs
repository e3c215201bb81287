//! The arguments of `hence repl`, and of a line at its prompt.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser};

use super::RunRef;
use crate::commands::vars::VarsCommand;

#[derive(ClapArgs)]
#[command(after_help = "Example: hence repl audit")]
pub(crate) struct ReplArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The folder of file references, as .aiwg/rlm/…
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// The time of every operation, such as 2026-02-09T10:00:00Z; a line can give its own [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

/// One line at the prompt: a command of `hence vars`, without the run.
#[derive(Parser)]
#[command(name = "hence vars", no_binary_name = true, disable_help_flag = true)]
pub(crate) struct ReplLine {
    /// The time of the operation
    #[arg(long, global = true, value_name = "TIME")]
    pub(crate) now: Option<String>,
    #[command(subcommand)]
    pub(crate) command: VarsCommand,
}
