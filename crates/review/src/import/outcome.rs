//! The result of a tool, and what its text says about how the call ended.

use crate::command::{Signs, is_failed_line, without_commits};
use crate::secret::{self, Redactions};

use super::exec_header::{background_id, exit_code, wall_time};
use super::leaks::Shown;
use super::session::Status;
use super::text::collapse_to;

/// The characters stored of a result or a rationale: a little more than a trace ever shows.
const TEXT_CHARS_MAX: usize = 600;
/// The characters stored before secrets are removed, so that none is cut in two.
const RAW_CHARS_MAX: usize = 4 * TEXT_CHARS_MAX;

/// The characters of a line that says how tests ended.
const TELLING_CHARS_MAX: usize = 80;

/// The result of a tool.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolOutcome {
    pub(super) text: String,
    /// Whether the tool reported an error, or did not run.
    pub(super) failed: bool,
    /// The reason why it did not run or did not end: [`Status::Refused`] or [`Status::Cancelled`].
    pub(super) stopped: Option<Status>,
    /// Whether the tool says that it did not begin: there was no such tool, its input was wrong, a hook or the sandbox
    /// stopped it.
    pub(super) not_run: bool,
    /// Whether the command had not ended when the tool answered: how it ended is not in the result.
    pub(super) runs_on: bool,
    /// The id under which it runs on.
    pub(super) background: Option<String>,
    /// Whether the command was ended from outside: what it did until then is done.
    pub(super) killed: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) signs: Signs,
    /// The secrets that the text holds.
    pub(super) shown: Shown,
    /// The last line that says that tests failed, or that there were none: a trace that shows only the beginning would
    /// not say it.
    pub(super) telling: Option<String>,
    /// The text without what git wrote about commits, where it wrote something: it is no result of tests.
    pub(super) beside_commits: Option<String>,
}

impl ToolOutcome {
    /// Reads the text of a result: the part a trace can show, and the exit code in it.
    pub(super) fn of_text(text: &str) -> Self {
        let signs = Signs::of(text);
        Self {
            text: collapse_to(text, RAW_CHARS_MAX),
            runs_on: has_line(text, RUNS_ON),
            background: background_id(text),
            killed: has_line(text, TIMED_OUT) || ends_with_stop(text) || exit_code(text).is_some_and(is_kill),
            exit_code: exit_code(text),
            duration_ms: wall_time(text),
            telling: telling(text, &signs),
            signs,
            shown: Shown::of(text),
            beside_commits: without_commits(text).map(|text| collapse_to(&text, RAW_CHARS_MAX)),
            ..Self::default()
        }
    }

    /// Adds whether the tool reported an error; texts that programs write for refusals then count as such.
    pub(super) fn with_error(mut self, failed: bool) -> Self {
        // Claude Code marks an error of the tool in the text, too.
        let failed = failed || self.text.starts_with("<tool_use_error>");
        self.not_run = failed && NOT_RUN.iter().any(|words| bare(&self.text).starts_with(words));
        self.stopped = if failed { stopped(&self.text) } else { None };
        self.failed = failed;
        self
    }

    /// Removes the secrets and cuts the texts to what a trace can show.
    pub(super) fn redact(&mut self, removed: &mut Redactions) {
        self.text = shown(&self.text, removed);
        self.telling = self.telling.take().map(|text| shown(&text, removed));
        self.beside_commits = self.beside_commits.take().map(|text| shown(&text, removed));
    }

    /// Returns how the action ended, if all of the call was that action.
    pub(super) fn status(&self) -> Status {
        match self.stopped {
            Some(stopped) => stopped,
            None if self.failed => Status::Failed,
            None if self.runs_on => Status::Unknown,
            None => Status::Completed,
        }
    }
}

/// Texts of results of calls that the user or a rule did not allow.
const REFUSED: &[&str] = &[
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
    "Permission to use ",
    "Claude requested permissions to ",
    "exec command rejected by user",
    "patch rejected by user",
    "rejected by user",
    "command rejected by user",
    "User denied",
    "user denied",
    "Tool execution denied",
    "Operation blocked by hook",
    "PreToolUse:",
    "This command requires approval",
    "Hook PreToolUse:",
    "Denied by auto mode",
    "Agent is in plan mode",
];

/// Words in the first line of a result by which a hook or a rule says that it did not let the call through.
const REFUSED_INSIDE: &[&str] = &[
    "hook blocking error",
    "hook denied",
    "denied this tool",
    "was blocked. For security",
    "tool not executed",
];

/// Texts of results of calls that never began.
const NOT_RUN: &[&str] = &[
    "InputValidationError",
    "Cancelled: parallel tool call",
    "Canceled: parallel tool call",
    "Cancelled:",
    "Sibling tool call errored",
    "No such tool available",
    "Unknown tool",
    "Tool not found",
    "Invalid tool parameters",
    "failed in sandbox",
    "sandbox error",
    "File has not been read yet",
    "File has been modified since read",
    "String to replace not found",
    "failed to parse function arguments",
    "failed to parse exec arguments",
    "unsupported call",
    "unsupported custom tool call",
];

/// Removes the words by which programs begin an error.
fn bare(text: &str) -> &str {
    let mut text = text.trim_start();
    let beginnings = ["<tool_use_error>", "Error: ", "ERROR: ", "error: ", "\"", "(", "<error>"];
    while let Some(rest) = beginnings.iter().find_map(|words| text.strip_prefix(words)) {
        text = rest.trim_start();
    }
    text
}

