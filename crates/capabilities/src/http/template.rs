//! Texts with places for members of the input and for secrets: `/tickets/{id}`, `Bearer {secrets.TOKEN}`.

use std::sync::Arc;

use hence_canon::Value;

/// How a place for a secret begins.
const SECRET_PREFIX: &str = "secrets.";

/// A text with places in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Template(Vec<Part>);

/// A piece of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// A text as it is.
    Literal(String),
    /// A member of the input.
    Input(Arc<str>),
    /// A secret.
    Secret(Arc<str>),
}

/// Why a template cannot be filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Unfilled {
    /// A member of the input is not there, or null.
    Absent(Arc<str>),
    /// A member of the input has no plain text.
    NotPlain(Arc<str>, hence_canon::Kind),
}

impl Template {
    /// Reads a template. `{{` and `}}` stand for braces.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                literal.push_str(from.get(..1).unwrap_or_default());
                rest = after;
                continue;
            }
            let inside = from.strip_prefix('{').and_then(|from| from.split_once('}'));
            let Some((name, after)) = inside.filter(|(name, _)| !name.is_empty() && !name.contains('{'))
            else {
                return Err(format!("a brace in {text:?} has no other; {{{{ and }}}} stand for braces"));
            };
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(match name.strip_prefix(SECRET_PREFIX) {
                Some(secret) => Part::Secret(secret.into()),
                None => Part::Input(name.into()),
            });
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self(parts))
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Returns the names of the secrets it has places for.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().filter_map(|part| match part {
            Part::Secret(name) => Some(name),
            _ => None,
        })
    }

    /// Returns the whole text, if it has no places.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

/// Returns the text of a member of the input.
pub(super) fn plain_member(input: &Value, name: &Arc<str>) -> Result<String, Unfilled> {
    match input.get(name) {
        None | Some(Value::Null) => Err(Unfilled::Absent(name.clone())),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(value @ (Value::Bool(_) | Value::Int(_) | Value::Float(_))) => Ok(value.to_string()),
        Some(other) => Err(Unfilled::NotPlain(name.clone(), other.kind())),
    }
}

/// Encodes a text so that it stands for itself anywhere in a URL.
pub(super) fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_and_braces_can_be_written() {
        let parts = |text: &str| Template::read(text).unwrap().0;
        let (literal, input, secret) = (
            |text: &str| Part::Literal(text.to_owned()),
            |name: &str| Part::Input(name.into()),
            |name: &str| Part::Secret(name.into()),
        );
        assert_eq!(parts("a/{id}/b"), [literal("a/"), input("id"), literal("/b")]);
        assert_eq!(parts("Bearer {secrets.T}"), [literal("Bearer "), secret("T")]);
        assert_eq!(parts("{{x}} {a}{b}"), [literal("{x} "), input("a"), input("b")]);
        assert_eq!(parts(""), []);
        for wrong in ["{", "}", "{}", "{a", "a}", "{a{b}}"] {
            assert!(Template::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(percent_encoded("a b/é?"), "a%20b%2F%C3%A9%3F");
    }
}
