use hence_canon::{Value, parse};

use super::*;
use crate::state::Memory;
use crate::testing::memory;

fn state() -> Memory {
    memory(
        r#"{
        "inputs": {"text": "hi", "obj": {"a": {"b": 1}, "l": [7]}, "dotted.key": "dk", "": "empty", "nil": null},
        "vars": {"a.b": {"c": 3}, "a": {"b": "shadowed", "d": 4}},
        "frame": {"goal": "ship", "assumptions": ["p", "q"]},
        "working": {"artifacts": {"0": "zero", "n": {"k": [{"z": 9}]}, "nul": null}, "entities": [{"n": "A"}, {"n": "B"}]},
        "output": {"result": {"rows": [1, 2]}},
        "extensions": {"p": {"on": true}}}"#,
    )
}

fn resolve(text: &str) -> Result<Value, MissingReference> {
    Reference::parse(text).expect("a reference").resolve(&state())
}

fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

#[test]
fn only_a_known_namespace_and_a_dot_make_a_reference() {
    for text in ["inputs", "Inputs.x", " inputs.x", "$inputs.x", "trace.steps", "foo.bar", ".inputs", ""] {
        assert_eq!(Reference::parse(text), None, "{text}");
    }
    assert_eq!(Reference::parse("vars.a.b").unwrap().to_string(), "vars.a.b");
}

#[test]
fn a_flat_namespace_prefers_the_longest_key_and_then_descends_maps_only() {
    assert_eq!(resolve("inputs.dotted.key").unwrap(), json("\"dk\""));
    assert_eq!(resolve("inputs.").unwrap(), json("\"empty\""));
    assert_eq!(resolve("inputs.obj.a").unwrap(), json(r#"{"b":1}"#));
    assert_eq!(resolve("inputs.obj.l.0").unwrap(), Value::Null);
    assert_eq!(resolve("vars.a.b.c").unwrap(), json("3"));
    assert_eq!(resolve("vars.a.d").unwrap(), json("4"));
    assert!(resolve("vars.a.d.e").is_err());
}

#[test]
fn blocks_descend_through_fields_keys_and_indices() {
    assert_eq!(resolve("frame.assumptions.1").unwrap(), json("\"q\""));
    assert_eq!(resolve("working.artifacts.0").unwrap(), json("\"zero\""));
    assert_eq!(resolve("working.artifacts.n.k.0.z").unwrap(), json("9"));
    assert_eq!(resolve("working.entities.01.n").unwrap(), json("\"B\""));
    assert_eq!(resolve("output.result.rows.1").unwrap(), json("2"));
    assert_eq!(resolve("extensions.p.on").unwrap(), json("true"));
}

#[test]
fn missing_is_null_or_an_error_as_the_namespace_says() {
    for text in ["inputs.nope", "frame.nope", "frame.goal.x", "output.nope", "extensions.nope.x", "frame."] {
        assert_eq!(resolve(text).unwrap(), Value::Null, "{text}");
    }
    for text in [
        "vars.nope",
        "outputs.nope",
        "working.nope",
        "working.entities.2",
        "working.entities.-1",
        "working.entities.٢",
        "working.entities.²",
        "working.artifacts.nul.x",
        "working.artifacts.",
        "working.",
    ] {
        assert_eq!(resolve(text).unwrap_err().reference.to_string(), text);
    }
    assert_eq!(resolve("working.artifacts.nul").unwrap(), Value::Null);
}
