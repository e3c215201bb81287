//! The programs that are listed, and how their arguments are judged.

use super::CommandClass;
use super::options::{
    CARGO_TEST, CAT, GIT_VIEW, GO_TEST, GREP, HENCE_CHECK, LIBTEST, LS, NPM_RUN, PYTEST, Read,
    leaves_directory,
};
use crate::shell::Simple;

use CommandClass::{Caution, Safe, Unknown, Unsafe};

pub(super) type Verdict = (CommandClass, String);

pub(super) fn verdict(class: CommandClass, reason: impl Into<String>) -> Verdict {
    (class, reason.into())
}

/// Programs that change files, processes or permissions, reach the network, or run other programs.
#[rustfmt::skip]
const UNSAFE: &[&str] = &[
    // Shells, and programs that run other programs.
    ".", "bash", "dash", "doas", "env", "eval", "exec", "fish", "ksh", "nohup", "setsid", "sh", "source", "su", "sudo",
    "timeout", "watch", "xargs", "zsh",
    // Files and permissions.
    "chgrp", "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "shred", "tee", "touch",
    "truncate", "unlink",
    // The network.
    "curl", "ftp", "nc", "rsync", "scp", "sftp", "socat", "ssh", "telnet", "wget",
    // The system: processes, disks, packages, containers.
    "apt", "apt-get", "brew", "crontab", "dnf", "docker", "kill", "killall", "kubectl", "mkfs", "mount", "pkill", "podman",
    "reboot", "shutdown", "systemctl", "umount", "yum",
];

/// Variables that only change how output looks or how much of it there is.
#[rustfmt::skip]
const PLAIN_VARIABLES: &[&str] = &[
    "CI", "COLUMNS", "FORCE_COLOR", "LANG", "LC_ALL", "NO_COLOR", "RUST_BACKTRACE", "RUST_LOG", "TERM", "TZ",
];

/// Prefixes of variables through which programs load or run other code.
#[rustfmt::skip]
const LOADING_VARIABLES: &[&str] = &[
    "BASH_", "CARGO", "DYLD_", "ENV", "GIT_", "GO", "LD_", "MAKEFLAGS", "NODE_", "NPM_", "PAGER", "PATH", "PERL",
    "PROMPT_COMMAND", "PYTEST_", "PYTHON", "RUBY", "RUSTC", "RUSTDOC", "RUSTFLAGS", "SHELL", "npm_",
];

/// Judges one program with its arguments and variables.
pub(super) fn judge(simple: &Simple) -> Verdict {
    let Some((program, arguments)) = simple.words.split_first() else {
        return verdict(Unknown, "no program");
    };
    let by_variables = simple.assignments.iter().map(|(name, value)| variable(name, value));
    let worst = by_variables.chain([by_program(program, arguments)]).max_by_key(|(class, _)| *class);
    worst.unwrap_or_else(|| verdict(Unknown, "no program"))
}

fn variable(name: &str, value: &str) -> Verdict {
    let plain_pager = matches!(name, "PAGER" | "GIT_PAGER") && matches!(value, "" | "cat");
    if PLAIN_VARIABLES.contains(&name) || plain_pager {
        verdict(Safe, "a variable for the output")
    } else if LOADING_VARIABLES.iter().any(|beginning| name.starts_with(beginning)) {
        verdict(Unsafe, format!("{name} can make the program run something else"))
    } else {
        verdict(Caution, format!("nobody has judged the variable {name}"))
    }
}

fn by_program(program: &str, arguments: &[String]) -> Verdict {
    let name = program.rsplit('/').next().unwrap_or(program);
    if UNSAFE.contains(&name) {
        return verdict(Unsafe, format!("{name} changes things or runs other programs"));
    }
    // Any program can be at a path that ends in a familiar name.
    if program.contains('/') {
        return verdict(Unknown, "a program by its path");
    }
    match name {
        "ls" => LS.judge(arguments, READS),
        "cat" => CAT.judge(arguments, READS),
        "grep" => grep(arguments),
        "git" => git(arguments),
        "hence" => hence(arguments),
        "cargo" => cargo(arguments),
        "go" => go(arguments),
        "npm" => npm(arguments),
        "make" => make(arguments),
        "pytest" => pytest(arguments),
        "python" | "python3" => python(arguments),
        "pip" | "pip3" => verdict(Unsafe, "pip changes the environment"),
        "perl" | "ruby" | "node" | "php" => {
            let inline = arguments.iter().any(|argument| is_inline_code(argument));
            if inline { verdict(Unsafe, "code on the command line") } else { verdict(Unknown, "a script") }
        }
        _ => verdict(Unknown, format!("nobody has judged {name}")),
    }
}

