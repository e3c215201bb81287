//! Commands: programs that read JSON and write JSON.

mod kind;
mod missing;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hence_canon::{Float, Object, Value, canonical_bytes};
use hence_cognition::run::{CallError, Reply};

use crate::process::{self, Delivery, Ended, Exited, Job, Keep, Limits, Program};
use crate::provider::{Provider, ProviderCall};
use crate::registry::Effects;
pub(crate) use kind::CommandKind;

/// The number of bytes read from the end of a command's stderr output. A message shows fewer, but is cut only
/// after secrets are removed, so this must exceed the longest secret in any encoding.
const STDERR_BYTES_MAX: u64 = 64 * 1024;
const _: () = assert!(STDERR_BYTES_MAX > 6 * crate::secret::SECRET_BYTES_MAX as u64);

/// The variable that identifies a call and its attempt. An attempt that is repeated after a crash sees the same value.
const CALL_VARIABLE: &str = "HENCE_CALL";

/// The variable with the idempotency key: the same for every attempt, so that a repeated effect can be detected.
const IDEMPOTENCY_VARIABLE: &str = "HENCE_IDEMPOTENCY_KEY";

/// The class of a command that ended well and gave no JSON.
const OUTPUT_INVALID: &str = "CommandOutputInvalid";

/// One declared command.
#[derive(Clone, Debug)]
struct Command {
    /// The program, as declared.
    name: Arc<str>,
    /// The path of the program, or its bare name.
    path: PathBuf,
    arguments: Vec<Arc<str>>,
    directory: PathBuf,
    /// The names of the environment variables that the program sees.
    environment: Vec<Arc<str>>,
    /// The environment variables that hold secrets, each with the name of its secret.
    secrets: Vec<(Arc<str>, Arc<str>)>,
}

impl Provider for Command {
    fn describe(&self) -> Option<String> {
        let words = [&self.name].into_iter().chain(&self.arguments).map(|word| shell_word(word));
        Some(format!("command `{}`, which reads the input as JSON", words.collect::<Vec<_>>().join(" ")))
    }

    fn program(&self) -> Option<Vec<String>> {
        Some([&self.name].into_iter().chain(&self.arguments).map(|word| word.to_string()).collect())
    }

    fn missing_program(&self) -> Option<String> {
        let passes_path = self.environment.iter().any(|name| &**name == "PATH");
        let search = std::env::var_os("PATH").filter(|_| passes_path);
        missing::describe(&self.name, &self.path, &self.directory, search.as_deref())
    }

    fn call(&self, call: &ProviderCall<'_>) -> Result<Reply, CallError> {
        let limits = Limits {
            timeout: call.timeout,
            output: Keep::All(call.output_bytes_max),
            errors: Keep::End(STDERR_BYTES_MAX),
        };
        let mut input = canonical_bytes(call.input);
        input.push(b'\n');
        let job = Job {
            programs: vec![self.program(call)?],
            directory: self.directory.clone(),
            input: Some(input),
        };
        let name = &self.name;
        // A command that acts and whose end nobody saw may have acted.
        let unseen = |error: CallError| match call.effects {
            Effects::Writes => Err(error.undecided()),
            Effects::None | Effects::Reads => Err(error),
        };
        match process::run(job, &limits) {
            Ended::TimedOut => {
                let seconds = Float::new(call.timeout.as_secs_f64()).expect("a duration is finite");
                unseen(CallError::TimedOut(seconds))
            }
            Ended::NotStarted { error, .. } => {
                let class = if is_passing(&error) { "CommandPostponed" } else { "CommandNotStarted" };
                Err(failed(class, format!("{name}: {error}")))
            }
            Ended::TooMuch => {
                let message = format!("{name} wrote more than {} bytes", call.output_bytes_max);
                unseen(failed("CommandOutputTooLarge", message))
            }
            Ended::Lost(reason) => unseen(failed("CommandFailed", format!("{name}: {reason}"))),
            Ended::Exited(exited) if exited.status.success() => match self.reply(exited) {
                // It ended well, so it may have acted, whatever its answer is worth.
                Err(error) => unseen(error),
                Ok(reply) => Ok(reply),
            },
            Ended::Exited(Exited { status, errors, .. }) => {
                let said = String::from_utf8_lossy(&errors);
                let said = said.trim();
                let colon = if said.is_empty() { "" } else { ": " };
                let error = failed("CommandFailed", format!("{name} ended with {status}{colon}{said}"));
                // An exit code is the command's own word. One that was killed has said nothing.
                if status.code().is_none() { unseen(error) } else { Err(error) }
            }
        }
    }
}

impl Command {
    /// Reads the answer of a command that ended well.
    fn reply(&self, exited: Exited) -> Result<Reply, CallError> {
        let name = &self.name;
        // A command that read nothing needs no input; one that read a part has answered another question.
        if let Delivery::Cut { delivered, reason } = exited.input {
            let message = format!("{name} answered after {delivered} bytes of its input: {reason}");
            return Err(failed("CommandInputCut", message));
        }
        let output = hence_canon::parse(&exited.output)
            .map_err(|error| failed(OUTPUT_INVALID, format!("{name} gave no JSON: {error}")))?;
        Ok(Reply { output, meta: Object::from_iter([("tool_calls", Value::from(1))]) })
    }

    fn program(&self, call: &ProviderCall<'_>) -> Result<Program, CallError> {
        let given =
            self.environment.iter().filter_map(|name| Some(((&**name).into(), std::env::var_os(&**name)?)));
        let mut environment: Vec<(OsString, OsString)> = given.collect();
        environment.push((CALL_VARIABLE.into(), call.key.into()));
        environment.push((IDEMPOTENCY_VARIABLE.into(), call.idempotency_key.into()));
        for (variable, name) in &self.secrets {
            environment.push(((&**variable).into(), (&*call.secrets.value(name)?).into()));
        }
        let arguments = self.arguments.iter().map(|word| (&**word).into()).collect();
        Ok(Program { path: self.path.clone().into(), arguments, environment })
    }
}

/// Returns whether a program could not be started for a reason that may pass: the system has no room now.
fn is_passing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ExecutableFileBusy, OutOfMemory, ResourceBusy, WouldBlock};
    // Too many open files, in this process or in the system, have no kind of their own.
    let is_full = matches!(error.raw_os_error(), Some(23 | 24));
    is_full || [ExecutableFileBusy, OutOfMemory, ResourceBusy, WouldBlock].contains(&error.kind())
}

/// Returns a word as a shell reads it back.
fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn failed(class: &str, message: String) -> CallError {
    CallError::Failed { class: class.into(), message: message.into() }
}

#[cfg(test)]
mod tests;
