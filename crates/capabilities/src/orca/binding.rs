//! A binding of a registry and its service as the `provider` of a declaration.

use std::collections::BTreeSet;
use std::path::Path;

use hence_canon::{Canonical, Object, Value};

use super::{Allowed, PYTHONCALL_NAME, Provided};
use crate::client::Url;

/// The operation of an OpenAI-compatible service that becomes a language model.
const CHAT: &str = "chat/completions";

/// The place of a member of a model's JSON reply in a response mapping.
const REPLY_MEMBER: &str = "response.choices.0.message.content_json.";

/// Translates a binding.
///
/// # Errors
/// The reason why it cannot be translated, or is not allowed.
pub(super) fn provider(binding: &Value, service: &Value, allowed: &Allowed) -> Result<Provided, String> {
    match text(binding, "protocol") {
        "pythoncall" => pythoncall(binding, service, allowed),
        "openapi" => openapi(binding, service, allowed),
        other => Err(format!("the protocol `{other}` cannot be translated")),
    }
}

fn text<'a>(document: &'a Value, key: &str) -> &'a str {
    document.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a word that may name a Python module or function: letters, digits and underscores, perhaps with dots.
fn python_name<'a>(document: &'a Value, key: &str) -> Result<&'a str, String> {
    let name = text(document, key);
    let is_word = |part: &str| {
        part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && part.starts_with(|c: char| !c.is_ascii_digit())
    };
    match !name.is_empty() && name.split('.').all(is_word) {
        true => Ok(name),
        false => Err(format!("`{key}` is not a name in Python")),
    }
}

fn pythoncall(binding: &Value, service: &Value, allowed: &Allowed) -> Result<Provided, String> {
    let (module, function) = (python_name(service, "module")?, python_name(binding, "operation")?);
    let Some(folder) = &allowed.python else {
        return Err(format!("it calls `{function}` of the Python module `{module}`, which is not allowed"));
    };
    let path = folder.join(module.replace('.', "/"));
    if !path.with_extension("py").is_file() && !path.join("__init__.py").is_file() {
        return Err(format!("there is no Python module `{module}` in {}", folder.display()));
    }
    let json = |key: &str| {
        let mapping = binding.get(key).filter(|mapping| mapping.as_object().is_some());
        let mapping = mapping.ok_or_else(|| format!("`{key}` is not an object"))?;
        Ok::<String, String>(String::from_utf8_lossy(Canonical::of(mapping).bytes()).into_owned())
    };
    let program = format!("./{PYTHONCALL_NAME}");
    let words = [&program, module, function, &json("request")?, &json("response")?];
    let provider = Object::from_iter([
        ("kind", Value::from("command")),
        ("command", words.map(Value::from).to_vec().into()),
        ("directory", Path::new(folder).to_string_lossy().into_owned().into()),
        ("environment", vec![Value::from("PATH")].into()),
    ]);
    Ok(Provided { kind: "command", provider, secrets: BTreeSet::new() })
}

fn openapi(binding: &Value, service: &Value, allowed: &Allowed) -> Result<Provided, String> {
    let base = text(service, "base_url").trim_end_matches('/');
    let url = Url::parse(base).map_err(|_| "its service has no `base_url`".to_owned())?;
    let host = url.host_str().unwrap_or_default();
    let named = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    if !allowed.hosts.contains(host) && !allowed.hosts.contains(&named) {
        return Err(format!("it sends requests to `{named}`, which is not allowed"));
    }
    match text(binding, "operation") {
        CHAT => chat(binding, service, base),
        operation => http(binding, service, &format!("{base}/{}", operation.trim_start_matches('/'))),
    }
}

/// Translates a request whose body is the input and whose reply is the output.
fn http(binding: &Value, service: &Value, url: &str) -> Result<Provided, String> {
    for (key, prefix) in [("request", "input."), ("response", "response.")] {
        let mapping =
            binding.get(key).and_then(Value::as_object).ok_or_else(|| format!("`{key}` is not an object"))?;
        let same = |(name, value): (&std::sync::Arc<str>, &Value)| {
            value.as_str().and_then(|value| value.strip_prefix(prefix)) == Some(name)
        };
        if let Some((name, _)) = mapping.iter().find(|entry| !same(*entry)) {
            return Err(format!(
                "its {key} is not `{prefix}{name}` for `{name}`, and other mappings cannot be translated"
            ));
        }
    }
    let method = match binding.get("metadata").map(|metadata| text(metadata, "method")) {
        None | Some("") => "POST",
        Some(method) => method,
    };
    let mut secrets = BTreeSet::new();
    let mut provider = Object::from_iter([("kind", "http"), ("method", method), ("url", url)]);
    let headers = headers(service, &mut secrets)?;
    if !headers.is_empty() {
        provider = provider.with("headers", headers);
    }
    Ok(Provided { kind: "http", provider, secrets })
}

