//! What kind of action a command is.

use crate::vocabulary::ActivityType;

/// Words of a command line that say it runs tests.
const TESTS: &[&str] = &["pytest", "npm test", "go test", "cargo test", "unittest", "vitest"];

/// Returns the type of action a command line stands for.
pub(super) fn type_of(command: &str) -> ActivityType {
    if command.contains("git commit") {
        ActivityType::GitCommit
    } else if command.contains("git diff") {
        ActivityType::GitDiff
    } else if command.contains("git status") {
        ActivityType::GitStatus
    } else if TESTS.iter().any(|words| command.contains(words)) {
        ActivityType::RunTests
    } else {
        ActivityType::RunCommand
    }
}

/// Finds the exit code some tools write at the beginning of their output.
pub(super) fn exit_code(output: &str) -> Option<i64> {
    let line = output.lines().find(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("exit code") || line.starts_with("process exited with code")
    })?;
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
            ("npx vitest run", ActivityType::RunTests),
            ("make all", ActivityType::RunCommand),
        ] {
            assert_eq!(type_of(command), kind, "{command}");
        }
    }

    #[test]
    fn exit_codes_are_found() {
        assert_eq!(exit_code("Exit code: 3\nboom"), Some(3));
        assert_eq!(exit_code("x\nProcess exited with code 0\n"), Some(0));
        assert_eq!(exit_code("done"), None);
    }
}
