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

/// Short and long options that take the next word, of a command: what follows them is no option.
fn with_value(command: &str) -> (&'static str, &'static [&'static str]) {
    match command {
        "commit" => (
            "mFCct",
            &[
                "--message",
                "--file",
                "--reuse-message",
                "--reedit-message",
                "--author",
                "--date",
                "--template",
                "--fixup",
                "--squash",
                "--cleanup",
                "--trailer",
                "--pathspec-from-file",
            ],
        ),
        "push" | "send-pack" => ("o", &["--push-option", "--repo", "--receive-pack", "--exec"]),
        "merge" => {
            ("mFXs", &["--message", "--file", "--strategy", "--strategy-option", "--into-name", "--cleanup"])
        }
        "cherry-pick" | "revert" => ("mXs", &["--mainline", "--strategy", "--strategy-option", "--cleanup"]),
        "rebase" | "pull" => ("xXso", &["--exec", "--strategy", "--strategy-option", "--onto"]),
        "tag" => ("mFu", &["--message", "--file", "--local-user", "--cleanup"]),
        "stash" => ("m", &["--message"]),
        _ => ("", &[]),
    }
}

/// Returns the options of a command, without the values that some of them take.
fn options<'a>(command: &str, rest: &'a [Word]) -> Vec<&'a str> {
    let (letters, long) = with_value(command);
    let mut found = Vec::new();
    let mut words = rest.iter().map(|word| word.text.as_str());
    while let Some(text) = words.next() {
        if text == "--" {
            break;
        }
        let Some(flags) = text.strip_prefix('-').filter(|flags| !flags.is_empty()) else { continue };
        let value = flags.find(|letter| letters.contains(letter)).filter(|_| !flags.starts_with('-'));
        match value {
            // The letters after one with a value are the value, or the next word is.
            Some(at) => {
                found.extend(text.get(..at + 1).filter(|flags| flags.len() > 1));
                if at + 1 == flags.len() {
                    words.next();
                }
            }
            None => {
                found.push(text);
                if long.contains(&text) {
                    words.next();
                }
            }
        }
    }
    found
}

/// Settings on the command line that matter: aliases, and refspecs that force.
#[derive(Default)]
struct Settings<'a> {
    aliases: Vec<(&'a str, &'a str)>,
    forces: bool,
}

impl<'a> Settings<'a> {
    fn add(&mut self, setting: &'a str) {
        let Some((key, value)) = setting.split_once('=') else { return };
        let lower = key.to_lowercase();
        if let Some(alias) = key.split_once('.').filter(|(group, _)| group.eq_ignore_ascii_case("alias")) {
            self.aliases.push((alias.1, value));
        }
        self.forces |= lower.starts_with("remote.")
            && (lower.ends_with(".push") && value.starts_with('+')
                || lower.ends_with(".mirror") && value != "false");
    }
}

