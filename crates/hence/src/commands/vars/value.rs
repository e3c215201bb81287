//! Reads values from an argument, a file or standard input.

use std::sync::Arc;

use hence_canon::{Value, parse};
use hence_variables::ValueType;

use crate::args::vars::{OriginArgs, ValueArgs};
use crate::input;
use crate::prelude::*;
use crate::skills::yes_or_no;

/// Reads a text: the argument itself, the content of `@FILE`, standard input for `-`. `@@x` is the text `@x`.
pub(crate) fn text(given: &str) -> Result<String, CliError> {
    read(given, input::read_document)
}

/// Reads a text of up to the size limit of values.
fn large_text(given: &str) -> Result<String, CliError> {
    read(given, input::read_text)
}

fn read(given: &str, file: fn(&str) -> Result<Vec<u8>, CliError>) -> Result<String, CliError> {
    let name = match given.strip_prefix('@') {
        _ if given == "-" => "-",
        None => return Ok(given.to_owned()),
        Some(rest) if rest.starts_with('@') => return Ok(rest.to_owned()),
        Some(named) => named,
    };
    let bytes = file(name)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::new(Code::File, format!("{name} is not UTF-8 at byte {at}")).with_hint(hint::NOT_UTF8)
    })
}

/// Reads JSON from the same places.
pub(crate) fn json(given: &str) -> Result<Value, CliError> {
    parse_json(&text(given)?)
}

fn parse_json(text: &str) -> Result<Value, CliError> {
    parse(text.as_bytes()).map_err(|error| CliError::not_json("the value", error))
}

/// Reads a truth value: `true`, `false`, or a word that people say for one of them.
fn boolean(given: &str) -> Result<Value, CliError> {
    let text = text(given)?;
    yes_or_no(&text).map_or_else(|| parse_json(&text), Ok)
}

/// Reads a value by its type: texts and references as they are, everything else as JSON. A value without a type keeps the
/// type that the variable has: only a given type changes it.
pub(super) fn typed(
    args: &ValueArgs,
    present: Option<ValueType>,
) -> Result<(Value, Option<Arc<str>>), CliError> {
    let present = present.filter(|present| *present != ValueType::Null);
    let kept = present.map(|present| present.as_str()).filter(|_| args.value_type.is_none());
    let value_type = args.value_type.as_deref().or(kept);
    if let (Some(kept), Some(given)) = (kept, &args.value)
        && ["number", "boolean", "json", "array"].contains(&kept)
    {
        let read = if kept == "boolean" { boolean(given) } else { json(given) };
        let fits = read.ok().filter(|value| present.is_some_and(|present| present.admits(value)));
        let value = fits.ok_or_else(|| {
            let message = format!("the variable is of type {kept}, and the value is not");
            CliError::new(Code::Variables, message).with_hint(hint::GIVE_TYPE)
        })?;
        return Ok((value, Some(kept.into())));
    }
    let value = match (&args.value, value_type) {
        (None, None | Some("null")) => Value::Null,
        (None, Some(other)) => {
            let message = format!("expected a value of type {other}, found none");
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::GIVE_VALUE));
        }
        (Some(given), Some("boolean")) => boolean(given)?,
        (Some(given), Some("number" | "json" | "array" | "null")) => json(given)?,
        // An unknown type is refused by the rules of variables.
        (Some(given), _) => large_text(given)?.into(),
    };
    Ok((value, value_type.map(Into::into)))
}

impl From<&OriginArgs> for hence_variables::Origin {
    fn from(args: &OriginArgs) -> Self {
        let shared = |text: &Option<String>| text.as_deref().map(Into::into);
        Self { source: shared(&args.source), reason: shared(&args.reason), task_node_id: shared(&args.task) }
    }
}
