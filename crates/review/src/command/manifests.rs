//! Commands that write files of the project besides what they are for: packages that are written down, snapshots of tests.

use crate::shell::{Command, Word};

use super::program::name_of;

/// Returns whether a command writes down which packages the project uses.
pub(super) fn changes(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let has = |options: &[&str]| texts.iter().any(|text| options.contains(text));
    if has(&["--dry-run", "--help", "-h", "--no-save", "--global", "-g"]) {
        return false;
    }
    let operands: Vec<&str> = texts.iter().copied().filter(|text| !text.starts_with(['-', '+'])).collect();
    let command = operands.first().copied().unwrap_or_default();
    let second = operands.get(1).copied();
    match name_of(&program.text).as_str() {
        "cargo" => {
            matches!(command, "add" | "remove" | "rm" | "update" | "upgrade")
                || command == "insta"
                    && (matches!(second, Some("accept" | "review" | "reject"))
                        || has(&["--accept", "--review"]))
        }
        "uv" | "poetry" | "pdm" | "rye" | "pixi" | "pipenv" => {
            matches!(command, "add" | "remove" | "update" | "lock" | "upgrade" | "self-update")
                && !has(&["--check", "--locked"])
                || matches!(command, "install" | "uninstall")
                    && name_of(&program.text) == "pipenv"
                    && second.is_some()
        }
        "go" => {
            command == "get"
                || command == "mod" && matches!(second, Some("tidy" | "edit" | "vendor" | "init"))
        }
        "npm" | "pnpm" | "yarn" | "bun" | "cnpm" => match command {
            "add" | "remove" | "rm" | "uninstall" | "un" | "update" | "up" | "upgrade" | "dedupe" => true,
            "install" | "i" => second.is_some(),
            "audit" => second == Some("fix") || has(&["--fix"]),
            "pkg" => matches!(second, Some("set" | "delete" | "fix")),
            _ => false,
        },
        "composer" => matches!(command, "require" | "update" | "remove"),
        "bundle" => matches!(command, "add" | "update" | "remove"),
        "dotnet" => matches!(command, "add" | "remove") || operands.contains(&"add") && command == "package",
        "flutter" | "dart" => command == "pub" && matches!(second, Some("add" | "remove" | "upgrade")),
        "mix" => matches!(command, "deps.update" | "deps.unlock"),
        "swift" => command == "package" && matches!(second, Some("update" | "add-dependency")),
        _ => false,
    }
}

/// Returns whether a run of tests writes the results that it expects: `jest -u`, `pytest --snapshot-update`.
pub(super) fn updates_snapshots(words: &[Word], command: &Command) -> bool {
    let name = words.first().map(|program| name_of(&program.text)).unwrap_or_default();
    let is_of_node = words.iter().any(|word| {
        matches!(
            name_of(&word.text).as_str(),
            "jest" | "vitest" | "playwright" | "npm" | "yarn" | "pnpm" | "ava"
        )
    });
    let options = [
        "--updateSnapshot",
        "--update-snapshots",
        "--update-snapshot",
        "--snapshot-update",
        "--inline-snapshot=fix",
        "--inline-snapshot=update",
        "--force-regen",
        "--accept",
        "--bless",
    ];
    let is_option = |word: &Word| {
        options.contains(&word.text.as_str())
            || is_of_node && matches!(word.text.as_str(), "-u" | "--update")
            || name == "go" && matches!(word.text.as_str(), "-update" | "--update")
    };
    let sets = |word: &Word| {
        let is_set =
            |name: &str| word.text.strip_prefix(name).is_some_and(|value| !matches!(value, "" | "0" | "no"));
        ["INSTA_UPDATE=", "UPDATE_SNAPSHOTS=", "UPDATE_EXPECT=", "UPDATE_GOLDEN=", "SNAPSHOT_UPDATE="]
            .iter()
            .any(|name| is_set(name))
    };
    words.iter().skip(1).any(is_option) || command.assignments.iter().any(sets)
}
