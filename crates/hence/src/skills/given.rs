//! The inputs and the frame of a skill, read from the command line.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value, did_you_mean};
use hence_cognition::skill::{Need, Skill, TypeName};

use crate::args::skill::SkillRunArgs;
use crate::code::Code;
use crate::error::CliError;
use crate::{hint, input};

/// Reads the inputs: those of the file, replaced by those of single options.
pub(crate) fn inputs(args: &SkillRunArgs, skill: &Skill) -> Result<Object, CliError> {
    let mut inputs = match &args.inputs {
        None => Object::new(),
        Some(file) => object("--inputs", file)?,
    };
    let mut named = BTreeSet::new();
    for given in &args.input {
        let (name, value) = given
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| refused(format!("--input is NAME=VALUE, found {given:?}")))?;
        if !named.insert(name) {
            return Err(refused(format!("--input {name} is given twice")));
        }
        inputs = inputs.with(name, one(skill, name, value)?);
    }
    let unknown = inputs.keys().find(|name| !skill.inputs.iter().any(|(declared, _)| declared == *name));
    // `null` has every type, so nothing later would refuse it.
    let is_null = |name: &str| inputs.get(name).is_some_and(Value::is_null);
    let empty = skill.inputs.iter().find(|(name, field)| field.need == Need::Required && is_null(name));
    if let (None, Some((name, field))) = (unknown, empty) {
        let kind = &field.kind;
        return Err(refused(format!(
            "input `{name}` is required: expected a value of type {kind}, found null"
        )));
    }
    match unknown {
        None => Ok(inputs),
        Some(name) => {
            let declared: Vec<&str> = skill.inputs.iter().map(|(name, _)| &**name).collect();
            let meant = did_you_mean(name, declared.iter().copied());
            let declared = if declared.is_empty() { "none".to_owned() } else { declared.join(", ") };
            Err(refused(format!("the skill has no input `{name}`; it declares {declared}{meant}")))
        }
    }
}

/// Reads the frame.
pub(crate) fn frame(args: &SkillRunArgs) -> Result<Option<Object>, CliError> {
    args.frame.as_deref().map(|file| object("--frame", file)).transpose()
}

/// Parses a value: a text input is used unchanged, any other is parsed as YAML or JSON.
fn one(skill: &Skill, name: &str, value: &str) -> Result<Value, CliError> {
    let declared = skill.inputs.iter().find(|(declared, _)| &**declared == name);
    let (source, bytes) = read(value, format!("--input {name}"))?;
    let text = std::str::from_utf8(&bytes);
    match declared.and_then(|(_, field)| TypeName::find(&field.kind)) {
        Some(TypeName::String) => {
            text.map(Value::from).map_err(|_| refused(format!("{source}: expected a text in UTF-8")))
        }
        Some(TypeName::Boolean) => match text.ok().and_then(yes_or_no) {
            Some(value) => Ok(value),
            None => document(&source, &bytes),
        },
        _ => document(&source, &bytes),
    }
}

/// Reads the words that people say for true and false.
pub(crate) fn yes_or_no(text: &str) -> Option<Value> {
    match text.trim().to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" => Some(true.into()),
        "no" | "n" | "false" => Some(false.into()),
        _ => None,
    }
}

/// Reads a value that a fork sets: a path, as vars.x or /vars/x, and the value.
pub(crate) fn setting(text: &str) -> Result<(Arc<str>, Value), CliError> {
    let (place, value) = text
        .split_once('=')
        .filter(|(place, _)| !place.is_empty())
        .ok_or_else(|| refused(format!("--set is PLACE=VALUE, found {text:?}")))?;
    let place = match place.strip_prefix('/') {
        Some(pointer) => pointer
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect::<Vec<_>>()
            .join("."),
        None => place.to_owned(),
    };
    let (source, bytes) = read(value, format!("--set {place}"))?;
    Ok((place.into(), document(&source, &bytes)?))
}

/// Returns the bytes of a value and where they come from: `@FILE` is a file, and `@@` begins a text with `@`.
fn read(value: &str, option: String) -> Result<(String, Vec<u8>), CliError> {
    match value.strip_prefix('@') {
        Some(text) if text.starts_with('@') => Ok((option, text.as_bytes().to_vec())),
        Some(file) => Ok((file.to_owned(), input::read_document(file)?)),
        None => Ok((option, value.as_bytes().to_vec())),
    }
}

fn object(option: &str, file: &str) -> Result<Object, CliError> {
    let value = document(input::shown_name(file), &input::read_parsable(file, Code::NotJson)?)?;
    match value {
        Value::Object(object) => Ok(object),
        other => Err(refused(format!("{option} {file}: expected an object, found {}", other.kind()))),
    }
}

fn document(name: &str, bytes: &[u8]) -> Result<Value, CliError> {
    if let Some(message) = input::not_a_document(name, bytes) {
        return Err(CliError::new(Code::NotJson, message).with_hint(hint::NOT_A_DOCUMENT));
    }
    let document = hence_yaml::parse(bytes);
    document
        .map(|document| document.value().clone())
        .map_err(|error| CliError::at(Code::NotJson, name, error))
}

fn refused(message: String) -> CliError {
    CliError::new(Code::Argument, message)
}
