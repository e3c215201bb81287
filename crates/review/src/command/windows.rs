//! Commands of PowerShell and of the Windows command line.

use crate::shell::Word;

use super::files::{FolderPath, named, renamed, written};
use super::{Class, Deed};

/// Parameters that name files.
const PATHS: &[&str] = &["-path", "-literalpath", "-filepath", "-pspath", "-lp", "-destination", "-newname"];
/// Other parameters that take the next word.
const WITH_VALUE: &[&str] = &[
    "-value",
    "-itemtype",
    "-type",
    "-filter",
    "-include",
    "-exclude",
    "-encoding",
    "-erroraction",
    "-ea",
    "-inputobject",
    "-stream",
    "-pattern",
    "-width",
    "-totalcount",
    "-tail",
];

/// Classifies cmdlets and the commands of `cmd` that no other system has; `None` for anything else.
pub(super) fn classify(name: &str, arguments: &[Word], folder: &FolderPath) -> Option<Class> {
    let files = || named(&operands(arguments).iter().collect::<Vec<_>>(), folder);
    let has = |wanted: &str| arguments.iter().any(|word| word.text.eq_ignore_ascii_case(wanted));
    Some(match name.to_lowercase().as_str() {
        "remove-item" | "ri" | "rd" | "erase" | "del" | "clear-recyclebin" => {
            if has("-whatif") {
                return Some(Deed::Other.into());
            }
            Class::with_files(Deed::Delete, files())
        }
        "rmdir" if has("/s") || has("/q") => Class::with_files(Deed::Delete, files()),
        "set-content" | "out-file" => written(Deed::Create, files().into_iter().take(1).collect()),
        "add-content" | "clear-content" => written(Deed::Edit, files().into_iter().take(1).collect()),
        "new-item" if has("directory") => Deed::Neutral.into(),
        "new-item" => written(Deed::Create, files()),
        "move-item" | "rename-item" | "ren" => renamed(files()),
        "copy-item" | "xcopy" | "robocopy" => {
            written(Deed::Create, files().into_iter().skip(1).take(1).collect())
        }
        "get-content" | "gc" => Class::with_files(Deed::Read, files()),
        "select-string" | "sls" | "findstr" => Deed::Search.into(),
        "get-childitem" | "gci" | "dir" => Deed::List.into(),
        "invoke-pester" => Deed::Tests.into(),
        "invoke-scriptanalyzer" => Deed::Lint.into(),
        "set-location" | "write-host" | "write-output" | "push-location" | "pop-location" => {
            Deed::Neutral.into()
        }
        _ => return None,
    })
}

/// Returns what is no parameter: a value of a parameter for paths, a word that belongs to none. Lists are taken apart.
fn operands(arguments: &[Word]) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let lower = word.text.to_lowercase();
        let is_switch = lower.starts_with('-') || is_cmd_switch(&lower);
        if WITH_VALUE.contains(&lower.as_str()) {
            rest.next();
        } else if let Some(value) = match is_switch {
            false => Some(word),
            true if PATHS.contains(&lower.as_str()) => rest.next(),
            true => None,
        } {
            let parts = value.text.split(',').filter(|part| !part.is_empty());
            found.extend(parts.map(|part| Word { text: part.replace('\\', "/"), ..value.clone() }));
        }
    }
    found
}

/// Returns whether a word is a switch of `cmd`: `/s`, `/a:h`.
fn is_cmd_switch(word: &str) -> bool {
    let Some(switch) = word.strip_prefix('/') else { return false };
    let mut letters = switch.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && matches!(letters.next(), None | Some(':'))
}
