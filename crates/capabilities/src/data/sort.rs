//! Sorting of lists.

use std::cmp::Ordering;

use hence_canon::{JsonPointer, Object, Value};

use crate::arguments::{Arguments, place};
use crate::builtin::{BuiltIn, choice, optional, required};
use crate::order::compare;
use crate::refusal::Refusal;

/// The orders of `data.sort`.
const ORDERS: [&str; 2] = ["ascending", "descending"];

pub(crate) const SORT: BuiltIn = BuiltIn {
    id: "data.sort",
    does: "Sort a list; equal items stay in their order",
    takes: &[
        required("items", "array", "The items"),
        optional("by", "any", "A place in each item, or a list of places; the item itself by default"),
        choice("order", &ORDERS, "ascending or descending"),
    ],
    gives: &[required("items", "array", "The items, sorted")],
    call: sort,
};

fn sort(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let places = places(arguments)?;
    let descending = arguments.word("order", &ORDERS)? == "descending";
    let mut items = arguments.list("items")?.to_vec();
    items.sort_by(|left, right| {
        let order = by(&places, left, right);
        if descending { order.reverse() } else { order }
    });
    Ok(Object::from_iter([("items", items)]))
}

fn by(places: &[JsonPointer], left: &Value, right: &Value) -> Ordering {
    let part = |item: &Value, at: &JsonPointer| item.pointer(at).cloned().unwrap_or_default();
    let mut orders = places.iter().map(|at| compare(&part(left, at), &part(right, at)));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn places(arguments: &Arguments<'_>) -> Result<Vec<JsonPointer>, Refusal> {
    let one = |value: &Value| match value.as_str() {
        Some(text) => place("by", text),
        None => {
            Err(Refusal::input(format_args!("`by` is a place or a list of them, found {}", value.kind())))
        }
    };
    match arguments.find("by") {
        None => Ok(vec![JsonPointer::root()]),
        Some(Value::Array(list)) => list.iter().map(one).collect(),
        Some(other) => Ok(vec![one(other)?]),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn one_order_for_all_values_and_stable() {
        table(
            "data.sort",
            &[
                (
                    r#"{"items": ["b", 2, null, {"a": 1}, true, "a", 1.5, [0], 12345678901234567890]}"#,
                    r#"{"items": [null, true, 1.5, 2, 12345678901234567890, "a", "b", [0], {"a": 1}]}"#,
                ),
                (
                    r#"{"items": [{"k": 1, "n": "x"}, {"k": 2}, {"k": 1, "n": "a"}], "by": ["k", "/n"], "order": "ascending"}"#,
                    r#"{"items": [{"k": 1, "n": "a"}, {"k": 1, "n": "x"}, {"k": 2}]}"#,
                ),
                (
                    r#"{"items": [{"k": 1, "n": 1}, {"k": 2}, {"k": 1, "n": 2}], "by": "k", "order": "descending"}"#,
                    r#"{"items": [{"k": 2}, {"k": 1, "n": 1}, {"k": 1, "n": 2}]}"#,
                ),
                (r#"{"items": [], "order": "up"}"#, "!`order` is one of ascending, descending, found \"up\""),
                (r#"{"items": [], "by": 1}"#, "!`by` is a place or a list of them, found integer"),
            ],
        );
    }
}
