//! `--model`: the pack of prompts and schemas that lets a language model carry out the steps of a problem.

use hence_canon::{Object, Value};
use hence_capabilities::Source;

use crate::args::RunArgs;
use crate::prelude::*;

/// The setting that names the model.
const MODEL: &str = "model";

/// The most bytes of one prompt file: more than any model reads with care.
#[cfg(feature = "models")]
const PROMPT_BYTES_MAX: u64 = 256 * 1024;

/// A model that a problem or the command line names, with its declarations.
pub(super) struct NamedModel {
    name: String,
    bindings: Object,
    declarations: Value,
}

/// Returns the model that the command line or the settings of a problem name.
pub(super) fn named(args: &RunArgs, name: &str, problem: &Value) -> Result<Option<NamedModel>, CliError> {
    let setting =
        problem.get("settings").and_then(|settings| settings.get(MODEL)).filter(|model| !model.is_null());
    let setting = match setting {
        None => None,
        Some(value) => match value.as_str() {
            Some(text) => Some(text),
            None => {
                let message =
                    format!("{name} is refused: settings.{MODEL}: expected a string, found {}", value.kind());
                return Err(CliError::new(Code::Refused, message).with_hint(hint::NAME_A_MODEL));
            }
        },
    };
    let text = match (args.model.as_deref(), setting) {
        (None, None) if args.prompts.is_some() => {
            let message = "--prompts is for a model, and none is named";
            return Err(CliError::new(Code::Argument, message).with_hint(hint::NAME_A_MODEL));
        }
        (None, None) => return Ok(None),
        (Some(given), Some(own)) if given != own => {
            let message = format!("{name} names another model in settings.{MODEL} than --model does");
            return Err(CliError::new(Code::Argument, message).with_hint(hint::ONE_MODEL));
        }
        (Some(text), _) | (None, Some(text)) => text,
    };
    if !args.profile.is_strict() {
        let message = "the compat profile knows no models by name";
        return Err(CliError::new(Code::Argument, message).with_hint(hint::STRICT_PROFILE));
    }
    read(args, text).map(Some)
}

#[cfg(not(feature = "models"))]
fn read(_: &RunArgs, _: &str) -> Result<NamedModel, CliError> {
    Err(CliError::new(Code::Refused, "this build has no language models"))
}

#[cfg(feature = "models")]
fn read(args: &RunArgs, text: &str) -> Result<NamedModel, CliError> {
    use hence_models::{ModelRef, ReasonPack};

    let model: ModelRef = text.parse().map_err(|error: hence_models::NotAModel| {
        let code = if args.model.is_some() { Code::Argument } else { Code::Refused };
        CliError::new(code, format!("the name of the model: {error}")).with_hint(hint::NAME_A_MODEL)
    })?;
    let mut pack = ReasonPack::shipped();
    if let Some(folder) = &args.prompts {
        replace_prompts(&mut pack, folder)?;
    }
    Ok(NamedModel {
        name: model.to_string(),
        bindings: ReasonPack::bindings(),
        declarations: pack.declarations(&model),
    })
}

/// Replaces the prompts for which a folder has a file.
#[cfg(feature = "models")]
fn replace_prompts(pack: &mut hence_models::ReasonPack, folder: &std::path::Path) -> Result<(), CliError> {
    use std::io::Read as _;

    let file_error = |path: &std::path::Path, error| CliError::file("read", path, error);
    let entries = std::fs::read_dir(folder).map_err(|error| file_error(folder, error))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|error| file_error(folder, error))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    if paths.is_empty() {
        let files = hence_models::ReasonPack::files().join(", ");
        let message = format!("{} has none of the files {files}", folder.display());
        return Err(CliError::new(Code::File, message));
    }
    for path in paths {
        let open = std::fs::File::open(&path).map_err(|error| file_error(&path, error))?;
        let mut text = String::new();
        let read = open.take(PROMPT_BYTES_MAX + 1).read_to_string(&mut text);
        let bytes = read.map_err(|error| file_error(&path, error))?;
        if bytes as u64 > PROMPT_BYTES_MAX || text.trim().is_empty() {
            let message = format!("{}: expected 1 to {PROMPT_BYTES_MAX} bytes of text", path.display());
            return Err(CliError::new(Code::File, message));
        }
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        pack.replace(&file, text).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            CliError::new(Code::File, message)
        })?;
    }
    Ok(())
}

impl NamedModel {
    /// Returns the problem with the model named, and its steps bound to it. Steps that the problem binds itself stay.
    pub(super) fn pin(&self, problem: &Value) -> Value {
        let Some(object) = problem.as_object() else { return problem.clone() };
        let settings = object.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
        let own = settings.get("bindings").and_then(Value::as_object).cloned().unwrap_or_default();
        let others = self.bindings.iter().filter(|(step, _)| !own.contains_key(step));
        let bindings =
            others.fold(own.clone(), |all, (step, binding)| all.with(step.clone(), binding.clone()));
        let settings = settings.with(MODEL, self.name.as_str()).with("bindings", bindings);
        object.with("settings", settings).into()
    }

    /// Returns the declarations of the capabilities that ask the model.
    pub(super) fn source(&self) -> Source {
        Source { document: self.declarations.clone(), folder: std::path::PathBuf::from("/") }
    }
}
