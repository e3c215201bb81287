//! Words of a command whose text a log does not tell, and that may therefore be options.

use crate::shell::{ExpansionSource, Quotes, Token, TokenKind, Word};

/// Variables that hold no option: a shell sets them.
const PLAIN_VARIABLES: &[&str] =
    &["PWD", "OLDPWD", "HOME", "USER", "LOGNAME", "HOSTNAME", "UID", "RANDOM", "SECONDS", "?", "$", "#", "!"];

/// Commands whose output is a name, a number, a time or a folder, and never an option.
const PLAIN_OUTPUTS: &[&str] = &[
    "git branch --show-current",
    "git rev-parse",
    "git symbolic-ref",
    "git describe",
    "git merge-base",
    "git config",
    "date",
    "pwd",
    "whoami",
    "hostname",
    "basename",
    "dirname",
    "mktemp",
    "nproc",
];

/// Returns the places of the words that may be options, or more words than one: an expansion outside of quotes, and the
/// first operand of git if it begins with an expansion. The value of an option in quotes is none, and neither is a later operand in
/// quotes, which names a branch or a file.
pub(super) fn open_words(words: &[Word]) -> Vec<usize> {
    let mut found = Vec::new();
    // The command of git is no operand. Of other programs only what a shell splits may be an option.
    let is_git = words.first().is_some_and(|word| word.text.rsplit('/').next() == Some("git"));
    let mut operands = 0;
    for (place, word) in words.iter().enumerate().skip(1) {
        let is_option = word.text.starts_with('-');
        let follows_option = words.get(place - 1).is_some_and(|before| before.text.starts_with('-'));
        let is_first = is_git && operands < 2 && !is_option && !follows_option;
        operands += usize::from(!is_option && !follows_option);
        let is_open = is_unwritten(word)
            || word.expansions.iter().filter(|expansion| !is_plain(word, &expansion.source)).any(
                |expansion| expansion.quotes == Quotes::Outside || is_first && expansion.place.start == 0,
            );
        if is_open {
            found.push(place);
        }
    }
    found
}

/// Returns whether a word stands for those that a program reads and nobody wrote down, as with `xargs`.
pub(super) fn is_unwritten(word: &Word) -> bool {
    word.expands && word.text == "{}"
}

/// Returns whether an expansion gives no option.
fn is_plain(word: &Word, source: &ExpansionSource) -> bool {
    match source {
        ExpansionSource::Variable { name, .. } => PLAIN_VARIABLES.contains(&name.as_str()),
        ExpansionSource::Output(number) => {
            let tokens = word.inner.get(*number).map(Vec::as_slice).unwrap_or_default();
            let text = |token: &Token| match &token.kind {
                TokenKind::Word(word) => Some(word.text.clone()),
                TokenKind::Operator(_) | TokenKind::Redirect(_) => None,
            };
            let line = tokens.iter().map_while(text).collect::<Vec<_>>().join(" ");
            PLAIN_OUTPUTS.iter().any(|plain| {
                line.strip_prefix(plain).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
        }
        ExpansionSource::Unknown => false,
    }
}
