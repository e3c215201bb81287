//! What a document that a person names is, told by its members.

use hence_canon::{Object, Value};

use crate::code::Code;
use crate::error::CliError;
use crate::skills::has_prompt;
use crate::{hint, input};

/// The kinds of documents that people write or receive, except journals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DocumentKind {
    Skill,
    Problem,
    Capabilities,
    Policies,
    Trace,
}

impl DocumentKind {
    /// Returns the kind that the members of a document show. A record of a journal shows none.
    pub(crate) fn of(document: &Value) -> Option<Self> {
        let has = |key: &str| document.get(key).is_some();
        let is_policy = |value: &Value| value.get("formula").is_some();
        if has("record_hash") || has("prev_hash") {
            return None;
        }
        match document {
            _ if has_prompt(document) => Some(Self::Problem),
            _ if has("steps") => Some(Self::Skill),
            _ if has("actions") => Some(Self::Trace),
            _ if document.get("capabilities").is_some_and(|found| found.as_object().is_some()) => {
                Some(Self::Capabilities)
            }
            _ if is_policy(document) || has("policies") || has("policy") => Some(Self::Policies),
            Value::Array(items) if items.iter().any(is_policy) => Some(Self::Policies),
            _ if has("inputs") && has("id") => Some(Self::Problem),
            _ => None,
        }
    }

    /// Returns the kind of a file's content in JSON or YAML.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Self::of(&hence_yaml::parse_value(bytes).ok()?)
    }

    /// Returns the kind of a document that a command reads; `None` if its members show none.
    ///
    /// # Errors
    /// [`CliError`] for prose, programs and the like: the first character that YAML cannot read would say nothing about them.
    pub(crate) fn of_text(name: &str, bytes: &[u8], expected: &str) -> Result<Option<Self>, CliError> {
        match hence_yaml::parse_value(bytes) {
            Ok(value) => Ok(Self::of(&value)),
            Err(_) if !input::may_be_document(name) => {
                Err(not_expected(name, "neither JSON nor YAML", expected))
            }
            // The error names its place.
            Err(_) => Ok(None),
        }
    }

    /// As [`Self::of_text`], for a command that reads several kinds: also what has no members is refused, because it cannot be said
    /// what it lacks.
    pub(crate) fn of_members(name: &str, bytes: &[u8], expected: &str) -> Result<Option<Self>, CliError> {
        let kind = Self::of_text(name, bytes, expected)?;
        match hence_yaml::parse_value(bytes) {
            Ok(value) if kind.is_none() && value.as_object().is_none_or(Object::is_empty) => {
                Err(not_expected(name, without_members(&value), expected))
            }
            _ => Ok(kind),
        }
    }

    /// Returns the kind in words, with an article where there is one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Skill => "a skill",
            Self::Problem => "a problem",
            Self::Capabilities => "a capabilities file",
            Self::Policies => "a file of policies",
            Self::Trace => "a review trace",
        }
    }
}

fn not_expected(name: &str, found: &str, expected: &str) -> CliError {
    let message = format!("{} is {found}: expected {expected}", input::shown_name(name));
    CliError::new(Code::Argument, message).with_hint(hint::NOT_A_DOCUMENT)
}

/// Returns what a value is that has no members.
fn without_members(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "an object without members",
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        _ => "a single value",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_show_the_kind() {
        for (text, expected) in [
            ("{id: s, inputs: {}, steps: []}", Some(DocumentKind::Skill)),
            ("{id: p, inputs: {prompt: why}, steps: []}", Some(DocumentKind::Problem)),
            ("{id: p, inputs: {}}", Some(DocumentKind::Problem)),
            ("{capabilities: {a: {}}}", Some(DocumentKind::Capabilities)),
            ("{policies: []}", Some(DocumentKind::Policies)),
            ("[{id: p, formula: G(a)}]", Some(DocumentKind::Policies)),
            ("{actions: [], policies: []}", Some(DocumentKind::Trace)),
            ("{record_hash: x, actions: []}", None),
            ("{}", None),
            ("a text", None),
        ] {
            assert_eq!(DocumentKind::of_bytes(text.as_bytes()), expected, "{text}");
        }
    }
}
