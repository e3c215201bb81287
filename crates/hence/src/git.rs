//! The `git` program, asked without a shell.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::code::Code;
use crate::error::CliError;
use crate::hint;

/// The most that is read of an answer: a note or a name, never content.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A repository, by a folder in it.
pub(crate) struct Git {
    folder: PathBuf,
}

impl Git {
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Asks something; no answer is not an error, a missing program is.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Option<String>, CliError> {
        let output = self.command(arguments).stdin(Stdio::null()).output().map_err(missing)?;
        let text = String::from_utf8(output.stdout).ok().filter(|text| text.len() <= ANSWER_BYTES_MAX);
        let text = text.map(|text| text.trim_end_matches('\n').to_owned());
        Ok(text.filter(|text| output.status.success() && !text.is_empty()))
    }

    /// Returns the commit that is checked out.
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
            // A git that ends early says why on stderr; that is what a person needs.
            let _ = input.write_all(text.as_bytes());
        }
        let output = child.wait_with_output().map_err(missing)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it did not say why");
        Err(CliError::new(Code::NotBound, format!("git could not write the note: {first}"))
            .with_hint(hint::FIX_GIT))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(arguments);
        // Nobody is there to answer a question.
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command
    }
}

fn missing(error: std::io::Error) -> CliError {
    CliError::at(Code::NotBound, "the program git cannot be run", error).with_hint(hint::INSTALL_GIT)
}
