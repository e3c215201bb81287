//! The command line of `hence`. It owns the terminal, the files a person names, and the place of the store.
//!
//! Data goes to stdout, messages go to stderr; the exit codes are those of [`exit::Exit`].

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the command line owns the terminal")]

mod address;
mod args;
mod bound;
mod bundle;
mod chain;
mod clock;
mod code;
mod commands;
mod context;
mod data;
mod document_kind;
mod error;
mod escape;
mod exchanges;
mod exit;
mod fleet;
mod git;
mod guard;
mod help;
mod hint;
mod input;
mod interactive;
mod interrupt;
mod journal_end;
mod kind;
mod layout;
mod live;
mod measured;
mod new_file;
mod pager;
mod prelude;
mod progress;
mod report;
mod run_view;
mod sink;
mod skills;
mod solve;
mod standing;
mod standing_view;
mod store_place;
mod table;
mod target;
mod terminal;
mod time_log;
mod usage;
mod view;
mod wrong_arguments;

use clap::FromArgMatches as _;

use args::Args;
use commands::Command;
use context::Context;
use exit::Exit;

fn main() -> std::process::ExitCode {
    // Programs that steps call are supervised by a process of this executable.
    if let Some(exit) = hence_capabilities::process::serve() {
        return exit;
    }
    let parsed = help::command().try_get_matches().and_then(|found| Args::from_arg_matches(&found));
    let args = match parsed {
        Ok(args) => args,
        Err(error) => {
            // Help and version are results; everything else is a mistake in the arguments.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Yes };
            wrong_arguments::print(error);
            return exit.into();
        }
    };
    terminal::set_up(args.color);
    let context = Context::new(&args);
    match Command::run(&context, &args.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            context.report_error(&error);
            error.code.exit().into()
        }
    }
}
