//! The terminal prompt: line editing, earlier lines, completion of names.

use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};

use super::completion::{self, Names};
use super::history;
use crate::error::CliError;

/// Reads lines from a terminal.
pub(super) struct LineEditor {
    editor: Editor<Names, MemHistory>,
    /// All lines, to be saved when the prompt ends.
    lines: Vec<String>,
    place: Option<PathBuf>,
}

impl LineEditor {
    pub(super) fn open() -> Result<Self, CliError> {
        let config = Config::builder().history_ignore_space(true).auto_add_history(true).build();
        let made = Editor::with_history(config.clone(), MemHistory::with_config(&config));
        let mut editor = made.map_err(failed)?;
        let place = history::history_file();
        let lines = place.as_deref().map(history::read).unwrap_or_default();
        for line in &lines {
            // A line that cannot be added to the history is no error.
            let _ = editor.add_history_entry(line);
        }
        Ok(Self { editor, lines, place })
    }

    /// Reads a line after a prompt; returns nothing at the end of input. `names` are offered for completion.
    pub(super) fn read(&mut self, names: Names, prompt: &str) -> Result<Option<String>, CliError> {
        self.editor.set_helper(Some(names));
        loop {
            match self.editor.readline(prompt) {
                Ok(line) => {
                    self.lines.push(line.clone());
                    return Ok(Some(line));
                }
                // An interrupted line does not end the prompt.
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Saves the lines that may be saved.
    pub(super) fn close(self) -> Result<(), CliError> {
        let Some(place) = &self.place else { return Ok(()) };
        history::write(place, &self.lines).map_err(|error| CliError::file("write", place, error))
    }
}

fn failed(error: ReadlineError) -> CliError {
    let error = std::io::Error::other(error.to_string());
    CliError::file("read", "the terminal".as_ref(), error)
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = completion::complete(line, cursor, self);
        // The next word follows at once.
        let pair = |word: String| Pair { replacement: format!("{word} "), display: word };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Validator for Names {}

impl Helper for Names {}
