//! The `git` program, run without a shell.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::code::Code;
use crate::error::CliError;
use crate::hint;

/// The limit of a reply: notes and names are short.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A repository, identified by a folder in it.
pub(crate) struct Git {
    folder: PathBuf,
}

impl Git {
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Runs a query. An empty or failed reply is `None`; only a missing program is an error.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Option<String>, CliError> {
        let output = self.command(arguments).stdin(Stdio::null()).output().map_err(missing)?;
        let text = String::from_utf8(output.stdout).ok().filter(|text| text.len() <= ANSWER_BYTES_MAX);
        let text = text.map(|text| text.trim_end_matches('\n').to_owned());
        Ok(text.filter(|text| output.status.success() && !text.is_empty()))
    }

    /// Returns the checked-out commit.
    pub(crate) fn head(&self) -> Result<Option<String>, CliError> {
        self.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    }

    /// Returns the note of a commit.
    pub(crate) fn note(&self, reference: &str, commit: &str) -> Result<Option<String>, CliError> {
        self.ask(&["notes", "--ref", reference, "show", commit])
    }

    /// Sets the note of a commit.
    pub(crate) fn set_note(&self, reference: &str, commit: &str, text: &str) -> Result<(), CliError> {
        let arguments = ["notes", "--ref", reference, "add", "--force", "--file", "-", commit];
        let mut command = self.command(&arguments);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = piped.spawn().map_err(missing)?;
        if let Some(mut input) = child.stdin.take() {
            // If git ends early, the reason is on stderr, which is reported below.
            let _ = input.write_all(text.as_bytes());
        }
        let output = child.wait_with_output().map_err(missing)?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let first = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
        Err(CliError::new(Code::NotBound, format!("git could not write the note: {first}"))
            .with_hint(hint::FIX_GIT))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(arguments);
        // Nobody is there to answer a prompt.
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command
    }
}

fn missing(error: std::io::Error) -> CliError {
    CliError::at(Code::NotBound, "the program git cannot be run", error).with_hint(hint::INSTALL_GIT)
}
