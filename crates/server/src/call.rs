//! One call of an operation, with its parameters checked.

use serde::de::DeserializeOwned;

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
        serde_json::from_slice(&self.body)
            .map_err(|error| Refusal::Request(format!("the body is not understood: {error}")))
    }
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
        // A sign or a space would be read by a lenient parser and mean something else to the next one.
        ParameterKind::Count(max)
            if value.bytes().all(|byte| byte.is_ascii_digit())
                && value.parse::<u64>().is_ok_and(|count| count <= max) =>
        {
            Ok(())
        }
        ParameterKind::Count(max) => refuse(format!("a whole number from 0 to {max}")),
    }
}
