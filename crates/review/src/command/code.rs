//! Code and statements that programs are given, and options that make a check say nothing.

use crate::shell::{Command, Word};

use super::piped::{Input, here_document};
use super::{Class, Deed, files, program, services};

/// Code on the command line: it removes or writes files if it calls a function that does that.
pub(super) fn of_code(code: &str) -> Deed {
    #[rustfmt::skip]
    const REMOVES: &[&str] = &[
        "rmtree(", "os.remove(", "os.unlink(", "os.removedirs(", "os.rmdir(", ".unlink(", "unlinkSync(", "rmSync(", "rmdirSync(",
        "fs.rm(", "fs.unlink(", "fs.rmdir(", "promises.rm(", "promises.unlink(", "promises.rmdir(", "fsp.rm(", "fse.remove(", "fs.remove(",
        "removeSync(", "emptyDirSync(", "Deno.remove", "File.unlink(", "FileUtils.rm", "Dir.delete(", "send2trash(", "remove_tree(", "rm_rf(", "rm_r(", "rm_rf ", "File.delete(", "unlink(", "rimraf(",
    ];
    #[rustfmt::skip]
    const WRITES: &[&str] = &[
        "write_text(", "write_bytes(", "writeFileSync(", "writeFile(", "appendFileSync(", "appendFile(", "createWriteStream(",
        "File.write(", "file_put_contents(", "shutil.copy", "shutil.move(", "os.rename(", "os.replace(", "renameSync(",
        "copyFileSync(", "Bun.write(", "Deno.writeTextFile", "fileinput.", ".rename(", "IO.write(", "FileUtils.",
    ];
    let code = &with_plain_names(code);
    if REMOVES.iter().any(|call| code.contains(call)) || unlinks(code) {
        Deed::Delete
    } else if WRITES.iter().any(|call| code.contains(call)) || opens_to_write(code) {
        Deed::Format
    } else {
        Deed::Other
    }
}

/// Returns whether code calls the `unlink` of Perl, Ruby or PHP, which needs no brackets.
fn unlinks(code: &str) -> bool {
    code.match_indices("unlink").any(|(at, found)| {
        let before = code.get(..at).and_then(|before| before.chars().next_back());
        let after = code.get(at + found.len()..).unwrap_or_default();
        let is_word = before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
        let is_call = after.trim_start().starts_with(['(', '"', '\'', '<', '$', '@', '*'])
            || after.starts_with(" glob")
            || after.starts_with(" q");
        is_word && is_call
    })
}

/// The imports of one text that are read.
const IMPORTS_MAX: usize = 50;

/// Returns code with the names that its imports gave to modules and functions written out: `o.remove(` after `import os as o`
/// and `r(` after `from os import remove as r` are `os.remove(`.
fn with_plain_names(code: &str) -> String {
    let mut plain = code.to_owned();
    let statements = code.split(['\n', ';']).map(str::trim).take(IMPORTS_MAX);
    for statement in statements {
        let words: Vec<&str> =
            statement.split([' ', ',', '(', ')']).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            ["import", rest @ ..] => {
                for named in rest.windows(3) {
                    if let [module, "as", name] = named {
                        plain = with_name(&plain, &format!("{name}."), &format!("{module}."));
                    }
                }
            }
            [
                "from",
                module @ ("os" | "shutil" | "pathlib" | "subprocess" | "send2trash"),
                "import",
                rest @ ..,
            ] => {
                let mut names = rest.iter().copied().peekable();
                while let Some(function) = names.next() {
                    let name = match names.next_if_eq(&"as") {
                        Some(_) => names.next().unwrap_or(function),
                        None => function,
                    };
                    plain = with_name(&plain, &format!("{name}("), &format!("{module}.{function}("));
                }
            }
            _ => {}
        }
    }
    plain
}

