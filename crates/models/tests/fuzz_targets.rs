//! The fuzz target of capabilities files over a small corpus: seeds, and seeds with a few bytes changed by fixed numbers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[expect(unreachable_pub, reason = "a library when it is fuzzed, a module here")]
#[path = "../../../fuzz/src/registry.rs"]
mod target;

/// The number of variants of each seed.
const VARIANTS: u64 = 600;

const TELLING: &[u8] = b" \n\t:-{}[]\"'#&*!|>%@,?0123456789abcdeflmnrstu.$~\\\xc3\xa9\xff";

const COMMAND: &str = "capabilities:
  tickets.open:
    description: Opens a ticket
    provider: {kind: command, command: [./open, now], environment: [PATH]}
    input: {type: object, required: [title], properties: {title: {type: string, minLength: 1}}}
    effects: reads
    recovery: retry
    trust: elevated
    gates: {before: [a, {capability: b, on_denied: warn}]}
    timeout_seconds: 1.5
    output_bytes_max: 1000
secrets:
  S: {environment: S}
";

const MODEL: &str = r#"{"capabilities": {"ask": {"description": "Asks", "effects": "reads",
    "output": {"type": "object", "properties": {"a": {"enum": [1, "x"]}}},
    "provider": {"kind": "llm", "api": "openai", "model": "m", "endpoint": "http://127.0.0.1:1/v1",
        "key": {"$secret": "K"}, "system": "s {{a}}", "prompt": "p {{/a/0}}", "structure": "json", "max_tokens": 10,
        "temperature": 0.5, "seed": 1, "retries": {"max": 1, "wait_seconds": 0}, "repairs": 1, "stream": false,
        "price": {"currency": "USD", "input": "0.15", "output": 1}}}},
  "secrets": {"K": {"file": "key"}}}"#;

#[test]
fn capabilities_files_hold_over_the_corpus() {
    let seeds = ["", "capabilities: {}", "capabilities: {a: 1}\nmore: 2", COMMAND, MODEL];
    corpus::run("registry", target::registry, seeds, TELLING, VARIANTS);
}
