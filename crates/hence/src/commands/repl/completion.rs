//! Completion of the word under the cursor.

use clap::CommandFactory as _;

use crate::args::repl::ReplLine;

/// The names offered for completion.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Names {
    /// The variables.
    pub(super) variables: Vec<String>,
    /// The checkpoints.
    pub(super) checkpoints: Vec<String>,
    /// The states.
    pub(super) states: Vec<String>,
}

const SCOPES: [&str; 4] = ["temporary", "session", "tree", "global"];
const TYPES: [&str; 8] = ["text", "number", "boolean", "json", "array", "file_content", "file_path", "null"];

/// Returns the start of the word under the cursor and its completions.
pub(super) fn complete(line: &str, cursor: usize, names: &Names) -> (usize, Vec<String>) {
    let before = line.get(..cursor).unwrap_or(line);
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let (earlier, word) = before.split_at(start);
    let earlier: Vec<&str> = earlier.split_whitespace().collect();
    let mut found: Vec<String> = candidates(&earlier, word, names);
    found.retain(|candidate| candidate.starts_with(word));
    found.sort();
    found.dedup();
    (start, found)
}

fn candidates(earlier: &[&str], word: &str, names: &Names) -> Vec<String> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let Some(command) = earlier.first() else { return commands() };
    if *command == "help" {
        return commands();
    }
    match earlier.last() {
        Some(&"--scope") => return owned(&SCOPES),
        Some(&"--type" | &"-t") => return owned(&TYPES),
        Some(&"--state" | &"--parent") => return names.states.clone(),
        Some(&"--at") => return names.checkpoints.clone(),
        _ => {}
    }
    if word.starts_with('-') {
        return options(command);
    }
    match *command {
        "rollback" => names.checkpoints.clone(),
        "diff" => names.checkpoints.iter().chain(&names.states).cloned().chain(["now".to_owned()]).collect(),
        "result" => names.states.clone(),
        // Only names are completed, not values.
        "set" | "get" | "rename" | "rm" if earlier.len() == 1 => names.variables.clone(),
        _ => Vec::new(),
    }
}

fn commands() -> Vec<String> {
    let own = ["help", "quit", "exit"].map(str::to_owned);
    let command = ReplLine::command();
    command.get_subcommands().map(|command| command.get_name().to_owned()).chain(own).collect()
}

fn options(command: &str) -> Vec<String> {
    let root = ReplLine::command();
    let found = root.find_subcommand(command).into_iter().flat_map(|command| command.get_arguments());
    found.filter_map(|argument| argument.get_long()).map(|long| format!("--{long}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str) -> Vec<String> {
        let names = Names {
            variables: vec!["error_count".into(), "errors".into(), "note".into()],
            checkpoints: vec!["before".into(), "initial_state".into()],
            states: vec!["state-00000001".into()],
        };
        complete(line, line.len(), &names).1
    }

    #[test]
    fn commands_come_first_then_what_they_take() {
        assert_eq!(completed("ro"), ["rollback"]);
        assert_eq!(completed("rollback"), ["rollback"]);
        assert_eq!(completed("help ro"), ["rollback"]);
        assert!(completed("").contains(&"set".to_owned()) && completed("").contains(&"quit".to_owned()));
        assert_eq!(completed("get err"), ["error_count", "errors"]);
        assert_eq!(completed("rollback "), ["before", "initial_state"]);
        assert_eq!(completed("diff before n"), ["now"]);
        assert_eq!(completed("result "), ["state-00000001"]);
        assert_eq!(completed("get note --at b"), ["before"]);
    }

    #[test]
    fn options_and_their_words_are_known_and_values_are_not_guessed() {
        assert_eq!(completed("set n 1 --scope t"), ["temporary", "tree"]);
        assert_eq!(completed("set n 1 -t num"), ["number"]);
        assert_eq!(completed("set n 1 --read"), ["--read-only"]);
        assert!(completed("set error_count e").is_empty());
        assert!(completed("nonsense x").is_empty());
    }

    #[test]
    fn the_word_under_the_cursor_is_what_changes() {
        let names = Names { variables: vec!["note".into()], ..Names::default() };
        assert_eq!(complete("get no --raw", 6, &names), (4, vec!["note".to_owned()]));
        assert_eq!(complete("get é", 100, &names), (4, Vec::new()));
    }
}
