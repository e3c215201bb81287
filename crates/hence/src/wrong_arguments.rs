//! Wrong arguments: the messages of the parser of the command line, in words that fit, with commands that people know from
//! other programs.

use std::io::Write as _;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Commands of other programs, and ours that does the same.
const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    ("cat", "show"),
    ("continue", "resume"),
    ("delete", "rm"),
    ("exec", "run"),
    ("history", "log"),
    ("inspect", "show"),
    ("lint", "check"),
    ("list", "runs"),
    ("ls", "runs"),
    ("open", "view"),
    ("ps", "runs"),
    ("remove", "rm"),
    ("start", "run"),
    ("status", "why"),
    ("ui", "view"),
    ("undo", "rollback"),
    ("validate", "check"),
    ("version", "--version"),
];

/// The texts of the parser of numbers, each with the plain words for it.
const NUMBERS: &[(&str, &str)] = &[
    ("invalid digit found in string", "expected a whole number"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
];

/// Prints why the arguments are refused, or the help or version that was asked for.
pub(crate) fn print(error: Error) {
    let first = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let error = suggest(error, first.as_deref());
    if !error.use_stderr() {
        // A reader that is gone does not want the help any more.
        let _ = error.print();
        return;
    }
    let text = in_words(error.render().ansi().to_string());
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Names the command that does what a command of that name does elsewhere.
fn suggest(mut error: Error, first: Option<&str>) -> Error {
    let unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::InvalidSubcommand => {
            Some(word.clone())
        }
        _ => None,
    };
    let meant = unknown.filter(|word| first == Some(word)).and_then(|word| {
        KNOWN_ELSEWHERE.iter().find(|(name, _)| *name == word).map(|(_, meant)| (*meant).to_owned())
    });
    if let Some(meant) = meant {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
    }
    error
}

fn in_words(text: String) -> String {
    NUMBERS.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suggested_command_exists() {
        let command = crate::help::command();
        for (name, meant) in KNOWN_ELSEWHERE {
            assert!(command.find_subcommand(name).is_none(), "{name} is a command");
            assert!(meant.starts_with('-') || command.find_subcommand(meant).is_some(), "{meant}");
        }
    }
}
