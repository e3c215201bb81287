//! The values of secrets, for as long as a process needs them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::secret::secret_reference;

use super::{Redactor, SecretSource, Secrets};

/// The shortest secret: anything shorter would be found in texts that have nothing to do with it.
pub const SECRET_BYTES_MIN: usize = 4;

/// The longest secret: private keys fit, and what it is searched in stays small beside it.
pub const SECRET_BYTES_MAX: usize = 8 * 1024;

/// A secret whose value cannot be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the secret `{name}` is missing: {reason}")]
pub struct MissingSecret {
    /// Its name.
    pub name: Arc<str>,
    /// Where it was looked for, and what was found instead.
    pub reason: Arc<str>,
}

/// Values of secrets by name. It never shows them.
#[derive(Clone, Default)]
pub struct Vault {
    values: BTreeMap<Arc<str>, Arc<str>>,
    missing: BTreeMap<Arc<str>, Arc<str>>,
    redactor: Redactor,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Vault({} secrets)", self.values.len())
    }
}

impl Vault {
    /// Reads the values of declared secrets. One that cannot be had is missing when it is asked for, not before.
    pub fn open(secrets: &Secrets) -> Self {
        let mut vault = Self::default();
        for (name, source) in secrets.iter() {
            vault.put(name.clone(), read(source));
        }
        vault.redactor = Redactor::of(&vault.values);
        vault
    }

    /// Adds the value of a secret that is not declared in a file, or why there is none.
    pub fn hold(&mut self, name: &str, value: Result<String, String>) {
        self.put(name.into(), value.and_then(|value| fitting(value, "the value given")));
        self.redactor = Redactor::of(&self.values);
    }

    fn put(&mut self, name: Arc<str>, value: Result<String, String>) {
        match value {
            Ok(value) => drop(self.values.insert(name, value.into())),
            Err(reason) => drop(self.missing.insert(name, reason.into())),
        }
    }

    /// Returns the value of a secret.
    ///
    /// # Errors
    /// [`MissingSecret`] when it cannot be had.
    pub fn value(&self, name: &str) -> Result<&Arc<str>, MissingSecret> {
        self.values.get(name).ok_or_else(|| {
            let unknown = || "nobody declares it".into();
            let reason = self.missing.get(name).cloned().unwrap_or_else(unknown);
            MissingSecret { name: name.into(), reason }
        })
    }

    /// Returns what takes the values out of texts.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Puts values in the place of references.
    ///
    /// # Errors
    /// [`MissingSecret`] for the first that cannot be had, or that `allowed` does not allow.
    pub fn resolve(&self, value: &Value, allowed: &dyn Fn(&str) -> bool) -> Result<Value, MissingSecret> {
        if let Some(name) = secret_reference(value) {
            if !allowed(name) {
                let reason = "the capability is not declared to be given it, under its `secrets`".into();
                return Err(MissingSecret { name: name.clone(), reason });
            }
            return self.value(name).map(|value| value.clone().into());
        }
        Ok(match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| self.resolve(item, allowed));
                items.collect::<Result<Vec<Value>, _>>()?.into()
            }
            Value::Object(object) => {
                let members =
                    object.iter().map(|(key, value)| Ok((key.clone(), self.resolve(value, allowed)?)));
                members.collect::<Result<Vec<_>, MissingSecret>>()?.into_iter().collect::<Object>().into()
            }
            other => other.clone(),
        })
    }
}

fn read(source: &SecretSource) -> Result<String, String> {
    let value = match source {
        SecretSource::Environment(name) => match std::env::var(&**name) {
            Ok(value) => Ok(value),
            Err(std::env::VarError::NotPresent) => Err(format!("{source} is not set")),
            Err(std::env::VarError::NotUnicode(_)) => Err(format!("{source} is not UTF-8")),
        },
        // A line feed at the end is what editors add, and no part of the secret.
        SecretSource::File(path) => match std::fs::read_to_string(path) {
            Ok(text) => Ok(text.strip_suffix('\n').unwrap_or(&text).trim_end_matches('\r').to_owned()),
            Err(error) => Err(format!("{source} cannot be read: {}", error.kind())),
        },
    };
    fitting(value?, &source.to_string())
}

fn fitting(value: String, place: &str) -> Result<String, String> {
    let bytes = value.len();
    if (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes) {
        return Ok(value);
    }
    Err(format!("{place} has {bytes} bytes, a secret has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX}"))
}
