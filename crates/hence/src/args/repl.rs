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
}

/// One line at the prompt: a command of `hence vars`, without the run.
#[derive(Parser)]
#[command(name = "hence vars", no_binary_name = true, disable_help_flag = true)]
pub(crate) struct ReplLine {
    #[command(subcommand)]
    pub(crate) command: VarsCommand,
}
