//! The provider kind `llm`: language models in capabilities files.

use std::sync::Arc;

use hence_canon::{Float, Object, Value, parse};
use hence_capabilities::registry::Members;
use hence_capabilities::{Provider, ProviderCall, ProviderKind};
use hence_cognition::budget::Most;
use hence_cognition::run::{CallError, Reply};

use crate::failure::AskError;
use crate::model::{Model, Question};
use crate::settings::ModelSettings;

/// The provider kind of language models: `kind: llm`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LlmKind;

impl ProviderKind for LlmKind {
    fn name(&self) -> &'static str {
        "llm"
    }

    fn read(&self, members: &mut Members<'_, '_>) -> Option<Arc<dyn Provider>> {
        // Reading the reference through `members` also checks that the secret is declared.
        let has_key = members.value("key").is_some();
        let key = if has_key { members.secret("key") } else { None };
        let others = ModelSettings::KEYS.into_iter().filter(|name| *name != "key");
        let mut settings: Object =
            others.filter_map(|name| Some((name, members.value(name)?.clone()))).collect();
        // A relative path starts at the folder of the file that states it.
        if let Some(file) = settings.get("ca_file").and_then(Value::as_str) {
            let path = members.base().join(file).to_string_lossy().into_owned();
            settings = settings.with("ca_file", path);
        }
        match Model::read(&settings) {
            Ok(model) => Some(Arc::new(Llm { model, key })),
            Err(invalid) => {
                for problem in invalid.0 {
                    members.refuse(problem.member, problem.message);
                }
                None
            }
        }
    }

    fn schema(&self) -> Value {
        parse(SCHEMA.as_bytes()).expect("the text below is JSON")
    }
}

struct Llm {
    model: Model,
    key: Option<Arc<str>>,
}

impl Provider for Llm {
    fn describe(&self) -> Option<String> {
        let settings = self.model.settings();
        Some(format!("model `{}` at {}", settings.model, settings.endpoint))
    }

    fn named_inputs(&self) -> Vec<(&'static str, Arc<str>)> {
        let settings = self.model.settings();
        let texts = [("prompt", Some(&settings.prompt)), ("system", settings.system.as_ref())];
        let texts = texts.into_iter().filter_map(|(member, template)| Some((member, template?)));
        let named = texts.flat_map(|(member, template)| {
            template.placeholders().filter_map(move |placeholder| Some((member, placeholder.member()?)))
        });
        named.collect()
    }

    fn most(&self, input: &Value, output_schema: Option<&Value>) -> Most {
        self.model.most(input, output_schema)
    }

    fn call(&self, call: &ProviderCall<'_>) -> Result<Reply, CallError> {
        self.call_recorded(call).0
    }

    fn call_recorded(&self, call: &ProviderCall<'_>) -> (Result<Reply, CallError>, Option<Value>) {
        let key = match self.key.as_ref().map(|name| call.secrets.value(name)).transpose() {
            Ok(key) => key,
            Err(missing) => return (Err(missing), None),
        };
        let question = Question {
            input: call.input,
            schema: call.output_schema,
            key: key.as_deref(),
            timeout: call.timeout,
            reply_bytes_max: call.output_bytes_max,
        };
        let (answer, exchange) = self.model.ask_recorded(&question);
        let reply = match answer {
            Ok(answer) => Ok(Reply { output: answer.output.into(), meta: answer.meta }),
            Err(AskError::TimedOut(timeout)) => {
                Err(CallError::TimedOut(Float::new(timeout.as_secs_f64()).expect("a duration is finite")))
            }
            Err(AskError::Failed { class, message }) => {
                Err(CallError::Failed { class: class.name().into(), message: message.into() })
            }
        };
        (reply, exchange)
    }
}

