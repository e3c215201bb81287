//! JMESPath queries.

use std::sync::Arc;

use hence_canon::{Float, Object, Value};
use jmespath::{Rcvar, Variable};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, required};
use crate::contract::exact;
use crate::refusal::Refusal;

/// The maximum length of an expression: the interpreter recurses over it, and this limit protects the stack.
const EXPRESSION_BYTES_MAX: usize = 1024;

/// The maximum number of digits of a number in an expression: slices use 32 bits without an overflow check.
const DIGITS_MAX: usize = 9;

pub(crate) const QUERY: BuiltIn = BuiltIn {
    id: "data.query",
    does: "Ask a JMESPath expression of a value",
    takes: &[
        required("from", "any", "The value; its integers fit 64 bits"),
        required("expression", "string", "The expression, as people[?age > `30`].name"),
    ],
    gives: &[required("value", "any", "What it gives; null where there is nothing")],
    call: query,
};

fn query(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (from, expression) = (arguments.value("from")?, arguments.text("expression")?);
    if expression.len() > EXPRESSION_BYTES_MAX {
        let message =
            format_args!("`expression` has {} bytes, limit is {EXPRESSION_BYTES_MAX}", expression.len());
        return Err(Refusal::too_large(message));
    }
    if longest_number(expression) > DIGITS_MAX {
        return Err(Refusal::input(format_args!("a number in `expression` has at most {DIGITS_MAX} digits")));
    }
    let invalid =
        |error: jmespath::JmespathError| Refusal::input(format_args!("`expression`: {}", one_line(&error)));
    let compiled = jmespath::compile(expression).map_err(invalid)?;
    let from = exact(from).map_err(|pointer| {
        Refusal::input(format_args!("the integer at `{pointer}` of `from` does not fit 64 bits"))
    })?;
    let found = compiled.search(from).map_err(invalid)?;
    Ok(Object::from_iter([("value", back(&found)?)]))
}

/// Returns the number of digits of the longest number outside quotes.
fn longest_number(expression: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    let mut quote = None;
    let mut escaped = false;
    for c in expression.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"' | '`') => (quote, run) = (Some(c), 0),
            None if c.is_ascii_digit() => {
                run += 1;
                longest = longest.max(run);
            }
            None => run = 0,
        }
    }
    longest
}

/// Returns the first line of an error: the library adds a drawing of the position below it.
fn one_line(error: &jmespath::JmespathError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

fn back(value: &Rcvar) -> Result<Value, Refusal> {
    Ok(match &**value {
        Variable::Null => Value::Null,
        Variable::Bool(bool) => (*bool).into(),
        Variable::String(text) => text.as_str().into(),
        Variable::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => int.into(),
            (None, Some(int)) => int.into(),
            (None, None) => {
                let real = number.as_f64().and_then(|real| Float::new(real).ok());
                real.ok_or_else(|| Refusal::input("the expression gives no finite number"))?.into()
            }
        },
        Variable::Array(items) => items.iter().map(back).collect::<Result<Vec<Value>, _>>()?.into(),
        Variable::Object(members) => {
            let member = |(key, value): (&String, &Rcvar)| Ok((Arc::<str>::from(key.as_str()), back(value)?));
            members
                .iter()
                .map(member)
                .collect::<Result<Vec<_>, Refusal>>()?
                .into_iter()
                .collect::<Object>()
                .into()
        }
        Variable::Expref(_) => return Err(Refusal::input("the expression gives an expression, not a value")),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{call, table};

    #[test]
    fn expressions_ask_and_say_what_is_wrong_with_them() {
        let people =
            r#"{"people": [{"name": "Ada", "age": 36}, {"name": "Alan", "age": 41}], "n": 9007199254740993}"#;
        let ask =
            |expression: &str| format!(r#"{{"from": {people}, "expression": {}}}"#, Value::from(expression));
        table(
            "data.query",
            &[
                (&ask("people[?age > `40`].name"), r#"{"value": ["Alan"]}"#),
                (&ask("max_by(people, &age).name"), r#"{"value": "Alan"}"#),
                (
                    &ask("people[].{n: name, old: age > `40`} | [0]"),
                    r#"{"value": {"n": "Ada", "old": false}}"#,
                ),
                (&ask("nobody.there"), r#"{"value": null}"#),
                (&ask("n"), r#"{"value": 9007199254740993}"#),
                (&ask("length(people)"), r#"{"value": 2}"#),
                (&ask("people[?"), "!`expression`: "),
                (&ask("unknown(people)"), "!`expression`: "),
                (&ask("&name"), "!the expression gives an expression"),
                (&ask("people[0:2:2147483647]"), "!a number in `expression` has at most 9 digits"),
                (&ask("people[1:2:999999999].name"), r#"{"value": ["Alan"]}"#),
                (r#"{"from": {"a": 18446744073709551616}, "expression": "a"}"#, "!the integer at `/a`"),
            ],
        );
    }

    #[test]
    fn the_deepest_expression_that_is_allowed_does_not_end_the_stack() {
        let ask = |expression: &str| {
            let input = format!(r#"{{"from": {{"a": 1}}, "expression": {}}}"#, Value::from(expression));
            std::thread::Builder::new()
                .stack_size(1024 * 1024)
                .spawn(move || call("data.query", &input))
                .unwrap()
                .join()
        };
        let half = EXPRESSION_BYTES_MAX / 2;
        for deep in [
            format!("{}a", "!".repeat(EXPRESSION_BYTES_MAX - 1)),
            format!("{}a{}", "(".repeat(half - 1), ")".repeat(half - 1)),
            format!("a{}", "[]".repeat(half - 1)),
            format!("a{}", ".a".repeat(half - 1)),
            format!("a{}", "|a".repeat(half - 1)),
            "(".repeat(EXPRESSION_BYTES_MAX),
            "[".repeat(EXPRESSION_BYTES_MAX),
            "&".repeat(EXPRESSION_BYTES_MAX),
        ] {
            assert!(ask(&deep).is_ok(), "{}", &deep[..8]);
        }
        let long = ask(&"a".repeat(EXPRESSION_BYTES_MAX + 1)).unwrap().unwrap_err();
        assert_eq!(&*long.class, "InputTooLarge");
        assert!(ask(&"a".repeat(EXPRESSION_BYTES_MAX)).unwrap().is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_expression_panics(expression in r#"([a-c0-9:.*&|@!<>=,()\[\]{}`'"?-]|\[[0-9-]{0,9}:[0-9-]{0,9}:[0-9-]{0,9}\]|sort_by\(a,&b\)|sum\(a\)){0,12}"#) {
            let input = format!(r#"{{"from": {{"a": [1, 2.5, "x", {{"b": 1}}], "b": {{"c": [[1], [2]]}}}}, "expression": {}}}"#, Value::from(expression));
            let _ = call("data.query", &input);
        }
    }
}
