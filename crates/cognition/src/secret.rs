//! References to secrets: what stands in memory, records and mappings in the place of a value nobody may see.
//!
//! This crate never sees the value: whoever carries out a call puts it in at the last moment.

use std::sync::Arc;

use hence_canon::{Object, Value};

/// The member that makes an object a reference to a secret.
pub const SECRET_KEY: &str = "$secret";

/// How the name of a secret begins that is an input of a skill.
pub const INPUT_PREFIX: &str = "inputs.";

/// Returns the name a reference to a secret holds: an object whose only member is `$secret`, a text.
pub fn secret_reference(value: &Value) -> Option<&Arc<str>> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    match object.get(SECRET_KEY)? {
        Value::String(name) => Some(name),
        _ => None,
    }
}

/// Makes a reference to a secret.
pub fn refer_to_secret(name: &str) -> Value {
    Object::from_iter([(SECRET_KEY, name)]).into()
}
