//! `hence completions`: a script that teaches a shell the commands.

use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(context: &Context, args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "hence", &mut script);
    context.write(&script)?;
    Ok(Exit::Yes)
}
