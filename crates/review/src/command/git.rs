//! Git commands.

use crate::shell::Word;

use super::files::{FolderPath, named};
use super::{Class, Deed};

/// Options before the command that take the next word.
const GLOBAL_WITH_VALUE: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// Classifies a git command.
pub(super) fn classify(arguments: &[Word], folder: &FolderPath) -> Class {
    let mut folder = folder.clone();
    let mut rest = arguments;
    let command = loop {
        let Some((first, after)) = rest.split_first() else { return Deed::Other.into() };
        let text = first.text.as_str();
        if !text.starts_with('-') {
            rest = after;
            break text;
        }
        if matches!(text, "--help" | "-h" | "--version" | "-v") {
            return Deed::Other.into();
        }
        let takes_value = GLOBAL_WITH_VALUE.contains(&text);
        if let ("-C", Some(path)) = (text, after.first()) {
            folder = folder.enter(path);
        }
        rest = if takes_value { after.get(1..).unwrap_or(&[]) } else { after };
    };
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(&word.text.as_str()));
    if has(&["--help", "-h"]) {
        return Deed::Other.into();
    }
    let short = |flag: char| rest.iter().any(|word| is_short_flag(&word.text, flag));
    match command {
        "commit" if has(&["--dry-run", "--short", "--porcelain"]) => Deed::Other.into(),
        "commit" => Deed::Commit.into(),
        "push" => push(rest),
        "status" => Deed::Status.into(),
        "diff" => Deed::Diff.into(),
        "grep" => Deed::Search.into(),
        "ls-files" | "ls-tree" => Deed::List.into(),
        "apply" if has(&["--check", "--stat", "--summary", "--numstat"]) => Deed::Other.into(),
        "apply" => Deed::Edit.into(),
        "mv" => {
            let files = named(&operands(rest, &[]), &folder);
            super::files::renamed(files)
        }
        "rm" if has(&["--cached", "--dry-run", "-n"]) => Deed::Other.into(),
        "rm" => Class::with_files(Deed::Delete, named(&operands(rest, &[]), &folder)),
        "clean" if short('n') || has(&["--dry-run"]) => Deed::Other.into(),
        "clean" => Deed::Delete.into(),
        "reset" if has(&["--hard", "--merge", "--keep"]) => destructive(Deed::Destroy),
        // Without a branch to go to, a checkout overwrites files with what was committed.
        "checkout" if has(&["--", "-f", "--force", "."]) => discard(rest, &folder),
        "restore" if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => discard(rest, &folder),
        "branch" if short('D') || has(&["--delete", "-d"]) => destructive(Deed::Destroy),
        "stash" if has(&["drop", "clear"]) => destructive(Deed::Destroy),
        "tag" if has(&["-d", "--delete"]) => destructive(Deed::Destroy),
        "filter-branch" | "filter-repo" | "update-ref" => destructive(Deed::Destroy),
        "add" | "fetch" | "config" | "stage" | "init" => Deed::Neutral.into(),
        _ => Deed::Other.into(),
    }
}

fn destructive(deed: Deed) -> Class {
    Class { is_destructive: true, ..deed.into() }
}

/// Edits that throw away what was not committed.
fn discard(rest: &[Word], folder: &FolderPath) -> Class {
    let apart = rest.iter().position(|word| word.text == "--");
    let paths = match apart {
        Some(apart) => rest.get(apart + 1..).unwrap_or(&[]).iter().collect(),
        None => operands(rest, &["-s", "--source"]),
    };
    let files =
        named(&paths, folder).into_iter().filter(|file| file.path != "." && !file.path.is_empty()).collect();
    Class { is_destructive: true, ..Class::with_files(Deed::Edit, files) }
}

fn push(rest: &[Word]) -> Class {
    let texts = || rest.iter().map(|word| word.text.as_str());
    if texts().any(|text| text == "--dry-run" || is_short_flag(text, 'n')) {
        return Deed::Other.into();
    }
    let forced = |text: &str| {
        // Git completes what is unambiguous: `--force-w` is `--force-with-lease`.
        let long = text.split('=').next().unwrap_or(text);
        long == "--force"
            || (long.len() >= "--force-".len() && "--force-with-lease".starts_with(long))
            || text == "--mirror"
            || is_short_flag(text, 'f')
            || is_forced_refspec(text)
    };
    let removes = |text: &str| {
        text == "--delete"
            || text == "--prune"
            || is_short_flag(text, 'd')
            || text.starts_with(':') && text.len() > 1
    };
    let (force, removes) = (texts().any(forced), texts().any(removes));
    Class { force, is_destructive: force || removes, ..Deed::Push.into() }
}

fn is_forced_refspec(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|rest| !rest.is_empty())
}

/// Returns whether a group of short options holds a flag: `f` in `-uf`. The value of `-o` is not looked into.
fn is_short_flag(text: &str, flag: char) -> bool {
    let Some(flags) = text.strip_prefix('-').filter(|flags| !flags.starts_with('-')) else { return false };
    flags.chars().take_while(|letter| *letter != 'o').any(|letter| letter == flag)
}

fn operands<'a>(words: &'a [Word], with_value: &[&str]) -> Vec<&'a Word> {
    super::files::operands(words, with_value)
}
