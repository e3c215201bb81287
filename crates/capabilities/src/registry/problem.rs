//! Findings in capabilities files.

use std::fmt;
use std::sync::Arc;

use hence_canon::JsonPointer;

/// One finding in a capabilities file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegistryProblem {
    /// The location in the document.
    pub pointer: JsonPointer,
    /// A description of the expected and the found value.
    pub message: String,
}

impl fmt::Display for RegistryProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at `{}`: {}", self.pointer, self.message)
    }
}

/// The findings of one capabilities file. Reading continues after a finding, so that all are reported.
#[derive(Default, Debug)]
pub struct Findings {
    problems: Vec<RegistryProblem>,
    /// The secrets that are referred to, with their locations. Whether they are declared is checked at the end.
    secrets: Vec<(JsonPointer, Arc<str>)>,
}

impl Findings {
    /// Adds a finding.
    pub fn add(&mut self, pointer: JsonPointer, message: impl fmt::Display) {
        self.problems.push(RegistryProblem { pointer, message: message.to_string() });
    }

    /// Records a reference to a secret, so that an undeclared one becomes a finding.
    pub fn needs_secret(&mut self, pointer: JsonPointer, name: Arc<str>) {
        self.secrets.push((pointer, name));
    }

    /// Returns the secrets recorded after the first `count`.
    pub(super) fn secrets_since(&self, count: usize) -> Vec<Arc<str>> {
        self.secrets.iter().skip(count).map(|(_, name)| name.clone()).collect()
    }

    pub(super) fn secrets_count(&self) -> usize {
        self.secrets.len()
    }

    pub(super) fn finish(mut self, declared: impl Fn(&str) -> bool) -> Vec<RegistryProblem> {
        for (pointer, name) in std::mem::take(&mut self.secrets) {
            if !declared(&name) {
                self.add(pointer, format_args!("no secret `{name}` is declared under `secrets`"));
            }
        }
        self.problems
    }
}
