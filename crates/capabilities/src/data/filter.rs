//! Filtering of items by an expression.

use hence_canon::{Object, Value};
use hence_cognition::expression::Expression;
use hence_cognition::reference::MissingName;
use hence_cognition::state::Memory;

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;

pub(crate) const FILTER: BuiltIn = BuiltIn {
    id: "data.filter",
    does: "Keep the items for which an expression holds; an item's members stand under `inputs`",
    takes: &[
        required("items", "array", "The items"),
        required("where", "string", "An expression such as `inputs.level in vars.levels`"),
        optional("with", "object", "What stands under `vars`"),
    ],
    gives: &[
        required("items", "array", "The items for which it holds"),
        required("others", "array", "The others"),
        required("count", "integer", "How many hold"),
    ],
    call: filter,
};

fn filter(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let holds = condition("where", arguments.text("where")?)?;
    let with = arguments.object_or_empty("with")?;
    let (mut items, mut others) = (Vec::new(), Vec::new());
    for (index, item) in arguments.list("items")?.iter().enumerate() {
        let found = holds.is_true(&record(item, &with)?, MissingName::Error);
        match found.map_err(|error| Refusal::input(format_args!("item {index}: {error}")))? {
            true => items.push(item.clone()),
            false => others.push(item.clone()),
        }
    }
    let count = items.len();
    Ok(Object::from_iter([("items", Value::from(items)), ("others", others.into()), ("count", count.into())]))
}

pub(crate) fn condition(name: &str, text: &str) -> Result<Expression, Refusal> {
    text.parse().map_err(|error| Refusal::input(format_args!("`{name}`: {error}")))
}

/// Returns a memory in which the members of an item are inputs; any other value is the input `value`.
pub(crate) fn record(item: &Value, with: &Object) -> Result<Memory, Refusal> {
    let inputs = match item {
        Value::Object(object) => object.clone(),
        other => Object::from_iter([("value", other.clone())]),
    };
    let blocks = Object::from_iter([("inputs", inputs), ("vars", with.clone())]);
    Memory::from_blocks(&blocks.into()).map_err(Refusal::input)
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn items_are_parted_by_an_expression() {
        table(
            "data.filter",
            &[
                (
                    r#"{"items": [{"n": 1}, {"n": 5}, {}], "where": "inputs.n ?? 0 > vars.least", "with": {"least": 2}}"#,
                    r#"{"items": [{"n": 5}], "others": [{"n": 1}, {}], "count": 1}"#,
                ),
                (
                    r#"{"items": ["a", "b"], "where": "inputs.value == 'a'"}"#,
                    r#"{"items": ["a"], "others": ["b"], "count": 1}"#,
                ),
                (r#"{"items": [], "where": "inputs.n >"}"#, "!`where`: "),
                (
                    r#"{"items": [{"n": 1}, {}], "where": "inputs.n > 0"}"#,
                    "!item 1: `inputs.n` names nothing; `inputs.n ?? DEFAULT` gives a value",
                ),
                (
                    r#"{"items": [{"n": 1}], "where": "inputs.n > inputs.limit"}"#,
                    "!item 0: `inputs.limit` names nothing",
                ),
                (r#"{"items": [{"n": 1}], "where": "1 in inputs.n"}"#, "!item 0: `in` looks into"),
            ],
        );
    }
}
