//! The options of programs that a command may have and still be safe to run.

use super::CommandClass::{Caution, Safe};
use super::program::{Verdict, verdict};

/// The options of a program that are known to change nothing but what is read, tested or shown.
///
/// Everything else is to be reviewed first. An option may load code, name a file to write or hand a command on, under many
/// spellings: attached to its value, shortened, or as a setting. So the list says what is allowed, and an option is
/// allowed only as it is spelled here.
pub(super) struct Options {
    /// Options without a value; one-letter options may be written together.
    pub(super) flags: &'static [&'static str],
    /// Options with a value, which must not lead out of the working directory.
    values: &'static [&'static str],
    /// Options whose value, if any, is attached by `=`; a word after one is something else.
    attached: &'static [&'static str],
}

pub(super) const LS: Options = Options {
    flags: &[
        "-a",
        "-A",
        "-d",
        "-F",
        "-h",
        "-l",
        "-p",
        "-r",
        "-R",
        "-s",
        "-S",
        "-t",
        "-1",
        "--all",
        "--recursive",
    ],
    values: &["--sort", "--time-style"],
    attached: &["--color"],
};

pub(super) const CAT: Options = Options {
    flags: &["-A", "-b", "-e", "-E", "-n", "-s", "-t", "-T", "-v", "--number"],
    values: &[],
    attached: &[],
};

pub(super) const GREP: Options = Options {
    flags: &[
        "-a",
        "-c",
        "-E",
        "-F",
        "-G",
        "-h",
        "-H",
        "-i",
        "-l",
        "-L",
        "-n",
        "-o",
        "-P",
        "-q",
        "-r",
        "-R",
        "-s",
        "-v",
        "-w",
        "-x",
        "--count",
        "--ignore-case",
        "--line-number",
        "--recursive",
        "--invert-match",
        "--word-regexp",
        "--files-with-matches",
        "--only-matching",
        "--extended-regexp",
        "--fixed-strings",
    ],
    values: &[
        "-A",
        "-B",
        "-C",
        "-m",
        "--after-context",
        "--before-context",
        "--context",
        "--max-count",
        "--include",
        "--exclude",
        "--exclude-dir",
    ],
    attached: &["--color", "--colour"],
};

pub(super) const GIT_VIEW: Options = Options {
    flags: &[
        "-p",
        "-s",
        "-b",
        "-w",
        "-z",
        "-u",
        "--all",
        "--branch",
        "--cached",
        "--check",
        "--decorate",
        "--graph",
        "--ignore-all-space",
        "--merges",
        "--name-only",
        "--name-status",
        "--no-color",
        "--no-ext-diff",
        "--no-merges",
        "--no-patch",
        "--no-renames",
        "--no-textconv",
        "--numstat",
        "--oneline",
        "--patch",
        "--reverse",
        "--short",
        "--shortstat",
        "--staged",
        "--stat",
        "--summary",
        "--word-diff",
    ],
    values: &[
        "-n",
        "-U",
        "--author",
        "--date",
        "--diff-filter",
        "--format",
        "--grep",
        "--max-count",
        "--since",
        "--unified",
        "--until",
    ],
    attached: &["--abbrev", "--color", "--porcelain", "--pretty"],
};

pub(super) const HENCE_CHECK: Options = Options {
    flags: &["--json", "--all"],
    values: &["--store", "--level", "--anchor", "--problem"],
    attached: &[],
};

pub(super) const CARGO_TEST: Options = Options {
    flags: &[
        "-q",
        "-v",
        "--all",
        "--all-features",
        "--all-targets",
        "--benches",
        "--bins",
        "--doc",
        "--examples",
        "--frozen",
        "--lib",
        "--locked",
        "--no-default-features",
        "--no-fail-fast",
        "--no-run",
        "--offline",
        "--quiet",
        "--release",
        "--tests",
        "--verbose",
        "--workspace",
    ],
    values: &[
        "-F",
        "-j",
        "-p",
        "--bin",
        "--color",
        "--example",
        "--exclude",
        "--features",
        "--jobs",
        "--message-format",
        "--package",
        "--test",
    ],
    attached: &[],
};

