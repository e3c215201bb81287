//! Requests, built from a declaration and an input.

use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::failure::INPUT_REFUSED;
use hence_cognition::run::CallError;

use super::{Body, Http, failed};
use crate::client::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use crate::client::{HttpRequest, Url};
use crate::provider::{ProviderCall, SecretValues};
use crate::template::{Placeholder, Template};

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

    /// Describes a request for messages: its method and URL, with the names of secrets in place of their values.
    pub(super) fn target(&self, call: &ProviderCall<'_>) -> String {
        let shown = ProviderCall { secrets: &SecretNames, ..*call };
        let url = match self.url(&shown) {
            Ok(url) => shown_url(&url),
            Err(_) => self.url.start().to_owned(),
        };
        format!("{} {}", self.method, url.chars().take(URL_CHARACTERS_MAX).collect::<String>())
    }

    fn url(&self, call: &ProviderCall<'_>) -> Result<Url, CallError> {
        let text = fill(&self.url, call, &percent_encoded)?;
        let refused = |message: String| failed(INPUT_REFUSED, message);
        if let Some(segment) = misleading_segment(&self.url, &text) {
            let message = format!("the inputs make {segment:?} of a part of the path in {}", self.url);
            return Err(refused(message));
        }
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
            let encode = |(name, value): &(&Arc<str>, String)| {
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

/// The largest part of a URL that a message shows.
const URL_CHARACTERS_MAX: usize = 400;

/// Words in the name of a parameter whose value may be a secret that no file declares as one.
const SECRET_WORDS: [&str; 9] =
    ["key", "token", "secret", "pass", "auth", "sig", "credential", "session", "code"];

/// The names of secrets in place of their values.
struct SecretNames;

impl SecretValues for SecretNames {
    fn value(&self, name: &str) -> Result<Arc<str>, CallError> {
        Ok(format!("secrets.{name}").into())
    }
}

/// Returns a URL as a message shows it. The values of parameters that look like secrets are left out.
fn shown_url(url: &Url) -> String {
    let Some(query) = url.query() else { return url.to_string() };
    let shown = query.split('&').map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_secret = SECRET_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word));
        if is_secret && !value.is_empty() { format!("{name}=…") } else { pair.to_owned() }
    });
    let shown = shown.collect::<Vec<_>>().join("&");
    let whole = url.to_string();
    let before = whole.split_once('?').map_or(whole.as_str(), |(before, _)| before);
    format!("{before}?{shown}")
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
        plain_value(placeholder, call.input).map(|value| encode(&value))
    })
}

/// Returns a segment of the path that the inputs made empty or one of dots: the request would go to another path than the
/// declared one, such as to everything instead of one thing.
fn misleading_segment(template: &Template, filled: &str) -> Option<String> {
    let probe: Result<String, std::convert::Infallible> = template.fill(|_| Ok("x".to_owned()));
    let Ok(probe) = probe;
    // The values are encoded, so each segment of one is a segment of the other.
    let misleads = |(declared, found): (&str, &str)| {
        let dots = found.to_ascii_lowercase().replace("%2e", ".");
        (declared != found && (found.is_empty() || dots == "." || dots == "..")).then(|| found.to_owned())
    };
    path_of(&probe).split('/').zip(path_of(filled).split('/')).find_map(misleads)
}

/// Returns the path of a URL as it is written.
fn path_of(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let path = after.split_once('/').map_or("", |(_, path)| path);
    path.split(['?', '#']).next().unwrap_or_default()
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
