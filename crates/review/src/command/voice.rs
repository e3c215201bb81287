//! Tells what the commands of a line print: the output of a line is that of a check only if nothing else in the line speaks.

use crate::shell::{Command, Word};

use super::program::name_of;

/// The effect of a command of a line on the output of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Voice {
    /// It prints nothing that could be taken for the result of a check, or passes on what it reads.
    Quiet,
    /// It may print anything, or hides a part of what it reads.
    Speaks,
}

/// Whether a command reads the output of the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reads {
    Pipe,
    Nothing,
}

/// Programs that print nothing about results.
#[rustfmt::skip]
const QUIET: &[&str] = &[
    ":", "[", "[[", "alias", "cd", "chmod", "chown", "cp", "declare", "exit", "export", "false", "kill", "ln", "local", "mkdir", "mv",
    "popd", "pushd", "readonly", "return", "rm", "rmdir", "set", "shift", "shopt", "sleep", "test", "touch", "trap", "true",
    "ulimit", "umask", "unset", "wait",
];

/// Programs that pass on everything they read, or its end, where test runners say how they ended.
const PASSING_ON: &[&str] = &["cat", "col", "less", "more", "nl", "tail", "tee", "ts", "unbuffer"];

/// Beginnings of words by which a check says how it ended.
const RESULT_WORDS: &[&str] = &["pass", "ok", "succe", "complet", "fail", "error", "panick"];

/// Words by which a search asks also for failures.
const FAILURE_WORDS: &[&str] = &["fail", "error", "not ok", "✗", "✘", "test result", "tests:", "tests run"];

/// Options with which a search does not print whole lines that match.
const PARTIAL: &[&str] =
    &["--only-matching", "--invert-match", "--count", "--quiet", "--silent", "--files-with-matches"];

/// Returns what a command prints; `words` are its program and arguments without wrappers.
pub(super) fn voice(command: &Command, words: &[Word], reads: Reads) -> Voice {
    let Some((program, arguments)) = words.split_first() else { return Voice::Quiet };
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let operands = texts.iter().filter(|text| !text.starts_with('-'));
    let name = name_of(&program.text);
    let is_quiet = match name.as_str() {
        _ if writes_output_to_file(&command.source) => true,
        name if QUIET.contains(&name) => true,
        "echo" | "printf" => arguments.iter().all(says_no_result),
        "source" | "." => operands.into_iter().next().is_some_and(|file| file.ends_with("activate")),
        "git" => texts.first() == Some(&"add"),
        name if PASSING_ON.contains(&name) => {
            reads == Reads::Pipe && (name != "cat" || operands.count() == 0)
        }
        "grep" | "egrep" | "fgrep" | "rg" | "ag" => reads == Reads::Pipe && shows_failures(&texts),
        _ => false,
    };
    if is_quiet { Voice::Quiet } else { Voice::Speaks }
}

/// Returns whether a word that is printed holds no result: neither in its letters, nor in anything that the shell fills in
/// besides an exit code.
fn says_no_result(word: &Word) -> bool {
    let text = word.text.replace("${?}", "").replace("$?", "").to_lowercase();
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    let is_filled = word.needs_shell && !word.text.contains("${?}") || text.contains(['$', '`', '*', '{']);
    !is_filled && !words.any(|word| RESULT_WORDS.iter().any(|result| word.starts_with(result)))
}

/// Returns whether a search prints the lines of failures, too.
fn shows_failures(arguments: &[&str]) -> bool {
    let is_partial = arguments.iter().any(|argument| {
        let short = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        PARTIAL.contains(argument) || short.contains(['o', 'v', 'c', 'q', 'l'])
    });
    let asked = arguments.iter().find(|argument| !argument.starts_with('-')).copied().unwrap_or_default();
    let asked = asked.to_lowercase();
    // `test result: ok` asks for one of both endings only.
    let is_one_sided =
        ["result: ok", "result: pass", "result:.*ok"].iter().any(|words| asked.contains(words));
    !is_partial && !is_one_sided && FAILURE_WORDS.iter().any(|word| asked.contains(word))
}

