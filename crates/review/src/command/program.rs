//! Programs by name: tests, checks, packages, builds, deployments.
//!
//! One file, because it is one table of programs: whoever adds one sees in which order the others are tried.

use crate::shell::Word;

use super::builders::{builders, gradle, maven};
use super::code::{of_code, only_lists};
use super::files::FolderPath;
use super::formatters::formatter;
use super::services::packages_and_services;
use super::{Class, Deed, files, git, windows};

/// Programs that only prepare, show or filter something.
#[rustfmt::skip]
const NEUTRAL: &[&str] = &[
    ":", ".", "[", "[[", "alias", "basename", "cd", "clear", "column", "cut", "date", "declare", "dirname", "echo", "exit",
    "export", "expr", "false", "fold", "hostname", "local", "mkdir", "paste", "popd", "printenv", "printf", "pushd",
    "read", "readonly", "realpath", "return", "rev", "seq", "set", "shift", "shopt", "sleep", "sort", "source", "test", "tr",
    "trap", "true", "tput", "type", "ulimit", "umask", "uname", "uniq", "unset", "wait", "which", "whoami",
];

/// Test runners that do nothing else.
#[rustfmt::skip]
const TESTS: &[&str] = &[
    "ava", "bats", "behave", "behat", "busted", "codecept", "ctest", "cucumber", "gotestsum", "green", "jasmine", "jest",
    "karma", "kaocha", "mocha", "nose2", "nosetests", "nox", "pest", "phpspec", "phpunit", "prove", "py.test", "pytest", "robot", "rspec",
    "stestr", "tap", "testem", "tox", "unittest", "uvu", "vitest", "wtr", "xctest", "zunit", "trial", "ginkgo", "slather", "testcafe",
    "nightwatch", "jest-cli", "react-scripts-test",
];

/// Linters, and programs that check the form of files.
#[rustfmt::skip]
const LINT: &[&str] = &[
    "actionlint", "ansible-lint", "bandit", "buf-lint", "checkstyle", "clang-tidy", "clippy-driver", "cmakelint", "codespell", "commitlint",
    "cppcheck", "cpplint", "detekt", "djlint", "eslint", "eslint_d", "flake8", "golangci-lint", "golint", "hadolint",
    "hlint", "htmlhint", "jshint", "jslint", "ktlint", "lint-staged", "luacheck", "markdownlint", "markdownlint-cli2", "oxlint", "phpcs", "pre-commit",
    "pycodestyle", "pydocstyle", "pyflakes", "pylint", "revive", "rubocop", "selene", "semgrep", "shellcheck", "standard", "standardrb",
    "staticcheck", "stylelint", "swiftlint", "tflint", "tslint", "typos", "vale", "vulture", "xo", "yamllint", "gosec", "reek",
];

/// Type checkers.
#[rustfmt::skip]
const TYPES: &[&str] = &[
    "basedpyright", "dialyzer", "dmypy", "mypy", "phpstan", "psalm", "pyre", "pyright", "pytype", "svelte-check", "tsc", "tsd", "vue-tsc", "zuban",
];

/// Options with which a test runner runs no test.
#[rustfmt::skip]
const NO_TESTS: &[&str] = &[
    "--collect-only", "--co", "--fixtures", "--help", "--list", "--listTests", "--list-tests", "--markers", "--no-run",
    "--showConfig", "--version", "-V", "-h", "--init", "--setup-plan", "--dry-run", "-N", "--print-labels", "--clearCache",
];

