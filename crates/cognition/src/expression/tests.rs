use hence_canon::Value;
use proptest::prelude::*;

use super::*;
use crate::reference::MissingName;
use crate::state::Memory;
use crate::testing::{json, memory};

fn state() -> Memory {
    memory(
        r#"{"inputs": {"lang": "es"}, "vars": {"x": 10, "items": [1, 2, 3], "d": {"k": 1}, "nul": null},
            "working": {"entities": [{"name": "A"}], "artifacts": {"0": "zero"}}}"#,
    )
}

fn value(text: &str) -> Value {
    text.parse::<Expression>().unwrap().evaluate(&state(), MissingName::Null).unwrap()
}

fn column(text: &str) -> usize {
    text.parse::<Expression>().unwrap_err().column
}

#[test]
fn and_or_return_an_operand_and_stop_early() {
    assert_eq!(value("vars.x and 'yes'"), json("\"yes\""));
    assert_eq!(value("vars.nope or 7"), json("7"));
    assert_eq!(value("true or (1 in 5)"), json("true"));
    assert_eq!(value("true or false and false"), json("true"));
    assert_eq!(value("not 1 == 2"), json("true"));
}

#[test]
fn equality_is_numeric_and_structural() {
    for text in
        ["1 == 1.0", "true == 1", "[1, 2] == [1.0, 2.0]", "'1' != 1", "vars.d == vars.d", "null == vars.no"]
    {
        assert_eq!(value(text), json("true"), "{text}");
    }
    assert_eq!(value("9007199254740993 == 9007199254740992.0"), json("false"));
}

#[test]
fn order_is_between_numbers_only() {
    for text in ["' 10 ' > 9", "'1e3' > 999", "'1_0' >= 10", "true > 0", "'inf' > 5"] {
        assert_eq!(value(text), json("true"), "{text}");
    }
    for text in ["'b' > 'a'", "null >= null", "'nan' <= 0", "[] < 1", "'1__0' > 0", "'_1' > 0"] {
        assert_eq!(value(text), json("false"), "{text}");
    }
    let huge = format!("1{} > 1", "0".repeat(400));
    assert_eq!(value(&huge), json("true"));
}

#[test]
fn membership_looks_into_lists_strings_and_keys() {
    for text in ["1.0 in vars.items", "'s' in inputs.lang", "'k' in vars.d", "'a' not in vars.nope"] {
        assert_eq!(value(text), json("true"), "{text}");
    }
    assert_eq!(value("1 in vars.d"), json("false"));
    for text in ["1 in true", "1 in vars.x", "[1] in vars.d", "1 in 'text'"] {
        assert!(text.parse::<Expression>().unwrap().evaluate(&state(), MissingName::Null).is_err(), "{text}");
    }
}

#[test]
fn references_mean_what_they_mean_in_mappings_but_are_permissive() {
    assert_eq!(value("working.entities.0.name"), json("\"A\""));
    assert_eq!(value("working.artifacts.0"), json("\"zero\""));
    assert_eq!(value("vars.d.k"), json("1"));
    assert_eq!(value("d.k"), json("1"));
    assert_eq!(value("working.nope"), Value::Null);
    assert_eq!(value("working.__class__"), Value::Null);
    assert_eq!(value("vars.items.append"), Value::Null);
    let references = "inputs.a in [vars.b, c] and working".parse::<Expression>().unwrap().references();
    assert_eq!(
        references.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["inputs.a", "vars.b", "vars.c"]
    );
}

#[test]
fn a_name_that_names_nothing_is_an_error_unless_a_default_follows() {
    let strict = |text: &str| {
        let value = text.parse::<Expression>().unwrap().evaluate(&state(), MissingName::Error);
        value.map_err(|error| error.to_string())
    };
    assert_eq!(
        strict("vars.nope > 3").unwrap_err(),
        "`vars.nope` names nothing; `vars.nope ?? DEFAULT` gives a value for this case"
    );
    for text in
        ["vars.d.nope", "nope", "inputs.nope == null", "working.entities.1.name", "1 == 2 or vars.nope"]
    {
        assert!(strict(text).is_err(), "{text}");
    }
    for (text, expected) in [
        ("vars.nope ?? 0 > 3", "false"),
        ("vars.x ?? 0 > 3", "true"),
        ("vars.nul ?? 'none' == 'none'", "true"),
        ("vars.nul == null", "true"),
        ("vars.nope ?? vars.x", "10"),
        ("vars.a ?? vars.b ?? null", "null"),
        ("(vars.nope and true) ?? 7", "7"),
        ("not (vars.nope ?? false)", "true"),
        // What is not evaluated need not exist.
        ("true or vars.nope", "true"),
        ("vars.x == 10 or vars.nope", "true"),
    ] {
        assert_eq!(strict(text), Ok(json(expected)), "{text}");
    }
    // The last operand has no default.
    assert!(strict("vars.nope ?? vars.nothing").is_err());
}

