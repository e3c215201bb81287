//! The interpretation of responses.

use hence_canon::{Object, Value, parse};

use super::Answer;
use crate::client::header::{CONTENT_TYPE, SET_COOKIE};

/// The maximum number of characters of an unsuccessful response that a message repeats.
const SAID_CHARACTERS_MAX: usize = 300;

/// The part of a response that is the output of a capability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gives {
    /// The object in the body.
    Body,
    /// An object with `status`, `headers` and `body`.
    Response,
}

/// Returns the class of an unsuccessful status, as `retry.on` names it.
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

/// Returns whether an unsuccessful status says that the request was not carried out.
///
/// A redirect does not: a service often answers a request that it carried out with the address of the result (302, 303),
/// and nobody asks the other address. Neither does 408: a proxy gives up waiting while the service behind it works. With
/// 425 and 429 a service says that it did not begin, and with any other 4xx that it refuses.
pub(super) fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && status != 408
}

/// Describes an unsuccessful response.
pub(super) fn said(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: String = line.chars().take(SAID_CHARACTERS_MAX).collect();
    let status = answer.status;
    if said.is_empty() { format!("status {status}") } else { format!("status {status}: {said}") }
}

/// Returns the output of a capability, or a description of why a response has none.
pub(super) fn output(answer: &Answer, gives: Gives) -> Result<Value, String> {
    match gives {
        // A success without content is an empty object.
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

/// Returns the headers that are texts. Cookies are omitted, because they give access to a session.
fn headers(answer: &Answer) -> Object {
    let plain = answer.headers.iter().filter(|(name, _)| **name != SET_COOKIE);
    plain.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}
