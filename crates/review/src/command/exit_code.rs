//! The exit codes that a result states.

use hence_canon::{Object, Value};

/// Names of members that hold an exit code, in lower case and without signs.
const NAMES: [&str; 4] = ["exitcode", "exitstatus", "returncode", "rc"];

/// Returns the exit codes that an object states, under any spelling of their names: `exit_code`, `ExitCode`, `return-code`.
///
/// A tool may write a code as a number with a fraction of zero, as a text, as `exit status 1`, as a flag, or as a list.
pub fn exit_codes(object: &Object) -> Vec<i64> {
    let is_named = |key: &str| {
        let plain: String = key
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        NAMES.contains(&plain.as_str())
    };
    object.iter().filter(|(key, _)| is_named(key)).flat_map(|(_, value)| codes(value)).collect()
}

fn codes(value: &Value) -> Vec<i64> {
    match value {
        Value::Array(items) => items.iter().filter_map(code).collect(),
        value => code(value).into_iter().collect(),
    }
}

fn code(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(failed) => Some(i64::from(*failed)),
        // A code with a fraction is no code, but it is not zero either.
        Value::Float(number) => Some(i64::from(number.get() != 0.0)),
        Value::String(text) => text.split_whitespace().last()?.parse().ok(),
        value => value.as_i64(),
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn codes_are_read_in_every_spelling() {
        for (object, expected) in [
            (r#"{"exit_code": 1}"#, &[1][..]),
            (r#"{"ExitCode": "2"}"#, &[2]),
            (r#"{"exit-code": "exit status 3"}"#, &[3]),
            (r#"{"returnCode": 1.0}"#, &[1]),
            (r#"{"exit_status": 0.0}"#, &[0]),
            (r#"{"rc": true}"#, &[1]),
            (r#"{"exit_code": [0, "4"]}"#, &[0, 4]),
            (r#"{"exit_code": null}"#, &[]),
            (r#"{"exit_code": "none"}"#, &[]),
            (r#"{"code": 1}"#, &[]),
        ] {
            let object = parse(object.as_bytes()).unwrap();
            assert_eq!(exit_codes(object.as_object().unwrap()), expected, "{object}");
        }
    }
}
