//! `hence repl`: commands of `hence vars` on one run, line by line.

mod completion;
mod editor;
mod history;
mod words;

use std::io::IsTerminal as _;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use hence_canon::did_you_mean;
use hence_variables::State;

use super::vars::{self, VarsCommand};
use crate::args::repl::{ReplArgs, ReplLine};
use crate::interactive::{CallerTime, Session};
use crate::prelude::*;
use completion::Names;
use editor::LineEditor;
pub(crate) use words::words;

/// The first line at the prompt.
const GREETING: &str = "commands of `hence vars`, without the run; help lists them, quit ends";

/// Returns the commands of the prompt, each with what it does.
fn help() -> String {
    let line = ReplLine::command();
    let own = [
        ("help [COMMAND]", "List the commands, or show the arguments of one"),
        ("quit", "End; the end of input does, too"),
        ("# …", "A comment"),
    ];
    let own = own.map(|(name, about)| [name.to_owned(), about.to_owned()]);
    let commands = line.get_subcommands().filter(|command| command.get_name() != "help").map(|command| {
        [command.get_name().to_owned(), command.get_about().map(ToString::to_string).unwrap_or_default()]
    });
    let rows: Vec<[String; 2]> = commands.chain(own).collect();
    columns(&rows).trim_end().to_owned()
}

/// Returns the arguments of a command, as a line at the prompt takes them.
fn help_of(name: &str) -> Result<String, CliError> {
    let line = ReplLine::command();
    let known = || line.get_subcommands().map(|command| command.get_name());
    let Some(command) = line.find_subcommand(name).filter(|command| command.get_name() != "help") else {
        let message = format!("{name:?} is no command of the prompt{}", did_you_mean(name, known()));
        return Err(CliError::new(Code::Line, message).with_hint(hint::LIST_PROMPT_COMMANDS));
    };
    let text = command.clone().bin_name(name).render_help().to_string();
    // The prompt names the run already.
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("<RUN>"));
    Ok(lines.map(|line| line.replace(" <RUN>", "")).collect::<Vec<_>>().join("\n").trim_end().to_owned())
}

pub(super) fn run(context: &Context, args: &ReplArgs) -> Result<Exit, CliError> {
    let time = CallerTime::of(args.now.as_deref())?;
    let mut session = Session::open(context, &args.run, &args.root, time)?;
    let mut exit = Exit::Yes;
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        context.say(GREETING);
        let mut editor = LineEditor::open()?;
        while let Some(line) = editor.read(names(&session)?, &prompt(&session)?)? {
            if answer(context, &mut session, time, &line, &mut exit) == Next::End {
                break;
            }
        }
        // Lines that cannot be saved do not change the exit code.
        if let Err(error) = editor.close() {
            context.report_error(&error);
        }
        return Ok(exit);
    }
    loop {
        let mut line = String::new();
        // Standard input is not locked between two lines: `set NAME -` reads the rest of it as a value.
        let read = std::io::stdin().read_line(&mut line);
        let bytes = read.map_err(|error| CliError::file("read", "standard input".as_ref(), error))?;
        if bytes == 0 {
            break;
        }
        if answer(context, &mut session, time, &line, &mut exit) == Next::End {
            break;
        }
    }
    Ok(exit)
}

/// The next action of the prompt.
#[derive(PartialEq, Eq)]
enum Next {
    Line,
    End,
}

/// Performs one line; an error is reported and does not end the prompt.
fn answer(
    context: &Context,
    session: &mut Session<'_>,
    time: CallerTime,
    line: &str,
    exit: &mut Exit,
) -> Next {
    match line.trim() {
        "" => {}
        comment if comment.starts_with('#') => {}
        "help" | "?" => say_lines(context, &help()),
        asked if asked.strip_prefix("help ").is_some() => {
            match help_of(asked.trim_start_matches("help").trim()) {
                Ok(text) => say_lines(context, &text),
                Err(error) => {
                    context.report_error(&error);
                    *exit = error.code.exit();
                }
            }
        }
        "quit" | "exit" => return Next::End,
        command => match perform(context, session, time, command) {
            Ok(Exit::Yes) => {}
            Ok(other) => *exit = other,
            Err(error) => {
                context.report_error(&error);
                *exit = error.code.exit();
            }
        },
    }
    Next::Line
}

fn perform(
    context: &Context,
    session: &mut Session<'_>,
    time: CallerTime,
    line: &str,
) -> Result<Exit, CliError> {
    let mut words = words(line)?;
    words.insert(1.min(words.len()), session.id.as_str().to_owned());
    let parsed = ReplLine::try_parse_from(words).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::UnknownArgument => hint::QUOTE_BLANKS,
            _ => hint::LIST_PROMPT_COMMANDS,
        };
        CliError::new(Code::Line, in_one_line(&error.to_string())).with_hint(advice)
    })?;
    session.set_time(match &parsed.now {
        Some(given) => CallerTime::of(Some(given))?,
        None => time,
    });
    // Changes by other processes are included.
    session.refresh()?;
    if let VarsCommand::Watch(args) = &parsed.command
        && !std::io::stdin().is_terminal()
    {
        // Waiting for other processes would keep the lines that follow from being read.
        return vars::print_recorded(context, session, args);
    }
    VarsCommand::run(context, session, &parsed.command)
}

/// Returns what is wrong with a line: the message and the suggestions, without the usage of a command at a shell.
fn in_one_line(text: &str) -> String {
    let told = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let told: Vec<&str> = told.filter(|line| !line.is_empty()).collect();
    told.join(" ").trim_start_matches("error: ").replace(" tip: ", "; ").replace("[default] ", "")
}

/// Says a text of several lines.
fn say_lines(context: &Context, text: &str) {
    text.lines().for_each(|line| context.say(line));
}

/// Returns the prompt: the run, and its last record.
fn prompt(session: &Session<'_>) -> Result<String, CliError> {
    let last = session.loaded()?.head().records.get().saturating_sub(1);
    Ok(format!("{}@{last}> ", escape(session.id.as_str())))
}

/// Returns the present names, for completion.
fn names(session: &Session<'_>) -> Result<Names, CliError> {
    let (workspace, state) = (session.workspace()?, session.state(None)?);
    let visible = workspace.state_view(state).map(|view| view.visible()).unwrap_or_default();
    let checkpoints = workspace.state(state).map(State::checkpoints).unwrap_or_default();
    Ok(Names {
        variables: visible.keys().map(ToString::to_string).collect(),
        checkpoints: checkpoints.iter().map(|checkpoint| checkpoint.name.to_string()).collect(),
        states: workspace.states().map(|state| state.id().to_string()).collect(),
    })
}
