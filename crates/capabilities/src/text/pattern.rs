//! Regular expressions, in time linear in the text.

use hence_canon::{Object, Value};
use regex::{Captures, Regex, RegexBuilder};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;

/// The maximum size of a compiled expression: ten times that of a long hand-written one.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

pub(crate) const EXTRACT: BuiltIn = BuiltIn {
    id: "text.extract",
    does: "Find every match of a regular expression, with its line and its named groups",
    takes: &[
        required("text", "string", "The text"),
        required("pattern", "string", "The regular expression; `^` and `$` match at line ends"),
    ],
    gives: &[
        required("matches", "array", "Objects with `text`, `line` from 1, and `groups` by name"),
        required("count", "integer", "How many"),
    ],
    call: extract,
};

pub(crate) const REPLACE: BuiltIn = BuiltIn {
    id: "text.replace",
    does: "Replace every match of a regular expression",
    takes: &[
        required("text", "string", "The text"),
        required("pattern", "string", "The regular expression"),
        optional("with", "string", "What stands for a match, with $name for groups; nothing by default"),
    ],
    gives: &[required("text", "string", "The text")],
    call: replace,
};

fn compile(arguments: &Arguments<'_>) -> Result<Regex, Refusal> {
    let pattern = arguments.text("pattern")?;
    let made = RegexBuilder::new(pattern).multi_line(true).size_limit(PATTERN_BYTES_MAX).build();
    made.map_err(|error| Refusal::input(format_args!("the `pattern` cannot be read: {error}")))
}

fn extract(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (text, pattern) = (arguments.text("text")?, compile(arguments)?);
    let (mut line, mut counted) = (1_u64, 0);
    let mut matches = Vec::new();
    for captures in pattern.captures_iter(text) {
        let Some(whole) = captures.get(0) else { continue };
        // Lines are counted once for the whole text, not once per match.
        let between = text.get(counted..whole.start()).unwrap_or_default();
        line += between.bytes().filter(|byte| *byte == b'\n').count() as u64;
        counted = whole.start();
        let found = [
            ("text", Value::from(whole.as_str())),
            ("line", line.into()),
            ("groups", groups(&pattern, &captures).into()),
        ];
        matches.push(Object::from_iter(found));
    }
    let count = matches.len();
    Ok(Object::from_iter([("matches", Value::from(matches)), ("count", count.into())]))
}

fn groups(pattern: &Regex, captures: &Captures<'_>) -> Object {
    let named = pattern.capture_names().flatten();
    named.map(|name| (name, captures.name(name).map(|group| group.as_str()))).collect()
}

fn replace(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (text, pattern) = (arguments.text("text")?, compile(arguments)?);
    let replaced = pattern.replace_all(text, arguments.text_or("with", "")?);
    Ok(Object::from_iter([("text", &*replaced)]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn matches_come_with_line_and_groups() {
        table(
            "text.extract",
            &[
                (
                    r#"{"text": "a=1\nb=2", "pattern": "^(?P<k>\\w)=(?P<v>\\d)(?P<x>!)?"}"#,
                    r#"{"count": 2, "matches": [
                    {"text": "a=1", "line": 1, "groups": {"k": "a", "v": "1", "x": null}},
                    {"text": "b=2", "line": 2, "groups": {"k": "b", "v": "2", "x": null}}]}"#,
                ),
                (r#"{"text": "", "pattern": "x"}"#, r#"{"count": 0, "matches": []}"#),
                (
                    r#"{"text": "é", "pattern": ""}"#,
                    r#"{"count": 2, "matches": [{"text": "", "line": 1, "groups": {}}, {"text": "", "line": 1, "groups": {}}]}"#,
                ),
                (r#"{"text": "", "pattern": "("}"#, "!the `pattern` cannot be read"),
                (r#"{"text": "", "pattern": "\\w{1000}{1000}"}"#, "!the `pattern` cannot be read"),
            ],
        );
        table(
            "text.replace",
            &[
                (r#"{"text": "a1b2", "pattern": "\\d"}"#, r#"{"text": "ab"}"#),
                (r#"{"text": "a1", "pattern": "(?P<n>\\d)", "with": "<$n>"}"#, r#"{"text": "a<1>"}"#),
            ],
        );
    }
}
