//! Programs that only run another program.

use crate::shell::Word;

use super::program::name_of;

/// The command that a wrapper runs in the end.
pub(super) enum Unwrapped<'a> {
    /// A program with its arguments.
    Program(&'a [Word]),
    /// A script in its arguments.
    Script(String),
    /// A script in its arguments, and the arguments of the script: the first is its name.
    ScriptWith(String, &'a [Word]),
    /// A program that also gets operands nobody wrote down, as with `xargs`.
    MoreOperands(&'a [Word]),
}

/// Removes the programs that only run another one.
pub(super) fn unwrap(mut words: &[Word]) -> Unwrapped<'_> {
    let mut more = false;
    // Each round removes at least one word.
    while let Some((first, rest)) = words.split_first() {
        let name = name_of(&first.text);
        let next = match name.as_str() {
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish" => match script_of_shell(rest) {
                Shell::Script(script, arguments) => {
                    return Unwrapped::ScriptWith(script.text.clone(), arguments);
                }
                Shell::File(file) => Some(file),
                Shell::Input => None,
            },
            // Windows: the rest of the line is the script.
            "cmd" => match rest_after(rest, &["/c", "/k"]) {
                Some(script) => return Unwrapped::Script(windows_script(script)),
                None => None,
            },
            "powershell" | "pwsh" => match rest_after(rest, &["-c", "-command", "/c", "/command"]) {
                Some(script) => return Unwrapped::Script(windows_script(script)),
                // Without an option for it, the rest is a script, too.
                None => match powershell_words(rest) {
                    Some(script) => return Unwrapped::Script(windows_script(script)),
                    None => None,
                },
            },
            "git" | "hub" => match run_by_git(rest) {
                Some(script) => return Unwrapped::Script(script),
                None => None,
            },
            "npx" | "pnpx" if after_option(rest, &["-c", "--call"]).is_some() => {
                let script = after_option(rest, &["-c", "--call"]).map(|word| word.text.clone());
                return Unwrapped::Script(script.unwrap_or_default());
            }
            "npm" | "pnpm"
                if rest.first().is_some_and(|word| matches!(word.text.as_str(), "exec" | "x"))
                    && after_option(rest, &["-c", "--call"]).is_some() =>
            {
                let script = after_option(rest, &["-c", "--call"]).map(|word| word.text.clone());
                return Unwrapped::Script(script.unwrap_or_default());
            }
            "vagrant" | "gcloud" | "minikube" | "kitchen" if rest.iter().any(|word| word.text == "ssh") => {
                match remote_script(rest) {
                    Some(script) => return Unwrapped::Script(script),
                    None => None,
                }
            }
            "eval" | "iex" | "Invoke-Expression" if !rest.is_empty() => {
                return Unwrapped::Script(joined(rest));
            }
            "env" if after_option(rest, &["-S", "--split-string"]).is_some() => {
                let script = after_option(rest, &["-S", "--split-string"]).map(|word| word.text.clone());
                return Unwrapped::Script(script.unwrap_or_default());
            }
            "runuser" if after_option(rest, &["-u", "--user"]).is_some() => {
                Some(operands(rest, &["-u", "--user", "-g", "--group", "-G", "--supp-group", "-w"]))
            }
            // The first operand is the group.
            "sg" if script_option(rest).is_none() => match operands(rest, &[]).get(1..) {
                Some(script) if !script.is_empty() => return Unwrapped::Script(joined(script)),
                _ => None,
            },
            "su" | "sg" | "runuser" | "script" | "nix-shell" => match script_option(rest) {
                Some(script) => return Unwrapped::Script(script.text.clone()),
                None => None,
            },
            // They hand the words to a shell, on this machine or another one.
            "ssh" | "watch" | "hyperfine" => match shell_words(&name, rest) {
                Some(words) => return Unwrapped::Script(joined(words)),
                None => None,
            },
            // They run the words, or type them, in a terminal of their own.
            "tmux" => match typed(rest) {
                Some(script) => return Unwrapped::Script(script),
                None => None,
            },
            "flock" => {
                let rest = operands(rest, &["-w", "-E", "--timeout", "--wait"]).get(1..).unwrap_or(&[]);
                match script_option(rest) {
                    Some(script) => return Unwrapped::Script(script.text.clone()),
                    None => Some(operands(rest, &[])),
                }
            }
            "xargs" | "parallel" => {
                more = true;
                Some(operands(
                    rest,
                    &["-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E", "-j", "--max-args", "--max-procs"],
                ))
            }
            _ => plain_wrapper(&name, rest),
        };
        match next {
            Some(next) if !next.is_empty() && next.len() < words.len() => words = next,
            _ => break,
        }
    }
    if more { Unwrapped::MoreOperands(words) } else { Unwrapped::Program(words) }
}

