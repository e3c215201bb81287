//! `stable_hash`, `sanitize`, `audit_chain` and `audit_verify`: the audit log of the reference implementation.
//!
//! `hence` records its runs in journals, so nothing but these cases needs that log.

mod chain;
mod hash;
mod sanitize;

use hence_canon::{Object, Value};

use chain::{link, verify};
use hash::stable_hash;
use sanitize::sanitize;

fn value(case: &Value) -> &Value {
    case.get("value").unwrap_or(&Value::Null)
}

fn key(case: &Value) -> Option<&[u8]> {
    case.get("hmac_key").and_then(Value::as_str).map(str::as_bytes)
}

pub(super) fn hash(case: &Value) -> Value {
    Object::from_iter([("hash", Value::from(stable_hash(value(case))))]).into()
}

pub(super) fn clean(case: &Value) -> Value {
    Object::from_iter([("value", sanitize(value(case)))]).into()
}

pub(super) fn chain(case: &Value) -> Value {
    let records = case.get("records").and_then(Value::as_array).unwrap_or_default();
    let records: Vec<Object> = records.iter().filter_map(Value::as_object).cloned().collect();
    let links = link(&records, key(case)).into_iter().map(|link| {
        let mut members: Vec<(&str, Value)> =
            vec![("_prev_hash", link.previous.into()), ("_record_hash", link.own.into())];
        members.extend(link.keyed.map(|keyed| ("_record_hmac", keyed.into())));
        members.into_iter().collect::<Object>()
    });
    Object::from_iter([("chain", links.collect::<Value>())]).into()
}

pub(super) fn check(case: &Value) -> Value {
    let lines = case.get("lines").and_then(Value::as_array).unwrap_or_default();
    let verification = verify(lines.iter().filter_map(Value::as_str), key(case));
    Object::from_iter([
        ("valid", Value::from(verification.is_valid())),
        ("total", verification.total.into()),
        ("first_broken_line", verification.first_broken_line.into()),
        ("error_count", verification.error_count.into()),
    ])
    .into()
}
