//! Properties of reading: any JSON is judged without a panic. Properties of runs are tested in `hence-engine`.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use hence_canon::Value;
use hence_variables::Event;
use hence_variables::document::{Document, Verdict};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_judged_as_document_and_event_without_panic(json in json()) {
        let verdict = Verdict::of(&json);
        prop_assert_eq!(Document::from_value(&json).is_ok(), verdict.is_valid());
        let _ = Event::from_value(&json);
    }
}

/// JSON made of the words documents, events and operations use.
fn json() -> impl Strategy<Value = Value> {
    let keys = vec![
        "version",
        "state_id",
        "tree_id",
        "variables",
        "Final",
        "prompt",
        "a_b",
        "name",
        "value",
        "type",
        "metadata",
        "history",
        "mutations",
        "checkpoints",
        "mutation_id",
        "operation",
        "variable_name",
        "timestamp",
        "old_value",
        "new_value",
        "checkpoint_id",
        "scope",
        "ttl_seconds",
        "spilled",
        "op",
        "state",
        "at",
        "action",
        "changes",
        "change",
        "variable",
        "seen",
        "document",
        "snapshots",
    ];
    let words = vec![
        "1.0.0",
        "state-00000001",
        "tree-00000001",
        "mut-00000001",
        "ckpt-00000001",
        "2026-02-09T10:00:00Z",
        "text",
        "number",
        "create",
        "tree",
        "temporary",
        "set",
        "init",
        "write",
        "adopted",
        "a_b",
        "complete",
        "",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        proptest::sample::select(words).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let members =
            proptest::collection::vec((proptest::sample::select(keys.clone()), inner.clone()), 0..6);
        prop_oneof![
            3 => members.prop_map(|members| members.into_iter().collect::<hence_canon::Object>().into()),
            1 => proptest::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}
