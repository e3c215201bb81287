//! One call of an operation, with its parameters checked.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::Identity;
use crate::limits::{ITEMS_DEFAULT, ITEMS_MAX};
use crate::operation::{Operation, Parameter, ParameterKind, Refusal};

/// The part of a list that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The first item.
    pub from: u64,
    /// The most items.
    pub limit: u64,
}

impl Window {
    /// The whole list, for readers that have no limit of their own.
    pub const WHOLE: Self = Self { from: 0, limit: u64::MAX };
}

/// A call of an operation. Its parameters are those that the operation declares, with values of the declared kinds.
#[derive(Clone, Debug, Default)]
pub struct Call {
    segments: Vec<(String, String)>,
    query: Vec<(String, String)>,
    body: Vec<u8>,
    last_event: Option<String>,
    who: Option<Identity>,
}

impl Call {
    /// Checks the query of a request against the parameters of an operation.
    pub(crate) fn read(
        operation: &Operation,
        segments: Vec<(String, String)>,
        query: &str,
    ) -> Result<Self, Refusal> {
        let mut found: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(parameter) = operation.parameters.iter().find(|known| known.name == name) else {
                let names: Vec<&str> = operation.parameters.iter().map(|known| known.name).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(Refusal::Request(format!("unknown parameter {name:?}; known: {known}")));
            };
            if value.is_empty() && parameter.kind != ParameterKind::Text {
                continue;
            }
            check(parameter, &value)?;
            if parameter.kind != ParameterKind::Texts && found.iter().any(|(known, _)| *known == name) {
                return Err(Refusal::Request(format!("parameter {name:?} is given twice")));
            }
            found.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self { segments, query: found, ..Self::default() })
    }

    /// Makes a call without a request, for whoever answers without a connection.
    pub fn inside(segments: &[(&str, &str)], query: &[(&str, &str)], who: Identity) -> Self {
        let own = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Self { segments: own(segments), query: own(query), who: Some(who), ..Self::default() }
    }

    pub(crate) fn with_body(self, body: Vec<u8>) -> Self {
        Self { body, ..self }
    }

    pub(crate) fn with_identity(self, who: Identity) -> Self {
        Self { who: Some(who), ..self }
    }

    pub(crate) fn with_last_event(self, last_event: Option<String>) -> Self {
        Self { last_event, ..self }
    }

    /// Returns a parameter of the path.
    pub fn segment(&self, name: &str) -> &str {
        let found = self.segments.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns a parameter of the query.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns all values of a parameter that may be repeated.
    pub fn texts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns a number of the query.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Returns whether a flag of the query is set.
    pub fn is_set(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// Returns the window of a list: `from` and `limit`.
    pub fn window(&self) -> Window {
        self.window_of(ITEMS_DEFAULT, ITEMS_MAX)
    }

    /// Returns the window of a list with limits of its own.
    pub fn window_of(&self, default: u64, max: u64) -> Window {
        let limit = self.count("limit").unwrap_or(default).clamp(1, max);
        Window { from: self.count("from").unwrap_or(0), limit }
    }

    /// Returns the id of the last event that a watcher got.
    pub fn last_event(&self) -> Option<&str> {
        self.last_event.as_deref()
    }

    /// Returns who asks.
    pub fn who(&self) -> Option<&Identity> {
        self.who.as_ref()
    }

    /// Returns the bytes of the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Reads the body.
    ///
    /// # Errors
    /// [`Refusal::Request`] when it is not JSON of that form.
    pub fn read_body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let refuse = |reason: String| Refusal::Request(format!("the body is not understood: {reason}"));
        // A list would be read as the members in their order.
        if let Ok(body) = serde_json::from_slice::<&RawValue>(&self.body)
            && let Some(found) = other_than_object(body.get())
        {
            return Err(refuse(format!("expected an object, found {found}")));
        }
        serde_json::from_slice(&self.body).map_err(|error| refuse(describe(&error)))
    }
}

/// Returns the kind of a JSON text that is no object.
fn other_than_object(text: &str) -> Option<&'static str> {
    Some(match text.trim_start().bytes().next()? {
        b'{' => return None,
        b'[' => "an array",
        b'"' => "a text",
        b't' | b'f' => "true or false",
        b'n' => "null",
        _ => "a number",
    })
}

