//! The provider kind `http` in capabilities files.

use std::sync::Arc;
use std::time::Duration;

use hence_canon::{JsonPointer, Object, Value, parse};

use super::response::Gives;
use super::{Body, Http, is_idempotent};
use crate::client::header::HeaderName;
use crate::client::{HttpClient, Method, Url, is_loopback};
use crate::provider::{Provider, ProviderKind};
use crate::registry::Members;
use crate::template::Template;

/// The largest number of retries that a declaration may state.
const RETRIES_MAX: u64 = 10;

/// The number of retries of an idempotent request, unless a declaration states another.
const RETRIES_DEFAULT: u64 = 2;

/// The first wait between two attempts, unless a declaration states another.
const BACKOFF_DEFAULT: Duration = Duration::from_millis(200);

/// Headers that always carry a secret.
const SECRET_HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"];

/// The provider kind of HTTP services: `kind: http`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpKind;

impl ProviderKind for HttpKind {
    fn name(&self) -> &'static str {
        "http"
    }

    fn read(&self, members: &mut Members<'_, '_>) -> Option<Arc<dyn Provider>> {
        let method = match members.word("method", &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]) {
            Some(word) => Method::from_bytes(word.as_bytes()).ok()?,
            None => Method::GET,
        };
        let url = url(members);
        let query = templates(members, "query");
        let headers = headers(members);
        let secret = query.iter().map(|(_, text)| text).chain(headers.iter().map(|(_, text)| text));
        if secret.into_iter().any(|text| secrets(text).next().is_some()) && url.as_ref().is_some_and(is_open)
        {
            members.refuse("url", "secrets go over https, or to this machine");
        }
        let body = body(members, &method);
        let gives = match members.word("gives", &["body", "response"]) {
            Some("response") => Gives::Response,
            _ => Gives::Body,
        };
        let idempotency_header = members.text("idempotency_header").and_then(|name| {
            let read = HeaderName::from_bytes(name.as_bytes()).ok();
            if read.is_none() {
                members.refuse("idempotency_header", format_args!("{name:?} is no name of a header"));
            }
            read
        });
        let retries = members.count("retries", 0..=RETRIES_MAX);
        let may_repeat = is_idempotent(&method) || idempotency_header.is_some();
        if !may_repeat && retries.is_some_and(|retries| retries > 0) {
            let message = format_args!("{method} is made again only with an `idempotency_header`");
            members.refuse("retries", message);
        }
        let backoff = members.seconds("backoff_seconds").unwrap_or(BACKOFF_DEFAULT);
        let retries = retries.unwrap_or(if may_repeat { RETRIES_DEFAULT } else { 0 });
        let base = members.base();
        let ca_file = members.text("ca_file").map(|file| base.join(&*file));
        let url = url?;
        Some(Arc::new(Http {
            method,
            url,
            query,
            headers,
            body,
            gives,
            idempotency_header,
            retries,
            backoff,
            client: HttpClient::new(ca_file),
        }))
    }

    fn schema(&self) -> Value {
        parse(
            br#"{
          "description": "A request to an HTTP service. {{name}} or {{/pointer/0}} in a text stands for a value of the input, {{secrets.NAME}} for a secret.",
          "required": ["url"],
          "properties": {
            "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], "default": "GET"},
            "url": {"type": "string", "pattern": "^https?://", "description": "Scheme and host have no places in them."},
            "query": {"type": "object", "additionalProperties": {"type": "string"},
              "description": "Parameters; one that is a single absent member of the input is left out."},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "body": {"type": "string", "description": "input, none, or the name of a member of the input. Default: input for POST, PUT and PATCH."},
            "gives": {"enum": ["body", "response"], "default": "body",
              "description": "The object in the body, or {status, headers, body}."},
            "idempotency_header": {"type": "string", "description": "A header by which the service knows a request that is made again."},
            "retries": {"type": "integer", "minimum": 0, "maximum": 10,
              "description": "How often a request is made again: only one that may be made twice. Default: 2 for those."},
            "backoff_seconds": {"type": "number", "exclusiveMinimum": 0, "default": 0.2},
            "ca_file": {"type": "string", "description": "Certificates in PEM of authorities to trust besides the system's, from the folder of this file."}
          }
        }"#,
        )
        .expect("the text above is JSON")
    }
}

