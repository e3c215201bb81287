//! The sources of the values of secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hence_canon::{JsonPointer, Value};

use crate::registry::{Findings, Members};

/// The source of the value of a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecretSource {
    /// An environment variable.
    Environment(Arc<str>),
    /// A file, without the line feed at its end.
    File(PathBuf),
}

impl std::fmt::Display for SecretSource {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment(name) => write!(out, "the environment variable {name}"),
            Self::File(path) => write!(out, "the file {}", path.display()),
        }
    }
}

/// Declared secrets: names and sources, never values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Secrets(BTreeMap<Arc<str>, SecretSource>);

impl Secrets {
    /// Reads the member `secrets`: by name, `{environment: VARIABLE}` or `{file: PATH}`.
    pub(crate) fn read(value: Option<&Value>, base: &Path, findings: &mut Findings) -> Self {
        let mut secrets = BTreeMap::new();
        let place = JsonPointer::root().child("secrets");
        let Some(value) = value.filter(|value| !value.is_null()) else { return Self::default() };
        let Some(object) = value.as_object() else {
            findings.add(place, format_args!("expected an object, found {}", value.kind()));
            return Self::default();
        };
        for (name, value) in object.iter() {
            let Some(mut members) = Members::of(value, place.child(name), base, findings) else { continue };
            let source = match (members.text("environment"), members.text("file")) {
                (Some(variable), None) => Some(SecretSource::Environment(variable)),
                (None, Some(path)) => Some(SecretSource::File(base.join(&*path))),
                _ => {
                    members.refuse_whole("a secret has `environment` or `file`, one of them");
                    None
                }
            };
            members.finish();
            secrets.extend(source.map(|source| (name.clone(), source)));
        }
        Self(secrets)
    }

    /// Returns whether a secret is declared.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Iterates over the secrets by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &SecretSource)> {
        self.0.iter()
    }

    /// Adds the secrets of `other`; returns the names that are in both.
    pub(crate) fn merge(&mut self, other: Self) -> Vec<Arc<str>> {
        let twice = other.0.keys().filter(|name| self.0.contains_key(*name)).cloned().collect();
        self.0.extend(other.0);
        twice
    }
}
