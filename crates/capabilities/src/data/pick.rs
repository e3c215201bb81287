//! Capabilities that copy, select and rearrange parts of values.

use hence_canon::{Object, Value};

use crate::arguments::{Arguments, place};
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;

pub(crate) const VALUE: BuiltIn = BuiltIn {
    id: "data.value",
    does: "Give a value as it is, to put it together from several places",
    takes: &[required("value", "any", "The value")],
    gives: &[required("value", "any", "The same")],
    call: |arguments| Ok(Object::from_iter([("value", arguments.value("value")?.clone())])),
};

pub(crate) const GET: BuiltIn = BuiltIn {
    id: "data.get",
    does: "Get a part of a value by JSON pointer or by the name of a member",
    takes: &[
        required("from", "any", "The value"),
        required("pointer", "string", "Where"),
        optional("default", "any", "What to give when nothing is there; without it that is a failure"),
    ],
    gives: &[required("value", "any", "The part"), required("found", "boolean", "Whether it was there")],
    call: get,
};

pub(crate) const MAP: BuiltIn = BuiltIn {
    id: "data.map",
    does: "Make new objects out of parts of each item",
    takes: &[
        required("items", "array", "The items"),
        required("members", "object", "New names and the places their values come from"),
        optional("constants", "object", "Members that are the same in each"),
    ],
    gives: &[required("items", "array", "The new objects; what is missing is null")],
    call: map,
};

pub(crate) const SLICE: BuiltIn = BuiltIn {
    id: "data.slice",
    does: "Give a stretch of a list",
    takes: &[
        required("items", "array", "The list"),
        optional("from", "integer", "The first item, from 0"),
        optional("limit", "integer", "How many at most; all by default"),
    ],
    gives: &[
        required("items", "array", "The stretch"),
        required("first", "any", "Its first item, or null"),
        required("count", "integer", "How many"),
    ],
    call: slice,
};

fn get(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (from, pointer) = (arguments.value("from")?, arguments.place("pointer")?);
    let (value, found) = match (from.pointer(&pointer), arguments.0.get("default")) {
        (Some(value), _) => (value, true),
        (None, Some(default)) => (default, false),
        (None, None) => return Err(Refusal::input(format_args!("nothing is at `{pointer}`"))),
    };
    Ok(Object::from_iter([("value", value.clone()), ("found", found.into())]))
}

fn map(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let constants = arguments.object_or_empty("constants")?;
    let mut members = Vec::new();
    for (name, from) in arguments.object("members")?.iter() {
        let text = from.as_str().ok_or_else(|| {
            Refusal::input(format_args!("`members/{name}` is a place, found {}", from.kind()))
        })?;
        members.push((name.clone(), place(name, text)?));
    }
    let made = |item: &Value| {
        let parts = members
            .iter()
            .map(|(name, from)| (name.clone(), item.pointer(from).cloned().unwrap_or_default()));
        let fixed = constants.iter().map(|(name, value)| (name.clone(), value.clone()));
        parts.chain(fixed).collect::<Object>()
    };
    let items: Vec<Object> = arguments.list("items")?.iter().map(made).collect();
    Ok(Object::from_iter([("items", items)]))
}

fn slice(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (from, limit) = (arguments.count_or("from", 0)?, arguments.count_or("limit", u64::MAX)?);
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let items: Vec<Value> =
        arguments.list("items")?.iter().skip(size(from)).take(size(limit)).cloned().collect();
    let (first, count) = (items.first().cloned().unwrap_or_default(), items.len());
    Ok(Object::from_iter([("items", Value::from(items)), ("first", first), ("count", count.into())]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn parts_are_found_or_said_to_be_missing() {
        table(
            "data.get",
            &[
                (r#"{"from": {"a": [1, 2]}, "pointer": "/a/1"}"#, r#"{"value": 2, "found": true}"#),
                (r#"{"from": {"a": null}, "pointer": "a"}"#, r#"{"value": null, "found": true}"#),
                (r#"{"from": {}, "pointer": "a", "default": null}"#, r#"{"value": null, "found": false}"#),
                (r#"{"from": {}, "pointer": "/a/~2"}"#, "!`pointer`: "),
                (r#"{"from": {}, "pointer": "a"}"#, "!nothing is at `/a`"),
            ],
        );
        table(
            "data.map",
            &[
                (
                    r#"{"items": [{"a": {"b": 1}}, 2], "members": {"x": "/a/b", "whole": ""}, "constants": {"k": 0}}"#,
                    r#"{"items": [{"x": 1, "whole": {"a": {"b": 1}}, "k": 0}, {"x": null, "whole": 2, "k": 0}]}"#,
                ),
                (r#"{"items": [], "members": {"x": 1}}"#, "!`members/x` is a place, found integer"),
            ],
        );
        table(
            "data.slice",
            &[
                (
                    r#"{"items": [1, 2, 3], "from": 1, "limit": 1}"#,
                    r#"{"items": [2], "first": 2, "count": 1}"#,
                ),
                (r#"{"items": [1], "from": 9}"#, r#"{"items": [], "first": null, "count": 0}"#),
                (r#"{"items": [1], "from": -1}"#, "!the input `from` is a count, found integer"),
            ],
        );
        table("data.value", &[(r#"{"value": {"a": 1.0}}"#, r#"{"value": {"a": 1.0}}"#)]);
    }
}
