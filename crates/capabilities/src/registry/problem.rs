//! What is wrong with a capabilities file, and where.

use std::fmt;
use std::sync::Arc;

use hence_canon::JsonPointer;

/// One finding in a capabilities file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegistryProblem {
    /// Where in the document.
    pub pointer: JsonPointer,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for RegistryProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at `{}`: {}", self.pointer, self.message)
    }
}

/// Collects findings while a capabilities file is read: all of them, not the first.
#[derive(Default, Debug)]
pub struct Findings {
    problems: Vec<RegistryProblem>,
    /// Secrets that are referred to, and where: whether they are declared is known at the end.
    secrets: Vec<(JsonPointer, Arc<str>)>,
}

impl Findings {
    /// Adds a finding.
    pub fn add(&mut self, pointer: JsonPointer, message: impl fmt::Display) {
        self.problems.push(RegistryProblem { pointer, message: message.to_string() });
    }

    /// Notes that a secret is needed, so that one nobody declared is a finding.
    pub fn needs_secret(&mut self, pointer: JsonPointer, name: Arc<str>) {
        self.secrets.push((pointer, name));
    }

    /// Returns the secrets noted since there were `count` of them.
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
