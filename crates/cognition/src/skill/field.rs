//! Declared inputs and outputs.

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value, meant};

use super::Findings;
use super::{Need, Rule};

/// One declared input or output of a skill or a capability.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The type by name; names outside [`TypeName`] are free text and not checked.
    pub kind: Arc<str>,
    /// The need for a value.
    pub need: Need,
    /// The purpose, in words.
    pub description: Option<Arc<str>>,
    /// The default value.
    pub default: Option<Value>,
}

impl Field {
    /// Returns an optional field that admits every value.
    pub(crate) fn of_any_type() -> Self {
        Self { kind: "any".into(), need: Need::Optional, description: None, default: None }
    }
}

/// Fields by name in declared order.
pub type Fields = Vec<(Arc<str>, Field)>;

/// A type name that values are checked against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum TypeName {
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
}

impl TypeName {
    /// The names.
    pub const NAMES: [&'static str; 6] = ["string", "number", "integer", "boolean", "object", "array"];

    /// Returns the type of that name.
    pub fn find(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "object" => Self::Object,
            "array" => Self::Array,
            _ => return None,
        })
    }

    /// Returns whether a value is of this type; `null` is of every type.
    pub fn admits(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(_) => self == Self::Boolean,
            Value::Int(_) => matches!(self, Self::Integer | Self::Number),
            Value::Float(_) => self == Self::Number,
            Value::String(_) => self == Self::String,
            Value::Array(_) => self == Self::Array,
            Value::Object(_) => self == Self::Object,
        }
    }
}

pub(super) const KEYS: [&str; 5] = ["type", "required", "description", "default", "secret"];

/// Reads declared fields; findings go to `problems`.
pub(crate) fn fields(object: &Object, pointer: &JsonPointer, findings: &mut Findings) -> Fields {
    let one = |(name, value): (&Arc<str>, &Value)| {
        let pointer = pointer.child(name);
        field(value, &pointer, findings).map(|field| (name.clone(), field))
    };
    object.iter().filter_map(one).collect()
}

fn field(value: &Value, pointer: &JsonPointer, findings: &mut Findings) -> Option<Field> {
    let Value::Object(object) = value else {
        findings.add(
            Rule::Shape,
            pointer.clone(),
            format_args!("a field is an object, found {}", value.kind()),
        );
        return None;
    };
    for key in object.keys().filter(|key| !KEYS.contains(&&***key)) {
        findings.add_unknown_key(pointer, "a field", key, &KEYS);
    }
    let kind = match object.get("type") {
        Some(Value::String(kind)) if !kind.is_empty() => {
            // Names of one's own are allowed; one that resembles a known name is a slip that would switch the check off.
            if TypeName::find(kind).is_none()
                && let Some(known) = meant(kind, TypeName::NAMES)
            {
                let message = format_args!("`{kind}` is no type; did you mean `{known}`?");
                findings.add(Rule::UnknownType, pointer.child("type"), message);
            }
            Some(kind.clone())
        }
        _ => {
            findings.add(Rule::Shape, pointer.child("type"), "the type is a non-empty string");
            None
        }
    };
    let need = match object.get("required") {
        None | Some(Value::Bool(false)) => Some(Need::Optional),
        Some(Value::Bool(true)) => Some(Need::Required),
        Some(other) => {
            let message = format_args!("required is true or false, found {}", other.kind());
            findings.add(Rule::Shape, pointer.child("required"), message);
            None
        }
    };
    let description = match object.get("description") {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) => Some(Some(text.clone())),
        Some(other) => {
            let message = format_args!("the description is a string, found {}", other.kind());
            findings.add(Rule::Shape, pointer.child("description"), message);
            None
        }
    };
    Some(Field {
        kind: kind?,
        need: need?,
        description: description?,
        default: object.get("default").cloned(),
    })
}
