//! `hence repl`: commands of `hence vars` on one run, line by line.

use std::io::{BufRead as _, IsTerminal as _};

use clap::Parser as _;

use super::vars;
use crate::args::repl::{ReplArgs, ReplLine};
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interactive::Session;

const HELP: &str = "set get list rename rm checkpoint checkpoints rollback final fail cancel result status history diff tree export, \
as in `hence vars`, without the run; # starts a comment, quit ends";

pub(super) fn run(context: &Context, args: &ReplArgs) -> Result<Exit, CliError> {
    let mut session = Session::open(context, &args.run, &args.root)?;
    let watched = std::io::stdin().is_terminal();
    let mut exit = Exit::Yes;
    if watched {
        context.say(HELP);
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| CliError::file("read", "standard input".as_ref(), &error))?;
        match line.trim() {
            "" => {}
            comment if comment.starts_with('#') => {}
            "help" | "?" => context.say(HELP),
            "quit" | "exit" => break,
            command => match perform(context, &mut session, command) {
                Ok(Exit::Yes) => {}
                Ok(other) => exit = other,
                Err(error) => {
                    context.report_error(&error);
                    exit = error.exit();
                }
            },
        }
    }
    Ok(exit)
}

fn perform(context: &Context, session: &mut Session<'_>, line: &str) -> Result<Exit, CliError> {
    let mut words = words(line)?;
    words.insert(1.min(words.len()), session.id.as_str().to_owned());
    let parsed = ReplLine::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        CliError::new(Code::Line, first).advise("`help` lists the commands")
    })?;
    // What others changed in the meantime is seen, too.
    session.refresh()?;
    vars::perform(context, session, &parsed.command)
}

/// Splits a line into words: blanks separate, quotes hold together, a backslash takes the next character as it is.
fn words(line: &str) -> Result<Vec<String>, CliError> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(open) => Err(CliError::new(Code::Line, format!("the quote {open} is not closed"))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_split_as_a_shell_would() {
        let words = |line: &str| super::words(line).map_err(|error| error.message);
        assert_eq!(
            words("set  n 'a b' \"c\\\"d\" e\\ f ''").unwrap(),
            ["set", "n", "a b", "c\"d", "e f", ""]
        );
        assert_eq!(words("").unwrap(), Vec::<String>::new());
        assert!(words("set 'a").is_err());
    }
}