/// Returns the name of a program without its folder, its version and its extension.
pub(super) fn name_of(program: &str) -> String {
    let base = program.rsplit(['/', '\\']).next().unwrap_or(program);
    // Windows does not tell letters apart by case.
    let lower = base.to_lowercase();
    let stem = [".exe", ".cmd", ".bat"].iter().find_map(|end| lower.strip_suffix(end));
    let base = stem.unwrap_or(base);
    let versioned = ["python", "pip", "pytest", "ruby", "perl", "php", "node"].iter().find(|name| {
        base.strip_prefix(**name).is_some_and(|rest| {
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
    });
    versioned.map_or_else(|| base.to_owned(), |name| (*name).to_owned())
}

/// Classifies a program with its arguments.
pub(super) fn classify(words: &[Word], folder: &FolderPath) -> Class {
    let Some((program, arguments)) = words.split_first() else { return Deed::Neutral.into() };
    let name = name_of(&program.text);
    if matches!(name.as_str(), "git" | "hub") {
        return git::classify(arguments, folder);
    }
    // Git calls its commands as programs of their own.
    if let Some(command) = name.strip_prefix("git-").filter(|command| GIT_COMMANDS.contains(command)) {
        let command = Word { text: command.to_owned(), ..Word::default() };
        let words: Vec<Word> = [command].into_iter().chain(arguments.iter().cloned()).collect();
        return git::classify(&words, folder);
    }
    if let Some(class) = other_history(&name, arguments) {
        return class;
    }
    // The name of a file program may also be a script of the project.
    let is_path =
        program.text.contains('/') && !program.text.starts_with('/') && !program.text.contains("/bin/");
    if !is_path {
        // `sls` is a search in PowerShell, and the short name of a program that deploys.
        let first = arguments.first().map_or("", |word| word.text.as_str());
        let is_serverless =
            name == "sls" && matches!(first, "deploy" | "remove" | "package" | "invoke" | "info");
        let known = if is_serverless { None } else { windows::classify(&name, arguments, folder) };
        if let Some(class) = known.or_else(|| files::classify(&name, arguments, folder)) {
            return class;
        }
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let class = Class::from(by_name(&name, &texts));
    // A copy that also removes what is only at its target.
    let removes = class.deed == Deed::Deploy && name == "aws" && texts.contains(&"--delete");
    Class { is_destructive: class.is_destructive || removes, ..class }
}

/// Commands of git that may be called as programs.
#[rustfmt::skip]
const GIT_COMMANDS: &[&str] = &[
    "push", "send-pack", "commit", "reset", "clean", "rebase", "merge", "checkout", "switch", "restore", "stash", "branch", "tag",
    "filter-branch", "filter-repo", "update-ref", "cherry-pick", "revert", "am", "gc", "prune", "reflog", "rm", "mv", "subtree", "apply",
    "pull", "worktree",
];

/// Classifies calls of a hosting service that overwrite a branch; `None` for any other.
fn hosted_push(name: &str, texts: &[&str]) -> Option<Class> {
    let whole = texts.join(" ").to_lowercase();
    let says_force = ["force=true", "\"force\":true", "\"force\": true", "force:=true"]
        .iter()
        .any(|word| whole.contains(word));
    let syncs = name == "gh" && texts.starts_with(&["repo", "sync"]) && texts.contains(&"--force");
    let overwrites = whole.contains("/git/refs") && says_force;
    // A file that is put or removed through the interface of a hosting service is a commit.
    let is_change = texts.windows(2).any(|pair| {
        matches!(pair, ["-X" | "--method" | "--request", method] if matches!(method.to_uppercase().as_str(), "PUT" | "DELETE" | "POST"))
    }) || texts.iter().any(|text| matches!(*text, "-XPUT" | "-XDELETE" | "-XPOST" | "--method=PUT" | "--request=PUT" | "PUT" | "DELETE"));
    let commits = is_change
        && whole.contains("repos/")
        && (whole.contains("/contents/")
            || whole.ends_with("/contents")
            || whole.contains("/merges")
            || whole.contains("/git/commits"));
    if commits {
        return Some(Deed::Commit.into());
    }
    let is_method = |text: &str| text.eq_ignore_ascii_case("delete");
    let removes = texts.windows(2).any(|pair| match pair {
        ["-X" | "--method" | "--request", method] => is_method(method),
        _ => false,
    }) || texts.iter().any(|text| {
        ["-X", "--method=", "--request="]
            .iter()
            .any(|option| text.strip_prefix(option).is_some_and(is_method))
            || matches!(name, "http" | "https") && is_method(text)
    });
    if removes && !overwrites {
        return Some(Deed::Destroy.into());
    }
    (syncs || overwrites).then(|| Class { force: true, is_destructive: true, ..Deed::Push.into() })
}

/// Classifies programs that keep history besides git.
fn other_history(name: &str, arguments: &[Word]) -> Option<Class> {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let has = |options: &[&str]| texts.iter().any(|text| options.contains(text));
    let command = texts.iter().find(|text| !text.starts_with('-')).copied().unwrap_or_default();
    if let "gh" | "glab" | "curl" | "http" | "https" | "wget" = name {
        return hosted_push(name, &texts);
    }
    let commits = match name {
        "hg" | "sl" | "svn" | "fossil" | "bzr" => matches!(command, "commit" | "ci" | "amend"),
        "jj" => matches!(command, "commit" | "ci" | "squash" | "absorb"),
        _ => return None,
    };
    let pushes = command == "push" || name == "jj" && texts.starts_with(&["git", "push"]);
    let force = has(&["-f", "--force", "--delete", "--deleted"]);
    Some(match () {
        () if has(&["--help", "-h", "--dry-run", "-n"]) => Deed::Other.into(),
        () if commits => Deed::Commit.into(),
        () if pushes => Class { force, is_destructive: force, ..Deed::Push.into() },
        () if matches!(command, "remove" | "rm" | "delete" | "del") => Deed::Delete.into(),
        () if command == "status" || command == "st" => Deed::Status.into(),
        () if command == "diff" => Deed::Diff.into(),
        () => Deed::Other.into(),
    })
}

fn by_name(name: &str, arguments: &[&str]) -> Deed {
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    let asks = has(&["--help", "--version"]) || arguments == ["-h"] || arguments == ["-V"];
    if asks && !NEUTRAL.contains(&name) {
        return Deed::Other;
    }
    let is_dry = has(&["--dry-run", "--dryrun", "--check-only"])
        || arguments
            .iter()
            .any(|argument| argument.starts_with("--dry-run=") && !argument.ends_with("=none"));
    let deed = match name {
        _ if NEUTRAL.contains(&name) => Deed::Neutral,
        _ if TESTS.contains(&name) && only_lists(name, arguments) => Deed::Other,
        _ if TESTS.contains(&name) => tests(arguments),
        _ if LINT.contains(&name) => Deed::Lint,
        _ if TYPES.contains(&name) => Deed::Types,
        _ => by_command(name, arguments),
    };
    let acts = matches!(deed, Deed::Deploy | Deed::Release | Deed::Install | Deed::Destroy);
    if acts && is_dry { Deed::Other } else { deed }
}

/// A test runner runs tests unless an option says otherwise.
pub(super) fn tests(arguments: &[&str]) -> Deed {
    let lists = arguments
        .iter()
        .take_while(|argument| **argument != "--")
        .any(|argument| NO_TESTS.contains(argument));
    // `cargo test -- --list` hands the option to the tests themselves.
    let after = arguments.iter().skip_while(|argument| **argument != "--");
    let hands_list =
        after.skip(1).any(|argument| matches!(*argument, "--list" | "--listTests" | "--collect-only"));
    if lists || hands_list { Deed::Other } else { Deed::Tests }
}

/// The arguments that are no options. Some programs take options with a value before their command.
fn operands_of<'a>(name: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    let with_value: &[&str] = match name {
        "kubectl" | "oc" | "k" | "helm" => {
            &["-n", "--namespace", "--context", "--kubeconfig", "--kube-context", "-f", "-l"]
        }
        "docker" | "podman" | "nerdctl" => &["--context", "-H", "--host", "-c", "--config", "-t", "-f"],
        "aws" => &["--profile", "--region", "--output", "--endpoint-url"],
        "gcloud" | "az" => {
            &["--project", "--account", "--region", "--zone", "--subscription", "-g", "--resource-group"]
        }
        "cargo" => &["--manifest-path", "--config", "-C", "-Z", "--target-dir", "--color"],
        "go" => &["-C"],
        "npx" | "gh" => &["-R", "--repo"],
        "pdm" | "hatch" | "rye" | "pixi" => &["-p", "--project", "-e", "--env", "--environment"],
        "mvn" | "mvnw" | "gradle" | "gradlew" => &["-f", "--file", "-p", "-pl", "-P", "--tests", "-b", "-s"],
        "dotnet" | "vercel" | "netlify" | "fly" | "flyctl" | "firebase" | "wrangler" => &[
            "-a",
            "--app",
            "-c",
            "--config",
            "--token",
            "-t",
            "--scope",
            "--project",
            "-P",
            "--env",
            "-e",
            "--filter",
            "-v",
        ],
        "xcodebuild" => &["-scheme", "-project", "-workspace", "-destination", "-configuration", "-sdk"],
        _ => &[],
    };
    let mut found = Vec::new();
    let mut rest = arguments.iter().copied();
    while let Some(argument) = rest.next() {
        if with_value.contains(&argument) {
            rest.next();
        } else if !argument.starts_with(['-', '+']) {
            found.push(argument);
        }
    }
    found
}

/// Programs whose first argument says what they do.
fn by_command(name: &str, arguments: &[&str]) -> Deed {
    let operands = operands_of(name, arguments);
    let command = operands.first().copied().unwrap_or("");
    let second = operands.get(1).copied().unwrap_or("");
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    match name {
        "python" | "pypy" | "pypy3" => python(arguments),
        // They run a task of the project, or any program.
        "hatch" | "pdm" | "rye" | "pixi" | "poe" if command == "run" || name == "poe" => {
            let rest = if name == "poe" { operands.as_slice() } else { operands.get(1..).unwrap_or(&[]) };
            match rest.split_first() {
                Some((task, arguments)) => match by_task(task) {
                    Deed::Other => by_name(&name_of(task), arguments),
                    deed => deed,
                },
                None => Deed::Other,
            }
        }
        "node" if has(&["--test"]) => Deed::Tests,
        "node" | "ruby" | "php" | "perl" | "bun" if has(&["-e", "--eval", "-r"]) => {
            of_code(&arguments.join(" "))
        }
        "node" | "ruby" | "php" | "perl" | "tsx" | "ts-node" => {
            of_script_file(command, operands.get(1..).unwrap_or(&[]))
        }
        "cargo" => cargo(command, second, arguments),
        "go" => go(command, arguments),
        "npm" | "yarn" | "pnpm" | "bun" | "cnpm" | "ni" | "nr" => node_packages(name, &operands, arguments),
        "deno" => match command {
            "test" => tests(arguments),
            "lint" => Deed::Lint,
            "check" => Deed::Types,
            "fmt" if has(&["--check"]) => Deed::Lint,
            "fmt" => Deed::Format,
            "task" => by_task(second),
            "install" | "add" => Deed::Install,
            "publish" => Deed::Release,
            _ => Deed::Other,
        },
        "make" | "gmake" | "just" | "task" | "rake" | "invoke" | "inv" | "ninja" | "mage" | "grunt"
        | "gulp" | "doit" | "nmake" => recipes(name, arguments),
        "cabal" | "stack" if command == "upload" => Deed::Release,
        "mvn" | "mvnw" => maven(&operands, arguments),
        "gradle" | "gradlew" => gradle(&operands, arguments),
        "sbt" | "lein" | "clj" | "clojure" | "mill" | "ant" | "bazel" | "bazelisk" | "buck" | "buck2"
        | "pants" | "stack" | "cabal" | "dune" | "zig" | "swift" | "flutter" | "dart" | "meson" | "gleam"
        | "rebar3" | "vapor" | "crystal" | "forge" | "hardhat" | "truffle" | "anchor" | "nx" | "turbo"
        | "lerna" | "rush" | "moon" | "ng" | "cypress" | "playwright" | "xcodebuild" | "composer"
        | "rails" | "bin/rails" | "artisan" | "symfony" | "hatch" | "nimble" | "shards" | "melos"
        | "earthly" | "dagger" | "ros2" | "colcon" | "scons" | "wp-scripts" => {
            builders(name, &operands, arguments)
        }
        "mix" => match command {
            "test" | "espec" => tests(arguments),
            "credo" => Deed::Lint,
            "dialyzer" => Deed::Types,
            "format" if has(&["--check-formatted"]) => Deed::Lint,
            "format" => Deed::Format,
            "deps.get" => Deed::Install,
            "compile" => Deed::Build,
            "hex.publish" => Deed::Release,
            command if drops_database(command) => Deed::Destroy,
            _ => Deed::Other,
        },
        "dotnet" => match (command, second) {
            ("test" | "vstest", _) => tests(arguments),
            ("format", _) if has(&["--verify-no-changes"]) => Deed::Lint,
            ("format", _) => Deed::Format,
            ("nuget", "push") => Deed::Release,
            ("add" | "restore" | "tool", _) => Deed::Install,
            ("build" | "publish" | "pack", _) => Deed::Build,
            _ => Deed::Other,
        },
        "ruff" | "black" | "isort" | "yapf" | "autopep8" | "prettier" | "rustfmt" | "gofmt" | "goimports"
        | "gofumpt" | "clang-format" | "dprint" | "biome" | "rome" | "taplo" | "nixfmt" | "stylua"
        | "shfmt" | "php-cs-fixer" | "pint" | "sqlfluff" | "swift-format" | "ormolu" | "fourmolu" | "buf"
        | "cmake-format" | "docformatter" | "black-primer" => formatter(name, command, arguments),
        "ty" | "srb" | "steep" | "flow" | "astro" | "pyrefly" => match command {
            "check" | "tc" | "typecheck" | "" => Deed::Types,
            _ => Deed::Other,
        },
        _ => packages_and_services(name, &operands, arguments),
    }
}

fn python(arguments: &[&str]) -> Deed {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        match *first {
            "-m" => {
                let Some((module, arguments)) = after.split_first() else { return Deed::Other };
                return match *module {
                    "pip" | "ensurepip" | "uv" | "poetry" | "pipenv" | "conda" => {
                        by_name(module.trim_start_matches("ensure"), arguments)
                    }
                    "coverage" => coverage(arguments),
                    "build" => Deed::Build,
                    "venv" | "json.tool" | "http.server" => Deed::Other,
                    "django" => managed(arguments),
                    "twine" | "flit" => packages_and_services(module, arguments, arguments),
                    "test" | "doctest" => Deed::Tests,
                    module => by_name(module, arguments),
                };
            }
            "-c" => return of_code(after.first().copied().unwrap_or("")),
            "-W" | "-X" => rest = after.get(1..).unwrap_or(&[]),
            option if option.starts_with('-') => rest = after,
            file => return of_script_file(file, after),
        }
    }
    Deed::Other
}