const READS: &str = "reads within the working directory";
const TESTS: &str = "runs the tests of the project";

/// `verify` and `replay` read a journal and execute nothing; any other command may write one.
fn hence(arguments: &[String]) -> Verdict {
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("verify" | "replay", rest)) => HENCE_CHECK.judge(rest, "checks the record of a run"),
        _ => verdict(Unknown, "nobody has judged this hence command"),
    }
}

fn is_inline_code(argument: &str) -> bool {
    let short =
        argument.starts_with('-') && !argument.starts_with("--") && argument.contains(['e', 'E', 'r', 'p']);
    short || argument.starts_with("--eval") || argument.starts_with("--print")
}

/// The first operand of grep is a pattern, which may look like a path.
fn grep(arguments: &[String]) -> Verdict {
    let is_pattern = |argument: &String| matches!(GREP.read(argument), Read::Operand(_));
    let mut rest = arguments.to_vec();
    // A value of an option that is written apart is no operand.
    let mut before = None;
    for (at, argument) in arguments.iter().enumerate() {
        let follows_option = before.is_some_and(|before| matches!(GREP.read(before), Read::ValueFollows));
        if is_pattern(argument) && !follows_option {
            rest.remove(at);
            break;
        }
        before = Some(argument.as_str());
    }
    GREP.judge(&rest, READS)
}

/// Returns whether a long option is `name`, also shortened: git completes what is unambiguous.
fn is_option(argument: &str, name: &str) -> bool {
    let given = argument.split('=').next().unwrap_or(argument);
    given.strip_prefix("--").is_some_and(|given| !given.is_empty() && name.starts_with(given))
}

fn git(arguments: &[String]) -> Verdict {
    let mut rest = arguments.iter();
    let mut elsewhere = false;
    let command = loop {
        match rest.next().map(String::as_str) {
            Some("--no-pager" | "-P" | "--no-optional-locks") => {}
            Some("-C") => elsewhere |= rest.next().is_some_and(|path| leaves_directory(path)),
            Some(option) if option.starts_with('-') => {
                return verdict(Unsafe, format!("git {option} can change what git runs"));
            }
            Some(command) => break command,
            None => return verdict(Unknown, "git without a command"),
        }
    };
    let arguments: Vec<String> = rest.cloned().collect();
    match command {
        "status" | "diff" | "log" => {
            let writes =
                |argument: &&String| is_option(argument, "output") || is_option(argument, "ext-diff");
            if let Some(option) = arguments.iter().find(writes) {
                return verdict(Unsafe, format!("git {command} {option} writes or runs something"));
            }
            // `-5` is a number of commits; `HEAD..main` is a range, not a path.
            let is_number = |argument: &String| {
                argument
                    .strip_prefix('-')
                    .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let plain: Vec<String> =
                arguments.iter().filter(|argument| !is_number(argument)).cloned().collect();
            let (class, reason) = GIT_VIEW.judge(&plain, READS);
            if elsewhere { verdict(class.max(Caution), "another repository") } else { (class, reason) }
        }
        "add" | "am" | "apply" | "bisect" | "checkout" | "cherry-pick" | "clean" | "clone" | "commit"
        | "config" | "fetch" | "filter-branch" | "gc" | "init" | "merge" | "mv" | "notes" | "pull"
        | "push" | "rebase" | "reset" | "restore" | "revert" | "rm" | "stash" | "submodule" | "switch"
        | "tag" | "update-ref" | "worktree" => {
            verdict(Unsafe, format!("git {command} changes the repository or reaches the network"))
        }
        other => verdict(Unknown, format!("nobody has judged git {other}")),
    }
}

fn cargo(arguments: &[String]) -> Verdict {
    // Whatever precedes the command chooses a toolchain, a configuration or a folder.
    let (before, rest) = arguments
        .split_at(arguments.iter().position(|argument| !argument.starts_with(['-', '+'])).unwrap_or(0));
    if rest.first().is_none_or(|command| command != "test" && command != "t") && !before.is_empty() {
        let tests = arguments.iter().any(|argument| argument == "test" || argument == "t");
        let class = if tests { Caution } else { Unknown };
        return verdict(class, "cargo with another configuration");
    }
    match rest.split_first().map(|(command, rest)| (command.as_str(), rest)) {
        Some(("test" | "t", _)) if !before.is_empty() => {
            verdict(Caution, "cargo test with another configuration")
        }
        Some(("test" | "t", rest)) => {
            let end = rest.iter().position(|argument| argument == "--").unwrap_or(rest.len());
            let (own, handed_on) = rest.split_at(end);
            let handed_on = handed_on.get(1..).unwrap_or_default();
            let verdicts = [CARGO_TEST.judge(own, TESTS), LIBTEST.judge(handed_on, TESTS)];
            verdicts.into_iter().max_by_key(|(class, _)| *class).unwrap_or_else(|| verdict(Safe, TESTS))
        }
        Some((
            "add" | "clean" | "fix" | "install" | "login" | "new" | "init" | "publish" | "remove"
            | "uninstall" | "update" | "yank" | "owner",
            _,
        )) => verdict(Unsafe, "changes the project or reaches the registry"),
        _ => verdict(Unknown, "nobody has judged this cargo command"),
    }
}

fn go(arguments: &[String]) -> Verdict {
    let runs = |argument: &&String| {
        let option = argument.trim_start_matches('-').split('=').next().unwrap_or("");
        argument.starts_with('-') && matches!(option, "exec" | "toolexec" | "o" | "c" | "overlay" | "vettool")
    };
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("test", rest)) => match rest.iter().find(runs) {
            Some(option) => verdict(Unsafe, format!("go test {option} runs or writes something else")),
            // A package by its name may be one that the trace wants to be downloaded.
            None => match rest.iter().find(|argument| is_package_name(argument)) {
                Some(name) => verdict(Caution, format!("{name} may be a package of somebody else")),
                None => GO_TEST.judge(rest, TESTS),
            },
        },
        Some(("get" | "install" | "generate" | "clean" | "mod" | "env" | "work", _)) => {
            verdict(Unsafe, "changes the project or the environment")
        }
        _ => verdict(Unknown, "nobody has judged this go command"),
    }
}

