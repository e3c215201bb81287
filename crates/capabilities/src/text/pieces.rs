//! Capabilities that split and join texts.

use hence_canon::{Object, Value};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;
use crate::template::text_of;

pub(crate) const SPLIT: BuiltIn = BuiltIn {
    id: "text.split",
    does: "Split a text at a separator",
    takes: &[
        required("text", "string", "The text"),
        optional("separator", "string", "Where to split; line ends by default"),
        optional("trim", "boolean", "Whether to take white space off each part"),
        optional("skip_empty", "boolean", "Whether to leave empty parts out"),
    ],
    gives: &[required("parts", "array", "The parts"), required("count", "integer", "How many")],
    call: split,
};

pub(crate) const JOIN: BuiltIn = BuiltIn {
    id: "text.join",
    does: "Join texts",
    takes: &[
        required("parts", "array", "Texts; other values are written as JSON"),
        optional("separator", "string", "What stands between them; nothing by default"),
    ],
    gives: &[required("text", "string", "The text")],
    call: join,
};

pub(crate) const LINES: BuiltIn = BuiltIn {
    id: "text.lines",
    does: "Number the lines of a text",
    takes: &[required("text", "string", "The text")],
    gives: &[
        required("lines", "array", "Objects with `number`, from 1, and `text`"),
        required("count", "integer", "How many"),
    ],
    call: lines,
};

fn split(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (text, separator) = (arguments.text("text")?, arguments.text_or("separator", "\n")?);
    if separator.is_empty() {
        return Err(Refusal::input("the `separator` is not empty"));
    }
    let (trim, skip_empty) = (arguments.is_on("trim")?, arguments.is_on("skip_empty")?);
    let parts = text.split(separator).map(|part| if trim { part.trim() } else { part });
    let parts: Vec<&str> = parts.filter(|part| !(skip_empty && part.is_empty())).collect();
    let count = parts.len();
    Ok(Object::from_iter([("parts", Value::from(parts)), ("count", count.into())]))
}

fn join(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (parts, separator) = (arguments.list("parts")?, arguments.text_or("separator", "")?);
    let text: Vec<String> = parts.iter().map(text_of).collect();
    Ok(Object::from_iter([("text", text.join(separator))]))
}

fn lines(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let line = |(number, text): (u64, &str)| {
        Object::from_iter([("number", Value::from(number)), ("text", text.into())])
    };
    let lines: Vec<Object> = (1..).zip(arguments.text("text")?.lines()).map(line).collect();
    let count = lines.len();
    Ok(Object::from_iter([("lines", Value::from(lines)), ("count", count.into())]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn texts_come_apart_and_together() {
        table(
            "text.split",
            &[
                (r#"{"text": "a\nb"}"#, r#"{"parts": ["a", "b"], "count": 2}"#),
                (
                    r#"{"text": " a , ,b", "separator": ",", "trim": true, "skip_empty": true}"#,
                    r#"{"parts": ["a", "b"], "count": 2}"#,
                ),
                (r#"{"text": "", "separator": null}"#, r#"{"parts": [""], "count": 1}"#),
                (r#"{"text": "a", "separator": ""}"#, "!the `separator` is not empty"),
                (r#"{"text": 1}"#, "!the input `text` is a string, found integer"),
                (r#"{}"#, "!the input `text` is missing"),
            ],
        );
        table(
            "text.join",
            &[
                (r#"{"parts": ["a", 1, null], "separator": "-"}"#, r#"{"text": "a-1-null"}"#),
                (r#"{"parts": []}"#, r#"{"text": ""}"#),
                (r#"{"parts": "a"}"#, "!the input `parts` is a list, found string"),
            ],
        );
        table(
            "text.lines",
            &[(
                r#"{"text": "a\r\nb"}"#,
                r#"{"lines": [{"number": 1, "text": "a"}, {"number": 2, "text": "b"}], "count": 2}"#,
            )],
        );
    }
}