#[test]
fn an_input_that_was_not_given_is_null_and_nothing_below_a_given_one_is() {
    let optional = |text: &str| {
        let memory =
            memory(r#"{"inputs": {"order": {"id": 1}, "nul": null}, "frame": {"constraints": {"eur": 5}}}"#);
        text.parse::<Expression>().unwrap().evaluate(&memory, MissingName::ErrorUnlessOptional).ok()
    };
    for text in [
        "inputs.absent",
        "inputs.absent.id",
        "inputs.nul.id",
        "frame.goal",
        "output.summary",
        "output.result.x",
    ] {
        assert_eq!(optional(text), Some(Value::Null), "{text}");
    }
    for text in
        ["inputs.order.name", "frame.constraints.usd", "frame.nope", "output.nope", "vars.x", "extensions.x"]
    {
        assert_eq!(optional(text), None, "{text}");
    }
}

#[test]
fn a_long_chain_of_defaults_does_not_nest() {
    let chain = format!("{}1", "a ?? ".repeat(3_000));
    let value = chain.parse::<Expression>().unwrap().evaluate(&state(), MissingName::Error);
    assert_eq!(value, Ok(json("1")));
}

#[test]
fn every_character_belongs_to_a_token_and_errors_say_where() {
    for (text, at) in [
        ("-5", 1),
        ("!vars.a", 1),
        ("vars.x;", 7),
        ("vars.neg == -3", 13),
        ("vars.x == 'abc", 11),
        ("1 +", 3),
        ("ñ", 1),
        ("'ñ' @", 5),
        ("vars.x and", 11),
        ("1 < 2 < 3", 7),
        ("[1,]", 4),
        ("vars.not", 1),
        ("vars..x", 1),
        ("1 2", 3),
        ("", 1),
        ("(1", 3),
        ("1 not 2", 7),
        ("1 ?? ", 6),
        ("?? 1", 1),
        ("vars.x ? 1", 8),
    ] {
        assert_eq!(column(text), at, "{text}");
    }
}

#[test]
fn nesting_and_length_limits_are_exact() {
    let nested =
        |levels: usize| format!("{}1{}", "(".repeat(levels), ")".repeat(levels)).parse::<Expression>();
    assert!(nested(NESTING_MAX).is_ok());
    assert_eq!(nested(NESTING_MAX + 1).unwrap_err().kind, ParseExpressionErrorKind::TooDeep);
    let nots = |count: usize| format!("{}1", "not ".repeat(count)).parse::<Expression>();
    assert!(nots(NESTING_MAX).is_ok() && nots(NESTING_MAX + 1).is_err());
    let long = |length: usize| format!("{:length$}", "1").parse::<Expression>();
    assert!(long(LENGTH_BYTES_MAX).is_ok());
    let found = LENGTH_BYTES_MAX + 1;
    assert_eq!(long(found).unwrap_err().kind, ParseExpressionErrorKind::TooLong { found });
}

#[test]
fn work_is_bounded() {
    let items = |count: usize| format!("[{}]", vec!["0"; count].join(","));
    let with = |count: usize| memory(&format!(r#"{{"vars": {{"l": {}}}}}"#, items(count)));
    let search: Expression = "1 in vars.l".parse().unwrap();
    assert_eq!(search.evaluate(&with(WORK_MAX), MissingName::Null), Ok(json("false")));
    assert_eq!(search.evaluate(&with(WORK_MAX + 1), MissingName::Null), Err(EvaluateError::TooMuchWork));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_or_the_evaluation_panic(text in ".{0,80}") {
        if let Ok(expression) = text.parse::<Expression>() {
            let _ = expression.evaluate(&state(), MissingName::Null);
        }
    }

    #[test]
    fn no_mix_of_tokens_makes_them_panic(words in prop::collection::vec(prop::sample::select(vec![
        "and", "or", "not", "in", "??", "==", "!=", "<", ">=", "(", ")", "[", "]", ",", "true", "null", "1", "2.5", "'s'",
        "\"", "vars.x", "vars.items", "working.entities.0", "x", "inputs", ".", "-", "é",
    ]), 0..40)) {
        let text = words.join(" ");
        match text.parse::<Expression>() {
            Ok(expression) => {
                let permissive = expression.evaluate(&state(), MissingName::Null);
                // Demanding names only ever turns a value into an error.
                if let Ok(strict) = expression.evaluate(&state(), MissingName::Error) {
                    prop_assert_eq!(Ok(strict), permissive);
                }
            }
            Err(error) => prop_assert!(error.offset <= text.len()),
        }
    }
}
