//! The reader of settings, which reports every defect at once, each with its member.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Object, Value};
use hence_capabilities::template::Template;

use super::{
    Api, Delivery, MAX_TOKENS_DEFAULT, ModelSettings, REPAIRS_DEFAULT, REPAIRS_MAX, RETRIES_DEFAULT,
    RETRIES_MAX, RetryPolicy, Structure, WAIT_DEFAULT, WAIT_MAX_DEFAULT,
};
use crate::decimal::Price;
use crate::usage::Prices;

/// Settings that cannot be used, with every defect.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidSettings(pub Vec<SettingsProblem>);

/// One defect of settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsProblem {
    /// The member with the defect.
    pub member: &'static str,
    /// A description of the defect.
    pub message: String,
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`: {}", self.member, self.message)
    }
}

impl ModelSettings {
    /// Reads settings from an object. Members outside [`ModelSettings::KEYS`] are ignored.
    ///
    /// # Errors
    /// [`InvalidSettings`] with every defect.
    pub fn read(object: &Object) -> Result<Self, InvalidSettings> {
        let mut reading = Reading { object, wrong: Vec::new() };
        let api = reading.word("api", &[("openai", Api::OpenAi), ("anthropic", Api::Anthropic)], None);
        let structures =
            [("schema", Structure::Schema), ("json", Structure::Json), ("prompt", Structure::Prompt)];
        let read = Self {
            api,
            model: reading.needed_text("model"),
            endpoint: reading.endpoint(api),
            ca_file: reading.text("ca_file").map(Into::into),
            key: reading.key(),
            system: reading.template("system"),
            prompt: reading.prompt(),
            structure: reading.word("structure", &structures, Some(Structure::Schema)),
            max_tokens: reading.count("max_tokens", 1, u32::MAX, MAX_TOKENS_DEFAULT),
            temperature: reading.temperature(),
            seed: reading.seed(),
            retry: reading.retry(),
            repairs: reading.count("repairs", 0, REPAIRS_MAX, REPAIRS_DEFAULT),
            delivery: reading.delivery(),
            prices: reading.prices(),
        };
        if reading.wrong.is_empty() { Ok(read) } else { Err(InvalidSettings(reading.wrong)) }
    }
}

struct Reading<'a> {
    object: &'a Object,
    wrong: Vec<SettingsProblem>,
}

impl<'a> Reading<'a> {
    fn find(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn say(&mut self, member: &'static str, message: impl fmt::Display) {
        self.wrong.push(SettingsProblem { member, message: message.to_string() });
    }

    fn text(&mut self, key: &'static str) -> Option<&'a str> {
        let value = self.find(key)?;
        let text = value.as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.say(key, "expected a text that is not empty");
        }
        text
    }

    fn needed_text(&mut self, key: &'static str) -> Arc<str> {
        if self.find(key).is_none() {
            self.say(key, "it is missing");
        }
        self.text(key).unwrap_or_default().into()
    }

    fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)], default: Option<T>) -> T {
        let first = words.first().map(|(_, first)| *first).expect("there are words to choose from");
        let given = self.find(key);
        let found =
            given.and_then(Value::as_str).and_then(|given| words.iter().find(|(word, _)| *word == given));
        match (given, found, default) {
            (_, Some((_, found)), _) => *found,
            (None, None, Some(default)) => default,
            _ => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                self.say(key, format_args!("expected one of {}", known.join(", ")));
                first
            }
        }
    }

    fn endpoint(&mut self, api: Api) -> Arc<str> {
        let default = match api {
            Api::OpenAi => "https://api.openai.com/v1/",
            Api::Anthropic => "https://api.anthropic.com/v1/",
        };
        let Some(text) = self.text("endpoint") else { return default.into() };
        let Ok(mut url) = hence_capabilities::client::Url::parse(text) else {
            self.say("endpoint", "expected an address");
            return default.into();
        };
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            self.say("endpoint", "expected http:// or https:// and a host");
        }
        // Error messages and the settings file both show the endpoint, so it must not contain a password.
        if !url.username().is_empty() || url.password().is_some() {
            self.say("endpoint", "it holds a user or a password; refer to a secret under `key`");
        }
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        url.as_str().into()
    }

    fn key(&mut self) -> Option<Arc<str>> {
        let value = self.find("key")?;
        let name = hence_cognition::secret::secret_reference(value).cloned();
        if name.is_none() {
            // The value may be a key, so the message does not repeat it.
            self.say("key", r#"expected {"$secret": NAME}"#);
        }
        name
    }

    fn template(&mut self, key: &'static str) -> Option<Template> {
        match Template::read(self.text(key)?) {
            Ok(template) => Some(template),
            Err(error) => {
                self.say(key, error);
                None
            }
        }
    }

    fn prompt(&mut self) -> Template {
        if self.find("prompt").is_none() {
            self.say("prompt", "it is missing");
        }
        let empty = || Template::read("").expect("nothing is open in an empty text");
        self.template("prompt").unwrap_or_else(empty)
    }

    fn count(&mut self, key: &'static str, min: u32, max: u32, default: u32) -> u32 {
        let Some(value) = self.find(key) else { return default };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        count.filter(|count| (min..=max).contains(count)).unwrap_or_else(|| {
            self.say(key, format_args!("expected a count from {min} to {max}"));
            default
        })
    }

    fn temperature(&mut self) -> Option<f64> {
        let value = self.find("temperature")?;
        let number = number(value).filter(|number| (0.0..=2.0).contains(number));
        if number.is_none() {
            self.say("temperature", "expected a number from 0 to 2");
        }
        number
    }

    fn seed(&mut self) -> Option<u64> {
        let seed = self.find("seed")?.as_u64();
        if seed.is_none() {
            self.say("seed", "expected a count");
        }
        seed
    }

    fn seconds(&mut self, key: &'static str, default: Duration) -> Duration {
        let Some(value) = self.find(key) else { return default };
        let read = number(value).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        read.unwrap_or_else(|| {
            self.say(key, "expected a number of seconds, 0 or above");
            default
        })
    }

    fn retry(&mut self) -> RetryPolicy {
        let default =
            RetryPolicy { retries: RETRIES_DEFAULT, wait: WAIT_DEFAULT, wait_max: WAIT_MAX_DEFAULT };
        let Some(value) = self.find("retries") else { return default };
        let Value::Object(object) = value else {
            self.say("retries", "expected an object with `max`, `wait_seconds` and `wait_seconds_max`");
            return default;
        };
        let mut inner = Reading { object, wrong: Vec::new() };
        let read = RetryPolicy {
            retries: inner.count("max", 0, RETRIES_MAX, RETRIES_DEFAULT),
            wait: inner.seconds("wait_seconds", WAIT_DEFAULT),
            wait_max: inner.seconds("wait_seconds_max", WAIT_MAX_DEFAULT),
        };
        self.take_in("retries", inner, &["max", "wait_seconds", "wait_seconds_max"]);
        read
    }

    fn delivery(&mut self) -> Delivery {
        match self.find("stream") {
            None | Some(Value::Bool(true)) => Delivery::Streamed,
            Some(Value::Bool(false)) => Delivery::Whole,
            Some(_) => {
                self.say("stream", "expected true or false");
                Delivery::Streamed
            }
        }
    }

    fn prices(&mut self) -> Option<Prices> {
        let Value::Object(object) = self.find("price")? else {
            self.say("price", "expected an object with `currency`, `input` and `output`");
            return None;
        };
        let mut inner = Reading { object, wrong: Vec::new() };
        let currency = inner.needed_text("currency");
        let (input, cached, output) =
            (inner.price("input"), inner.price("cached_input"), inner.price("output"));
        for key in ["input", "output"] {
            if inner.find(key).is_none() {
                inner.say(key, "it is missing");
            }
        }
        self.take_in("price", inner, &["currency", "input", "cached_input", "output"]);
        let (input, output) = (input?, output?);
        Some(Prices { currency, input, cached_input: cached.unwrap_or(input), output })
    }

    /// Reads the price of a million tokens: a whole number, or a decimal as text, because a JSON fraction is a double.
    fn price(&mut self, key: &'static str) -> Option<Price> {
        let text = match self.find(key)? {
            Value::String(text) => text.to_string(),
            Value::Int(int) => int.to_string(),
            other => {
                self.say(
                    key,
                    format_args!("expected a decimal as text, such as \"2.50\", found {}", other.kind()),
                );
                return None;
            }
        };
        text.parse().map_err(|error| self.say(key, error)).ok()
    }

    /// Adds the defects of the object under a member, and reports its unknown members.
    fn take_in(&mut self, member: &'static str, inner: Reading<'_>, known: &[&str]) {
        let unknown = inner.object.keys().filter(|key| !known.contains(&&***key));
        let unknown: Vec<String> = unknown.map(|key| format!("unknown member `{key}`")).collect();
        for message in inner.wrong.iter().map(ToString::to_string).chain(unknown) {
            self.say(member, message);
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int.to_f64_lossy()),
        Value::Float(float) => Some(float.get()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn read(text: &str) -> Result<ModelSettings, InvalidSettings> {
        let value = parse(text.as_bytes()).unwrap();
        ModelSettings::read(value.as_object().unwrap())
    }

    #[test]
    fn little_has_to_be_said() {
        let settings = read(r#"{"api": "anthropic", "model": "m", "prompt": "{{q}}"}"#).unwrap();
        assert_eq!(&*settings.endpoint, "https://api.anthropic.com/v1/");
        assert_eq!((settings.key, settings.repairs), (None, REPAIRS_DEFAULT));
        assert_eq!((settings.delivery, settings.structure), (Delivery::Streamed, Structure::Schema));
        let settings =
            read(r#"{"api": "openai", "model": "m", "prompt": "p", "endpoint": "http://h:1/v1?a=b"}"#);
        assert_eq!(&*settings.unwrap().endpoint, "http://h:1/v1/?a=b");
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let wrong = read(
            r#"{"api": "other", "model": "", "endpoint": "ftp://u:p@h/", "key": "sk-1", "system": "{{a",
                "structure": "loose", "max_tokens": 0, "temperature": 3, "seed": -1,
                "retries": {"max": 21, "often": 1}, "repairs": 11, "stream": "yes",
                "price": {"currency": "USD", "input": 2.5}}"#,
        );
        let wrong = wrong.unwrap_err();
        let members: Vec<&str> = wrong.0.iter().map(|problem| problem.member).collect();
        assert_eq!(
            members,
            [
                "api",
                "model",
                "endpoint",
                "endpoint",
                "key",
                "system",
                "prompt",
                "structure",
                "max_tokens",
                "temperature",
                "seed",
                "retries",
                "retries",
                "repairs",
                "stream",
                "price",
                "price"
            ],
            "{wrong}"
        );
        // A value in place of a secret's name is never repeated.
        assert!(!wrong.to_string().contains("sk-1") && !wrong.to_string().contains("u:p"), "{wrong}");
    }

    #[test]
    fn limits_hold_on_both_sides() {
        let with =
            |member: &str| read(&format!(r#"{{"api": "openai", "model": "m", "prompt": "p", {member}}}"#));
        for good in [
            r#""repairs": 10"#,
            r#""repairs": 0"#,
            r#""retries": {"max": 20}"#,
            r#""max_tokens": 1"#,
            r#""temperature": 2"#,
            r#""retries": {"wait_seconds": 0}"#,
            r#""price": {"currency": "EUR", "input": "0.15", "output": 1}"#,
        ] {
            assert!(with(good).is_ok(), "{good}: {:?}", with(good).err());
        }
        for bad in [
            r#""repairs": 11"#,
            r#""retries": {"max": 21}"#,
            r#""retries": {"wait_seconds": -1}"#,
            r#""max_tokens": 4294967296"#,
            r#""temperature": 2.1"#,
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
    }
}
