//! The values of secrets, in memory while a process needs them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::secret::secret_reference;

use super::{Redactor, SecretSource, Secrets};

/// The minimum length of a secret: a shorter one would occur in unrelated texts.
pub const SECRET_BYTES_MIN: usize = 4;

/// The maximum length of a secret: private keys fit, and buffers that must hold a whole encoded secret stay small.
pub const SECRET_BYTES_MAX: usize = 8 * 1024;

/// A secret whose value is not available.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the secret `{name}` is missing: {reason}")]
pub struct MissingSecret {
    /// The name of the secret.
    pub name: Arc<str>,
    /// The place that was searched, and what was found instead.
    pub reason: Arc<str>,
}

/// The values of secrets by name. The `Debug` output does not show them.
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
    /// Reads the values of declared secrets. A missing one is an error only when it is requested.
    pub fn open(secrets: &Secrets) -> Self {
        let mut vault = Self::default();
        for (name, source) in secrets.iter() {
            vault.put(name.clone(), read(source));
        }
        vault.redactor = Redactor::of(&vault.values);
        vault
    }

    /// Adds the value of a secret that no file declares, or the reason why it is missing.
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
    /// [`MissingSecret`] when the value is not available.
    pub fn value(&self, name: &str) -> Result<&Arc<str>, MissingSecret> {
        self.values.get(name).ok_or_else(|| {
            let unknown = || "nobody declares it".into();
            let reason = self.missing.get(name).cloned().unwrap_or_else(unknown);
            MissingSecret { name: name.into(), reason }
        })
    }

    /// Returns the redactor, which removes the values from texts.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns a value with references to secrets replaced by their values.
    ///
    /// # Errors
    /// [`MissingSecret`] for the first secret that is not available, or that `allowed` refuses.
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
        SecretSource::File(path) => match read_file(path) {
            Ok(text) => Ok(text.strip_suffix('\n').unwrap_or(&text).trim_end_matches('\r').to_owned()),
            Err(error) => Err(format!("{source} cannot be read: {}", error.kind())),
        },
    };
    fitting(value?, &source.to_string())
}

/// Reads the file of a secret: not a pipe, which might never end, and not more than a secret has.
fn read_file(path: &std::path::Path) -> std::io::Result<String> {
    use std::io::Read as _;
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    let limit = u64::try_from(SECRET_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(3);
    std::fs::File::open(path)?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}

fn fitting(value: String, place: &str) -> Result<String, String> {
    let (bytes, plain) = (value.len(), value.trim().len());
    if plain >= SECRET_BYTES_MIN && bytes <= SECRET_BYTES_MAX {
        return Ok(value);
    }
    // Providers trim what they read, so blanks at the ends protect nothing.
    let found = if bytes > SECRET_BYTES_MAX {
        format!("{bytes} bytes")
    } else {
        format!("{plain} bytes besides blanks at its ends")
    };
    Err(format!(
        "{place} has {found}, a secret has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX}: a shorter one occurs in \
         unrelated texts, so nothing could keep it out of records"
    ))
}
