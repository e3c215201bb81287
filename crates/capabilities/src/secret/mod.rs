//! Values that nobody may see: referred to by name everywhere, had only by the provider that needs one.
//!
//! A run's memory, records and files hold [references](hence_cognition::secret), never values. A value is put in the
//! place of a reference when a provider is called, and taken out of whatever the provider gives or says: both in
//! `outside`, which every call of a declared capability goes through and nothing else does.

mod redact;
mod source;
mod vault;

pub use redact::Redactor;
pub use source::{SecretSource, Secrets};
pub use vault::{MissingSecret, SECRET_BYTES_MAX, SECRET_BYTES_MIN, Vault};

#[cfg(test)]
mod tests;
