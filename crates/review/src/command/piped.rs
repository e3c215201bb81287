//! The input of a command of a pipeline, as far as the line shows it.

use crate::shell::{Item, Redirect, Stage, Word};

use super::program::name_of;
use super::wrapper::{Unwrapped, unwrap};

/// Shells that run the lines they read.
const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh", "ash", "fish"];

/// The operands that a program is given through its input.
const OPERANDS_MAX: usize = 1000;

/// The input of a command of a pipeline.
pub(super) enum Input {
    /// It is the first.
    Unpiped,
    /// The commands before it print this.
    Known(String),
    Unknown,
}

impl Input {
    /// Returns the text, if it is known.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Unpiped | Self::Unknown => None,
        }
    }
}

/// Adds the operands that a program gets from its input: as it is printed, or some that nobody wrote down, which are files as
/// a rule.
pub(super) fn with_operands(words: &[Word], input: &Input) -> Vec<Word> {
    let operands = match input {
        Input::Known(text) => text
            .split_whitespace()
            .take(OPERANDS_MAX)
            .map(|text| Word { text: text.to_owned(), ..Word::default() })
            .collect(),
        Input::Unpiped | Input::Unknown => {
            vec![Word { text: "{}".to_owned(), expands: true, ..Word::default() }]
        }
    };
    words.iter().cloned().chain(operands).collect()
}

/// Returns the words without the operand that stands for those nobody wrote down.
pub(super) fn all_but_unwritten(words: &[Word]) -> &[Word] {
    match words.split_last() {
        Some((last, before)) if last.expands && last.text == "{}" => before,
        _ => words,
    }
}

/// Returns whether a command is a shell that is given no script, and so runs what it reads.
pub(super) fn is_bare_shell(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let is_shell = SHELLS.contains(&name_of(&program.text).as_str());
    is_shell && arguments.iter().all(|word| word.text.starts_with('-') && !word.text.contains('c'))
}

/// Returns whether a command runs the lines that it reads: a shell without a script, here or on another machine, and `source`
/// of what it reads.
pub(super) fn runs_input(words: &[Word]) -> bool {
    let is_shell_line = |script: &str| {
        let mut words = script.split_whitespace();
        let is_shell = words.next().is_some_and(|word| SHELLS.contains(&name_of(word).as_str()));
        is_shell && words.all(|word| word.starts_with('-') && !word.contains('c'))
    };
    match unwrap(words) {
        Unwrapped::Program(words) | Unwrapped::MoreOperands(words) => {
            let name = words.first().map(|program| name_of(&program.text)).unwrap_or_default();
            let is_remote = matches!(name.as_str(), "ssh" | "mosh" | "autossh") && words.len() > 1;
            is_bare_shell(words) || is_remote || matches!(name.as_str(), "source" | ".") && words.len() == 1
        }
        Unwrapped::Script(script) | Unwrapped::ScriptWith(script, _) => is_shell_line(&script),
    }
}

/// Returns the text that the stage before a stage prints into it, if the line holds it.
pub(super) fn piped_script(item: &Item, index: usize) -> Option<String> {
    match item.stages.get(index.checked_sub(1)?)? {
        Stage::Command(before) => {
            let body = here_document(&before.redirects).map(str::to_owned);
            body.or_else(|| printed(&before.words))
        }
        Stage::Group(..) => None,
    }
}

pub(super) fn here_document(redirects: &[Redirect]) -> Option<&str> {
    redirects.iter().find_map(|redirect| redirect.body.as_deref())
}

/// Returns what `echo` or `printf` writes.
pub(super) fn printed(words: &[Word]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let prints = matches!(program.text.as_str(), "echo" | "printf");
    prints.then(|| arguments.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
}

/// Returns whether a pipeline only asks whether something is so.
pub(super) fn is_condition(item: &Item) -> bool {
    let asks = |stage: &Stage| match stage {
        Stage::Command(command) => {
            let first = command.words.first();
            first.is_some_and(|word| matches!(word.text.as_str(), "[" | "[[" | "test" | "false"))
        }
        Stage::Group(..) => false,
    };
    item.stages.last().is_some_and(asks)
}