fn coverage(arguments: &[&str]) -> Deed {
    match arguments {
        ["run", rest @ ..] => python(rest),
        _ => Deed::Other,
    }
}

/// A script of the project, by its name: `manage.py test`, `scripts/run_tests.sh`.
fn of_script_file(file: &str, arguments: &[&str]) -> Deed {
    match name_of(file).as_str() {
        "manage.py" => managed(arguments),
        "setup.py" => match arguments.first() {
            Some(&"test") => Deed::Tests,
            Some(&("install" | "develop")) => Deed::Install,
            _ if arguments.contains(&"upload") => Deed::Release,
            Some(&("build" | "sdist" | "bdist_wheel")) => Deed::Build,
            _ => Deed::Other,
        },
        "runtests.py" => Deed::Tests,
        "artisan" => builders("artisan", arguments, arguments),
        name if file.ends_with(".phar")
            || file.contains("vendor/bin/")
            || file.contains("node_modules/.bin/") =>
        {
            by_name(name.trim_end_matches(".phar"), arguments)
        }
        name => by_script_name(name),
    }
}

fn managed(arguments: &[&str]) -> Deed {
    match arguments.first() {
        Some(&"test") => Deed::Tests,
        Some(&("makemigrations" | "startapp")) => Deed::Format,
        Some(&"flush") => Deed::Destroy,
        _ => Deed::Other,
    }
}

