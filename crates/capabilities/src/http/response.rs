//! What a response means.

use hence_canon::{Object, Value, parse};

use super::Answer;
use crate::client::header::{CONTENT_TYPE, SET_COOKIE};

/// How much of a response that is a refusal is repeated in the message.
const SAID_CHARACTERS_MAX: usize = 300;

/// What a capability gives of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gives {
    /// The object in its body.
    Body,
    /// `status`, `headers` and `body`.
    Response,
}

/// Returns the class of a status that is no success, as `retry.on` names it.
pub(super) fn class(status: u16) -> &'static str {
    match status {
        _ if status < 400 => "HttpRedirected",
        401 | 403 => "HttpDenied",
        404 | 410 => "HttpNotFound",
        429 => "HttpTooManyRequests",
        408 | 425 => "HttpTooEarlyOrLate",
        _ if status < 500 => "HttpRefused",
        _ => "HttpServerError",
    }
}

/// Describes a response that is no success.
pub(super) fn said(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: String = line.chars().take(SAID_CHARACTERS_MAX).collect();
    let status = answer.status;
    if said.is_empty() { format!("status {status}") } else { format!("status {status}: {said}") }
}

/// Returns what a capability gives of a response, or why it cannot.
pub(super) fn output(answer: &Answer, gives: Gives) -> Result<Value, String> {
    match gives {
        // A success without content says all there is to say.
        Gives::Body if answer.body.is_empty() => Ok(Object::new().into()),
        Gives::Body => match json(answer)? {
            object @ Value::Object(_) => Ok(object),
            other => Err(format!(
                "the body is an object, found {}; `gives: response` takes anything",
                other.kind()
            )),
        },
        Gives::Response => {
            let body = match is_json(answer) {
                true if !answer.body.is_empty() => json(answer)?,
                _ => text(answer)?.into(),
            };
            let members = [
                ("status", Value::from(u32::from(answer.status))),
                ("headers", headers(answer).into()),
                ("body", body),
            ];
            Ok(Object::from_iter(members).into())
        }
    }
}

fn json(answer: &Answer) -> Result<Value, String> {
    parse(&answer.body).map_err(|error| format!("the body is no JSON: {error}"))
}

fn text(answer: &Answer) -> Result<&str, String> {
    std::str::from_utf8(&answer.body).map_err(|_| "the body is not UTF-8".to_owned())
}

fn is_json(answer: &Answer) -> bool {
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

/// Returns the headers that have a text. Cookies are keys to somebody's session and no part of a result.
fn headers(answer: &Answer) -> Object {
    let plain = answer.headers.iter().filter(|(name, _)| **name != SET_COOKIE);
    plain.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}
