//! `hence trace residuals add|derive`, `meta`, `goals --strict`: a changed trace is another document.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::World;

const NOW: [&str; 4] = ["--author", "ada", "--now", "2026-02-03T00:00:00Z"];

fn action(id: i64, kind: &str, more: Value) -> Value {
    let mut action = json!({"id": id, "category": "activity", "type": kind, "label": format!("step {id}"),
        "rationale": "Because the step before asked for it."});
    action.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    action
}

fn trace() -> Value {
    json!({
        "trace_id": "t", "spec_version": "1.6", "assistant": "a", "model": "m", "timestamp": "2026-01-01T00:00:00Z",
        "trigger": {"type": "TaskReceived", "description": "Mend the ledger"}, "outcome": {"type": "ProcessCompleted"},
        "actions": [
            action(1, "FormulatePlan", json!({"outputs": ["p"]})),
            action(2, "EditFile", json!({"outputs": ["d"],
                "observations": [{"statement": "probably unused", "confidence": "low"}]})),
            action(3, "DecomposeTask", json!({})),
            action(4, "RunTests", json!({"inputs": ["d"], "outputs": ["r"], "result_summary": "3 passed"})),
        ],
        "artifacts": [
            {"artifact_id": "p", "artifact_type": "Plan", "summary": "Edit, then \u{1b}[31mtest", "producer_action_id": 1},
            {"artifact_id": "d", "artifact_type": "Diff", "name": "D", "producer_action_id": 2},
            {"artifact_id": "r", "artifact_type": "CommandResult", "producer_action_id": 4, "derived_from": ["d"]}
        ]
    })
}

fn world() -> World {
    let world = World::new();
    world.write("t.json", trace().to_string());
    world
}

fn read(world: &World, name: &str) -> Value {
    serde_json::from_slice(&world.read(name)).unwrap()
}

#[test]
fn a_gap_added_later_is_in_a_successor_and_the_chain_shows_where_it_was_closed() {
    let world = world();
    let before = world.read("t.json");
    let add = [
        "trace",
        "residuals",
        "add",
        "t.json",
        "Clocks \u{1b}[31magree",
        "--kind",
        "assumption",
        "--severity",
        "high",
        "--on",
        "action:2",
        "--check",
        "Compare them",
        "--out",
        "t2.json",
    ];
    assert_snapshot!("add", world.cli(&[&add[..], &NOW].concat()));
    assert_eq!(world.read("t.json"), before);
    assert_snapshot!("derive", world.cli(&["trace", "residuals", "derive", "t2.json", "--out", "t3.json"]));
    assert_snapshot!("added", world.cli(&["trace", "residuals", "t3.json"]));
    assert_eq!(world.ask(&["trace", "validate", "t2.json", "t3.json"]).code, 0);
    let third = read(&world, "t3.json");
    assert_eq!(third["trace_lineage"]["root_trace_id"], "t");
    assert_eq!(third["residuals"][1]["source"], "tool_inferred");
    let mut closed = third.clone();
    closed["trace_id"] = "t.4".into();
    closed["trace_lineage"] = json!({"parent_trace_id": "t.3"});
    closed["trace_links"] = json!([]);
    closed["residuals"][0]["status"] = "addressed".into();
    world.write("t4.json", closed.to_string());
    assert_snapshot!("chain", world.cli(&["trace", "chain", "t4.json", "t.json", "t3.json", "t2.json"]));
    assert_snapshot!("derive_again", world.refused(&["trace", "residuals", "derive", "t3.json"]));
}

