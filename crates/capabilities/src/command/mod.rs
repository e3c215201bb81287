//! Commands: programs that take JSON and give JSON.

mod child;
mod declared;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Object, Value, canonical_bytes};
use hence_cognition::capability::CapabilitySpec;
use hence_cognition::run::{Call, CallError, Reply};

use child::{Ended, Limits};
pub use declared::InvalidCommands;

/// How much a command may write unless its declaration says otherwise.
pub const OUTPUT_BYTES_DEFAULT: u64 = 16 * 1024 * 1024;

/// How much a command may write whatever its declaration says: it is all held in memory.
pub const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;
const _: () = assert!(OUTPUT_BYTES_DEFAULT <= OUTPUT_BYTES_MAX);

/// How much of what a command says on stderr is kept for a message: the end of it.
const STDERR_BYTES_MAX: usize = 2048;

/// The variable that names a call. A command that is started twice for one call sees the same name.
const CALL_VARIABLE: &str = "HENCE_CALL";

/// Declared commands by id.
#[derive(Clone, Debug, Default)]
pub struct Commands(BTreeMap<Arc<str>, Command>);

/// One declared command.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) spec: Arc<CapabilitySpec>,
    /// The program and its arguments.
    words: Vec<String>,
    directory: PathBuf,
    /// The names of the variables it sees.
    environment: Vec<String>,
    /// How long it may take, if less than its step allows.
    timeout: Option<Duration>,
    output_bytes_max: u64,
}

impl Commands {
    pub(crate) fn get(&self, id: &str) -> Option<&Command> {
        self.0.get(id)
    }
}

impl Command {
    /// Starts the program, hands it the input and reads what it gives.
    pub(crate) fn call(&self, call: &Call<'_>) -> Result<Reply, CallError> {
        let seconds = Duration::try_from_secs_f64(call.timeout_seconds.get()).unwrap_or(Duration::MAX);
        let limits = Limits {
            timeout: self.timeout.map_or(seconds, |own| own.min(seconds)),
            output_bytes_max: self.output_bytes_max,
        };
        let mut input = canonical_bytes(call.input);
        input.push(b'\n');
        let name = self.words.first().map_or("the command", String::as_str);
        match child::run(self.process(call), input, &limits) {
            Ended::TimedOut => Err(CallError::TimedOut(call.timeout_seconds)),
            Ended::NotStarted(error) => Err(failed("CommandNotStarted", format!("{name}: {error}"))),
            Ended::TooMuch => {
                let message = format!("{name} wrote more than {} bytes", self.output_bytes_max);
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
                // What the call is to a reviewer enters the record: whoever reads it later need not have the declaration.
                let meta = Object::from_iter([("tool_calls", Value::from(1))]);
                let meta = match &self.spec.action {
                    Some(action) => meta.with("action", action.clone()),
                    None => meta,
                };
                Ok(Reply { output, meta })
            }
        }
    }

    fn process(&self, call: &Call<'_>) -> std::process::Command {
        let mut process = std::process::Command::new(self.words.first().map_or("", String::as_str));
        process.args(self.words.iter().skip(1)).current_dir(&self.directory).env_clear();
        let given = self.environment.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        process.envs(given).env(CALL_VARIABLE, call.key());
        process
    }
}

fn failed(class: &str, message: String) -> CallError {
    CallError::Failed { class: class.into(), message: message.into() }
}

#[cfg(test)]
mod tests;