/// Returns what follows a program that runs the rest of its arguments.
fn plain_wrapper<'a>(name: &str, rest: &'a [Word]) -> Option<&'a [Word]> {
    let first = rest.first().map_or("", |word| word.text.as_str());
    Some(match name {
        "sudo" | "doas" => operands(rest, &["-u", "-g", "-h", "-p", "-C", "-T", "-U", "--user", "--group"]),
        "env" => without_assignments(operands(rest, &["-u", "-C", "-S", "--unset", "--chdir"])),
        "time" | "nohup" | "command" | "exec" | "builtin" | "setsid" | "unbuffer" | "caffeinate"
        | "noglob" | "coproc" | "then" | "do" | "busybox" | "toybox" | "torsocks" | "proxychains"
        | "proxychains4" | "catchsegv" | "dbus-run-session" | "firejail" => {
            operands(rest, &["-f", "-o", "-a"])
        }
        "fakeroot" | "eatmydata" | "linux32" | "linux64" | "setarch" | "proot" | "trickle" => {
            operands(rest, &["-l", "-i", "-s", "-d", "-u"])
        }
        "unshare" | "nsenter" | "setpriv" | "prlimit" | "numactl" => operands(
            rest,
            &[
                "-S", "-G", "-R", "-w", "-t", "-T", "--wd", "--root", "--target", "--reuid", "--regid",
                "--setuid", "--setgid",
            ],
        ),
        "chrt" => operands(rest, &["-T", "-P", "-D"]).get(1..)?,
        "lxc" | "incus" | "multipass" | "limactl" | "distrobox" | "toolbox"
            if matches!(first, "exec" | "shell" | "enter" | "run") =>
        {
            let rest = rest.get(1..)?;
            let apart = rest.iter().position(|word| word.text == "--");
            match apart {
                Some(apart) => rest.get(apart + 1..)?,
                None => operands(rest, &["--cwd", "--user", "--env"]).get(1..)?,
            }
        }
        "strace" | "ltrace" | "valgrind" => operands(rest, &["-o", "-e", "-p", "-s"]),
        "perf" if matches!(first, "stat" | "record") => operands(rest.get(1..)?, &["-e", "-o", "-r"]),
        "taskset" | "chroot" | "gosu" | "su-exec" | "cgexec" => {
            operands(rest, &["-g", "--userspec", "--groups"]).get(1..)?
        }
        "systemd-run" => operands(rest, &["-p", "--property", "-u", "--unit", "-E", "--setenv"]),
        "devbox" if first == "run" => operands(rest.get(1..)?, &["-c", "--config"]),
        "nix" if matches!(first, "develop" | "shell") => {
            let place = rest.iter().position(|word| matches!(word.text.as_str(), "-c" | "--command"))?;
            rest.get(place + 1..)?
        }
        "screen"
            if rest
                .iter()
                .any(|word| matches!(word.text.as_str(), "-dm" | "-Dm" | "-dmS" | "-d" | "-D" | "-m")) =>
        {
            let rest = operands(rest, &["-S", "-dmS", "-c", "-s", "-T", "-t", "-p", "-h"]);
            if rest.first().is_some_and(|word| word.text == "-X") { return None } else { rest }
        }
        "dtach" | "abduco" => operands(rest, &["-n", "-A", "-c", "-N", "-e"]),
        "nice" | "ionice" => operands(rest, &["-n", "-c", "-p"]),
        "stdbuf" => operands(rest, &["-i", "-o", "-e"]),
        "timeout" | "gtimeout" => operands(rest, &["-k", "-s", "--kill-after", "--signal"]).get(1..)?,
        "xvfb-run" | "dotenv" | "dotenvx" | "chronic" | "faketime" | "rtk" => {
            operands(rest, &["-s", "-f", "-e"])
        }
        "npx" | "bunx" | "pnpx" | "uvx" | "pipx" if !matches!(first, "install" | "upgrade") => {
            let rest = if name == "pipx" && first == "run" { rest.get(1..)? } else { rest };
            match after_option(rest, &["-c", "--call"]) {
                Some(_) => return None,
                None => operands(rest, &["-p", "--package", "--from", "--with", "--python"]),
            }
        }
        "npm" | "pnpm" | "yarn" | "bun" if matches!(first, "exec" | "x" | "dlx") => {
            operands(rest.get(1..)?, &["--package", "-p"])
        }
        "uv" | "poetry" | "pipenv" | "op" | "doppler" | "infisical" | "conda" | "mamba" | "micromamba"
            if first == "run" =>
        {
            operands(
                rest.get(1..)?,
                &[
                    "--with",
                    "--extra",
                    "--group",
                    "--python",
                    "-p",
                    "--env-file",
                    "--package",
                    "--project",
                    "--directory",
                    "-n",
                    "--name",
                    "-e",
                    "--env",
                ],
            )
        }
        "bundle" | "mise" | "rtx" | "asdf" | "opam" | "pyenv" | "rbenv" | "nodenv"
            if matches!(first, "exec" | "x") =>
        {
            let rest = operands(rest.get(1..)?, &[]);
            let apart = rest.iter().position(|word| word.text == "--");
            apart.map_or(rest, |apart| rest.get(apart + 1..).unwrap_or(&[]))
        }
        "direnv" if first == "exec" => rest.get(2..)?,
        "coverage" if first == "run" => {
            let rest = rest.get(1..)?;
            // `coverage run -m pytest` runs a module.
            match rest.iter().position(|word| word.text == "-m") {
                Some(place) => rest.get(place + 1..)?,
                None => operands(rest, &["--source", "--omit", "--include", "--rcfile"]),
            }
        }
        "docker" | "podman" | "nerdctl" | "docker-compose" | "kubectl" => in_container(name, rest)?,
        _ => return None,
    })
}