/// Classifies a git command.
pub(super) fn classify(arguments: &[Word], folder: &FolderPath) -> Class {
    let mut folder = folder.clone();
    let mut rest = arguments;
    let mut settings = Settings::default();
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
        match (text, after.first()) {
            ("-C", Some(path)) => folder = folder.enter(path),
            ("-c", Some(setting)) => settings.add(&setting.text),
            _ => {}
        }
        rest = if takes_value { after.get(1..).unwrap_or(&[]) } else { after };
    };
    if let Some((_, meaning)) = settings.aliases.iter().find(|(name, _)| *name == command) {
        return alias(meaning, rest, &folder);
    }
    let options = options(command, rest);
    let has = |wanted: &[&str]| options.iter().any(|option| wanted.contains(option));
    if has(&["--help", "-h"]) {
        return Deed::Other.into();
    }
    let short = |flag: char| options.iter().any(|option| is_short_flag(option, flag));
    match command {
        "commit" if has(&["--dry-run", "--short", "--porcelain", "--long"]) => Deed::Other.into(),
        "commit" | "commit-tree" => Deed::Commit.into(),
        // These end without a commit of their own.
        "merge" | "cherry-pick" | "revert" | "rebase" | "am" | "pull"
            if has(&["--abort", "--quit", "--skip", "--show-current-patch", "--edit-todo", "--dry-run"]) =>
        {
            Deed::Other.into()
        }
        "merge" | "cherry-pick" | "revert" if has(&["--no-commit", "--squash", "--ff-only", "--ff"]) => {
            Deed::Edit.into()
        }
        "cherry-pick" | "revert" if short('n') => Deed::Edit.into(),
        "merge" | "cherry-pick" | "revert" | "rebase" | "am" => Deed::Commit.into(),
        "pull" if has(&["--no-ff"]) => Deed::Commit.into(),
        // What others committed comes into the files.
        "pull" => Deed::Edit.into(),
        "subtree"
            if rest.first().is_some_and(|word| matches!(word.text.as_str(), "add" | "pull" | "merge")) =>
        {
            Deed::Commit.into()
        }
        "subtree" | "lfs" if first(rest, &["push"]) => Deed::Push.into(),
        "svn" if first(rest, &["dcommit"]) => Deed::Push.into(),
        "p4" if first(rest, &["submit"]) => Deed::Push.into(),
        // Extensions of git that commit.
        "cz" | "autofixup" | "citool" => Deed::Commit.into(),
        "absorb" if has(&["-r", "--and-rebase"]) => Deed::Commit.into(),
        "town" if first(rest, &["ship", "sync", "merge"]) => Deed::Commit.into(),
        "flow" if rest.iter().any(|word| matches!(word.text.as_str(), "finish" | "publish")) => {
            if rest.iter().any(|word| word.text == "publish") {
                Deed::Push.into()
            } else {
                Deed::Commit.into()
            }
        }
        "push" | "send-pack" => push(rest, &options, settings.forces),
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
        // It rewrites files that it does not name.
        "reset" if has(&["--hard", "--merge", "--keep"]) => destructive(Deed::Format),
        "submodule" if first(rest, &["update"]) && has(&["--remote"]) => Deed::Format.into(),
        // Without a branch to go to, a checkout overwrites files with what was committed.
        "checkout" | "switch" if has(&["-f", "--force", "--discard-changes"]) || discards(rest) => {
            discard(rest, &folder)
        }
        // A commit, and files to take from it.
        "checkout" if operands(rest, &["--conflict"]).len() > 1 && !makes_branch(&options) => {
            let files = operands(rest, &["--conflict"]);
            let files = named(files.get(1..).unwrap_or(&[]), &folder);
            Class { is_destructive: true, ..Class::with_files(Deed::Edit, files) }
        }
        // Another commit: the files become those of it.
        "checkout" | "switch" if changes_commit(rest, &options) => Deed::Format.into(),
        "bisect" if first(rest, &["start", "good", "bad", "reset", "skip", "new", "old"]) => {
            Deed::Format.into()
        }
        "checkout-index" if has(&["-f", "--force"]) || short('f') => destructive(Deed::Format),
        "read-tree" if short('u') => destructive(Deed::Format),
        "restore" if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => discard(rest, &folder),
        "branch" if short('D') || has(&["--delete", "-d"]) => destructive(Deed::Destroy),
        "stash" if first(rest, &["drop", "clear"]) => destructive(Deed::Destroy),
        "stash" if first(rest, &["pop", "apply", "branch"]) => Deed::Edit.into(),
        // Without a command it is `push`, which takes the changes out of the files.
        "stash"
            if first(rest, &["push", "save"])
                || rest.first().is_none_or(|word| word.text.starts_with('-')) =>
        {
            Deed::Format.into()
        }
        "gc" if has(&["--prune=now", "--prune=all"]) => destructive(Deed::Destroy),
        "prune" if !has(&["-n", "--dry-run"]) => destructive(Deed::Destroy),
        "reflog" if first(rest, &["expire", "delete"]) => destructive(Deed::Destroy),
        "worktree" if first(rest, &["remove", "prune"]) => destructive(Deed::Destroy),
        "remote" | "submodule" if first(rest, &["remove", "rm", "deinit"]) => Deed::Other.into(),
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

/// Returns whether the first word is one of these.
fn first(rest: &[Word], words: &[&str]) -> bool {
    rest.first().is_some_and(|word| words.contains(&word.text.as_str()))
}

/// Returns whether a checkout makes a branch: its second operand is where the branch begins.
fn makes_branch(options: &[&str]) -> bool {
    let makes = |option: &&str| {
        matches!(*option, "--orphan" | "--track" | "--no-track" | "--detach")
            || ['b', 'B', 't', 'd'].into_iter().any(|flag| is_short_flag(option, flag))
    };
    options.iter().any(makes)
}

/// Returns whether a checkout takes the files of another commit. One that only makes a branch leaves them as they are.
fn changes_commit(rest: &[Word], options: &[&str]) -> bool {
    let makes = |option: &&str| {
        matches!(*option, "--create" | "--force-create" | "--orphan")
            || ['b', 'B', 'c', 'C'].into_iter().any(|flag| is_short_flag(option, flag))
    };
    let count = operands(rest, &["--conflict", "--orphan"]).len();
    // A new branch may begin at another commit, which is the second operand.
    count > usize::from(options.iter().any(makes))
}

/// Returns whether a checkout names files.
fn discards(rest: &[Word]) -> bool {
    rest.iter().any(|word| matches!(word.text.as_str(), "--" | "."))
}

/// Classifies a command that a setting on the same line defines.
fn alias(meaning: &str, rest: &[Word], folder: &FolderPath) -> Class {
    let (program, words) = match meaning.strip_prefix('!') {
        Some(command) => (None, command),
        None => (Some("git"), meaning),
    };
    let words = program.into_iter().chain(words.split_whitespace());
    let words = words.map(|text| Word { text: text.to_owned(), ..Word::default() });
    let words: Vec<Word> = words.chain(rest.iter().cloned()).collect();
    // An alias has no settings of its own, so this ends.
    super::program::classify(&words, folder)
}

fn push(rest: &[Word], options: &[&str], forces: bool) -> Class {
    let operands = operands(rest, &["-o", "--push-option", "--repo", "--receive-pack", "--exec"]);
    let texts = || options.iter().copied().chain(operands.iter().map(|word| word.text.as_str()));
    if texts().any(|text| text == "--dry-run" || is_short_flag(text, 'n')) {
        return Deed::Other.into();
    }
    let forced = |text: &str| {
        // Git completes what is unambiguous: `--force-w` is `--force-with-lease`.
        let long = text.split('=').next().unwrap_or(text);
        long == "--force"
            || (long.len() >= "--force-".len() && "--force-with-lease".starts_with(long))
            || (long.len() >= "--mi".len() && "--mirror".starts_with(long))
            || is_short_flag(text, 'f')
            || is_forced_refspec(text)
    };
    let removes = |text: &str| {
        (text.len() >= "--de".len() && "--delete".starts_with(text))
            || text == "--prune"
            || is_short_flag(text, 'd')
            || text.starts_with(':') && text.len() > 1
    };
    let (force, removes) = (forces || texts().any(forced), texts().any(removes));
    // Hosts that run what is pushed to them; a push that overwrites stays one.
    let deploys =
        operands.first().is_some_and(|word| matches!(word.text.as_str(), "heroku" | "dokku" | "piku"));
    if deploys && !force {
        return Class { is_destructive: removes, ..Deed::Deploy.into() };
    }
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