/// Replaces a name where it is a word of its own.
fn with_name(code: &str, name: &str, plain: &str) -> String {
    let mut found = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(name) {
        let (before, after) = rest.split_at(at);
        let is_word = before
            .chars()
            .next_back()
            .or_else(|| found.chars().next_back())
            .is_none_or(|letter| !letter.is_alphanumeric() && !matches!(letter, '_' | '.'));
        found.push_str(before);
        found.push_str(if is_word { plain } else { name });
        rest = after.get(name.len()..).unwrap_or_default();
    }
    found.push_str(rest);
    found
}

/// Returns whether code opens a file to write it that is not in a folder for passing things: `open('x', 'w')`,
/// `File.open("x", "a")`, `open(F, ">x")`.
fn opens_to_write(code: &str) -> bool {
    code.match_indices("open(").filter_map(|(at, found)| code.get(at + found.len()..)).any(|rest| {
        let inside: String = rest.chars().take_while(|letter| *letter != ')' && *letter != '\n').collect();
        let (path, rest) = inside.split_once(',').unwrap_or((inside.as_str(), ""));
        let is_scratch = files::is_scratch(path.trim().trim_matches(['"', '\'']));
        let is_mode = |part: &str| {
            let mode = part.trim().trim_start_matches("mode=").trim();
            let mode = mode.strip_prefix(['"', '\'']).and_then(|mode| mode.strip_suffix(['"', '\'']));
            mode.is_some_and(|mode| {
                let is_short = mode.len() <= 4 && mode.chars().all(|letter| "rwabtx+U".contains(letter));
                is_short && mode.contains(['w', 'a', 'x', '+']) || mode.starts_with('>')
            })
        };
        !is_scratch && rest.split(',').any(is_mode)
    })
}

/// Options and commands with which a single runner only shows what it would run.
pub(super) fn only_lists(name: &str, arguments: &[&str]) -> bool {
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    match name {
        "tox" => {
            has(&["-l", "--listenvs", "-a", "--listenvs-all", "--showconfig", "--notest"])
                || arguments
                    .first()
                    .is_some_and(|first| matches!(*first, "list" | "l" | "config" | "c" | "devenv"))
        }
        "nox" => has(&["-l", "--list-sessions", "--install-only"]),
        "vitest" => arguments.first() == Some(&"list"),
        "ctest" => has(&["--show-only", "--show-only=human", "--show-only=json-v1"]),
        "rspec" | "ginkgo" => has(&["--dryRun", "--dry-run", "-d"]),
        "bats" => has(&["-c", "--count"]),
        "robot" => has(&["--dryrun"]),
        "phpunit" | "pest" => has(&["--list-suites", "--list-groups", "--list-tests-xml"]),
        _ => false,
    }
}

/// Classifies a program by the code or the statements that it is given as its input.
pub(super) fn given_code(words: &[Word], command: &Command, input: &Input) -> Option<Class> {
    let (program, arguments) = words.split_first()?;
    let text = here_document(&command.redirects).or(input.text())?;
    let name = program::name_of(&program.text);
    let reads_code = || arguments.iter().all(|word| word.text.starts_with('-'));
    match name.as_str() {
        name if services::DATABASES.contains(&name) => services::drops(&[text]).then(|| Deed::Destroy.into()),
        "python" | "pypy" | "pypy3" | "node" | "ruby" | "perl" | "php" | "bun" | "deno" if reads_code() => {
            Some(of_code(text).into())
        }
        _ => None,
    }
}

/// Returns whether an option makes a command end well whatever fails: `make -i`, `--exit-zero`.
pub(super) fn ignores_failures(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let is_make = matches!(program::name_of(&program.text).as_str(), "make" | "gmake");
    let short = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('i');
    arguments.iter().map(|word| word.text.as_str()).any(|text| {
        is_make && (text == "--ignore-errors" || short(text))
            || matches!(
                text,
                "--exit-zero" | "--no-fail" | "--ignore-failures" | "--ignore-errors" | "--soft-fail"
            )
            || text == "--continue-on-error"
    })
}