/// Reads the URL. The declaration fixes the host of a request; an input cannot change it.
fn url(members: &mut Members<'_, '_>) -> Option<Template> {
    let text = members.required_text("url")?;
    let template = match Template::read_strict(&text) {
        Ok(template) => template,
        Err(message) => {
            members.refuse("url", message);
            return None;
        }
    };
    if secrets(&template).next().is_some() {
        members.refuse("url", "secrets belong into headers or the query, not into the path");
        return None;
    }
    let base = template.start();
    let has_host = |url: &Url| ["http", "https"].contains(&url.scheme()) && url.has_host();
    // The host must end before the first placeholder; otherwise the input could extend it.
    let rest = base.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
    let host_ends = rest.contains(['/', '?']) || template.placeholders().next().is_none();
    match Url::parse(base) {
        Ok(url) if has_host(&url) && host_ends && url.username().is_empty() && url.password().is_none() => {
            Some(template)
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            members.refuse("url", "a URL has no user and no password: use a header with a secret");
            None
        }
        _ => {
            members.refuse("url", "expected http:// or https:// with a host that has no places in it");
            None
        }
    }
}

/// Returns whether a request to a URL can be read on the network: not encrypted, and not to this machine.
fn is_open(template: &Template) -> bool {
    let Ok(url) = Url::parse(template.start()) else { return true };
    url.scheme() != "https" && !is_loopback(&url)
}

fn templates(members: &mut Members<'_, '_>, key: &'static str) -> Vec<(Arc<str>, Template)> {
    let mut found = Vec::new();
    for (name, value) in members.object(key).into_iter().flat_map(Object::iter) {
        let place = members.place(key).child(name);
        found.extend(template(members, value, &place).map(|template| (name.clone(), template)));
    }
    found
}

fn template(members: &mut Members<'_, '_>, value: &Value, place: &JsonPointer) -> Option<Template> {
    let Some(text) = value.as_str() else {
        members.findings().add(place.clone(), format_args!("expected a text, found {}", value.kind()));
        return None;
    };
    match Template::read_strict(text) {
        Ok(template) => {
            for name in secrets(&template) {
                members.findings().needs_secret(place.clone(), name.into());
            }
            Some(template)
        }
        Err(message) => {
            members.findings().add(place.clone(), message);
            None
        }
    }
}

/// Iterates over the names of the secrets in a template's placeholders.
fn secrets(template: &Template) -> impl Iterator<Item = &str> {
    template.placeholders().filter_map(|placeholder| placeholder.secret())
}

fn headers(members: &mut Members<'_, '_>) -> Vec<(HeaderName, Template)> {
    let mut headers = Vec::new();
    for (name, template) in templates(members, "headers") {
        let place = members.place("headers").child(&name);
        let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
            members.findings().add(place, "no name of a header");
            continue;
        };
        // A key in the file would be stored with every run.
        if SECRET_HEADERS.contains(&header.as_str()) && template.placeholders().next().is_none() {
            members
                .findings()
                .add(place, "refer to a secret: {{secrets.NAME}}; a secret is never written down here");
        }
        headers.push((header, template));
    }
    headers
}

fn body(members: &mut Members<'_, '_>, method: &Method) -> Body {
    match members.text("body").as_deref() {
        Some("none") => Body::None,
        Some("input") => Body::Input,
        Some(name) => Body::Member(name.into()),
        None if [Method::POST, Method::PUT, Method::PATCH].contains(method) => Body::Input,
        None => Body::None,
    }
}
