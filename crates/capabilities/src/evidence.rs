//! Capabilities on evidence and claims.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;
use crate::template::text_of;

pub(crate) const ALL: &[&BuiltIn] = &[&COLLECT, &SUPPORT];

const COLLECT: BuiltIn = BuiltIn {
    id: "evidence.collect",
    does: "Make items into numbered evidence with its source and place",
    takes: &[
        required("items", "array", "The items"),
        required("source", "string", "What they were taken from"),
        optional("text", "string", "Where the text stands in an item; `text` by default"),
        optional("place", "string", "Where its place in the source stands; `line` by default"),
        optional("prefix", "string", "What ids begin with; E by default"),
    ],
    gives: &[
        required("evidence", "array", "Objects with `id`, `source`, `place` and `text`"),
        required("ids", "array", "Their ids"),
    ],
    call: collect,
};

const SUPPORT: BuiltIn = BuiltIn {
    id: "claims.support",
    does: "Part claims into those whose evidence is all there, and the others",
    takes: &[
        required("claims", "array", "Objects with `id` and `evidence`, a list of ids"),
        required("evidence", "array", "Objects with `id`"),
    ],
    gives: &[
        required("supported", "array", "Claims with evidence that is all there"),
        required("unsupported", "array", "The others, each with `missing`, the ids that are not there"),
        required("unused", "array", "Ids of evidence that no claim names"),
    ],
    call: support,
};

fn collect(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let source = arguments.text("source")?;
    let prefix = arguments.text_or("prefix", "E")?;
    let text = crate::arguments::place("text", arguments.text_or("text", "text")?)?;
    let place = crate::arguments::place("place", arguments.text_or("place", "line")?)?;
    let piece = |(number, item): (u64, &Value)| {
        Object::from_iter([
            ("id", Value::from(format!("{prefix}{number}"))),
            ("source", source.into()),
            ("place", item.pointer(&place).cloned().unwrap_or_default()),
            ("text", item.pointer(&text).map(text_of).unwrap_or_default().into()),
        ])
    };
    let evidence: Vec<Object> = (1..).zip(arguments.list("items")?).map(piece).collect();
    let ids: Value = evidence.iter().filter_map(|piece| piece.get("id").cloned()).collect();
    Ok(Object::from_iter([("evidence", Value::from(evidence)), ("ids", ids)]))
}

fn support(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let ids = arguments.list("evidence")?.iter().filter_map(|piece| piece.get("id")).map(ToString::to_string);
    let known: BTreeSet<String> = ids.collect();
    let mut named = BTreeSet::new();
    let (mut supported, mut unsupported) = (Vec::new(), Vec::new());
    for (index, claim) in arguments.list("claims")?.iter().enumerate() {
        let object = claim.as_object().ok_or_else(|| {
            Refusal::input(format_args!("claim {index} is an object, found {}", claim.kind()))
        })?;
        let evidence = claim.get("evidence").and_then(Value::as_array).unwrap_or_default();
        named.extend(evidence.iter().map(ToString::to_string));
        let missing: Vec<Value> =
            evidence.iter().filter(|id| !known.contains(&id.to_string())).cloned().collect();
        // A claim that names no evidence is unsupported.
        if missing.is_empty() && !evidence.is_empty() {
            supported.push(claim.clone());
        } else {
            unsupported.push(Value::from(object.with("missing", missing)));
        }
    }
    let unused = arguments.list("evidence")?.iter().filter_map(|piece| piece.get("id"));
    let unused: Value = unused.filter(|id| !named.contains(&id.to_string())).cloned().collect();
    Ok(Object::from_iter([
        ("supported", Value::from(supported)),
        ("unsupported", unsupported.into()),
        ("unused", unused),
    ]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn claims_stand_on_evidence_that_is_there() {
        table(
            "evidence.collect",
            &[(
                r#"{"items": [{"text": "x", "line": 3}, {"text": 1}], "source": "app.log"}"#,
                r#"{"evidence": [{"id": "E1", "source": "app.log", "place": 3, "text": "x"}, {"id": "E2", "source": "app.log", "place": null, "text": "1"}], "ids": ["E1", "E2"]}"#,
            )],
        );
        table(
            "claims.support",
            &[
                (
                    r#"{"claims": [{"id": 1, "evidence": ["E1"]}, {"id": 2, "evidence": ["E1", "E9"]}, {"id": 3, "evidence": []}], "evidence": [{"id": "E1"}, {"id": "E2"}]}"#,
                    r#"{"supported": [{"id": 1, "evidence": ["E1"]}], "unused": ["E2"],
                    "unsupported": [{"id": 2, "evidence": ["E1", "E9"], "missing": ["E9"]}, {"id": 3, "evidence": [], "missing": []}]}"#,
                ),
                (r#"{"claims": [1], "evidence": []}"#, "!claim 0 is an object, found integer"),
            ],
        );
    }
}