/// A script whose whole name says that it tests, lints or deploys.
pub(super) fn by_script_name(name: &str) -> Deed {
    let (stem, is_script) = match name.rsplit_once('.') {
        Some((stem, "sh" | "bash" | "py" | "js" | "mjs" | "ts" | "rb" | "ps1")) => (stem, true),
        Some(_) => return Deed::Other,
        None => (name, false),
    };
    match stem.to_lowercase().replace('-', "_").as_str() {
        "test" | "tests" if !is_script && name == "test" => Deed::Neutral,
        "test" | "tests" | "run_tests" | "run_test" | "runtests" | "test_all" | "run_all_tests"
        | "ci_test" => Deed::Tests,
        "lint" | "run_lint" | "run_linter" => Deed::Lint,
        "typecheck" | "type_check" => Deed::Types,
        "deploy" => Deed::Deploy,
        "release" | "publish" => Deed::Release,
        "build" => Deed::Build,
        _ => Deed::Other,
    }
}

fn cargo(command: &str, second: &str, arguments: &[&str]) -> Deed {
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    match command {
        "test" | "t" | "llvm-cov" | "tarpaulin" | "mutants" | "hack-test" | "careful" => tests(arguments),
        "insta" if second == "test" => tests(arguments),
        "nextest" if matches!(second, "run" | "r") => tests(arguments),
        "clippy" | "deny" | "audit" | "machete" | "udeps" => Deed::Lint,
        "check" | "c" => Deed::Types,
        "fmt" if has(&["--check", "-c"]) => Deed::Lint,
        "fmt" | "fix" => Deed::Format,
        "add" | "install" | "update" | "remove" | "rm" | "upgrade" | "fetch" | "binstall" => Deed::Install,
        "build" | "b" | "doc" | "rustc" => Deed::Build,
        "publish" => Deed::Release,
        "release" if has(&["--execute", "-x"]) => Deed::Release,
        // Without a dry run it commits, tags and pushes.
        "workspaces" if second == "version" => Deed::Commit,
        "yank" => Deed::Destroy,
        // `cargo hack test`, `cargo +nightly miri test` and others run another command of cargo.
        "hack" | "miri" | "xtask" | "make" | "all-features" | "zigbuild" => by_task(second),
        _ => Deed::Other,
    }
}

