//! `hence completions`: a completion script for a shell.

use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs};
use crate::prelude::*;

/// A completion script.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompletionsReport {
    /// The shell it is for.
    shell: String,
    /// The script.
    script: String,
}

impl Text for CompletionsReport {
    fn text(&self) -> String {
        self.script.clone()
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "hence", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    context.print(&CompletionsReport { shell: args.shell.to_string(), script })?;
    Ok(Exit::Yes)
}