/// Returns whether a command sends its output to a file: then what a line prints is not its output.
pub(super) fn writes_output_to_file(source: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (_, '\\') => drop(letters.next()),
            (None, '>') if before != '2' && before != '<' && before != '>' => {
                let _ = letters.next_if_eq(&'>');
                // `>&1` and `>&2` go to another descriptor.
                if letters.peek() != Some(&'&') {
                    return true;
                }
            }
            _ => {}
        }
        before = letter;
    }
    false
}

/// Returns the names that a text gives to functions and aliases: a program of such a name is not the one it seems to be.
pub(super) fn defined_names(text: &str) -> Vec<String> {
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let last_name = |before: &str| -> String {
        let before = before.trim_end();
        before
            .chars()
            .rev()
            .take_while(|letter| is_name(*letter))
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect()
    };
    let first_name = |after: &str| -> String {
        after.trim_start().chars().take_while(|letter| is_name(*letter)).collect()
    };
    let functions = text.match_indices('(').filter_map(|(at, _)| {
        let (before, after) = text.split_at(at);
        after.get(1..)?.trim_start().starts_with(')').then(|| last_name(before))
    });
    let declared =
        |word: &'static str| text.match_indices(word).filter_map(move |(at, _)| text.get(at + word.len()..));
    let named = declared("function ").map(first_name);
    let aliases = declared("alias ").flat_map(|rest| {
        let line = rest.split([';', '\n', '&', '|']).next().unwrap_or_default();
        line.match_indices('=').filter_map(|(at, _)| line.get(..at)).map(last_name).collect::<Vec<_>>()
    });
    functions.chain(named).chain(aliases).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{LineEnd, Signs, parts};

    fn owns_output(line: &str) -> Option<bool> {
        let parts = parts(line, "", LineEnd::Well, Signs::default());
        let mut checks = parts.iter().filter(|part| part.deed.checks());
        let first = checks.next()?.owns_output;
        Some(checks.fold(first, |all, part| all && part.owns_output))
    }

    #[test]
    fn the_output_is_that_of_a_check_only_if_nothing_else_speaks() {
        for line in [
            "pytest -q",
            "cd x && pytest -q",
            "pytest -q || true",
            "pytest 2>&1 | tail -5",
            "pytest | tee out.log",
            "pytest | cat",
            "pytest 2> err.log",
            "pytest; echo \"exit: $?\"",
            "echo '--- a ---'; pytest",
            "mkdir -p out && pytest; echo done",
            "source venv/bin/activate; pytest | grep -E 'passed|failed'",
            "pytest a; pytest b",
            "set -e; pytest",
            "cargo test | grep 'test result'",
        ] {
            assert_eq!(owns_output(line), Some(true), "{line}");
        }
        for line in [
            "pytest; echo '5 passed'",
            "pytest || echo 5 passed",
            "echo All tests passed; pytest",
            "pytest; printf '%s' ok",
            "pytest > log; cat pytest.log",
            "pytest; cat pytest.log",
            "pytest > /dev/null",
            "pytest | sed s/failed/passed/",
            "pytest | grep passed",
            "pytest | grep -o '[0-9]* passed'",
            "pytest | head -3",
            "cargo test | grep 'test result: ok'",
            "pytest | awk '{print $1}'",
            "pytest; python -c \"print('5 passed')\"",
            "pytest; node -e 'console.log(5)'",
            "pytest; cat <<EOF\n5 passed\nEOF",
            "pytest; echo $RESULT",
            "pytest; echo $(cat log)",
            "pytest; pip install x",
            "ruff check .; pytest",
            "pytest; . ./report.sh",
            "bash -c 'pytest; echo 5 passed'",
            "(pytest; echo 5 passed) | tee log",
            "pytest & echo 5 passed",
            "! pytest; echo passed",
        ] {
            assert_eq!(owns_output(line), Some(false), "{line}");
        }
    }

    #[test]
    fn a_function_or_an_alias_is_not_the_program_of_its_name() {
        for line in [
            "pytest() { echo 5 passed; }; pytest",
            "function pytest { echo 5 passed; }; pytest",
            "alias pytest='echo 5 passed'; pytest",
            "alias a=b pytest=true\npytest",
        ] {
            assert_eq!(owns_output(line), None, "{line}");
        }
        assert_eq!(owns_output("run() { ls; }; pytest"), Some(false), "the body of a function may speak");
    }
}