fn go(command: &str, arguments: &[&str]) -> Deed {
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    match command {
        "test" if has(&["-c", "-list", "--list"]) => Deed::Other,
        "test" => tests(arguments),
        "vet" => Deed::Lint,
        "fmt" => Deed::Format,
        "get" | "install" => Deed::Install,
        "mod" => Deed::Install,
        "generate" | "fix" => Deed::Format,
        "build" => Deed::Build,
        _ => Deed::Other,
    }
}

fn node_packages(name: &str, operands: &[&str], arguments: &[&str]) -> Deed {
    // The workspace or folder may come first: `pnpm --filter web test`, `yarn workspace web test`.
    let with_value = ["--filter", "-F", "-w", "--workspace", "--prefix", "-C", "--dir", "--cwd"];
    let mut plain: Vec<&str> = Vec::new();
    let mut rest = arguments.iter().copied();
    while let Some(argument) = rest.next() {
        if with_value.contains(&argument) {
            rest.next();
        } else if argument == "--" {
            break;
        } else if !argument.starts_with('-') {
            plain.push(argument);
        }
    }
    let plain = match plain.as_slice() {
        ["workspace", _, rest @ ..] | ["workspaces", "foreach", rest @ ..] => rest,
        rest => rest,
    };
    match plain {
        [] if name == "yarn" || name == "ni" => Deed::Install,
        [] => Deed::Other,
        ["run" | "run-script" | "rum" | "urn", script, ..] => by_task(script),
        ["run" | "run-script"] => Deed::Other,
        [script, ..] if name == "nr" => by_task(script),
        ["test" | "t" | "tst" | "it" | "cit" | "install-test", ..] => tests(operands),
        [
            "install" | "i" | "ci" | "add" | "up" | "update" | "upgrade" | "remove" | "uninstall" | "rm"
            | "link" | "dedupe",
            ..,
        ] => Deed::Install,
        ["publish", ..] | ["npm", "publish", ..] => Deed::Release,
        ["unpublish" | "deprecate", ..] => Deed::Destroy,
        // It commits and tags, unless it only shows or is told not to.
        ["version", _, ..]
            if !arguments
                .iter()
                .any(|text| matches!(*text, "--no-git-tag-version" | "--git-tag-version=false")) =>
        {
            Deed::Commit
        }
        [
            "audit" | "outdated" | "ls" | "list" | "view" | "info" | "why" | "config" | "version" | "init"
            | "create" | "login" | "whoami",
            ..,
        ] => Deed::Other,
        ["build", ..] => Deed::Build,
        [script, ..] if name == "npm" => by_task(script),
        // yarn, pnpm and bun also run scripts and programs by their plain names.
        [script, rest @ ..] => match by_task(script) {
            Deed::Other => by_name(script, rest),
            deed => deed,
        },
    }
}

