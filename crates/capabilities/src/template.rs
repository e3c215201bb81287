//! Templates: texts with placeholders `{{name}}` or `{{/pointer/0}}` for values.
//!
//! `text.template`, prompts of language models and HTTP requests use the same syntax. An inserted value is never read
//! as a template.

use std::sync::Arc;

use hence_canon::{JsonPointer, Value};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// The prefix of a placeholder for a secret, where secrets are allowed.
const SECRET_PREFIX: &str = "secrets.";

/// One part of a template's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part<'t> {
    Text(&'t str),
    /// The name between the braces, without the spaces around it.
    Placeholder(&'t str),
}

/// A `{{` without `}}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{{{{` without `}}}}`")]
pub(crate) struct Unclosed;

/// Splits a template into its parts.
pub(crate) fn parts(template: &str) -> impl Iterator<Item = Result<Part<'_>, Unclosed>> {
    let mut rest = template;
    let mut in_placeholder = false;
    std::iter::from_fn(move || {
        if in_placeholder {
            in_placeholder = false;
            let Some((name, after)) = rest.split_once(CLOSE) else {
                rest = "";
                return Some(Err(Unclosed));
            };
            rest = after;
            return Some(Ok(Part::Placeholder(name.trim())));
        }
        if rest.is_empty() {
            return None;
        }
        let (before, after) =
            rest.split_once(OPEN).map_or((rest, None), |(before, after)| (before, Some(after)));
        in_placeholder = after.is_some();
        rest = after.unwrap_or_default();
        Some(Ok(Part::Text(before)))
    })
}

/// A template that has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

/// A placeholder for a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placeholder {
    /// The name, as it is written in the template.
    pub name: Arc<str>,
    pointer: JsonPointer,
}

/// A text that is not a template.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidTemplate {
    /// A placeholder has no end.
    #[error("`{{{{` without `}}}}`")]
    Unclosed,
    /// A placeholder contains an invalid JSON pointer.
    #[error("`{name}` names no value: {reason}")]
    Pointer {
        /// The text between the braces.
        name: String,
        /// The defect of the pointer.
        reason: String,
    },
    /// A name has one brace on each side.
    #[error("`{{{name}}}` is no placeholder: write `{{{{{name}}}}}`")]
    SingleBraces {
        /// The text between the braces.
        name: String,
    },
}

impl Placeholder {
    /// Returns the value that replaces the placeholder.
    pub fn value<'v>(&self, values: &'v Value) -> Option<&'v Value> {
        values.pointer(&self.pointer)
    }

    /// Returns the member of the values that the placeholder names or looks into; `None` for all of them.
    pub fn member(&self) -> Option<Arc<str>> {
        self.pointer.tokens().next().map(Arc::from)
    }

    /// Returns the name of the secret that replaces the placeholder, where secrets are allowed.
    pub(crate) fn secret(&self) -> Option<&str> {
        self.name.strip_prefix(SECRET_PREFIX)
    }
}

impl std::fmt::Display for Template {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => out.write_str(text),
            Piece::Placeholder(placeholder) => write!(out, "{{{{{}}}}}", placeholder.name),
        })
    }
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// [`InvalidTemplate`] when a placeholder has no end or an invalid pointer.
    pub fn read(text: &str) -> Result<Self, InvalidTemplate> {
        let mut pieces = Vec::new();
        for part in parts(text) {
            match part.map_err(|Unclosed| InvalidTemplate::Unclosed)? {
                Part::Text("") => {}
                Part::Text(text) => pieces.push(Piece::Text(text.to_owned())),
                Part::Placeholder(name) => {
                    let pointer = match name.starts_with('/') {
                        true => name.parse().map_err(|error: hence_canon::InvalidPointer| {
                            InvalidTemplate::Pointer { name: name.to_owned(), reason: error.to_string() }
                        })?,
                        false => JsonPointer::root().child(name),
                    };
                    pieces.push(Piece::Placeholder(Placeholder { name: name.into(), pointer }));
                }
            }
        }
        Ok(Self(pieces))
    }

    /// Reads a template and refuses `{name}`, which is probably a misspelled placeholder.
    pub(crate) fn read_strict(text: &str) -> Result<Self, InvalidTemplate> {
        let template = Self::read(text)?;
        for piece in &template.0 {
            let Piece::Text(text) = piece else { continue };
            if let Some(name) = name_in_single_braces(text) {
                return Err(InvalidTemplate::SingleBraces { name: name.to_owned() });
            }
        }
        Ok(template)
    }

    /// Fills the template; `fill` returns the text of a placeholder.
    ///
    /// # Errors
    /// The error of `fill`.
    pub fn fill<E>(&self, mut fill: impl FnMut(&Placeholder) -> Result<String, E>) -> Result<String, E> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Placeholder(placeholder) => text.push_str(&fill(placeholder)?),
            }
        }
        Ok(text)
    }

    /// Iterates over the placeholders.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Placeholder(placeholder) => Some(placeholder),
            Piece::Text(_) => None,
        })
    }

    /// Returns the text before the first placeholder.
    pub(crate) fn start(&self) -> &str {
        match self.0.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns the placeholder if it is the whole template.
    pub(crate) fn only_placeholder(&self) -> Option<&Placeholder> {
        match self.0.as_slice() {
            [Piece::Placeholder(placeholder)] => Some(placeholder),
            _ => None,
        }
    }
}

/// Returns a value as text: a text unchanged, any other value as JSON.
pub fn text_of(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

fn name_in_single_braces(text: &str) -> Option<&str> {
    let names = text.split('{').skip(1).filter_map(|after| after.split_once('}'));
    let is_name = |name: &str| {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        !name.is_empty() && name.bytes().all(letter)
    };
    names.map(|(name, _)| name.trim()).find(|name| is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn filled(template: &str) -> Result<String, String> {
        let values = parse(br#"{"a": "x", "b": [1.5, {"c": null}], "q": "{{a}}"}"#).unwrap();
        Template::read(template).map_err(|error| error.to_string())?.fill(|placeholder| {
            placeholder.value(&values).map(text_of).ok_or_else(|| format!("no {}", placeholder.name))
        })
    }

    #[test]
    fn every_placeholder_gets_its_value() {
        assert_eq!(filled("{{a}} and {{ /b/0 }}: {{b}}").unwrap(), r#"x and 1.5: [1.5,{"c":null}]"#);
        assert_eq!(filled("{{q}}").unwrap(), "{{a}}", "a value is no template");
        assert_eq!(filled("plain }} {text}").unwrap(), "plain }} {text}");
        assert_eq!(filled("").unwrap(), "");
        assert_eq!(filled("{{no}}").unwrap_err(), "no no");
        assert_eq!(filled("{{a").unwrap_err(), "`{{` without `}}`");
        assert!(filled("{{/a~3}}").unwrap_err().starts_with("`/a~3` names no value"));
    }

    #[test]
    fn a_name_in_single_braces_is_refused_with_the_right_spelling() {
        let refused = |text: &str| Template::read_strict(text).err().map(|error| error.to_string());
        assert_eq!(refused("/tickets/{id}").unwrap(), "`{id}` is no placeholder: write `{{id}}`");
        assert_eq!(
            refused("Bearer {secrets.TOKEN}").unwrap(),
            "`{secrets.TOKEN}` is no placeholder: write `{{secrets.TOKEN}}`"
        );
        for good in ["/tickets/{{id}}/{{ /a/0 }}", r#"{"json": 1}"#, "{}", "{ a b }", "}{", "plain"] {
            assert_eq!(refused(good), None, "{good}");
        }
    }
}
