//! What the client reports, as one of our own failures.

use std::error::Error as _;

use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use super::{MayPass, Trouble};
use crate::failure::{FailureClass, excerpt};
use crate::patience::asked_wait;

/// Tells what kind of trouble an error of the client is.
pub(super) fn of(error: &genai::Error) -> Trouble {
    use genai::Error;
    match error {
        Error::HttpError { status, body, headers, .. } => refused(*status, body, headers),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            of_web(webc_error)
        }
        Error::WebStream { error, .. } => match (error.downcast_ref(), error.downcast_ref()) {
            (Some(error), _) => of(error),
            (None, Some(error)) => of_transport(error),
            (None, None) => Trouble::passing(FailureClass::Unreachable, excerpt(&error.to_string())),
        },
        Error::ChatResponse { body, .. } => {
            let message = format!("the endpoint reports an error: {}", said(&body.to_string()));
            Trouble::passing(FailureClass::Unavailable, message)
        }
        Error::StreamParse { serde_error, .. } => not_understood(&serde_error.to_string()),
        Error::ChatResponseGeneration { cause, .. } => not_understood(cause),
        Error::InvalidJsonResponseElement { info } => not_understood(info),
        Error::JsonValueExt(error) => not_understood(&error.to_string()),
        Error::SerdeJson(error) => not_understood(&error.to_string()),
        Error::NoChatResponse { .. } => not_understood("there is no reply in it"),
        // Whatever else it reports is about the request, before anything was sent.
        other => Trouble::lasting(FailureClass::RequestRefused, excerpt(&other.to_string())),
    }
}

fn of_web(error: &genai::webc::Error) -> Trouble {
    use genai::webc::Error;
    match error {
        Error::ResponseFailedStatus { status, body, headers } => refused(*status, body, headers),
        Error::ResponseFailedNotJson { content_type, .. } => {
            not_understood(&format!("its content type is {content_type:?}"))
        }
        Error::ResponseFailedInvalidJson { cause, .. } => not_understood(cause),
        Error::JsonValueExt(error) => not_understood(&error.to_string()),
        Error::Reqwest(error) => of_transport(error),
    }
}

pub(super) fn of_transport(error: &reqwest::Error) -> Trouble {
    let doing = if error.is_connect() { "no connection" } else { "the connection broke" };
    Trouble::passing(FailureClass::Unreachable, format!("{doing}: {}", root(error)))
}

/// Returns the deepest cause, which is the one that says something. The outer ones repeat the address.
pub(super) fn root(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = error.source();
    let mut deepest = None;
    while let Some(inner) = cause {
        deepest = Some(inner.to_string());
        cause = inner.source();
    }
    excerpt(&deepest.unwrap_or_else(|| "no cause is known".to_owned()))
}

fn not_understood(cause: &str) -> Trouble {
    let message = format!("the endpoint's reply cannot be understood: {}", excerpt(cause));
    Trouble::passing(FailureClass::Unavailable, message)
}

fn refused(status: StatusCode, body: &str, headers: &HeaderMap) -> Trouble {
    let reason = status.canonical_reason().unwrap_or("unknown");
    let body = said(body);
    let colon = if body.is_empty() { "" } else { ": " };
    let message = format!("the endpoint answers {} {reason}{colon}{body}", status.as_u16());
    let class = match status.as_u16() {
        401 | 403 => FailureClass::Unauthorized,
        429 => FailureClass::RateLimited,
        408 | 500.. => FailureClass::Unavailable,
        _ => FailureClass::RequestRefused,
    };
    let may_pass = match class {
        FailureClass::RateLimited | FailureClass::Unavailable => {
            MayPass::Yes(asked_wait(headers, Timestamp::now()))
        }
        _ => MayPass::No,
    };
    Trouble { class, message, may_pass }
}

/// Returns what the body of an error says, which both providers put in the same place.
fn said(body: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message =
        value.as_ref().and_then(|value| value.pointer("/error/message").or(value.get("message"))?.as_str());
    excerpt(message.unwrap_or(body))
}
