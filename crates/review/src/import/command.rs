//! What kind of action a command is.

use crate::vocabulary::ActivityType;

/// Words of a command line that say it runs tests, whoever runs it.
const TESTS: &[&str] = &["pytest", "npm test", "go test", "cargo test", "unittest"];
/// Words that say so in the logs of agents whose commands are read more closely.
const MORE_TESTS: &[&str] = &[
    "vitest",
    "jest",
    "npm run test",
    "yarn test",
    "pnpm test",
    "cargo nextest",
    "mvn test",
    "gradle test",
    "gradlew test",
    "dotnet test",
    "make test",
    "make check",
    "ctest",
    "rspec",
    "phpunit",
    "tox",
];

/// How closely a command is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// By the words every agent's log is read by.
    Plain,
    /// By those, and by `vitest`.
    WithVitest,
    /// By the names of all test runners that are known.
    Close,
}

/// Returns the type of action a command line stands for.
pub(super) fn type_of(command: &str, reading: Reading) -> ActivityType {
    let has = |words: &[&str]| words.iter().any(|word| command.contains(word));
    if command.contains("git commit") {
        ActivityType::GitCommit
    } else if command.contains("git diff") {
        ActivityType::GitDiff
    } else if command.contains("git status") {
        ActivityType::GitStatus
    } else if has(TESTS)
        || (reading == Reading::WithVitest && command.contains("vitest"))
        || (reading == Reading::Close && has(MORE_TESTS))
    {
        ActivityType::RunTests
    } else {
        ActivityType::RunCommand
    }
}

/// Finds the exit code some tools write at the beginning of their output.
pub(super) fn exit_code(output: &str) -> Option<i64> {
    let begins = |line: &&str, words: &str| {
        line.as_bytes().get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words.as_bytes()))
    };
    let line =
        output.lines().find(|line| begins(line, "exit code") || begins(line, "process exited with code"))?;
    line.split(|letter: char| !letter.is_ascii_digit() && letter != '-').find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_imply_their_type() {
        for (command, kind) in [
            ("git commit -m x", ActivityType::GitCommit),
            ("git diff | head", ActivityType::GitDiff),
            ("git status", ActivityType::GitStatus),
            ("python -m unittest", ActivityType::RunTests),
            ("make all", ActivityType::RunCommand),
        ] {
            assert_eq!(type_of(command, Reading::Plain), kind, "{command}");
        }
        let vitest = |reading| type_of("npx vitest run", reading);
        assert_eq!(vitest(Reading::Plain), ActivityType::RunCommand);
        assert_eq!(vitest(Reading::WithVitest), ActivityType::RunTests);
        assert_eq!(vitest(Reading::Close), ActivityType::RunTests);
    }

    #[test]
    fn exit_codes_are_found() {
        assert_eq!(exit_code("Exit code: 3\nboom"), Some(3));
        assert_eq!(exit_code("x\nPROCESS exited with code 0\n"), Some(0));
        assert_eq!(exit_code("done"), None);
    }
}