/// Returns the command run inside of a container.
fn in_container<'a>(name: &str, rest: &'a [Word]) -> Option<&'a [Word]> {
    let options = &[
        "-e",
        "--env",
        "-u",
        "--user",
        "-w",
        "--workdir",
        "-v",
        "--volume",
        "--name",
        "--network",
        "-p",
        "--publish",
        "--entrypoint",
        "-f",
        "--file",
        "--env-file",
        "--mount",
        "--platform",
        "-n",
        "--namespace",
        "-c",
        "--container",
        "--profile",
        "--project-name",
        "-m",
        "--memory",
        "--cpus",
        "--index",
    ];
    let rest = operands(rest, options);
    let (first, rest) = rest.split_first()?;
    match (name, first.text.as_str()) {
        ("docker" | "podman" | "nerdctl", "compose") => in_container("docker-compose", rest),
        (_, "exec") | ("docker" | "podman" | "nerdctl" | "docker-compose", "run") => {
            let rest = operands(rest, options).get(1..)?;
            Some(if rest.first().is_some_and(|word| word.text == "--") { rest.get(1..)? } else { rest })
        }
        _ => None,
    }
}

enum Shell<'a> {
    Script(&'a Word, &'a [Word]),
    /// A file of commands, with its arguments.
    File(&'a [Word]),
    Input,
}

fn script_of_shell(rest: &[Word]) -> Shell<'_> {
    for (index, word) in rest.iter().enumerate() {
        match word.text.as_str() {
            "-o" | "-O" | "+o" | "--rcfile" | "--init-file" => {}
            option if option.starts_with("--") => {}
            option if option.starts_with('-') && option.contains('c') => {
                // `-o pipefail` may come between the option and its script.
                let script = rest.get(index + 1..).unwrap_or(&[]);
                let skipped = match script.first() {
                    Some(next) if next.text.starts_with('-') => 2,
                    _ => 0,
                };
                let split = script.get(skipped..).and_then(<[Word]>::split_first);
                return split.map_or(Shell::Input, |(script, arguments)| Shell::Script(script, arguments));
            }
            option if option.starts_with('-') => {}
            _ if index > 0
                && matches!(rest.get(index - 1).map(|word| word.text.as_str()), Some("-o" | "-O" | "+o")) => {
            }
            _ => return Shell::File(rest.get(index..).unwrap_or(&[])),
        }
    }
    Shell::Input
}

/// Returns the words of a script that PowerShell is given without an option for it; a file of commands is none.
fn powershell_words(rest: &[Word]) -> Option<&[Word]> {
    let with_value =
        ["-executionpolicy", "-ep", "-ex", "-version", "-windowstyle", "-w", "-inputformat", "-outputformat"];
    let mut words = rest;
    while let Some((first, after)) = words.split_first() {
        let lower = first.text.to_lowercase();
        match lower.as_str() {
            "-file" | "-f" | "-encodedcommand" | "-enc" | "-e" => return None,
            option if with_value.contains(&option) => words = after.get(1..).unwrap_or(&[]),
            option if option.starts_with('-') => words = after,
            file if file.ends_with(".ps1") => return None,
            _ => return Some(words),
        }
    }
    None
}