/// A task that a project defines, by its name: `test:unit`, `lint`, `type-check`.
pub(super) fn by_task(task: &str) -> Deed {
    let first = task
        .split([':', '/'])
        .next()
        .unwrap_or(task)
        .trim_start_matches('@')
        .to_lowercase()
        .replace('_', "-");
    let last = task.rsplit([':', '/']).next().unwrap_or(task).to_lowercase().replace('_', "-");
    let is = |words: &[&str]| words.contains(&first.as_str()) || words.contains(&last.as_str());
    if is(&[
        "test",
        "tests",
        "unit",
        "e2e",
        "spec",
        "specs",
        "jest",
        "vitest",
        "pytest",
        "unit-test",
        "unit-tests",
        "integration-test",
        "integration-tests",
        "coverage",
        "test-all",
        "test-unit",
        "test-ci",
        "nextest",
    ]) || first.starts_with("test-")
    {
        Deed::Tests
    } else if is(&[
        "lint",
        "eslint",
        "ruff",
        "clippy",
        "format-check",
        "fmt-check",
        "check-format",
        "lint-check",
        "stylelint",
    ]) || first.starts_with("lint-")
    {
        Deed::Lint
    } else if is(&[
        "typecheck",
        "type-check",
        "types",
        "check-types",
        "tsc",
        "mypy",
        "ts",
        "pyright",
        "types-check",
    ]) {
        Deed::Types
    } else if is(&["format", "fmt", "prettier", "fix"]) {
        Deed::Format
    } else if is(&["build", "compile", "bundle"]) {
        Deed::Build
    } else if is(&["deploy"]) || first.starts_with("deploy-") {
        Deed::Deploy
    } else if is(&["destroy", "undeploy", "teardown", "nuke", "wipe", "drop-db", "db-drop", "drop"]) {
        Deed::Destroy
    } else if is(&["release", "publish"]) {
        Deed::Release
    } else if is(&["install", "setup", "bootstrap"]) {
        Deed::Install
    } else {
        Deed::Other
    }
}

