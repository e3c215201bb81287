//! Programs that check or rewrite the form of files.

use crate::shell::Word;

use super::Deed;
use super::program::name_of;

/// Returns whether a check of form also rewrites what it finds wrong.
pub(super) fn also_fixes(words: &[Word]) -> bool {
    let name = words.first().map(|program| name_of(&program.text)).unwrap_or_default();
    let is_ruby = name == "rubocop" || words.iter().any(|word| word.text == "rubocop");
    words.iter().skip(1).any(|word| match word.text.as_str() {
        "--fix" | "--write" | "--apply" | "--autofix" | "--auto-correct" | "--autocorrect"
        | "--autocorrect-all" => true,
        "-a" | "-A" => is_ruby,
        "-F" => name == "ktlint",
        // A task of the project that is named for it: `lint:fix`, `eslint-fix`.
        text if [":fix", "-fix", "_fix", ":write", ".fix"].iter().any(|end| text.ends_with(end)) => {
            !text.starts_with('-') && !text.contains('/')
        }
        text => text.starts_with("--fix=") && text != "--fix=false",
    })
}

/// Programs that check or rewrite the form of files.
pub(super) fn formatter(name: &str, command: &str, arguments: &[&str]) -> Deed {
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    let only_checks =
        has(&["--check", "--check-only", "--diff", "--dry-run", "--list-different", "--verify", "--lint"])
            || arguments.iter().any(|argument| {
                matches!(*argument, "-l" | "-c" | "-d")
                    && matches!(name, "prettier" | "gofmt" | "goimports" | "gofumpt" | "shfmt" | "isort")
            });
    match (name, command) {
        ("ruff", "check" | "")
        | ("biome" | "rome", "lint" | "check" | "ci")
        | ("buf", "lint")
        | ("sqlfluff", "lint")
        | ("dprint", "check")
        | ("taplo", "lint") => Deed::Lint,
        // Older versions of ruff check the paths they are given.
        ("ruff", command)
            if !matches!(
                command,
                "format" | "rule" | "config" | "clean" | "version" | "linter" | "server"
            ) =>
        {
            Deed::Lint
        }
        ("ruff", "rule" | "config" | "clean" | "version" | "linter" | "server") => Deed::Other,
        ("buf", "push") => Deed::Release,
        ("buf", _) => Deed::Other,
        _ if only_checks => Deed::Lint,
        _ => Deed::Format,
    }
}
