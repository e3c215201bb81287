//! Reading the declarations of commands.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Object, Value};
use hence_cognition::capability::CapabilitySpec;

use super::{Command, Commands, OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_MAX};

/// Declarations that cannot be used: everything that is wrong, each with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct InvalidCommands(pub Vec<String>);

const KEYS: [&str; 10] = [
    "description",
    "command",
    "directory",
    "environment",
    "timeout_seconds",
    "output_bytes_max",
    "inputs",
    "outputs",
    "safety",
    "action",
];

impl Commands {
    /// Reads declarations, an object with `capabilities` by id. Folders are taken from `base`.
    ///
    /// # Errors
    /// [`InvalidCommands`] with everything that is wrong.
    pub fn read(document: &Value, base: &Path) -> Result<Self, InvalidCommands> {
        let declared = document.get("capabilities").and_then(Value::as_object);
        let (Some(object), Some(declared)) = (document.as_object(), declared) else {
            return Err(InvalidCommands(vec![
                "expected an object with `capabilities`, an object".to_owned(),
            ]));
        };
        let others = object.keys().filter(|key| &***key != "capabilities");
        let mut wrong: Vec<String> = others.map(|key| format!("unknown member `{key}`")).collect();
        let library = crate::Library::built_in();
        let mut commands = Self::default();
        for (id, value) in declared.iter() {
            let mut problems = Vec::new();
            if library.call_built_in(id, &Value::Null).is_some() {
                problems.push("is the id of a built-in capability".to_owned());
            }
            if let Some(command) = command(value, base, &mut problems) {
                commands.0.insert(id.clone(), command);
            }
            wrong.extend(problems.into_iter().map(|problem| format!("`{id}`: {problem}")));
        }
        if wrong.is_empty() { Ok(commands) } else { Err(InvalidCommands(wrong)) }
    }
}

fn command(value: &Value, base: &Path, wrong: &mut Vec<String>) -> Option<Command> {
    let Value::Object(object) = value else {
        wrong.push(format!("expected an object, found {}", value.kind()));
        return None;
    };
    let unknown = object.keys().filter(|key| !KEYS.contains(&&***key));
    wrong.extend(unknown.map(|key| format!("unknown member `{key}`")));
    let words = texts(object, "command", wrong);
    if words.first().is_none_or(String::is_empty) {
        wrong.push("`command` begins with a program".to_owned());
    }
    let directory = match object.get("directory").map(|path| (path, path.as_str())) {
        None => base.to_owned(),
        Some((_, Some(path))) => base.join(path),
        Some((other, None)) => {
            wrong.push(format!("`directory` is a text, found {}", other.kind()));
            base.to_owned()
        }
    };
    let limit = object.get("output_bytes_max");
    let output_bytes_max = limit.map_or(Some(OUTPUT_BYTES_DEFAULT), Value::as_u64);
    let output_bytes_max = output_bytes_max.filter(|bytes| (1..=OUTPUT_BYTES_MAX).contains(bytes));
    if output_bytes_max.is_none() {
        wrong.push(format!("`output_bytes_max` is a count from 1 to {OUTPUT_BYTES_MAX}"));
    }
    let (spec, problems) = CapabilitySpec::read(value);
    wrong.extend(problems.iter().map(ToString::to_string));
    Some(Command {
        spec: Arc::new(spec),
        words,
        directory,
        environment: texts(object, "environment", wrong),
        timeout: timeout(object, wrong),
        output_bytes_max: output_bytes_max.unwrap_or(OUTPUT_BYTES_DEFAULT),
    })
}

fn timeout(object: &Object, wrong: &mut Vec<String>) -> Option<Duration> {
    let seconds = match object.get("timeout_seconds")? {
        Value::Int(int) => int.to_f64_lossy(),
        Value::Float(float) => float.get(),
        _ => f64::NAN,
    };
    let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|timeout| !timeout.is_zero());
    if timeout.is_none() {
        wrong.push("`timeout_seconds` is a number above 0".to_owned());
    }
    timeout
}

fn texts(object: &Object, key: &str, wrong: &mut Vec<String>) -> Vec<String> {
    let Some(given) = object.get(key) else { return Vec::new() };
    let items = given.as_array();
    let texts = items.and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    texts.unwrap_or_else(|| {
        wrong.push(format!("`{key}` is a list of texts"));
        Vec::new()
    })
}
