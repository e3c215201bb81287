//! Bindings: steps of the built-in skill that a capability executes.

use std::sync::Arc;
use std::time::Duration;

use hence_canon::{JsonPointer, Value};

use crate::Category;
use crate::schema::SchemaReader;

/// The longest a call of a bound step may take by default.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);

/// A step and the capability it is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The step's name.
    pub step: Arc<str>,
    /// The capability's id.
    pub capability: Arc<str>,
    /// The input of the capability.
    pub input: BindingInput,
    /// The part of the reply that becomes the step's output; the step decides when absent.
    pub output: Option<JsonPointer>,
    /// The longest a call may take.
    pub timeout: Duration,
}

/// The input of a bound capability.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BindingInput {
    /// Everything a step can see.
    Everything,
    /// An object of chosen members.
    Members(Vec<(Arc<str>, BindingMember)>),
}

/// One member of the input of a bound capability.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BindingMember {
    /// The part at this place of everything a step can see.
    At(JsonPointer),
    /// A constant.
    Value(Value),
}

/// Reads `bindings`, by the names of steps.
pub(super) fn read_bindings(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<Vec<Binding>> {
    let bindings = reader.model(value, path)?.object.iter();
    Some(bindings.filter_map(|(step, value)| read_binding(reader, step, value, &path.child(step))).collect())
}

fn read_binding(
    reader: &mut SchemaReader<'_>,
    step: &Arc<str>,
    value: &Value,
    path: &JsonPointer,
) -> Option<Binding> {
    let node = reader.model(value, path)?;
    let capability = reader.required(&node, "capability", SchemaReader::non_empty_text);
    let input = reader.optional(&node, "input", read_members).map(BindingInput::Members);
    let output = reader.optional(&node, "output", read_pointer);
    let timeout = reader.optional(&node, "timeout_seconds", read_timeout);
    reader.refuse_unknown(&node, &["capability", "input", "output", "timeout_seconds"]);
    Some(Binding {
        step: step.clone(),
        capability: capability?,
        input: input.unwrap_or(BindingInput::Everything),
        output,
        timeout: timeout.unwrap_or(TIMEOUT_DEFAULT),
    })
}

/// Reads an object whose members are places or constants.
pub(super) fn read_members(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<Vec<(Arc<str>, BindingMember)>> {
    let members = reader.model(value, path).map(|node| node.object.iter()).into_iter().flatten();
    let member = |(name, value): (&Arc<str>, &Value)| {
        Some((name.clone(), read_member(reader, value, &path.child(name))?))
    };
    Some(members.filter_map(member).collect())
}

/// Reads `{"at": POINTER}` or `{"value": ANYTHING}`.
fn read_member(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<BindingMember> {
    let only = value.as_object().filter(|object| object.len() == 1);
    match only.and_then(|object| object.iter().next()) {
        Some((key, value)) if &**key == "value" => Some(BindingMember::Value(value.clone())),
        Some((key, value)) if &**key == "at" => {
            read_pointer(reader, value, &path.child("at")).map(BindingMember::At)
        }
        _ => {
            reader.mismatch(path, Category::ModelType, "an object with `at` or `value`", value);
            None
        }
    }
}

pub(super) fn read_pointer(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<JsonPointer> {
    let text = reader.text(value, path)?;
    text.parse().map_err(|_| reader.mismatch(path, Category::ValueError, "a JSON pointer", value)).ok()
}

fn read_timeout(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<Duration> {
    let seconds = match value {
        Value::Int(int) => int.to_f64_lossy(),
        Value::Float(float) => float.get(),
        _ => f64::NAN,
    };
    let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|timeout| !timeout.is_zero());
    if timeout.is_none() {
        reader.mismatch(path, Category::ValueError, "a number of seconds above 0", value);
    }
    timeout
}