fn check(parameter: &Parameter, value: &str) -> Result<(), Refusal> {
    let name = parameter.name;
    let refuse =
        |expected: String| Err(Refusal::Request(format!("{name}: expected {expected}, found {value:?}")));
    match parameter.kind {
        ParameterKind::Text | ParameterKind::Texts => Ok(()),
        ParameterKind::Flag if matches!(value, "true" | "false") => Ok(()),
        ParameterKind::Flag => refuse("true or false".to_owned()),
        ParameterKind::Word(words) if words.contains(&value) => Ok(()),
        ParameterKind::Word(words) => refuse(format!("one of {}", words.join(", "))),
        ParameterKind::Count(max) if is_whole(value, 0, max) => Ok(()),
        ParameterKind::Count(max) => refuse(format!("a whole number from 0 to {max}")),
        ParameterKind::Size(max) if is_whole(value, 1, max) => Ok(()),
        ParameterKind::Size(max) => refuse(format!("a whole number from 1 to {max}")),
    }
}

/// Returns whether a text is a number between two others. A sign or a space would be read by a lenient parser and mean
/// something else to the next one.
fn is_whole(text: &str, min: u64, max: u64) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain && text.parse::<u64>().is_ok_and(|count| (min..=max).contains(&count))
}

/// Describes a body that is JSON of another form, in the words of JSON.
fn describe(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let Some((found, expected)) =
        said.strip_prefix("invalid type: ").and_then(|said| said.split_once(", expected "))
    else {
        return said.replace("field `", "member `");
    };
    let (expected, place) = match expected.rfind(" at line ") {
        Some(at) => expected.split_at(at),
        None => (expected, ""),
    };
    let found = match found.split_once(' ').map_or(found, |(kind, _)| kind) {
        "sequence" => "an array",
        "map" => "an object",
        "boolean" => "true or false",
        "integer" | "floating" => "a number",
        "string" => "a text",
        "null" => "null",
        _ => "another value",
    };
    let expected = match expected {
        "a string" => "a text",
        "a boolean" => "true or false",
        other => other,
    };
    format!("expected {expected}, found {found}{place}")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Form {
        #[serde(rename = "text")]
        _text: String,
        #[serde(rename = "flag", default)]
        _flag: bool,
    }

    #[test]
    fn a_body_of_another_form_is_described_in_the_words_of_json() {
        for (body, expected) in [
            ("[]", "expected an object, found an array"),
            (r#"["x", true]"#, "expected an object, found an array"),
            (" 7", "expected an object, found a number"),
            (r#""x""#, "expected an object, found a text"),
            (r#"{"text": []}"#, "expected a text, found an array at line 1 column 9"),
            (r#"{"text": 7}"#, "expected a text, found a number at line 1 column 10"),
            (
                r#"{"text": "x", "flag": {"a": 1}}"#,
                "expected true or false, found an object at line 1 column 22",
            ),
            ("{}", "missing member `text` at line 1 column 2"),
            (r#"{"text": "x", "text": "y"}"#, "duplicate member `text` at line 1 column 20"),
            (r#"{"by": 1}"#, "unknown member `by`, expected `text` or `flag` at line 1 column 5"),
            ("{bad", "key must be a string at line 1 column 2"),
            ("", "EOF while parsing a value at line 1 column 0"),
        ] {
            let refused = Call::default().with_body(body.into()).read_body::<Form>().unwrap_err();
            assert_eq!(refused.to_string(), format!("the body is not understood: {expected}"), "{body}");
        }
    }

    #[test]
    fn a_size_is_at_least_one() {
        let size = Parameter::new("limit", ParameterKind::Size(10), "The most items.");
        for (value, fits) in
            [("0", false), ("00", false), ("1", true), ("10", true), ("11", false), ("+1", false)]
        {
            assert_eq!(check(&size, value).is_ok(), fits, "{value}");
        }
        let refused = check(&size, "0").unwrap_err().to_string();
        assert_eq!(refused, "limit: expected a whole number from 1 to 10, found \"0\"");
    }
}
