//! Grouping of items, and aggregates of the groups.

use std::collections::BTreeMap;

use hence_canon::{JsonPointer, Object, Value};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::number::Totals;
use crate::refusal::Refusal;

pub(crate) const GROUP: BuiltIn = BuiltIn {
    id: "data.group",
    does: "Group items by a value in each",
    takes: &[required("items", "array", "The items"), required("by", "string", "A place in each item")],
    gives: &[
        required("groups", "array", "Objects with `key`, `items` and `count`, in order of first appearance"),
        required("count", "integer", "How many groups"),
    ],
    call: group,
};

pub(crate) const AGGREGATE: BuiltIn = BuiltIn {
    id: "data.aggregate",
    does: "Count, add up and compare numbers, for all items or for each group",
    takes: &[
        required("items", "array", "The items"),
        optional("by", "string", "A place in each item that groups them; one group by default"),
        optional(
            "value",
            "string",
            "A place in each item that holds a number; without it items are counted only",
        ),
    ],
    gives: &[required(
        "groups",
        "array",
        "Objects with `key`, `count`, and with `value` also `sum`, `mean`, `min`, `max`",
    )],
    call: aggregate,
};

/// Groups items by the value at a location, in order of first appearance.
fn groups<'a>(items: &'a [Value], by: &JsonPointer) -> Vec<(Value, Vec<&'a Value>)> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(Value, Vec<&Value>)> = Vec::new();
    for item in items {
        let key = item.pointer(by).cloned().unwrap_or_default();
        let at = *places.entry(key.to_string()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, members)) => members.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

fn group(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let groups = groups(arguments.list("items")?, &arguments.place("by")?);
    let count = groups.len();
    let made = groups.into_iter().map(|(key, items)| {
        let count = items.len();
        let items: Value = items.into_iter().cloned().collect();
        Object::from_iter([("key", key), ("items", items), ("count", count.into())])
    });
    Ok(Object::from_iter([("groups", Value::from(made.collect::<Vec<_>>())), ("count", count.into())]))
}

fn aggregate(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let items = arguments.list("items")?;
    let value = arguments.find("value").map(|_| arguments.place("value")).transpose()?;
    let groups = match arguments.find("by") {
        Some(_) => groups(items, &arguments.place("by")?),
        None => vec![(Value::Null, items.iter().collect())],
    };
    let made = groups.into_iter().map(|(key, items)| {
        let mut made = Object::from_iter([("key", key), ("count", items.len().into())]);
        if let Some(at) = &value {
            let numbers = items.iter().map(|item| item.pointer(at).unwrap_or(&Value::Null));
            for (name, total) in Totals::of(numbers)?.members()? {
                made = made.with(name, total);
            }
        }
        Ok(made)
    });
    Ok(Object::from_iter([("groups", made.collect::<Result<Vec<Object>, Refusal>>()?)]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn groups_come_in_order_of_first_appearance() {
        table(
            "data.group",
            &[
                (
                    r#"{"items": [{"k": "b"}, {"k": "a"}, {"k": "b"}, {}], "by": "k"}"#,
                    r#"{"count": 3, "groups": [
                    {"key": "b", "items": [{"k": "b"}, {"k": "b"}], "count": 2},
                    {"key": "a", "items": [{"k": "a"}], "count": 1},
                    {"key": null, "items": [{}], "count": 1}]}"#,
                ),
                (r#"{"items": [], "by": "k"}"#, r#"{"groups": [], "count": 0}"#),
            ],
        );
        table(
            "data.aggregate",
            &[
                (
                    r#"{"items": [{"k": "a", "n": 1}, {"k": "a", "n": 2}, {"k": "b", "n": 0.5}], "by": "k", "value": "n"}"#,
                    r#"{"groups": [
                    {"key": "a", "count": 2, "sum": 3, "mean": 1.5, "min": 1, "max": 2},
                    {"key": "b", "count": 1, "sum": 0.5, "mean": 0.5, "min": 0.5, "max": 0.5}]}"#,
                ),
                (r#"{"items": [1, 2]}"#, r#"{"groups": [{"key": null, "count": 2}]}"#),
                (r#"{"items": [{"n": "1"}], "value": "n"}"#, "!value 0 is a number, found string"),
            ],
        );
    }
}