const SCHEMA: &str = r##"{
  "description": "A language model. The reply must satisfy the capability's `output`; without one it is `{text}`.",
  "required": ["api", "model", "prompt"],
  "properties": {
    "api": {"enum": ["openai", "anthropic"], "description": "How the endpoint talks."},
    "model": {"type": "string", "minLength": 1, "description": "The model's name."},
    "endpoint": {"type": "string", "description": "The address below which requests go. Default: the provider's own."},
    "ca_file": {"type": "string", "minLength": 1, "description": "Certificates in PEM of authorities to trust besides the system's, from the folder of this file."},
    "key": {"$ref": "#/$defs/secret"},
    "system": {"type": "string", "minLength": 1, "description": "The system prompt; {{name}} or {{/pointer/0}} stands for a value of the input."},
    "prompt": {"type": "string", "minLength": 1, "description": "The prompt; {{name}} or {{/pointer/0}} stands for a value of the input."},
    "structure": {"enum": ["schema", "json", "prompt"], "default": "schema",
      "description": "Who holds the model to the schema: the provider; the provider to JSON and the prompt to the rest; the prompt alone."},
    "max_tokens": {"type": "integer", "minimum": 1, "maximum": 4294967295, "default": 4096},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2},
    "seed": {"type": "integer", "minimum": 0},
    "retries": {
      "type": "object",
      "description": "How often and how patiently a request is repeated when the endpoint is busy or breaks off.",
      "additionalProperties": false,
      "properties": {
        "max": {"type": "integer", "minimum": 0, "maximum": 20, "default": 4},
        "wait_seconds": {"type": "number", "minimum": 0, "default": 0.5},
        "wait_seconds_max": {"type": "number", "minimum": 0, "default": 30,
          "description": "The longest wait, also when the endpoint asks for more."}
      }
    },
    "repairs": {"type": "integer", "minimum": 0, "maximum": 10, "default": 2,
      "description": "How often the model is told what is wrong with its reply."},
    "stream": {"type": "boolean", "default": true},
    "price": {
      "type": "object",
      "description": "What a million tokens cost, in decimals as text.",
      "required": ["currency", "input", "output"],
      "additionalProperties": false,
      "properties": {
        "currency": {"type": "string", "minLength": 1},
        "input": {"type": ["string", "integer"]},
        "cached_input": {"type": ["string", "integer"]},
        "output": {"type": ["string", "integer"]}
      }
    }
  }
}"##;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hence_capabilities::{Declarations, Kinds, Source};

    use super::*;

    fn declared(provider: &str) -> Result<Declarations, Vec<String>> {
        let file = format!(
            r#"{{"capabilities": {{"ask": {{"description": "d", "provider": {provider}}}}},
                "secrets": {{"KEY": {{"environment": "KEY"}}}}}}"#
        );
        let source = Source { document: parse(file.as_bytes()).unwrap(), folder: PathBuf::from("/") };
        let read = Declarations::read(vec![source], &Kinds::standard().with(LlmKind));
        read.map_err(|problems| problems.iter().map(|found| found.problem.to_string()).collect())
    }

    #[test]
    fn a_capabilities_file_can_declare_a_model() {
        let good =
            r#"{"kind": "llm", "api": "openai", "model": "m", "prompt": "p", "key": {"$secret": "KEY"}}"#;
        assert!(declared(good).unwrap().get("ask").is_some());
    }

    #[test]
    fn what_is_wrong_with_a_model_is_told_at_its_place() {
        let bad = r#"{"kind": "llm", "api": "telex", "model": "m", "key": {"$secret": "NONE"}, "shell": 1}"#;
        let wrong = declared(bad).unwrap_err();
        assert_eq!(
            wrong,
            [
                "at `/capabilities/ask/provider/api`: expected one of openai, anthropic",
                "at `/capabilities/ask/provider/prompt`: it is missing",
                "at `/capabilities/ask/provider/shell`: unknown member; expected api, ca_file, endpoint, key, kind, max_tokens, model, price, prompt, repairs, retries, seed, stream, structure, system, temperature",
                "at `/capabilities/ask/provider/key`: no secret `NONE` is declared under `secrets`",
            ]
        );
        let wrong = declared(
            r#"{"kind": "llm", "api": "openai", "model": "m", "prompt": "p", "key": "sk-123456789"}"#,
        );
        assert!(!wrong.unwrap_err().join(" ").contains("sk-123456789"));
    }

    #[test]
    fn the_schema_names_every_setting() {
        let schema = LlmKind.schema();
        let named = schema.get("properties").and_then(Value::as_object).unwrap();
        let mut named: Vec<&str> = named.keys().map(|key| &**key).collect();
        let mut known = ModelSettings::KEYS.to_vec();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }
}
