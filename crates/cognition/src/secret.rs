//! References to secrets: they replace secret values in memory, records and mappings.
//!
//! This crate never sees the value: it is inserted when a call is made.

use std::sync::Arc;

use hence_canon::{Object, Value};

/// The member that makes an object a reference to a secret.
pub const SECRET_KEY: &str = "$secret";

/// The prefix of the name of a secret that is an input of a skill.
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
