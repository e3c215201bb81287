//! Tools that build a project from tasks: Maven, Gradle and others.

use super::Deed;
use super::program::{by_task, drops_database, tests};

pub(super) fn maven(operands: &[&str], arguments: &[&str]) -> Deed {
    let skips = arguments.iter().any(|argument| {
        matches!(
            *argument,
            "-DskipTests"
                | "-DskipTests=true"
                | "-Dmaven.test.skip"
                | "-Dmaven.test.skip=true"
                | "-Dmaven.test.failure.ignore"
                | "-Dmaven.test.failure.ignore=true"
                | "-fn"
                | "--fail-never"
        )
    });
    let has = |goals: &[&str]| operands.iter().any(|goal| goals.contains(goal));
    if has(&["deploy", "release:perform", "release:prepare"]) {
        Deed::Release
    } else if has(&["test", "verify", "integration-test", "surefire:test", "failsafe:verify"]) && !skips {
        Deed::Tests
    } else if operands.iter().any(|goal| {
        goal.starts_with("checkstyle:")
            || goal.starts_with("spotbugs:")
            || goal.starts_with("pmd:")
            || *goal == "spotless:check"
    }) {
        Deed::Lint
    } else if has(&["compile", "package", "install", "test", "verify", "test-compile"]) {
        Deed::Build
    } else {
        Deed::Other
    }
}

pub(super) fn gradle(operands: &[&str], arguments: &[&str]) -> Deed {
    if arguments.iter().any(|argument| matches!(*argument, "--dry-run" | "-m")) {
        return Deed::Other;
    }
    let task = |operand: &&str| {
        let task = operand.rsplit(':').next().unwrap_or(operand).to_lowercase();
        match task.as_str() {
            "check" => Deed::Tests,
            task if task == "test" || task.ends_with("test") || task.ends_with("tests") => Deed::Tests,
            task if task.contains("lint")
                || task.starts_with("detekt")
                || task.starts_with("checkstyle")
                || task == "spotlesscheck" =>
            {
                Deed::Lint
            }
            task if task.starts_with("publish") => Deed::Release,
            task if task.starts_with("assemble")
                || task.starts_with("compile")
                || task == "build"
                || task == "jar" =>
            {
                Deed::Build
            }
            task => by_task(task),
        }
    };
    // `-x test` leaves a task out, whatever else is asked for.
    let mut excluded: Vec<&str> = Vec::new();
    for (argument, next) in arguments.iter().zip(arguments.iter().skip(1)) {
        if matches!(*argument, "-x" | "--exclude-task") {
            excluded.push(next);
        }
    }
    let wanted = operands.iter().filter(|operand| !excluded.contains(operand));
    wanted.map(task).find(|deed| *deed != Deed::Other).unwrap_or(Deed::Other)
}

pub(super) fn builders(name: &str, operands: &[&str], arguments: &[&str]) -> Deed {
    let command = operands.first().copied().unwrap_or("");
    let second = operands.get(1).copied().unwrap_or("");
    match (name, command) {
        ("dart" | "flutter", "pub") if second == "publish" => {
            if arguments.contains(&"--dry-run") {
                Deed::Other
            } else {
                Deed::Release
            }
        }
        ("rails" | "artisan" | "symfony" | "bin/rails", command) if drops_database(command) => Deed::Destroy,
        (
            "stack" | "cabal" | "dune" | "zig" | "swift" | "flutter" | "dart" | "meson" | "gleam" | "crystal"
            | "forge" | "hardhat" | "truffle" | "anchor" | "rush" | "ng" | "bazel" | "bazelisk" | "buck"
            | "buck2" | "pants" | "sbt" | "lein" | "mill" | "ant" | "moon" | "rails" | "artisan" | "hatch"
            | "nimble" | "composer" | "playwright" | "melos" | "colcon" | "symfony",
            "test" | "tests" | "test:unit" | "spec" | "runtest",
        ) => tests(arguments),
        ("sbt", command) if command.starts_with("test") || command.ends_with("/test") => Deed::Tests,
        ("rebar3", "eunit" | "ct" | "proper") | ("cypress", "run") | ("wp-scripts", "test-unit-js") => {
            Deed::Tests
        }
        ("clj" | "clojure", _) if arguments.iter().any(|argument| argument.contains(":test")) => Deed::Tests,
        ("zig", "build") if second == "test" => Deed::Tests,
        ("xcodebuild", _) if operands.contains(&"test") || operands.contains(&"test-without-building") => {
            Deed::Tests
        }
        ("nx" | "turbo" | "lerna" | "moon" | "melos", "run" | "run-many" | "affected" | "exec") => {
            let target = arguments.iter().find_map(|argument| argument.strip_prefix("--target="));
            by_task(target.unwrap_or(second))
        }
        ("nx" | "turbo" | "ng" | "earthly", command) if !command.is_empty() => {
            by_task(command.trim_start_matches('+'))
        }
        ("composer", "run" | "run-script") => by_task(second),
        ("composer", "require" | "install" | "update")
        | ("flutter" | "dart", "pub")
        | ("shards" | "nimble", "install") => Deed::Install,
        ("lerna" | "hatch" | "rush", "publish") | ("melos", "publish") => Deed::Release,
        ("flutter" | "dart", "analyze") => Deed::Lint,
        (_, "lint") => Deed::Lint,
        (_, "build" | "compile" | "assemble") => Deed::Build,
        (_, "deploy") => Deed::Deploy,
        ("composer", command) => by_task(command),
        _ => Deed::Other,
    }
}