/// Returns whether a task of a framework removes a database: `db:drop`, `migrate:fresh`.
pub(super) fn drops_database(task: &str) -> bool {
    matches!(
        task,
        "db:drop"
            | "db:drop:all"
            | "db:reset"
            | "db:purge"
            | "db:truncate_all"
            | "db:migrate:reset"
            | "db:wipe"
            | "db:drop:_unsafe"
            | "migrate:fresh"
            | "migrate:reset"
            | "migrate:refresh"
            | "schema:drop"
            | "doctrine:database:drop"
            | "doctrine:schema:drop"
            | "ecto.drop"
            | "ecto.reset"
    )
}

/// The recipes of a `make`, of which the most telling counts.
fn recipes(name: &str, arguments: &[&str]) -> Deed {
    let with_value: &[&str] = &[
        "-C",
        "-f",
        "-j",
        "-I",
        "-o",
        "-W",
        "--directory",
        "--file",
        "--makefile",
        "--justfile",
        "-t",
        "-d",
    ];
    if arguments.iter().any(|argument| {
        matches!(
            *argument,
            "-n" | "--dry-run" | "--just-print" | "--recon" | "--list" | "-l" | "-T" | "--tasks"
        )
    }) {
        return Deed::Other;
    }
    let mut targets = Vec::new();
    let mut rest = arguments.iter().copied().peekable();
    while let Some(argument) = rest.next() {
        // `make -j 4 test`: only a number is the value of -j.
        let takes = with_value.contains(&argument)
            && (argument != "-j"
                || rest.peek().is_some_and(|next| next.bytes().all(|byte| byte.is_ascii_digit())));
        if takes {
            rest.next();
        } else if !argument.starts_with('-') && !argument.contains('=') {
            targets.push(argument);
        }
    }
    let is_make = matches!(name, "make" | "gmake" | "ninja" | "just" | "nmake" | "mage");
    let deed = |target: &&str| match *target {
        "check" if is_make => Deed::Tests,
        "spec" | "default" if name == "rake" => Deed::Tests,
        "clean" | "distclean" | "mrproper" => Deed::Other,
        target if drops_database(target) => Deed::Destroy,
        target => by_task(target),
    };
    let found = targets.iter().map(deed).find(|deed| *deed != Deed::Other);
    found.unwrap_or(if targets.is_empty() && is_make && name != "just" { Deed::Build } else { Deed::Other })
}
