//! The `git` program, run without a shell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hence_capabilities::process::{self, Delivery, Ended, Exited, Job, Keep, Limits, Program};

use crate::code::Code;
use crate::error::CliError;
use crate::hint;

/// The limit of a reply: notes and names are short.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// The time that git may take: it reads and writes a few files.
const TIMEOUT: Duration = Duration::from_secs(120);

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
        let Ended::Exited(exited) = self.run(arguments, None)? else { return Ok(None) };
        let text = String::from_utf8(exited.output).ok();
        let text = text.map(|text| text.trim_end_matches('\n').to_owned());
        Ok(text.filter(|text| exited.status.success() && !text.is_empty()))
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
        let reason = match self.run(&arguments, Some(text.as_bytes().to_vec()))? {
            Ended::Exited(Exited { status, input: Delivery::Whole, .. }) if status.success() => return Ok(()),
            Ended::Exited(Exited { status, .. }) if status.success() => {
                "it did not read the whole note".to_owned()
            }
            Ended::Exited(Exited { errors, .. }) => {
                let stderr = String::from_utf8_lossy(&errors).into_owned();
                let first = stderr.lines().find(|line| !line.trim().is_empty());
                first.unwrap_or("it gave no reason").to_owned()
            }
            _ => "it did not end in time".to_owned(),
        };
        Err(CliError::new(Code::NotBound, format!("git could not write the note: {reason}"))
            .with_hint(hint::FIX_GIT))
    }

    /// Runs git in the repository, with the environment of this process.
    fn run(&self, arguments: &[&str], input: Option<Vec<u8>>) -> Result<Ended, CliError> {
        // Nobody is there to answer a prompt.
        let set =
            [("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")].map(|(name, value)| (name.into(), value.into()));
        // Work that git would leave to a background process would be ended with it.
        let quiet = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"].map(OsString::from);
        let place = quiet.into_iter().chain([OsString::from("-C"), self.folder.clone().into()]);
        let program = Program {
            path: "git".into(),
            arguments: place.chain(arguments.iter().map(OsString::from)).collect(),
            environment: std::env::vars_os().chain(set).collect(),
        };
        let job = Job { programs: vec![program], directory: ".".into(), input };
        let limits = Limits {
            timeout: TIMEOUT,
            output: Keep::All(ANSWER_BYTES_MAX),
            errors: Keep::Start(ANSWER_BYTES_MAX),
        };
        match process::run(job, &limits) {
            Ended::NotStarted { error, .. } => Err(missing(error)),
            ended => Ok(ended),
        }
    }
}

fn missing(error: std::io::Error) -> CliError {
    CliError::at(Code::NotBound, "the program git cannot be run", error).with_hint(hint::INSTALL_GIT)
}
