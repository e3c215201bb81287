//! The name of a model as a person writes it: `openai:NAME`, `anthropic:NAME`, or an address and a name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hence_canon::Object;
use hence_capabilities::client::{Url, is_loopback};

use crate::settings::Api;

/// The name under which a key is declared as a secret.
pub const KEY_SECRET: &str = "MODEL_KEY";

/// The most bytes of a model's name as a person writes it.
pub const MODEL_REF_BYTES_MAX: usize = 1024;

/// A model that a person names, on the command line or in settings.
///
/// - `openai:NAME` and `anthropic:NAME` are the providers' own endpoints, with the key in `OPENAI_API_KEY` or
///   `ANTHROPIC_API_KEY`.
/// - `http://127.0.0.1:11434/v1#NAME` is another endpoint with the API of OpenAI, `anthropic+http://…#NAME` one with the
///   API of Anthropic. No key is sent to it.
/// - `&key=VARIABLE` at the end names the environment variable with the key.
///
/// ```
/// use hence_models::ModelRef;
///
/// let model: ModelRef = "http://127.0.0.1:11434/v1#qwen3:8b".parse()?;
/// assert_eq!((model.model(), model.key_variable()), ("qwen3:8b", None));
/// assert_eq!(model.to_string(), "http://127.0.0.1:11434/v1#qwen3:8b");
/// # Ok::<(), hence_models::NotAModel>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelRef {
    api: Api,
    endpoint: Option<Arc<str>>,
    model: Arc<str>,
    key: Option<Arc<str>>,
}

/// A text that names no model. No message repeats the text, because it may hold a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAModel {
    /// The text has none of the forms.
    #[error(
        "expected `openai:NAME`, `anthropic:NAME` or an address and a name, such as `http://127.0.0.1:11434/v1#NAME`"
    )]
    Form,
    /// The text is too long.
    #[error("expected at most {MODEL_REF_BYTES_MAX} bytes")]
    TooLong,
    /// The name is missing.
    #[error("the name of the model is missing; an address is followed by `#NAME`")]
    NoName,
    /// The name has characters that no name has.
    #[error("the name of the model has white space or control characters")]
    Name,
    /// The address cannot be used.
    #[error("expected an address with http:// or https:// and a host")]
    Address,
    /// The address holds a user, a password or a query.
    #[error(
        "the address holds a user, a password or a query; name the variable of a key with `&key=VARIABLE`"
    )]
    Credentials,
    /// The text after `&key=` is no name of a variable.
    #[error("expected the name of an environment variable after `&key=`: letters, digits and `_`")]
    Variable,
    /// A key would be sent unencrypted over a network.
    #[error("a key is sent over https:// only, except to this machine")]
    Unencrypted,
}

impl ModelRef {
    /// Returns the API of the endpoint.
    pub fn api(&self) -> Api {
        self.api
    }

    /// Returns the name of the model, as the endpoint knows it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the address, unless it is the provider's own.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    /// Returns the environment variable that holds the key, if a key is sent.
    pub fn key_variable(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the members `api`, `model`, `endpoint` and `key` of [settings](crate::ModelSettings) for this model. A key
    /// is referred to as the secret [`KEY_SECRET`], which [`secrets`](Self::secrets) declares.
    pub fn settings(&self) -> Object {
        let settings = Object::from_iter([("api", self.api.name()), ("model", self.model())]);
        let settings = match &self.endpoint {
            Some(endpoint) => settings.with("endpoint", endpoint.clone()),
            None => settings,
        };
        match self.key {
            Some(_) => settings.with("key", Object::from_iter([("$secret", KEY_SECRET)])),
            None => settings,
        }
    }

    /// Returns the declarations of the secrets that the settings refer to, as a capabilities file holds them.
    pub fn secrets(&self) -> Object {
        let source = |variable: &Arc<str>| Object::from_iter([("environment", variable.clone())]);
        self.key.iter().map(|variable| (KEY_SECRET, source(variable))).collect()
    }
}

/// Returns the environment variable in which a provider's own tools look for the key.
fn usual_variable(api: Api) -> &'static str {
    match api {
        Api::OpenAi => "OPENAI_API_KEY",
        Api::Anthropic => "ANTHROPIC_API_KEY",
    }
}