/// Returns whether an argument of `go test` may name a package elsewhere: its first part looks like that of an address.
fn is_package_name(argument: &str) -> bool {
    let first = argument.split('/').next().unwrap_or_default();
    !argument.starts_with(['-', '.']) && argument.contains('/') && first.contains('.')
}

fn npm(arguments: &[String]) -> Verdict {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let check = match words.as_slice() {
        ["test" | "t" | "tst", ..] => 1,
        ["run" | "run-script", "test" | "lint", ..] => 2,
        ["run" | "run-script", "build", ..] => {
            return verdict(Caution, "a build script of the project, which may do anything");
        }
        [
            "ci" | "exec" | "i" | "install" | "link" | "publish" | "rebuild" | "uninstall" | "update" | "x",
            ..,
        ] => return verdict(Unsafe, "npm changes what is installed or published"),
        _ => return verdict(Unknown, "nobody has judged this npm command"),
    };
    let rest = arguments.get(check..).unwrap_or_default();
    // npm reads every setting from its options, and hands operands on to a script that nobody has judged.
    match rest.iter().find(|argument| !NPM_RUN.flags.contains(&argument.as_str())) {
        Some(argument) => {
            verdict(Caution, format!("nobody has judged what {argument} does to npm or its script"))
        }
        None => verdict(Safe, "runs a check of the project"),
    }
}

fn make(arguments: &[String]) -> Verdict {
    let plain = |word: &&String| !word.starts_with('-') && !word.contains('=');
    let targets: Vec<&str> = arguments.iter().filter(plain).map(String::as_str).collect();
    let only_targets = arguments.len() == targets.len();
    match targets.as_slice() {
        ["test" | "check"] if only_targets => verdict(Caution, "runs recipes nobody has judged"),
        _ if targets.iter().any(|target| {
            matches!(*target, "clean" | "distclean" | "install" | "uninstall" | "deploy" | "publish")
        }) =>
        {
            verdict(Unsafe, "a recipe that changes things by its name")
        }
        _ => verdict(Unknown, "nobody has judged this recipe"),
    }
}

fn pytest(arguments: &[String]) -> Verdict {
    let writes = |argument: &&String| {
        ["--basetemp", "--junit", "--cov-report", "--result-log", "--report-log", "--html"]
            .iter()
            .any(|option| argument.starts_with(option))
    };
    if let Some(option) = arguments.iter().find(writes) {
        return verdict(Unsafe, format!("pytest {option} writes files"));
    }
    if let Some(file) = arguments.iter().find(|argument| argument.starts_with('@')) {
        return verdict(Caution, format!("{file} names a file with more options"));
    }
    PYTEST.judge(arguments, TESTS)
}

fn python(arguments: &[String]) -> Verdict {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["-m", "pytest", ..] => pytest(arguments.get(2..).unwrap_or(&[])),
        ["-m", "pip", ..] => verdict(Unsafe, "pip changes the environment"),
        _ if words.iter().any(|word| word.starts_with("-c")) => verdict(Unsafe, "code on the command line"),
        _ => verdict(Unknown, "a script"),
    }
}
