//! The provider kind `command` in capabilities files.

use std::path::PathBuf;
use std::sync::Arc;

use hence_canon::{Value, parse};

use super::Command;
use crate::provider::{Provider, ProviderKind};
use crate::registry::Members;

/// The provider kind of programs that read and write JSON: `kind: command`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandKind;

impl ProviderKind for CommandKind {
    fn name(&self) -> &'static str {
        "command"
    }

    fn read(&self, members: &mut Members<'_, '_>) -> Option<Arc<dyn Provider>> {
        let words = members.texts("command");
        let base = members.base();
        let Some((program, arguments)) = words.split_first().filter(|(program, _)| !program.is_empty())
        else {
            members.refuse_whole("`command` is a list that begins with a program");
            return None;
        };
        // A bare name is looked up in the search path; any other path is relative to the declaration.
        let path = if program.contains('/') { base.join(&**program) } else { PathBuf::from(&**program) };
        let directory = members.text("directory").map_or_else(|| base.to_owned(), |path| base.join(&*path));
        let environment = members.texts("environment");
        let secrets = secrets(members);
        let variables = environment.iter().chain(secrets.iter().map(|(variable, _)| variable));
        if variables.into_iter().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
            members.refuse("environment", "a name of a variable has no `=` and is not empty");
        }
        let (name, arguments) = (program.clone(), arguments.to_vec());
        Some(Arc::new(Command { name, path, arguments, directory, environment, secrets }))
    }

    fn schema(&self) -> Value {
        parse(
            br##"{
          "description": "A program that reads JSON from stdin and writes JSON to stdout, started without a shell.",
          "required": ["command"],
          "properties": {
            "command": {"type": "array", "minItems": 1, "items": {"type": "string"},
              "description": "The program and its arguments. A program with a slash is taken from the folder of this file."},
            "directory": {"type": "string", "description": "Where it runs, from the folder of this file. Default: that folder."},
            "environment": {"type": "array", "items": {"type": "string"},
              "description": "The variables it sees. It sees no others."},
            "secret_environment": {"type": "object", "additionalProperties": {"$ref": "#/$defs/secret"},
              "description": "Variables in which it finds secrets."}
          }
        }"##,
        )
        .expect("the text above is JSON")
    }
}

/// Reads the environment variables that hold secrets for a command.
fn secrets(members: &mut Members<'_, '_>) -> Vec<(Arc<str>, Arc<str>)> {
    let (key, mut secrets) = ("secret_environment", Vec::new());
    for (variable, value) in members.object(key).into_iter().flat_map(hence_canon::Object::iter) {
        let place = members.place(key).child(variable);
        secrets.extend(members.secret_at(value, place).map(|name| (variable.clone(), name)));
    }
    secrets
}