/// Texts of results of calls that were stopped.
const CANCELLED: &[&str] = &[
    "[Request interrupted by user",
    "Request interrupted by user",
    "Cancelled:",
    "Canceled:",
    "Sibling tool call errored",
    "aborted by user",
    "Operation aborted",
    "Command aborted",
    "Request was aborted",
    "User cancelled",
    "User canceled",
    "[Operation Cancelled]",
    "Error: The user cancelled",
    "Interrupted by user",
    "<error>Command was aborted",
    "error>Command was aborted",
    "command aborted by user",
];

/// Beginnings of lines by which a tool says that the command still runs.
const RUNS_ON: &[&str] = &[
    "Command running in background",
    "Command was manually backgrounded",
    "Command is running in the background",
    "Process running with session ID",
    "Command moved to background",
];

/// Beginnings of lines by which a tool says that it ended the command.
const TIMED_OUT: &[&str] = &["Command timed out", "command timed out", "Error: Command timed out"];

/// Words in the last lines of an output by which a tool says that it ended the command.
const STOPPED: &[&str] = &[
    "Command was aborted before completion",
    "Command was interrupted",
    "Command interrupted",
    "Command timed out",
    "command timed out",
    "Command was killed",
    "[Request interrupted by user",
    "Process killed",
    "Terminated by signal",
];

/// Returns whether an exit code is that of a command that `timeout` or a signal ended.
pub(super) fn is_kill(code: i64) -> bool {
    code == 124 || (129..=192).contains(&code)
}

/// Returns whether the last lines of an output, which are not all of it, say that the command was stopped.
fn ends_with_stop(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let says = |line: &&str| {
        let line =
            line.trim_start_matches("<error>").trim_start_matches("<system>").trim_start_matches("ERROR: ");
        STOPPED.iter().any(|words| line.starts_with(words))
    };
    lines.len() > 1 && lines.iter().rev().take(3).any(says)
}

/// The lines at the beginning of a result in which a tool speaks for itself.
const HEADER_LINES: usize = 6;

/// Returns whether one of the first lines begins with one of these texts.
fn has_line(text: &str, beginnings: &[&str]) -> bool {
    let begins = |line: &str| beginnings.iter().any(|words| line.trim_start().starts_with(words));
    text.lines().take(HEADER_LINES).any(begins)
}

/// Returns whether the beginning of a failed result says that the call was refused or cancelled.
fn stopped(text: &str) -> Option<Status> {
    let beginning: String = text.chars().take(200).collect();
    let begins = |words: &&&str| {
        beginning.trim_start_matches(['"', '<', '(']).starts_with(**words)
            || bare(&beginning).starts_with(**words)
    };
    let is_header = |words: &&str| beginning.lines().next().is_some_and(|line| line.contains(words));
    if REFUSED.iter().any(|words| begins(&words)) || REFUSED_INSIDE.iter().any(is_header) {
        Some(Status::Refused)
    } else if CANCELLED.iter().any(|words| begins(&words)) {
        Some(Status::Cancelled)
    } else {
        None
    }
}

/// Returns the last line of an output that says that tests failed or that there were none, if it does.
fn telling(text: &str, signs: &Signs) -> Option<String> {
    let says = |line: &&str| match (signs.tests_failed, signs.no_tests) {
        (true, _) => is_failed_line(line),
        (_, true) => Signs::of(line).no_tests,
        _ => false,
    };
    let found = (signs.tests_failed || signs.no_tests).then(|| text.lines().rev().find(says)).flatten();
    found.map(|line| collapse_to(line, TELLING_CHARS_MAX))
}

/// Removes secrets from a text and cuts it to what a trace can show.
pub(super) fn shown(text: &str, removed: &mut Redactions) -> String {
    let raw = collapse_to(text, RAW_CHARS_MAX);
    collapse_to(&secret::redact(&raw, removed), TEXT_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_and_stops_are_told_from_failures() {
        let status = |text: &str| ToolOutcome::of_text(text).with_error(true).status();
        assert_eq!(
            status("The user doesn't want to proceed with this tool use. The tool use was rejected"),
            Status::Refused
        );
        assert_eq!(status("exec command rejected by user"), Status::Refused);
        assert_eq!(status("Permission to use Bash with command rm -rf x has been denied."), Status::Refused);
        assert_eq!(status("[Request interrupted by user for tool use]"), Status::Cancelled);
        assert_eq!(status("FAILED: request rejected by user service"), Status::Failed);
        for text in [
            "<tool_use_error>Cancelled: parallel tool call Bash errored</tool_use_error>",
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
        ] {
            assert_eq!(status(text), Status::Cancelled, "{text}");
        }
        for text in [
            "Error: PreToolUse:Bash hook blocking error from command: \"guard\": no",
            "Hook PreToolUse:Bash denied this tool",
        ] {
            assert_eq!(status(text), Status::Refused, "{text}");
        }
        for text in [
            "<tool_use_error>InputValidationError: Bash failed</tool_use_error>",
            "Error: No such tool available: Bash",
            "failed in sandbox: LandlockRestrict",
            "<tool_use_error>Cancelled: parallel tool call Bash errored</tool_use_error>",
        ] {
            assert!(ToolOutcome::of_text(text).with_error(true).not_run, "{text}");
        }
        let stopped = ToolOutcome::of_text("[Request interrupted by user for tool use]").with_error(true);
        assert!(!stopped.not_run, "it may have begun");
        assert_eq!(ToolOutcome::of_text("rejected by user").with_error(false).status(), Status::Completed);
        let marked = ToolOutcome::of_text("<tool_use_error>File has not been read yet.</tool_use_error>");
        assert_eq!(marked.with_error(false).status(), Status::Failed);
        let started = ToolOutcome::of_text("Command running in background with ID: bash_1");
        assert_eq!(started.with_error(false).status(), Status::Unknown);
    }
}
