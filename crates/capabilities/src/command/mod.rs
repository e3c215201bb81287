//! Commands: programs that read JSON and write JSON.

mod child;
mod kind;

use std::path::PathBuf;
use std::sync::Arc;

use hence_canon::{Float, Object, Value, canonical_bytes};
use hence_cognition::run::{CallError, Reply};

use crate::provider::{Provider, ProviderCall};
use child::{Ended, Limits};
pub(crate) use kind::CommandKind;

/// The number of bytes read from the end of a command's stderr output. A message shows fewer, but is cut only
/// after secrets are removed, so this must exceed the longest secret in any encoding.
const STDERR_BYTES_MAX: usize = 64 * 1024;
const _: () = assert!(STDERR_BYTES_MAX > 6 * crate::secret::SECRET_BYTES_MAX);

/// The variable that identifies a call and its attempt. An attempt that is repeated after a crash sees the same value.
const CALL_VARIABLE: &str = "HENCE_CALL";

/// The variable with the idempotency key: the same for every attempt, so that a repeated effect can be detected.
const IDEMPOTENCY_VARIABLE: &str = "HENCE_IDEMPOTENCY_KEY";

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
