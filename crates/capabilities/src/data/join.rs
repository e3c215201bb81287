//! Joining of two lists by a key.

use std::collections::BTreeMap;

use hence_canon::{JsonPointer, Object, Value};

use crate::arguments::{Arguments, place};
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;

/// The maximum number of pairs of a join. Keys that occur often on both sides multiply.
pub(crate) const PAIRS_MAX: usize = 1_000_000;

pub(crate) const JOIN: BuiltIn = BuiltIn {
    id: "data.join",
    does: "Pair the items of two lists that have one key, and name those without a partner",
    takes: &[
        required("left", "array", "One list"),
        required("right", "array", "The other"),
        required("on", "string", "The place of the key in each item"),
        optional("right_on", "string", "The place of the key on the right, if it is another"),
    ],
    gives: &[
        required("pairs", "array", "Objects with `key`, `left` and `right`"),
        required("left_only", "array", "Items of the left without a partner"),
        required("right_only", "array", "Items of the right without a partner"),
    ],
    call: join,
};

fn join(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let on = arguments.text("on")?;
    let right_on = match arguments.find("right_on") {
        None => on,
        Some(_) => arguments.text("right_on")?,
    };
    let (left_at, right_at) = (place("on", on)?, place("right_on", right_on)?);
    let (left, right) = (arguments.list("left")?, arguments.list("right")?);
    let mut partners: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for item in right {
        if let Some(key) = key_of(item, &right_at) {
            partners.entry(key.to_string()).or_default().push(item);
        }
    }
    let (mut pairs, mut left_only, mut met) = (Vec::new(), Vec::new(), BTreeMap::new());
    for item in left {
        let key = key_of(item, &left_at);
        let found = key.and_then(|key| Some((key, partners.get(&key.to_string())?)));
        let Some((key, found)) = found else {
            left_only.push(item.clone());
            continue;
        };
        met.insert(key.to_string(), ());
        if pairs.len() + found.len() > PAIRS_MAX {
            return Err(Refusal::too_large(format_args!("more than {PAIRS_MAX} pairs")));
        }
        let pair = |partner: &&Value| {
            Object::from_iter([("key", key.clone()), ("left", item.clone()), ("right", (*partner).clone())])
        };
        pairs.extend(found.iter().map(pair));
    }
    let alone = |item: &&Value| key_of(item, &right_at).is_none_or(|key| !met.contains_key(&key.to_string()));
    let right_only: Vec<Value> = right.iter().filter(alone).cloned().collect();
    Ok(Object::from_iter([
        ("pairs", Value::from(pairs)),
        ("left_only", left_only.into()),
        ("right_only", right_only.into()),
    ]))
}

/// Returns the key of an item. An item without a key, or with the key `null`, joins with no other item.
fn key_of<'a>(item: &'a Value, at: &JsonPointer) -> Option<&'a Value> {
    item.pointer(at).filter(|key| !key.is_null())
}

#[cfg(test)]
mod tests {
    use super::PAIRS_MAX;
    use crate::testing::{call, table};

    #[test]
    fn partners_meet_and_nobody_is_lost() {
        table(
            "data.join",
            &[
                (
                    r#"{"left": [{"id": 1}, {"id": 2}, {}], "right": [{"ref": 2}, {"ref": 3}, {"ref": null}, {"ref": 2, "b": 1}], "on": "id", "right_on": "ref"}"#,
                    r#"{"pairs": [{"key": 2, "left": {"id": 2}, "right": {"ref": 2}}, {"key": 2, "left": {"id": 2}, "right": {"ref": 2, "b": 1}}],
                    "left_only": [{"id": 1}, {}], "right_only": [{"ref": 3}, {"ref": null}]}"#,
                ),
                // 1 and 1.0 are different values.
                (
                    r#"{"left": [1], "right": [1.0], "on": ""}"#,
                    r#"{"pairs": [], "left_only": [1], "right_only": [1.0]}"#,
                ),
            ],
        );
    }

    #[test]
    fn a_join_that_explodes_is_refused() {
        let side = |count: usize| vec!["0"; count].join(",");
        let input = |left: usize, right: usize| {
            format!(r#"{{"left": [{}], "right": [{}], "on": ""}}"#, side(left), side(right))
        };
        assert!(call("data.join", &input(1000, PAIRS_MAX / 1000)).is_ok());
        assert_eq!(&*call("data.join", &input(1001, PAIRS_MAX / 1000)).unwrap_err().class, "InputTooLarge");
    }
}
