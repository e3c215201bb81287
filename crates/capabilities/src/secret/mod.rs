//! Values that nobody may see: referred to by name everywhere, had only by the provider that needs one.

mod source;

use std::sync::Arc;

use hence_canon::{Object, Value};

pub use source::{SecretSource, Secrets};

/// The member that makes an object a reference to a secret.
pub const SECRET_KEY: &str = "$secret";

/// Returns the name a reference to a secret holds: an object whose only member is `$secret`, a text.
pub fn reference(value: &Value) -> Option<Arc<str>> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    match object.get(SECRET_KEY)? {
        Value::String(name) => Some(name.clone()),
        _ => None,
    }
}

/// Makes a reference to a secret.
pub fn reference_to(name: &str) -> Value {
    Object::from_iter([(SECRET_KEY, name)]).into()
}
