//! Secrets: values that are referred to by name, and that only the provider that needs one receives.
//!
//! A run's memory, records and files hold [references](hence_cognition::secret), never values. Values replace
//! references when a provider is called, and are removed from its output and messages. Both happen in `outside`, which
//! handles all calls of declared capabilities and nothing else.

mod decoded;
mod redact;
mod source;
mod vault;

pub(crate) use redact::MARK;
pub use redact::Redactor;
pub use source::{SecretSource, Secrets};
pub use vault::{MissingSecret, SECRET_BYTES_MAX, SECRET_BYTES_MIN, Vault};

#[cfg(test)]
mod tests;
