//! Commands inside of scripts and code: files that the log shows being written and then run, and code that starts programs.
//!
//! What such a script does besides is not known, so only deeds that rules are about are taken from it, and whether they were
//! done is uncertain.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::shell::{Command, Word};

use super::program::name_of;

/// The scripts that are remembered, and the bytes of each.
const SCRIPTS_MAX: usize = 200;
const SCRIPT_BYTES_MAX: usize = 64 * 1024;

/// Words by which code starts a program.
#[rustfmt::skip]
const STARTS: &[&str] = &[
    "subprocess", "os.system", "popen", "Popen", "os.exec", "os.spawn", "pty.spawn", "exec", "spawn", "system(", "system ", "%x", "shell_exec",
    "passthru", "`", "sh.", "Bun.$", "$`",
];

/// Programs that run code of their own language.
const INTERPRETERS: &[&str] =
    &["python", "pypy", "pypy3", "node", "bun", "deno", "ruby", "perl", "php", "tsx", "ts-node", "lua"];

/// The content of files that a log shows being written. It is shared by copies: a run is projected with one for each call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scripts(Arc<BTreeMap<String, String>>);

impl Scripts {
    /// Notes that a file was written, with this text after what it held before.
    pub(super) fn append(&mut self, path: &str, text: &str) {
        let whole = format!("{}{text}", self.0.get(path).map_or("", String::as_str));
        self.write(path, &whole);
    }

    /// Notes that a file was written whole.
    pub(super) fn write(&mut self, path: &str, text: &str) {
        let fits = self.0.len() < SCRIPTS_MAX || self.0.contains_key(path);
        if text.len() <= SCRIPT_BYTES_MAX && fits {
            Arc::make_mut(&mut self.0).insert(path.to_owned(), text.to_owned());
        } else {
            Arc::make_mut(&mut self.0).remove(path);
        }
    }

    /// Returns the text of a file. A log that does not name its folder writes a file by its whole path and runs it by its name.
    fn find(&self, path: &str) -> Option<&String> {
        let end = format!("/{path}");
        let by_end = || self.0.iter().find(|(known, _)| !path.starts_with('/') && known.ends_with(&end));
        self.0.get(path).or_else(|| by_end().map(|(_, text)| text))
    }

    /// Returns the command lines of a file that is run.
    fn lines_of(&self, path: Option<String>, interpreter: Option<&str>) -> Vec<String> {
        let Some(text) = path.and_then(|path| self.find(&path)) else { return Vec::new() };
        let first = text.lines().next().unwrap_or_default();
        let says = first.strip_prefix("#!").and_then(|program| {
            let name = program.split_whitespace().rfind(|word| !word.starts_with('-'))?;
            Some(name_of(name))
        });
        let is_code = |name: &str| INTERPRETERS.contains(&name);
        match interpreter.or(says.as_deref()) {
            Some(name) if is_code(name) => lines_of_code(text),
            _ => vec![text.clone()],
        }
    }
}

/// Returns the command lines that a command hides in a script or in code; `place` gives the path of a file it names, and `input`
/// is the text that it reads, if the line shows it.
pub(super) fn hidden_lines(
    scripts: &Scripts,
    command: &Command,
    words: &[Word],
    input: Option<&str>,
    place: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = name_of(&program.text);
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let body = command.redirects.iter().find_map(|redirect| redirect.body.as_deref());
    let given = body.or(input).map(str::to_owned);
    match name.as_str() {
        "trap" => texts
            .first()
            .filter(|script| !script.starts_with('-'))
            .map(|script| (*script).to_owned())
            .into_iter()
            .collect(),
        "at" | "batch" => given.into_iter().collect(),
        // `git rebase --exec …` runs a script after each commit.
        "git" if texts.contains(&"rebase") => {
            let joined = texts.iter().filter_map(|text| text.strip_prefix("--exec="));
            let pairs = texts.iter().zip(texts.iter().skip(1));
            let apart =
                pairs.filter(|(option, _)| matches!(**option, "-x" | "--exec")).map(|(_, text)| *text);
            joined.chain(apart).map(str::to_owned).collect()
        }
        "awk" | "gawk" | "mawk" | "nawk" => texts
            .iter()
            .filter(|text| text.contains("system(") || text.contains("| getline"))
            .flat_map(|code| lines_of_code(code))
            .collect(),
        "vim" | "nvim" | "vi" | "ex" => {
            let scripts =
                texts.iter().filter_map(|text| text.trim_start_matches(['+', ':']).strip_prefix('!'));
            scripts.map(str::to_owned).collect()
        }
        "source" | "." => match texts.first() {
            Some(&"/dev/stdin") => given.into_iter().collect(),
            Some(file) => scripts.lines_of(place(file), Some("sh")),
            None => Vec::new(),
        },
        name if INTERPRETERS.contains(&name) => {
            let is_code = |text: &&&str| matches!(**text, "-c" | "-e" | "--eval" | "-r" | "-E" | "eval");
            let flag = texts.iter().position(|text| is_code(&text));
            let file = texts.iter().find(|text| !text.starts_with('-'));
            match (flag.and_then(|flag| texts.get(flag + 1)), file) {
                (Some(code), _) => lines_of_code(code),
                (None, Some(file)) => scripts.lines_of(place(file), Some(name)),
                (None, None) => given.map(|code| lines_of_code(&code)).unwrap_or_default(),
            }
        }
        _ => scripts.lines_of(place(&program.text), None),
    }
}