/// Returns the script that a command of git runs instead of something of its own: `git submodule foreach …`, `git bisect run …`.
fn run_by_git(rest: &[Word]) -> Option<String> {
    let rest = operands(rest, &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"]);
    let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    let rest = match texts.as_slice() {
        ["submodule", ..] => {
            let place = texts.iter().position(|text| *text == "foreach")?;
            operands(rest.get(place + 1..)?, &[])
        }
        ["bisect", "run", ..] => rest.get(2..)?,
        _ => return None,
    };
    Some(joined(rest)).filter(|script| !script.trim().is_empty())
}

/// Returns the script that is run on another machine: `-c '…'`, `--command='…'`, or the words after `--`.
fn remote_script(rest: &[Word]) -> Option<String> {
    let given = rest.iter().find_map(|word| word.text.strip_prefix("--command="));
    let after = || after_option(rest, &["-c", "--command"]).map(|word| word.text.as_str());
    let apart = || {
        let place = rest.iter().position(|word| word.text == "--")?;
        Some(joined(rest.get(place + 1..)?))
    };
    given.or_else(after).map(str::to_owned).or_else(apart).filter(|script| !script.trim().is_empty())
}

/// Returns the words after one of some options, written in any case.
fn rest_after<'a>(words: &'a [Word], options: &[&str]) -> Option<&'a [Word]> {
    let place = words.iter().position(|word| options.contains(&word.text.to_lowercase().as_str()))?;
    words.get(place + 1..).filter(|rest| !rest.is_empty())
}

/// Returns the script after `-c`, which may stand in a group of letters, as in `-qc`.
fn script_option(words: &[Word]) -> Option<&Word> {
    let is_option = |word: &Word| {
        let text = word.text.as_str();
        let short = text.strip_prefix('-').filter(|flags| !flags.starts_with('-') && flags.len() <= 4);
        matches!(text, "--command" | "--run") || short.is_some_and(|flags| flags.ends_with('c'))
    };
    words.get(words.iter().position(is_option)? + 1)
}

/// Returns the words that a program hands to a shell.
fn shell_words<'a>(name: &str, rest: &'a [Word]) -> Option<&'a [Word]> {
    #[rustfmt::skip]
    let words = match name {
        // The first operand is the machine.
        "ssh" => operands(
            rest,
            &["-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-R", "-S", "-W", "-w"],
        )
        .get(1..)?,
        "watch" => operands(rest, &["-n", "--interval", "-q"]),
        _ => operands(rest, &["-w", "--warmup", "-r", "--runs", "-m", "-M", "-p", "--prepare", "-n"]),
    };
    Some(words).filter(|words| !words.is_empty())
}

/// Returns the script that tmux types into a terminal or runs in a new one.
fn typed(rest: &[Word]) -> Option<String> {
    let rest = operands(rest, &["-L", "-S", "-f"]);
    let (command, rest) = rest.split_first()?;
    let words = match command.text.as_str() {
        "send-keys" | "send" => operands(rest, &["-t", "-N"]),
        "new-session" | "new" | "new-window" | "neww" | "split-window" | "splitw" | "respawn-pane"
        | "respawnp" | "run-shell" | "run" | "popup" | "display-popup" => {
            operands(rest, &["-t", "-s", "-n", "-c", "-e", "-x", "-y", "-F", "-l", "-p", "-w", "-h"])
        }
        _ => return None,
    };
    let is_key = |text: &str| matches!(text, "Enter" | "C-m" | "KPEnter" | "C-c" | "C-l" | "Escape" | "q");
    let texts = words.iter().map(|word| if is_key(&word.text) { "\n" } else { word.text.as_str() });
    let script = texts.collect::<Vec<_>>().join(" ");
    (!script.trim().is_empty()).then_some(script)
}

fn joined(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    texts.join(" ")
}

/// Returns a script of Windows as a shell can read it: paths with `/`, and no `&` that only calls a program.
fn windows_script(words: &[Word]) -> String {
    joined(words).replace('\\', "/").trim_start_matches(['&', ' ']).to_owned()
}

/// Returns the word after one of some options.
fn after_option<'a>(words: &'a [Word], options: &[&str]) -> Option<&'a Word> {
    let place = words.iter().position(|word| options.contains(&word.text.as_str()))?;
    words.get(place + 1)
}

/// Passes over the options at the beginning; those in `with_value` take the next word.
fn operands<'a>(mut words: &'a [Word], with_value: &[&str]) -> &'a [Word] {
    while let Some((first, rest)) = words.split_first() {
        let text = first.text.as_str();
        if text == "--" {
            return rest;
        }
        if !text.starts_with('-') || text == "-" {
            return words;
        }
        words = if with_value.contains(&text) { rest.get(1..).unwrap_or(&[]) } else { rest };
    }
    words
}

fn without_assignments(words: &[Word]) -> &[Word] {
    let place = words.iter().position(|word| word.equals.is_none_or(|equals| equals == 0));
    place.and_then(|place| words.get(place..)).unwrap_or(&[])
}