/// The options of the program that `cargo test` builds.
pub(super) const LIBTEST: Options = Options {
    flags: &[
        "-q",
        "--exact",
        "--ignored",
        "--include-ignored",
        "--list",
        "--nocapture",
        "--quiet",
        "--show-output",
    ],
    values: &["--color", "--format", "--skip", "--test-threads"],
    attached: &[],
};

pub(super) const GO_TEST: Options = Options {
    flags: &["-v", "-race", "-short", "-cover", "-failfast", "-json", "-benchmem"],
    values: &[
        "-bench",
        "-count",
        "-cpu",
        "-covermode",
        "-p",
        "-parallel",
        "-run",
        "-skip",
        "-shuffle",
        "-tags",
        "-timeout",
    ],
    attached: &[],
};

pub(super) const NPM_RUN: Options = Options { flags: &["-s", "--silent"], values: &[], attached: &[] };

pub(super) const PYTEST: Options = Options {
    flags: &[
        "-l",
        "-q",
        "-s",
        "-v",
        "-x",
        "--co",
        "--collect-only",
        "--exitfirst",
        "--no-header",
        "--no-summary",
        "--quiet",
        "--showlocals",
        "--strict-markers",
        "--verbose",
    ],
    values: &["-k", "-m", "-n", "-r", "--color", "--durations", "--maxfail", "--tb", "--timeout"],
    attached: &[],
};

impl Options {
    /// Judges the arguments of a program; `Safe` for `reason` if every option is listed and nothing leads out of the
    /// working directory.
    pub(super) fn judge(&self, arguments: &[String], reason: &str) -> Verdict {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let value = match self.read(argument) {
                Read::Operand(operand) => operand,
                Read::Flag => continue,
                Read::Valued(value) => value,
                Read::ValueFollows => match rest.next() {
                    // Programs differ in whether this is the value or the next option.
                    Some(value) if value.starts_with('-') => {
                        return verdict(Caution, format!("nobody can tell what {argument} {value} means"));
                    }
                    Some(value) => value,
                    None => return verdict(Caution, format!("{argument} lacks its value")),
                },
                Read::EndOfOptions => {
                    return match rest.find(|operand| leaves_directory(operand)) {
                        Some(path) => outside(path),
                        None => verdict(Safe, reason),
                    };
                }
                Read::Unlisted => {
                    return verdict(Caution, format!("nobody has judged the option {argument}"));
                }
            };
            if leaves_directory(value) {
                return outside(value);
            }
        }
        verdict(Safe, reason)
    }

    pub(super) fn read<'a>(&self, argument: &'a str) -> Read<'a> {
        if argument == "--" {
            return Read::EndOfOptions;
        }
        if !argument.starts_with('-') || argument == "-" {
            return Read::Operand(argument);
        }
        if self.flags.contains(&argument) || self.attached.contains(&argument) {
            return Read::Flag;
        }
        if self.values.contains(&argument) {
            return Read::ValueFollows;
        }
        if let Some((name, value)) = argument.split_once('=') {
            let is_listed = self.values.contains(&name) || self.attached.contains(&name);
            return if is_listed { Read::Valued(value) } else { Read::Unlisted };
        }
        let letters = argument.strip_prefix('-').unwrap_or(argument);
        if letters.starts_with('-') {
            return Read::Unlisted;
        }
        // `-vv` and `-rA`: letters written together, of which the last may have its value attached.
        for (at, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            if self.values.contains(&option.as_str()) {
                let value = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                return if value.is_empty() { Read::ValueFollows } else { Read::Valued(value) };
            }
            if !self.flags.contains(&option.as_str()) {
                return Read::Unlisted;
            }
        }
        Read::Flag
    }
}

/// An argument as a list of options reads it.
pub(super) enum Read<'a> {
    Operand(&'a str),
    Flag,
    Valued(&'a str),
    ValueFollows,
    EndOfOptions,
    Unlisted,
}

fn outside(path: &str) -> Verdict {
    verdict(Caution, format!("{path} lies outside the working directory"))
}

/// Returns whether a path may lead out of the working directory, also inside a longer text such as `name=/path`.
pub(super) fn leaves_directory(operand: &str) -> bool {
    let leaves =
        |path: &str| path.starts_with(['/', '~']) || path.split(['/', '\\']).any(|part| part == "..");
    operand.split(['=', ':', ',', '@']).any(leaves)
}
