//! Rules that check records.

use hence_canon::{Object, Value};
use hence_cognition::expression::Expression;
use hence_cognition::reference::MissingName;

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::data::{condition, record};
use crate::refusal::Refusal;

pub(crate) const ALL: &[&BuiltIn] = &[&CHECK];

pub(crate) const CHECK: BuiltIn = BuiltIn {
    id: "rules.check",
    does: "Check records against rules; a record's members stand under `inputs`",
    takes: &[
        required("records", "array", "The records"),
        required(
            "rules",
            "array",
            "Objects with `id`, `expect` (an expression), and optional `when`, `message`, `severity`",
        ),
        optional("with", "object", "What stands under `vars`"),
    ],
    gives: &[
        required(
            "findings",
            "array",
            "Objects with `rule`, `severity`, `message`, `index` and `record` for each breach",
        ),
        required("checked", "integer", "How many pairs of record and rule were checked"),
        required("holds", "boolean", "Whether there is no finding"),
    ],
    call: check,
};

struct Rule {
    id: Value,
    when: Option<Expression>,
    expect: Expression,
    message: Value,
    severity: Value,
}

fn rule((index, value): (usize, &Value)) -> Result<Rule, Refusal> {
    let text = |key: &str| match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            Err(Refusal::input(format_args!("rule {index}: `{key}` is a string, found {}", other.kind())))
        }
    };
    let needed = |key: &str| {
        text(key)?.ok_or_else(|| Refusal::input(format_args!("rule {index}: `{key}` is missing")))
    };
    let expression = |key: &str, text: &str| {
        condition(key, text).map_err(|refusal| Refusal::input(format_args!("rule {index}: {refusal}")))
    };
    let expect = needed("expect")?;
    Ok(Rule {
        id: needed("id")?.into(),
        when: text("when")?.map(|when| expression("when", &when)).transpose()?,
        message: text("message")?.unwrap_or_else(|| format!("expected {expect}").into()).into(),
        severity: text("severity")?.unwrap_or_else(|| "error".into()).into(),
        expect: expression("expect", &expect)?,
    })
}

fn check(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let rules = arguments.list("rules")?.iter().enumerate().map(rule).collect::<Result<Vec<_>, _>>()?;
    let with = arguments.object_or_empty("with")?;
    let (mut findings, mut checked) = (Vec::new(), 0_u64);
    for (index, item) in arguments.list("records")?.iter().enumerate() {
        let memory = record(item, &with)?;
        for rule in &rules {
            let holds = |expression: &Expression| {
                expression.is_true(&memory, MissingName::Error).map_err(|error| {
                    Refusal::input(format_args!("record {index}, rule {}: {error}", rule.id))
                })
            };
            if !rule.when.as_ref().map_or(Ok(true), holds)? {
                continue;
            }
            checked += 1;
            if !holds(&rule.expect)? {
                findings.push(Object::from_iter([
                    ("rule", rule.id.clone()),
                    ("severity", rule.severity.clone()),
                    ("message", rule.message.clone()),
                    ("index", index.into()),
                    ("record", item.clone()),
                ]));
            }
        }
    }
    let holds = findings.is_empty();
    Ok(Object::from_iter([
        ("findings", Value::from(findings)),
        ("checked", checked.into()),
        ("holds", holds.into()),
    ]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn breaches_are_findings_and_exceptions_are_not() {
        table(
            "rules.check",
            &[
                (
                    r#"{"records": [{"n": 1, "kind": "a"}, {"n": 9, "kind": "b"}],
                    "rules": [{"id": "small", "when": "inputs.kind == 'b'", "expect": "inputs.n <= vars.most", "severity": "warning"}],
                    "with": {"most": 5}}"#,
                    r#"{"checked": 1, "holds": false, "findings": [
                    {"rule": "small", "severity": "warning", "message": "expected inputs.n <= vars.most", "index": 1, "record": {"n": 9, "kind": "b"}}]}"#,
                ),
                (r#"{"records": [], "rules": []}"#, r#"{"checked": 0, "holds": true, "findings": []}"#),
                (r#"{"records": [], "rules": [{"id": "x"}]}"#, "!rule 0: `expect` is missing"),
                (r#"{"records": [], "rules": [{"id": "x", "expect": "=="}]}"#, "!rule 0: `expect`: "),
                (
                    r#"{"records": [{}], "rules": [{"id": "x", "expect": "inputs.n > 1"}]}"#,
                    "!record 0, rule \"x\": `inputs.n` names nothing",
                ),
                (
                    r#"{"records": [{}], "rules": [{"id": "x", "expect": "1 in 2"}]}"#,
                    "!record 0, rule \"x\": ",
                ),
            ],
        );
    }
}