fn is_variable(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl FromStr for ModelRef {
    type Err = NotAModel;

    fn from_str(text: &str) -> Result<Self, NotAModel> {
        if text.len() > MODEL_REF_BYTES_MAX {
            return Err(NotAModel::TooLong);
        }
        let (text, key) = match text.rsplit_once("&key=") {
            Some((text, variable)) if is_variable(variable) => (text, Some(Arc::from(variable))),
            Some(_) => return Err(NotAModel::Variable),
            None => (text, None),
        };
        let is_address = |text: &str| text.starts_with("http://") || text.starts_with("https://");
        let (api, rest) = match text.split_once('+').filter(|(_, rest)| is_address(rest)) {
            Some(("openai", rest)) => (Api::OpenAi, rest),
            Some(("anthropic", rest)) => (Api::Anthropic, rest),
            Some(_) => return Err(NotAModel::Form),
            None => (Api::OpenAi, text),
        };
        if is_address(rest) {
            let (address, name) = rest.split_once('#').ok_or(NotAModel::NoName)?;
            let endpoint = endpoint(address, key.is_some())?;
            return Ok(Self { api, endpoint: Some(endpoint), model: model_name(name)?, key });
        }
        let (api, name) = match text.split_once(':') {
            Some(("openai", name)) => (Api::OpenAi, name),
            Some(("anthropic", name)) => (Api::Anthropic, name),
            _ => return Err(NotAModel::Form),
        };
        let key = key.unwrap_or_else(|| usual_variable(api).into());
        Ok(Self { api, endpoint: None, model: model_name(name)?, key: Some(key) })
    }
}

fn endpoint(address: &str, has_key: bool) -> Result<Arc<str>, NotAModel> {
    let url = Url::parse(address).map_err(|_| NotAModel::Address)?;
    if url.host().is_none() {
        return Err(NotAModel::Address);
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(NotAModel::Credentials);
    }
    if has_key && url.scheme() != "https" && !is_loopback(&url) {
        return Err(NotAModel::Unencrypted);
    }
    Ok(url.as_str().trim_end_matches('/').into())
}

fn model_name(name: &str) -> Result<Arc<str>, NotAModel> {
    if name.is_empty() {
        return Err(NotAModel::NoName);
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(NotAModel::Name);
    }
    Ok(name.into())
}

impl fmt::Display for ModelRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (api, model) = (self.api.name(), &self.model);
        match (&self.endpoint, self.api) {
            (None, _) => write!(out, "{api}:{model}")?,
            (Some(endpoint), Api::OpenAi) => write!(out, "{endpoint}#{model}")?,
            (Some(endpoint), Api::Anthropic) => write!(out, "{api}+{endpoint}#{model}")?,
        }
        let usual = self.endpoint.is_none().then(|| usual_variable(self.api));
        match self.key.as_deref().filter(|key| Some(*key) != usual) {
            Some(key) => write!(out, "&key={key}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    #[test]
    fn every_form_is_read_and_written_back() {
        for (text, api, endpoint, model, key) in [
            ("openai:gpt-x", Api::OpenAi, None, "gpt-x", Some("OPENAI_API_KEY")),
            ("anthropic:c-1", Api::Anthropic, None, "c-1", Some("ANTHROPIC_API_KEY")),
            ("openai:ft:gpt:me&key=MINE", Api::OpenAi, None, "ft:gpt:me", Some("MINE")),
            ("http://127.0.0.1:11434/v1#q:8b", Api::OpenAi, Some("http://127.0.0.1:11434/v1"), "q:8b", None),
            ("https://h/v1#a/b#c&key=K", Api::OpenAi, Some("https://h/v1"), "a/b#c", Some("K")),
            ("anthropic+http://h:1/v1#m", Api::Anthropic, Some("http://h:1/v1"), "m", None),
        ] {
            let read: ModelRef = text.parse().unwrap();
            assert_eq!((read.api(), read.endpoint()), (api, endpoint), "{text}");
            assert_eq!((read.model(), read.key_variable()), (model, key), "{text}");
            assert_eq!(read.to_string(), text);
            let settings = read.settings().with("prompt", "p");
            assert!(Model::read(&settings).is_ok(), "{text}");
            assert_eq!(read.secrets().len(), usize::from(key.is_some()), "{text}");
        }
        let same: ModelRef = "openai+http://127.0.0.1/v1/#m".parse().unwrap();
        assert_eq!(same.to_string(), "http://127.0.0.1/v1#m");
    }

    #[test]
    fn everything_else_is_refused_without_being_repeated() {
        for (text, expected) in [
            ("", NotAModel::Form),
            ("gpt-x", NotAModel::Form),
            ("mistral:x", NotAModel::Form),
            ("telex+http://h/#m", NotAModel::Form),
            ("openai:", NotAModel::NoName),
            ("openai:a b", NotAModel::Name),
            ("openai:a\u{7}", NotAModel::Name),
            ("http://h/v1", NotAModel::NoName),
            ("http://h/v1#", NotAModel::NoName),
            ("http://#m", NotAModel::Address),
            ("https://u:p@h/#m", NotAModel::Credentials),
            ("https://h/?key=sk-1#m", NotAModel::Credentials),
            ("https://h/#m&key=sk-12", NotAModel::Variable),
            ("https://h/#m&key=", NotAModel::Variable),
            ("http://h/#m&key=K", NotAModel::Unencrypted),
        ] {
            let refused = text.parse::<ModelRef>().unwrap_err();
            assert_eq!(refused, expected, "{text}");
            assert!(!refused.to_string().contains("sk-1"), "{text}");
        }
        let long = |bytes: usize| format!("openai:{}", "m".repeat(bytes - "openai:".len()));
        assert!(long(MODEL_REF_BYTES_MAX).parse::<ModelRef>().is_ok());
        assert_eq!(long(MODEL_REF_BYTES_MAX + 1).parse::<ModelRef>(), Err(NotAModel::TooLong));
        assert!("http://127.0.0.1/#m&key=K".parse::<ModelRef>().is_ok());
    }
}
