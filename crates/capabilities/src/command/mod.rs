//! Commands: programs that take JSON and give JSON.

mod child;
mod kind;

use std::path::PathBuf;
use std::sync::Arc;

use hence_canon::{Float, Object, Value, canonical_bytes};
use hence_cognition::run::{CallError, Reply};

use crate::provider::{Provider, ProviderCall};
use child::{Ended, Limits};
pub(crate) use kind::CommandKind;

/// How much of what a command says on stderr is kept: the end of it. A message shows less, but is cut only after secrets
/// are taken out, so more must be kept than the longest of them in any spelling.
const STDERR_BYTES_MAX: usize = 64 * 1024;
const _: () = assert!(STDERR_BYTES_MAX > 6 * crate::secret::SECRET_BYTES_MAX);

/// The variable that names a call. A command that is started twice for one call sees the same name.
const CALL_VARIABLE: &str = "HENCE_CALL";

/// The variable that names what is to be done: the same for every attempt, so that doing it twice can be noticed.
const IDEMPOTENCY_VARIABLE: &str = "HENCE_IDEMPOTENCY_KEY";

/// One declared command.
#[derive(Clone, Debug)]
struct Command {
    /// The program as it was declared.
    name: Arc<str>,
    /// Where it lies, or its bare name.
    path: PathBuf,
    arguments: Vec<Arc<str>>,
    directory: PathBuf,
    /// The names of the variables it sees.
    environment: Vec<Arc<str>>,
    /// The variables in which it finds secrets.
    secrets: Vec<(Arc<str>, Arc<str>)>,
}

impl Provider for Command {
    fn call(&self, call: &ProviderCall<'_>) -> Result<Reply, CallError> {
        let limits = Limits { timeout: call.timeout, output_bytes_max: call.output_bytes_max };
        let mut input = canonical_bytes(call.input);
        input.push(b'\n');
        let name = &self.name;
        match child::run(self.process(call)?, input, &limits) {
            Ended::TimedOut => {
                let seconds = Float::new(call.timeout.as_secs_f64()).expect("a duration is finite");
                Err(CallError::TimedOut(seconds))
            }
            Ended::NotStarted(error) => Err(failed("CommandNotStarted", format!("{name}: {error}"))),
            Ended::TooMuch => {
                let message = format!("{name} wrote more than {} bytes", call.output_bytes_max);
                Err(failed("CommandOutputTooLarge", message))
            }
            Ended::Failed { status, said } => {
                let said = String::from_utf8_lossy(&said);
                let said = said.trim();
                let colon = if said.is_empty() { "" } else { ": " };
                Err(failed("CommandFailed", format!("{name} ended with {status}{colon}{said}")))
            }
            Ended::Done(output) => {
                let output = hence_canon::parse(&output).map_err(|error| {
                    failed("CommandOutputInvalid", format!("{name} gave no JSON: {error}"))
                })?;
                Ok(Reply { output, meta: Object::from_iter([("tool_calls", Value::from(1))]) })
            }
        }
    }
}

impl Command {
    fn process(&self, call: &ProviderCall<'_>) -> Result<std::process::Command, CallError> {
        let mut process = std::process::Command::new(&self.path);
        let arguments = self.arguments.iter().map(|word| &**word);
        process.args(arguments).current_dir(&self.directory).env_clear();
        let given = self.environment.iter().filter_map(|name| Some((&**name, std::env::var_os(&**name)?)));
        process.envs(given).env(CALL_VARIABLE, call.key).env(IDEMPOTENCY_VARIABLE, call.idempotency_key);
        for (variable, name) in &self.secrets {
            process.env(&**variable, &*call.secrets.value(name)?);
        }
        Ok(process)
    }
}

fn failed(class: &str, message: String) -> CallError {
    CallError::Failed { class: class.into(), message: message.into() }
}

#[cfg(test)]
mod tests;
