//! Set operations on lists and objects.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;

pub(crate) const UNIQUE: BuiltIn = BuiltIn {
    id: "data.unique",
    does: "Keep the first of each item, or of each value at a place in it",
    takes: &[required("items", "array", "The items"), optional("by", "string", "A place in each item")],
    gives: &[required("items", "array", "The first ones"), required("repeated", "array", "The later ones")],
    call: unique,
};

pub(crate) const CONCAT: BuiltIn = BuiltIn {
    id: "data.concat",
    does: "Put lists one behind the other",
    takes: &[required("lists", "array", "Lists; null counts as an empty one")],
    gives: &[required("items", "array", "All items"), required("count", "integer", "How many")],
    call: concat,
};

pub(crate) const MERGE: BuiltIn = BuiltIn {
    id: "data.merge",
    does: "Merge objects; later members replace earlier ones",
    takes: &[required("objects", "array", "Objects; null counts as an empty one")],
    gives: &[required("object", "object", "The merged object")],
    call: merge,
};

fn unique(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let by = arguments.place_or_root("by")?;
    let mut seen = BTreeSet::new();
    let (items, repeated): (Vec<Value>, Vec<Value>) = arguments
        .list("items")?
        .iter()
        .cloned()
        .partition(|item| seen.insert(item.pointer(&by).unwrap_or(&Value::Null).to_string()));
    Ok(Object::from_iter([("items", items), ("repeated", repeated)]))
}

fn concat(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let mut items = Vec::new();
    for (index, list) in arguments.list("lists")?.iter().enumerate() {
        match list {
            Value::Null => {}
            Value::Array(more) => items.extend(more.iter().cloned()),
            other => {
                return Err(Refusal::input(format_args!("list {index} is a list, found {}", other.kind())));
            }
        }
    }
    let count = items.len();
    Ok(Object::from_iter([("items", Value::from(items)), ("count", count.into())]))
}

fn merge(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let mut members = Vec::new();
    for (index, object) in arguments.list("objects")?.iter().enumerate() {
        match object {
            Value::Null => {}
            Value::Object(more) => {
                members.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())))
            }
            other => {
                return Err(Refusal::input(format_args!(
                    "object {index} is an object, found {}",
                    other.kind()
                )));
            }
        }
    }
    Ok(Object::from_iter([("object", members.into_iter().collect::<Object>())]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn firsts_stay_and_laters_win() {
        table(
            "data.unique",
            &[
                (r#"{"items": [1, 2, 1, 1.0]}"#, r#"{"items": [1, 2, 1.0], "repeated": [1]}"#),
                (
                    r#"{"items": [{"k": 1, "n": 1}, {"k": 1, "n": 2}], "by": "k"}"#,
                    r#"{"items": [{"k": 1, "n": 1}], "repeated": [{"k": 1, "n": 2}]}"#,
                ),
            ],
        );
        table(
            "data.concat",
            &[
                (r#"{"lists": [[1], null, [2, 3]]}"#, r#"{"items": [1, 2, 3], "count": 3}"#),
                (r#"{"lists": [1]}"#, "!list 0 is a list, found integer"),
            ],
        );
        table(
            "data.merge",
            &[
                (r#"{"objects": [{"a": 1, "b": 1}, null, {"b": 2}]}"#, r#"{"object": {"a": 1, "b": 2}}"#),
                (r#"{"objects": [[]]}"#, "!object 0 is an object, found list"),
            ],
        );
    }
}