/// Returns the command lines in code that starts programs: each text with several words, and each list of texts.
fn lines_of_code(code: &str) -> Vec<String> {
    if code.len() > SCRIPT_BYTES_MAX {
        return Vec::new();
    }
    let mut lines = pushes_of_code(code);
    if !STARTS.iter().any(|start| code.contains(start)) {
        return lines;
    }
    let mut list: Vec<String> = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['\'', '"', '`']) {
        let (before, after) = rest.split_at(at);
        // Texts that only commas stand between are the words of one command.
        let continues = before.trim_matches([' ', '\n', '\t', ',', '[', '(']).is_empty();
        if !continues {
            lines.extend((list.len() > 1).then(|| super::line_of(&list)));
            list.clear();
        }
        let quote = after.get(..1).unwrap_or_default();
        let inside = after.get(1..).unwrap_or_default();
        let Some(end) = inside.find(quote) else { break };
        let text = inside.get(..end).unwrap_or_default();
        if text.trim().contains(' ') {
            lines.push(text.to_owned());
        }
        list.push(text.to_owned());
        rest = inside.get(end + 1..).unwrap_or_default();
    }
    lines.extend((list.len() > 1).then(|| super::line_of(&list)));
    lines
}

/// Returns the pushes and commits that code makes through a library: `repo.git.push('--force')`, `repo.remote().push(force=True)`.
fn pushes_of_code(code: &str) -> Vec<String> {
    let has_library = [
        "git import",
        "import git",
        "Repo(",
        "pygit2",
        "dulwich",
        "simple-git",
        "simpleGit",
        "isomorphic-git",
    ]
    .iter()
    .any(|name| code.contains(name));
    let calls = ["push(", "commit("];
    let mut lines = Vec::new();
    for call in calls {
        for (at, found) in code.match_indices(call) {
            let before = code.get(..at).unwrap_or_default();
            // `.git.push(` is git itself; any other `.push(` may be a list's.
            let is_git = before.ends_with(".git.") || before.ends_with("git.");
            let is_remote = before.ends_with("remote().")
                || before.ends_with("origin.")
                || before.ends_with("porcelain.");
            let is_index = before.ends_with("index.");
            if !(is_git
                || has_library && (is_remote || is_index || before.ends_with(").") || before.ends_with("].")))
            {
                continue;
            }
            let rest = code.get(at + found.len()..).unwrap_or_default();
            let inside: String = rest.chars().take_while(|letter| *letter != ')').collect();
            let mut words = vec!["git".to_owned(), call.trim_end_matches('(').to_owned()];
            let compact: String = inside.chars().filter(|letter| !letter.is_whitespace()).collect();
            let is_forced = ["force=True", "force:true", "f=True", "force_with_lease=True", "force=1"];
            if is_forced.iter().any(|option| compact.contains(option)) {
                words.push("--force".to_owned());
            }
            let mut texts = inside.split(['\'', '"']);
            texts.next();
            while let Some(text) = texts.next() {
                words.push(text.to_owned());
                texts.next();
            }
            lines.push(super::line_of(&words));
        }
    }
    lines
}
