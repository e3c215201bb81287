use hence_canon::Value;
use proptest::prelude::*;

use super::*;
use crate::state::Memory;
use crate::testing::{json, memory};

fn resolve(mapping: &str, state: &str) -> Result<Value, InputMappingError> {
    InputMapping::parse(&json(mapping))?.resolve(&memory(state))
}

fn apply(
    state: &Memory,
    mapping: &str,
    produced: &str,
    strategy: MergeStrategy,
) -> Result<Memory, OutputMappingError> {
    OutputMapping::parse(&json(mapping))?.apply(state, &json(produced), strategy)
}

#[test]
fn references_resolve_at_any_depth_and_keys_never_do() {
    let state = r#"{"inputs": {"n": 3}, "vars": {"v": "inputs.n"}}"#;
    let input = resolve(r#"{"a": [{"inputs.n": "inputs.n"}, "vars.v"], "b": "foo.bar"}"#, state).unwrap();
    assert_eq!(input, json(r#"{"a": [{"inputs.n": 3}, "inputs.n"], "b": "foo.bar"}"#));
}

#[test]
fn the_literal_form_keeps_text_that_looks_like_a_reference() {
    let mapping =
        json(r#"{"a": {"$literal": ["outputs. Then stop", {"x": "vars.nope"}]}, "$literal": "inputs.n"}"#);
    let mapping = InputMapping::parse(&mapping).unwrap();
    let input = mapping.resolve(&memory(r#"{"inputs": {"n": 3}}"#)).unwrap();
    assert_eq!(input, json(r#"{"a": ["outputs. Then stop", {"x": "vars.nope"}], "$literal": 3}"#));
    assert_eq!(mapping.references().len(), 1);
}

#[test]
fn a_missing_strict_reference_names_its_place() {
    let error = resolve(r#"{"x": [{"y": "vars.nope"}]}"#, "{}").unwrap_err();
    assert_eq!(error.to_string(), "input at `/x/0/y`: `vars.nope` names nothing");
    assert!(matches!(resolve(r#"{"a": {"": 1}}"#, "{}"), Err(InputMappingError::Invalid(_))));
}

#[test]
fn references_are_listed_in_declared_order_with_repetitions() {
    let mapping =
        InputMapping::parse(&json(r#"{"x": "inputs.t", "y": ["inputs.t", {"z": "frame.goal"}]}"#)).unwrap();
    let found: Vec<String> = mapping.references().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["inputs.t", "inputs.t", "frame.goal"]);
}

#[test]
fn a_failing_entry_leaves_nothing_behind() {
    let before = memory(r#"{"vars": {"a": 0}}"#);
    let mapping = r#"{"a": "vars.a", "b": "working.artifacts.m.n", "c": "vars.c"}"#;
    let error = apply(&before, mapping, r#"{"a": 1, "b": 2}"#, MergeStrategy::Overwrite).unwrap_err();
    assert_eq!(error, OutputMappingError::MissingField("c".to_owned()));
    assert_eq!(before, memory(r#"{"vars": {"a": 0}}"#));
}

#[test]
fn later_entries_see_earlier_ones() {
    let mapping = r#"{"r": "vars.r", "vars.r": "outputs.r2"}"#;
    let after = apply(&Memory::default(), mapping, r#"{"r": 1}"#, MergeStrategy::Overwrite).unwrap();
    assert_eq!(after.outputs().get("r2"), Some(&json("1")));
}

#[test]
fn one_mapping_names_a_target_once_unless_its_strategy_merges() {
    let mapping = r#"{"a": "vars.x", "b": "vars.x"}"#;
    let twice = |strategy, produced| apply(&Memory::default(), mapping, produced, strategy);
    let error = twice(MergeStrategy::Overwrite, r#"{"a": 1, "b": 2}"#).unwrap_err();
    assert!(matches!(error, OutputMappingError::DuplicateTarget(_)));
    let replaced = twice(MergeStrategy::Replace, r#"{"a": 1, "b": 2}"#).unwrap();
    assert_eq!(replaced.vars().get("x"), Some(&json("2")));
    let appended = twice(MergeStrategy::Append, r#"{"a": [1], "b": [2]}"#).unwrap();
    assert_eq!(appended.vars().get("x"), Some(&json("[1, 2]")));
    // Across steps the document allows it: overwriting is what the strategy says.
    let again = apply(&replaced, r#"{"a": "vars.x"}"#, r#"{"a": 3}"#, MergeStrategy::Overwrite).unwrap();
    assert_eq!(again.vars().get("x"), Some(&json("3")));
}

#[test]
fn slots_and_texts_keep_their_type_under_every_strategy() {
    for (target, produced) in [
        ("working.risks", "\"r\""),
        ("working.risks", "{}"),
        ("working.artifacts", "[1]"),
        ("output.summary", "[1]"),
        ("output.result_type", "7"),
    ] {
        for strategy in [
            MergeStrategy::Overwrite,
            MergeStrategy::Append,
            MergeStrategy::DeepMerge,
            MergeStrategy::Replace,
        ] {
            let mapping = format!(r#"{{"a": "{target}"}}"#);
            let outcome = apply(&Memory::default(), &mapping, &format!(r#"{{"a": {produced}}}"#), strategy);
            assert!(outcome.is_err(), "{target} {produced} {strategy}");
        }
    }
}

#[test]
fn maps_on_the_way_are_created_but_nothing_is_entered_that_is_no_map() {
    let state = memory(r#"{"working": {"artifacts": {"s": "text", "l": [1], "n": null}}, "output": {}}"#);
    let ok = |target: &str| {
        apply(&state, &format!(r#"{{"a": "{target}"}}"#), r#"{"a": 1}"#, MergeStrategy::Overwrite)
    };
    assert!(ok("working.artifacts.x.y.z").is_ok());
    assert_eq!(ok("output.result.score").unwrap().output().result(), &json(r#"{"score": 1}"#));
    for target in ["working.artifacts.s.x", "working.artifacts.l.0", "working.artifacts.n.x"] {
        assert!(matches!(ok(target), Err(OutputMappingError::NotAMap { .. })), "{target}");
    }
}

#[test]
fn targets_that_cannot_be_written_are_refused_by_their_text() {
    for text in [
        "",
        "vars",
        "vars.",
        "inputs.x",
        "frame.goal",
        "trace.metrics.step_count",
        "foo.x",
        "Vars.x",
        " vars.x",
        "working.scratch",
        "working.risks.0",
        "working.",
        "output.nope",
        "output.summary.x",
        "extensions.p..q",
        "working.artifacts.",
    ] {
        assert!(Target::parse(text).is_err(), "{text}");
    }
    assert_eq!(*Target::parse("vars.a.b").unwrap().path(), TargetPath::Var("a.b".into()));
}

#[test]
fn a_dotted_member_is_found_by_its_whole_name_first() {
    let mapping = r#"{"c.a": "vars.x", "r.0.k": "vars.y"}"#;
    let produced = r#"{"c.a": 1, "c": {"a": 2}, "r": [{"k": 3}]}"#;
    let after = apply(&Memory::default(), mapping, produced, MergeStrategy::Overwrite).unwrap();
    assert_eq!((after.vars().get("x"), after.vars().get("y")), (Some(&json("1")), Some(&json("3"))));
}

#[test]
fn the_depth_limit_is_exact() {
    let produced = |depth: usize| format!(r#"{{"a": {}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let write = |depth| {
        apply(&Memory::default(), r#"{"a": "extensions.p.q"}"#, &produced(depth), MergeStrategy::Replace)
    };
    assert!(write(VALUE_DEPTH_MAX - 2).is_ok());
    assert!(matches!(write(VALUE_DEPTH_MAX - 1), Err(OutputMappingError::TooDeep { .. })));
}

#[test]
fn merging_never_changes_what_was_recorded_before() {
    let first =
        apply(&Memory::default(), r#"{"d": "vars.d"}"#, r#"{"d": {"k": [1]}}"#, MergeStrategy::DeepMerge)
            .unwrap();
    let second = apply(&first, r#"{"d": "vars.d"}"#, r#"{"d": {"j": 2}}"#, MergeStrategy::DeepMerge).unwrap();
    assert_eq!(first.vars().get("d"), Some(&json(r#"{"k": [1]}"#)));
    assert_eq!(second.vars().get("d"), Some(&json(r#"{"k": [1], "j": 2}"#)));
}

proptest! {
    #[test]
    fn what_a_target_takes_the_same_words_read_back(path in "(vars|outputs|extensions|working\\.artifacts)(\\.[a-z0-9]{1,3}){1,3}") {
        let mapping = format!(r#"{{"a": "{path}"}}"#);
        let after = apply(&Memory::default(), &mapping, r#"{"a": {"k": 1}}"#, MergeStrategy::Overwrite).unwrap();
        let reference = crate::reference::Reference::parse(&path).unwrap();
        prop_assert_eq!(reference.resolve(&after), Ok(json(r#"{"k": 1}"#)));
    }

    #[test]
    fn no_target_text_panics(text in ".{0,40}") {
        let _ = Target::parse(&text);
        let _ = ProducedField::parse(&text);
    }
}

#[test]
fn appending_to_a_slot_shares_what_is_there_and_reads_as_one_list() {
    use crate::state::{ListSlot, Slot};

    let mapping = OutputMapping::parse(&json(r#"{"more": "working.evidence"}"#)).unwrap();
    let mut memory = Memory::default();
    let mut snapshots = Vec::new();
    for number in 0..2_000 {
        let produced = json(&format!(r#"{{"more": [{number}, {number}]}}"#));
        memory = mapping.apply(&memory, &produced, MergeStrategy::Append).unwrap();
        snapshots.push(memory.clone());
    }
    assert_eq!(memory.working().list(ListSlot::Evidence).len(), 4_000);
    // Earlier snapshots are what they were, and a list written whole equals one that grew.
    assert_eq!(
        snapshots[9].working().slot(Slot::List(ListSlot::Evidence)).to_string(),
        "[0,0,1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,9,9]"
    );
    let whole = json(&format!(r#"{{"more": {}}}"#, memory.working().slot(Slot::List(ListSlot::Evidence))));
    let written = mapping.apply(&Memory::default(), &whole, MergeStrategy::Overwrite).unwrap();
    assert_eq!(written.working(), memory.working());
    // What is no list is refused as before.
    assert!(mapping.apply(&memory, &json(r#"{"more": 1}"#), MergeStrategy::Append).is_err());
}
