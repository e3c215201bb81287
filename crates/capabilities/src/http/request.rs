//! A request, made from a declaration and an input.

use hence_canon::{Canonical, Value};
use hence_cognition::run::CallError;

use super::template::{Part, Template, Unfilled, percent_encoded, plain_member};
use super::{Body, Http, failed};
use crate::client::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use crate::client::{HttpRequest, Url};
use crate::provider::ProviderCall;

/// The class of a request that cannot be made from its input: trying again would not help.
const INPUT_REFUSED: &str = "InputMappingError";

impl Http {
    /// Makes the request of a call.
    pub(super) fn request(&self, call: &ProviderCall<'_>) -> Result<HttpRequest, CallError> {
        let mut headers = HeaderMap::new();
        let body = match &self.body {
            Body::None => None,
            Body::Input => Some(call.input),
            Body::Member(name) => Some(
                call.input
                    .get(name)
                    .ok_or_else(|| failed(INPUT_REFUSED, format!("the input `{name}` is missing")))?,
            ),
        };
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, template) in &self.headers {
            headers.insert(name.clone(), header(name, &fill(template, call, &str::to_owned)?)?);
        }
        if let Some(name) = &self.idempotency_header {
            headers.insert(name.clone(), header(name, call.idempotency_key)?);
        }
        let body = body.map(|value| Canonical::of(value).bytes().to_vec());
        Ok(HttpRequest { method: self.method.clone(), url: self.url(call)?, headers, body })
    }

    fn url(&self, call: &ProviderCall<'_>) -> Result<Url, CallError> {
        let text = fill(&self.url, call, &percent_encoded)?;
        let refused = |message: String| failed(INPUT_REFUSED, message);
        let mut url =
            Url::parse(&text).map_err(|error| refused(format!("the URL cannot be made: {error}")))?;
        if !self.query.is_empty() {
            let mut pairs = Vec::new();
            for (name, template) in &self.query {
                match template.parts() {
                    // A parameter that is one member of the input is left out with it.
                    [Part::Input(member)] if call.input.get(member).is_none_or(Value::is_null) => {}
                    _ => pairs.push((name, fill(template, call, &str::to_owned)?)),
                }
            }
            let encode = |(name, value): &(&std::sync::Arc<str>, String)| {
                format!("{}={}", percent_encoded(name), percent_encoded(value))
            };
            let added: Vec<String> = pairs.iter().map(encode).collect();
            let query: Vec<String> = url
                .query()
                .map(str::to_owned)
                .into_iter()
                .chain(added)
                .filter(|part| !part.is_empty())
                .collect();
            url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
        }
        Ok(url)
    }
}

/// Fills in a template; what comes from the input is encoded.
fn fill(
    template: &Template,
    call: &ProviderCall<'_>,
    encode: &dyn Fn(&str) -> String,
) -> Result<String, CallError> {
    let mut text = String::new();
    for part in template.parts() {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Secret(name) => text.push_str(&call.secrets.value(name)?),
            Part::Input(name) => {
                let value = plain_member(call.input, name).map_err(unfilled)?;
                // As a segment of a path these would climb out of the place that was declared.
                if value == "." || value == ".." {
                    return Err(failed(
                        INPUT_REFUSED,
                        format!("the input `{name}` must not be {value:?} in a URL"),
                    ));
                }
                text.push_str(&encode(&value));
            }
        }
    }
    Ok(text)
}

fn unfilled(error: Unfilled) -> CallError {
    let message = match error {
        Unfilled::Absent(name) => format!("the input `{name}` is missing"),
        Unfilled::NotPlain(name, kind) => {
            format!("the input `{name}` is a string, a number or a boolean, found {kind}")
        }
    };
    failed(INPUT_REFUSED, message)
}

fn header(name: &HeaderName, text: &str) -> Result<HeaderValue, CallError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| failed(INPUT_REFUSED, format!("the header `{name}` would hold what a header cannot")))?;
    value.set_sensitive(true);
    Ok(value)
}
