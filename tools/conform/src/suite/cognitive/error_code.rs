//! `error_code`: a chain of error classes to a code.

use hence_canon::{Object, Value};
use hence_cognition::failure::{ErrorClass, code_of_chain};

pub(super) fn run(case: &Value) -> Value {
    let names = case.get("chain").and_then(Value::as_array).unwrap_or_default();
    let chain: Vec<ErrorClass> = names.iter().filter_map(Value::as_str).map(ErrorClass::named).collect();
    let code = code_of_chain(&chain);
    Object::from_iter([
        ("http_status", Value::from(u64::from(code.http_status()))),
        ("code", code.as_str().into()),
    ])
    .into()
}