/// Returns the headers of a service other than the content type, with references to secrets for `${NAME}`.
fn headers(service: &Value, secrets: &mut BTreeSet<String>) -> Result<Object, String> {
    let headers = service.get("metadata").and_then(|metadata| metadata.get("headers")?.as_object());
    let mut found = Object::new();
    for (name, value) in headers.into_iter().flat_map(Object::iter) {
        if name.eq_ignore_ascii_case("content-type") {
            continue;
        }
        let value = value.as_str().ok_or_else(|| format!("its header `{name}` is not a text"))?;
        found = found.with(name.clone(), with_secrets(value, secrets)?);
    }
    Ok(found)
}

/// Returns a text with `{{secrets.NAME}}` in place of `${NAME}`.
fn with_secrets(text: &str, secrets: &mut BTreeSet<String>) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("a `${` has no end")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("`${{{name}}}` does not name a variable"));
        }
        secrets.insert(name.to_owned());
        filled.push_str(&format!("{before}{{{{secrets.{name}}}}}"));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Translates a request to a chat service: one system text, one user text, and a JSON object as the reply.
fn chat(binding: &Value, service: &Value, base: &str) -> Result<Provided, String> {
    let request = binding.get("request").ok_or("`request` is missing")?;
    let messages = request.get("messages").and_then(Value::as_array).unwrap_or_default();
    let content = |role: &str| {
        let mut of_role = messages.iter().filter(|message| text(message, "role") == role);
        of_role.next().map(|message| text(message, "content"))
    };
    let prompt = content("user").filter(|prompt| !prompt.is_empty()).ok_or("it sends no text as the user")?;
    let system = content("system");
    if messages.len() != 1 + usize::from(system.is_some()) {
        return Err("it sends more than a system text and a user text".to_owned());
    }
    let mapping = binding.get("response").and_then(Value::as_object).ok_or("`response` is not an object")?;
    let is_member = |(name, place): (&std::sync::Arc<str>, &Value)| {
        place.as_str().and_then(|place| place.strip_prefix(REPLY_MEMBER)) == Some(name)
    };
    if mapping.is_empty() || !mapping.iter().all(is_member) {
        return Err("its response is not the members of one JSON object".to_owned());
    }
    let mut secrets = BTreeSet::new();
    let authorization = headers(service, &mut secrets)?;
    let key = secrets.first().filter(|_| secrets.len() == 1 && authorization.len() == 1);
    let key = match (key, authorization.is_empty()) {
        (Some(key), _) => Some(key.clone()),
        (None, true) => None,
        (None, false) => return Err("its service needs other headers than one key".to_owned()),
    };
    let mut provider = Object::from_iter([
        ("kind", "llm"),
        ("api", "openai"),
        ("endpoint", base),
        ("model", text(request, "model")),
        ("structure", "json"),
    ]);
    provider = provider.with("prompt", template(prompt));
    if let Some(system) = system {
        provider = provider.with("system", template(system));
    }
    if let Some(key) = key {
        provider = provider.with("key", Object::from_iter([("$secret", key)]));
    }
    for name in ["temperature", "max_tokens"] {
        if let Some(value) = request.get(name) {
            provider = provider.with(name, value.clone());
        }
    }
    Ok(Provided { kind: "llm", provider, secrets })
}

/// Returns a prompt with `{{name}}` in place of `${input.name}`.
fn template(text: &str) -> String {
    let (mut filled, mut rest) = (String::new(), text.trim_end());
    while let Some((before, after)) = rest.split_once("${input.") {
        let Some((name, after)) = after.split_once('}') else { break };
        let pointer = match name.contains('.') {
            true => format!("/{}", name.replace('.', "/")),
            false => name.to_owned(),
        };
        filled.push_str(&format!("{before}{{{{{pointer}}}}}"));
        rest = after;
    }
    filled + rest
}