#[test]
fn an_impossible_gap_is_refused() {
    let world = world();
    let add = |more: &[&str]| {
        let all = ["trace", "residuals", "add", "t.json", "x", "--kind", "limitation", "--severity", "low"];
        world.refused(&[&all[..], more].concat())
    };
    assert_snapshot!("add_nowhere", add(&["--on", "artifact:none"]));
    assert_snapshot!("add_same_id", add(&["--id", "t"]));
    assert_snapshot!("add_without_kind", world.refused(&["trace", "residuals", "add", "t.json", "x"]));
    world.write("bound.json", trace().to_string().replacen('{', r#"{"content_hash": "sha256:x", "#, 1));
    assert_snapshot!(
        "draft_of_bound",
        world.refused(&["trace", "meta", "drop", "bound.json", "m", "--draft"])
    );
    let set = ["trace", "meta", "set", "bound.json", "m", "Title", "--actions", "1-2", "--draft"];
    assert_snapshot!("set_draft_of_bound", world.refused(&set));
}

#[test]
fn units_are_edited_and_actions_never_change() {
    let world = world();
    let ask = |arguments: &[&str]| {
        let answer = world.ask(&[&["trace", "meta"], arguments].concat());
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    };
    assert_snapshot!("meta_none", world.cli(&["trace", "meta", "list", "t.json"]));
    ask(&["derive", "t.json", "--from", "plan", "--draft", "--out", "a.json"]);
    assert_snapshot!("meta_derived", world.cli(&["trace", "meta", "list", "a.json"]));
    ask(&["merge", "a.json", "unit-1", "unit-3", "--title", "All of it", "--draft", "--out", "b.json"]);
    ask(&[
        "split", "b.json", "unit-1", "The end", "--before", "4", "--as", "end", "--draft", "--out", "c.json",
    ]);
    ask(&[
        "set",
        "c.json",
        "end",
        "The test",
        "--actions",
        "4",
        "--status",
        "completed",
        "--parent",
        "unit-1",
        "--draft",
        "--out",
        "d.json",
    ]);
    assert_snapshot!("meta_curated", world.cli(&["trace", "meta", "list", "d.json"]));
    ask(&["drop", "d.json", "unit-1", "--out", "e.json"]);
    assert_snapshot!("meta_dropped", world.cli(&["trace", "meta", "list", "e.json"]));
    for name in ["a.json", "b.json", "c.json", "d.json", "e.json"] {
        assert_eq!(world.ask(&["trace", "validate", name]).code, 0, "{name}");
        let mut changed = read(&world, name);
        for action in changed["actions"].as_array_mut().unwrap() {
            action.as_object_mut().unwrap().remove("meta_action_id");
        }
        assert_eq!(changed["actions"], trace()["actions"], "{name}");
    }
    assert_eq!(read(&world, "e.json")["trace_links"][0]["relationship"], "supersedes");
    let apart = ["trace", "meta", "set", "t.json", "m", "x", "--actions", "1,3"];
    assert_snapshot!("meta_apart", world.refused(&apart));
    assert_snapshot!(
        "meta_no_turns",
        world.refused(&["trace", "meta", "derive", "t.json", "--from", "turns"])
    );
    assert_snapshot!(
        "meta_bad_list",
        world.refused(&["trace", "meta", "set", "t.json", "m", "x", "--actions", "one"])
    );
}

#[test]
fn goals_report_retrofits_and_fail_strictly_on_weak_criteria() {
    let world = World::new();
    let mut value = trace();
    value["spec_version"] = "1.7".into();
    value["actions"][1]["timestamp"] = "2026-01-01T10:00:00Z".into();
    value["goals"] = json!([{"id": "g", "intent": "Mend it", "intent_clauses": ["correct", "fast"], "acceptance": [
        {"id": "i", "kind": "change", "label": "l", "binding": {"symbol": "D"}, "covers": ["correct"],
         "authored_at": "2026-01-02T00:00:00Z"}]}]);
    world.write("g.json", value.to_string());
    assert_snapshot!("goals_strict", world.cli(&["trace", "goals", "g.json", "--strict"]));
    let goals = world.ask(&["trace", "goals", "g.json", "--json"]);
    assert_eq!((goals.code, &goals.json()["goals"][0]["items"][0]["retrofitted"]), (0, &json!(true)));
    assert_eq!(goals.json()["goals"][0]["strongest"], "change");
}
