//! Names that a command line gives to other commands.

use crate::shell::Word;

use super::line_of;
use super::program::name_of;

/// The aliases that a line has defined so far.
#[derive(Default)]
pub(super) struct Aliases {
    /// Name and meaning: of the shell, and of git with `git ` before the name.
    known: Vec<(String, String)>,
}

impl Aliases {
    /// Notes what `alias NAME=…` and `git config alias.NAME …` define.
    pub(super) fn define(&mut self, words: &[Word]) {
        let Some((program, arguments)) = words.split_first() else { return };
        match name_of(&program.text).as_str() {
            "alias" => {
                let given = arguments.iter().filter_map(|word| word.text.split_once('='));
                self.known.extend(given.map(|(name, meaning)| (name.to_owned(), meaning.to_owned())));
            }
            "git" if arguments.first().is_some_and(|word| word.text == "config") => {
                let mut operands = arguments.iter().skip(1).filter(|word| !word.text.starts_with('-'));
                let mut operands =
                    operands.by_ref().skip_while(|word| matches!(word.text.as_str(), "set" | "add"));
                let name = operands.next().and_then(|word| word.text.strip_prefix("alias."));
                if let (Some(name), Some(meaning)) = (name, operands.next()) {
                    let meaning = match meaning.text.strip_prefix('!') {
                        Some(command) => command.to_owned(),
                        None => format!("git {}", meaning.text),
                    };
                    self.known.push((format!("git {name}"), meaning));
                }
            }
            _ => {}
        }
    }

    /// Returns the line that a command means by an alias, and forgets the alias: it does not apply to its own meaning.
    pub(super) fn meaning(&mut self, words: &[Word]) -> Option<String> {
        let (program, arguments) = words.split_first()?;
        let find = |name: &str| self.known.iter().rposition(|(known, _)| known == name);
        let of_git = arguments.split_first().filter(|_| name_of(&program.text) == "git");
        let of_git = of_git.and_then(|(command, rest)| Some((find(&format!("git {}", command.text))?, rest)));
        let (place, rest) = of_git.or_else(|| Some((find(&program.text)?, arguments)))?;
        let (_, meaning) = self.known.remove(place);
        let rest: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
        Some(format!("{meaning} {}", line_of(&rest)))
    }
}
