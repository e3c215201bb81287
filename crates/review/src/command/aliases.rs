//! Names that command lines give to other commands.

use crate::shell::Word;

use super::line_of;
use super::program::name_of;

/// The aliases that are remembered.
const ALIASES_MAX: usize = 1000;

/// A name and the command line it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alias {
    /// The name: of the shell, or of git with `git ` before it.
    name: String,
    meaning: String,
}

/// The aliases that were defined so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Aliases {
    known: Vec<Alias>,
}

impl Aliases {
    /// Notes what `alias NAME=…` and `git config alias.NAME …` define.
    pub(super) fn define(&mut self, words: &[Word]) {
        let Some((program, arguments)) = words.split_first() else { return };
        match name_of(&program.text).as_str() {
            "alias" => {
                let given = arguments.iter().filter_map(|word| word.text.split_once('='));
                given.for_each(|(name, meaning)| self.add(name.to_owned(), meaning.to_owned()));
            }
            "git" => {
                let Some((key, value)) = setting(arguments) else { return };
                if let Some(name) = key.strip_prefix("alias.") {
                    self.add(format!("git {name}"), meaning_of(value));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, name: String, meaning: String) {
        self.known.retain(|known| known.name != name);
        if self.known.len() < ALIASES_MAX {
            self.known.push(Alias { name, meaning });
        }
    }

    /// Removes the aliases of the shell, which only the shell knows that they were defined in.
    pub(super) fn retain_git(&mut self) {
        self.known.retain(|known| known.name.starts_with("git "));
    }

    /// Takes out the alias that a command uses, with the line that the command means: the alias does not apply to its own
    /// meaning.
    pub(super) fn take(&mut self, words: &[Word]) -> Option<(Alias, String)> {
        let (program, arguments) = words.split_first()?;
        let find = |name: &str| self.known.iter().rposition(|known| known.name == name);
        let of_git = arguments.split_first().filter(|_| name_of(&program.text) == "git");
        let of_git = of_git.and_then(|(command, rest)| Some((find(&format!("git {}", command.text))?, rest)));
        let (place, rest) = of_git.or_else(|| Some((find(&program.text)?, arguments)))?;
        let alias = self.known.remove(place);
        let rest: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
        let line = format!("{} {}", alias.meaning, line_of(&rest));
        Some((alias, line))
    }

    /// Puts an alias back.
    pub(super) fn put_back(&mut self, alias: Alias) {
        self.add(alias.name, alias.meaning);
    }
}

/// Returns the command line that the value of a git alias stands for.
fn meaning_of(value: &str) -> String {
    match value.strip_prefix('!') {
        Some(command) => command.to_owned(),
        None => format!("git {value}"),
    }
}

/// Returns the setting that `git config KEY VALUE` writes.
pub(super) fn setting(arguments: &[Word]) -> Option<(&str, &str)> {
    // Options before the command, and the values of those that take one, name no setting.
    let place = arguments.iter().position(|word| word.text == "config")?;
    let mut operands = arguments.get(place + 1..)?.iter().filter(|word| !word.text.starts_with("--"));
    let mut operands = operands.by_ref().map(|word| word.text.as_str()).filter(|text| *text != "-f");
    let first = operands.next()?;
    let key = if matches!(first, "set" | "add") { operands.next()? } else { first };
    Some((key, operands.next()?)).filter(|(key, _)| key.contains('.'))
}
