//! Test tables of inputs and expected outputs.

use hence_canon::{Object, Value, parse};

use crate::{Library, Refusal};

/// Calls a built-in capability with a JSON input.
pub(crate) fn call(id: &str, input: &str) -> Result<Object, Refusal> {
    let input = parse(input.as_bytes()).expect("the test's input is JSON");
    Library::built_in().call_built_in(id, &input).expect("the capability is there")
}

/// Checks the output for each input; an expected output that begins with `!` is the start of a refusal's message.
pub(crate) fn table(id: &str, rows: &[(&str, &str)]) {
    for (input, expected) in rows {
        match (call(id, input), expected.strip_prefix('!')) {
            (Ok(output), None) => {
                let expected = parse(expected.as_bytes()).expect("the test's output is JSON");
                assert_eq!(Value::from(output), expected, "{id} {input}");
            }
            (Err(refusal), Some(message)) => {
                assert!(refusal.message.starts_with(message), "{id} {input}: {refusal}");
            }
            (found, _) => panic!("{id} {input}: expected {expected}, found {found:?}"),
        }
    }
}
