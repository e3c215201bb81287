//! The JSON Schema of capabilities files, for editors.

use hence_canon::{Object, Value, parse};

use crate::provider::{Kinds, ProviderKind};

/// The schema without the providers, which describe themselves.
const FILE: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Capabilities",
  "description": "What steps of skills may call besides the built-in functions.",
  "type": "object",
  "required": ["capabilities"],
  "additionalProperties": false,
  "properties": {
    "capabilities": {
      "type": "object",
      "description": "Capabilities by id.",
      "additionalProperties": {"$ref": "#/$defs/capability"}
    },
    "custom_actions": {
      "type": "array",
      "description": "Action types of this file's own, which its capabilities may name besides the known ones.",
      "items": {"type": "string", "pattern": "^[A-Z][A-Za-z0-9]*$", "maxLength": 48}
    },
    "secrets": {
      "type": "object",
      "description": "Secrets by name: where each is found when a call needs it. Values never stand here.",
      "additionalProperties": {
        "oneOf": [
          {"type": "object", "required": ["environment"], "additionalProperties": false,
           "properties": {"environment": {"type": "string", "minLength": 1}}},
          {"type": "object", "required": ["file"], "additionalProperties": false,
           "properties": {"file": {"type": "string", "minLength": 1}}}
        ]
      }
    }
  },
  "$defs": {
    "secret": {
      "type": "object",
      "description": "A reference to a declared secret.",
      "required": ["$secret"],
      "additionalProperties": false,
      "properties": {"$secret": {"type": "string"}}
    },
    "gates": {
      "type": "array",
      "items": {
        "oneOf": [
          {"type": "string"},
          {"type": "object", "required": ["capability"], "additionalProperties": false,
           "properties": {
             "capability": {"type": "string"},
             "on_denied": {"enum": ["block", "require_human", "warn", "degrade"], "default": "block"}
           }}
        ]
      }
    },
    "capability": {
      "type": "object",
      "required": ["description", "provider"],
      "additionalProperties": false,
      "properties": {
        "description": {"type": "string", "minLength": 1, "description": "What it does, in a line."},
        "provider": {"$ref": "#/$defs/provider"},
        "action": {"type": "string", "minLength": 1, "description": "What calling it is to a reviewer, such as RunTests or GitCommit; `hence policy actions` lists the types."},
        "input": {"type": ["object", "boolean"], "description": "The JSON Schema of its input."},
        "output": {"type": ["object", "boolean"], "description": "The JSON Schema of its output."},
        "determinism": {"enum": ["recorded", "deterministic"], "default": "recorded",
          "description": "Whether a replay reads what it gave, or calls it again."},
        "effects": {"enum": ["none", "reads", "writes"], "default": "writes",
          "description": "What a call does to the world."},
        "recovery": {"enum": ["retry", "ask", "fail"],
          "description": "What becomes of a call of which nobody knows how it ended. Default: ask if it writes, else retry."},
        "trust": {"enum": ["sandbox", "standard", "elevated", "privileged"],
          "description": "The least trust a run needs to call it."},
        "confirmation": {"enum": ["none", "required"], "default": "none",
          "description": "Whether a person must confirm each call first."},
        "gates": {
          "type": "object",
          "description": "Capabilities that must agree before and after each call.",
          "additionalProperties": false,
          "properties": {"before": {"$ref": "#/$defs/gates"}, "after": {"$ref": "#/$defs/gates"}}
        },
        "secrets": {"type": "array", "items": {"type": "string"},
          "description": "The secrets that may stand in its input; inputs.* stands for all secret inputs of skills."},
        "timeout_seconds": {"type": "number", "exclusiveMinimum": 0},
        "max_tokens": {"type": "integer", "minimum": 0, "description": "The most tokens that a call may use. A run with a limit on tokens counts it before the call."},
        "max_cost": {
          "type": "object",
          "description": "The most that a call may cost. A run with a limit on cost counts it before the call.",
          "required": ["amount", "currency"],
          "additionalProperties": false,
          "properties": {"amount": {"type": ["string", "integer"]}, "currency": {"type": "string", "minLength": 1}}
        },
        "output_bytes_max": {"type": "integer", "minimum": 1, "maximum": 268435456, "default": 16777216},
        "hints": {"type": "object", "description": "What kind of knowledge it takes and gives."}
      }
    }
  }
}"##;

/// Returns the JSON Schema of a capabilities file with these kinds of providers.
pub fn json_schema(kinds: &Kinds) -> Value {
    let mut schema =
        parse(FILE.as_bytes()).expect("the text above is JSON").as_object().cloned().unwrap_or_default();
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let one_of: Vec<Value> = kinds.iter().map(|kind| provider(&**kind)).collect();
    let providers = Object::from_iter([("oneOf", Value::from(one_of))]);
    schema = schema.with("$defs", definitions.with("provider", providers));
    schema.into()
}

fn provider(kind: &dyn ProviderKind) -> Value {
    let own = kind.schema();
    let own = own.as_object().cloned().unwrap_or_default();
    let member = |key: &str| own.get(key).cloned();
    let properties = member("properties").and_then(|value| value.as_object().cloned()).unwrap_or_default();
    let name = Object::from_iter([("const", kind.name())]);
    let required =
        member("required").and_then(|value| value.as_array().map(<[Value]>::to_vec)).unwrap_or_default();
    let required: Vec<Value> = [Value::from("kind")].into_iter().chain(required).collect();
    own.with("type", "object")
        .with("additionalProperties", false)
        .with("properties", properties.with("kind", name))
        .with("required", required)
        .into()
}
