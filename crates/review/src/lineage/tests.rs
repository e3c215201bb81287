use hence_canon::parse;
use proptest::prelude::*;

use super::*;

fn lineage(text: &str) -> Lineage {
    Lineage::of(&Trace::read(&parse(text.as_bytes()).unwrap()))
}

#[test]
fn unknown_ids_are_leaves_and_circles_end() {
    let lineage = lineage(
        r#"{"artifacts": [
            {"artifact_id": "a", "derived_from": ["ghost"]},
            {"artifact_id": "b", "derived_from": ["a", "c"]},
            {"artifact_id": "c", "derived_from": ["b"]},
            {"artifact_id": "s", "derived_from": ["s"]}
        ]}"#,
    );
    assert_eq!(lineage.ancestors("a"), ["ghost"]);
    assert_eq!(lineage.ancestors("b"), ["a", "b", "c", "ghost"]);
    assert_eq!(lineage.descendants("ghost"), ["a", "b", "c"]);
    assert_eq!(lineage.cycles(), [vec!["b", "c"], vec!["s"]]);
    assert!(lineage.ancestors("nobody").is_empty());
}

#[test]
fn a_stated_producer_wins_even_when_it_does_not_exist() {
    let lineage = lineage(
        r#"{"actions": [{"id": 1, "outputs": ["a", "b", "c"]}, {"id": 2, "outputs": ["c"]}],
            "artifacts": [
                {"artifact_id": "a", "producer_action_id": 9},
                {"artifact_id": "b", "producer_action_id": 2},
                {"artifact_id": "c"}
            ]}"#,
    );
    assert_eq!(lineage.producer("a"), None);
    assert_eq!(lineage.producer("b"), Some(Position::new(1)));
    assert_eq!(lineage.producer("c"), Some(Position::new(0)));
}

#[test]
fn a_target_is_the_file_then_the_path_then_the_name() {
    let lineage = lineage(
        r#"{"actions": [
            {"id": 1, "evidence": [{"type": "UrlRef", "ref": "u"}, {"type": "FileRef", "ref": "f"}],
             "request": {"path": "p"}, "outputs": ["a"]},
            {"id": 2, "request": {"path": "p"}, "outputs": ["a"]},
            {"id": 3, "outputs": ["a"]},
            {"id": 4}
        ], "artifacts": [{"artifact_id": "a", "name": "n"}]}"#,
    );
    let targets: Vec<&str> = lineage.positions().map(|position| lineage.target(position)).collect();
    assert_eq!(targets, ["f", "p", "n", ""]);
}

/// A random trace of `actions` that touch a few artifacts, derivations going anywhere.
fn any_trace() -> impl Strategy<Value = (String, Vec<bool>)> {
    let few = || prop::collection::vec(0usize..8, 0..3);
    let action = (few(), few(), prop::option::of(0usize..4));
    let artifact = (few(), prop::option::of(0usize..4));
    (
        prop::collection::vec(action, 0..7),
        prop::collection::vec(artifact, 0..7),
        prop::collection::vec(any::<bool>(), 7),
    )
        .prop_map(|(actions, artifacts, holds)| {
            let ids =
                |ids: Vec<usize>| format!("{:?}", ids.iter().map(|id| format!("a{id}")).collect::<Vec<_>>());
            let actions: Vec<String> = actions
                .into_iter()
                .enumerate()
                .map(|(id, (inputs, outputs, path))| {
                    let path = path.map_or("{}".to_owned(), |path| format!(r#"{{"path": "t{path}"}}"#));
                    format!(
                        r#"{{"id": {id}, "inputs": {}, "outputs": {}, "request": {path}}}"#,
                        ids(inputs),
                        ids(outputs)
                    )
                })
                .collect();
            let artifacts: Vec<String> = artifacts
                .into_iter()
                .enumerate()
                .map(|(id, (from, name))| {
                    let name = name.map_or("null".to_owned(), |name| format!(r#""t{name}""#));
                    format!(r#"{{"artifact_id": "a{id}", "name": {name}, "derived_from": {}}}"#, ids(from))
                })
                .collect();
            (
                format!(r#"{{"actions": [{}], "artifacts": [{}]}}"#, actions.join(","), artifacts.join(",")),
                holds,
            )
        })
}

proptest! {
    #[test]
    fn the_passes_agree_with_asking_pair_by_pair((text, holds) in any_trace()) {
        let lineage = lineage(&text);
        let held_in_chain = lineage.held_in_chain(&holds);
        let held_on_target = lineage.held_on_target(&holds);
        for later in lineage.positions() {
            let earlier = || lineage.positions().filter(|p| *p < later && holds[p.get()]);
            prop_assert_eq!(held_in_chain[later.get()], earlier().any(|p| lineage.in_chain(p, later)));
            prop_assert_eq!(held_on_target[later.get()], earlier().any(|p| lineage.shares_target(p, later)));
        }
    }
}

#[test]
fn a_long_chain_is_answered_without_recursion() {
    let count = 50_000;
    let actions: Vec<String> =
        (0..count).map(|id| format!(r#"{{"id": {id}, "outputs": ["a{id}"]}}"#)).collect();
    let artifacts: Vec<String> = (0..count)
        .map(|id| match id {
            0 => r#"{"artifact_id": "a0"}"#.to_owned(),
            _ => format!(r#"{{"artifact_id": "a{id}", "derived_from": ["a{}"]}}"#, id - 1),
        })
        .collect();
    // The last artifact comes first, so that the walk descends the whole chain at once.
    let reversed: Vec<String> = artifacts.into_iter().rev().collect();
    let text = format!(r#"{{"actions": [{}], "artifacts": [{}]}}"#, actions.join(","), reversed.join(","));
    let lineage = lineage(&text);
    let mut holds = vec![false; count];
    holds[0] = true;
    let held = lineage.held_in_chain(&holds);
    assert_eq!(held.iter().filter(|held| **held).count(), count - 1);
}
