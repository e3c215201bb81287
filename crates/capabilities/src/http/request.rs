//! Requests, built from a declaration and an input.

use hence_canon::{Canonical, Value};
use hence_cognition::run::CallError;

use super::{Body, Http, failed};
use crate::client::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use crate::client::{HttpRequest, Url};
use crate::provider::ProviderCall;
use crate::template::{Placeholder, Template};

/// The class of a request that cannot be built from its input: a retry would not help.
const INPUT_REFUSED: &str = "InputMappingError";

impl Http {
    /// Builds the request of a call.
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
                // A parameter that consists of one input value is omitted when that value is absent.
                let absent = |only: &Placeholder| {
                    only.secret().is_none() && only.value(call.input).is_none_or(Value::is_null)
                };
                if !template.only_placeholder().is_some_and(absent) {
                    pairs.push((name, fill(template, call, &str::to_owned)?));
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

/// Fills a template; `encode` is applied to the values of the input.
fn fill(
    template: &Template,
    call: &ProviderCall<'_>,
    encode: &dyn Fn(&str) -> String,
) -> Result<String, CallError> {
    template.fill(|placeholder| {
        if let Some(name) = placeholder.secret() {
            return call.secrets.value(name).map(|value| value.to_string());
        }
        let value = plain_value(placeholder, call.input)?;
        // As a path segment, these values would lead out of the declared path.
        if value == "." || value == ".." {
            let message = format!("the input `{}` must not be {value:?} in a URL", placeholder.name);
            return Err(failed(INPUT_REFUSED, message));
        }
        Ok(encode(&value))
    })
}

/// Returns a text, a number or a boolean of the input as text.
fn plain_value(placeholder: &Placeholder, input: &Value) -> Result<String, CallError> {
    let name = &placeholder.name;
    match placeholder.value(input) {
        None | Some(Value::Null) => Err(failed(INPUT_REFUSED, format!("the input `{name}` is missing"))),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(value @ (Value::Bool(_) | Value::Int(_) | Value::Float(_))) => Ok(value.to_string()),
        Some(other) => {
            let kind = other.kind();
            let message = format!("the input `{name}` is a string, a number or a boolean, found {kind}");
            Err(failed(INPUT_REFUSED, message))
        }
    }
}

/// Percent-encodes a text, so that it has no special meaning in a URL.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn header(name: &HeaderName, text: &str) -> Result<HeaderValue, CallError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| failed(INPUT_REFUSED, format!("the header `{name}` would hold what a header cannot")))?;
    value.set_sensitive(true);
    Ok(value)
}
