//! `hence review`: from a run to an approval that verifies.

use insta::assert_snapshot;

use hence_testkit::cli::World;

const NOW: [&str; 4] = ["--author", "ada", "--now", "2026-02-03T00:00:00Z"];

fn opened() -> World {
    let world = World::with_run("one");
    assert_eq!(said(&world, &["open", "one"]).0, 0);
    world
}

fn said(world: &World, arguments: &[&str]) -> (i32, String) {
    let arguments = [&["review"], arguments, &NOW].concat();
    let answer = world.ask(&arguments);
    (answer.code, answer.stderr)
}

#[test]
fn a_run_is_reviewed_from_handoff_to_approval() {
    let world = opened();
    assert_snapshot!("handoff", world.cli(&["review", "handoff", "one"]));
    assert_snapshot!("approve_too_early", world.refused(&[&["review", "approve", "one"][..], &NOW].concat()));
    let comment = ["review", "comment", "one", "Why \u{1b}[31mtwo <b>rounds</b>?", "--on", "action:4"];
    assert_snapshot!("comment", world.cli(&[&comment[..], &NOW].concat()));
    assert_eq!(
        said(&world, &["item", "one", "Show the source", "--blocking", "--on", "artifact:problem"]).0,
        0
    );
    assert_eq!(said(&world, &["check", "one", "confirmed", "verification#2"]).0, 0);
    assert_eq!(said(&world, &["approve", "one"]).0, 1);
    assert_eq!(said(&world, &["waive", "one", "evidence-as-given"]).0, 1);
    assert_eq!(said(&world, &["waive", "one", "evidence-as-given", "--note", "known sources"]).0, 0);
    assert_eq!(said(&world, &["ack", "one", "verification-as-declared"]).0, 0);
    assert_eq!(said(&world, &["resolve", "one", "verification-as-declared"]).0, 1);
    assert_eq!(said(&world, &["ack", "one", "i2"]).0, 0);
    assert_eq!(said(&world, &["resolve", "one", "i2", "--note", "shown"]).0, 0);
    assert_eq!(said(&world, &["approve", "one", "--note", "fine"]).0, 0);
    assert_snapshot!("status", world.cli(&["review", "status", "one"]));
    assert_snapshot!("reviews", world.cli(&["review", "status"]));
    let merged = world.ask(&["review", "export", "one"]);
    let judged =
        world.ask_with_input(&["trace", "validate", "-", "--canonical", "--json"], &merged.stdout).json();
    assert_eq!(judged["valid"], true, "{judged}");
    assert_eq!(merged.json()["review"]["decision"], "approved");
    let packet = world.ask(&["review", "handoff", "one", "--json"]).json();
    assert_eq!(packet["verdict"]["disposition"], "approve");
    // The approved journal verifies; a later change of a comment is detected.
    assert_eq!(world.ask(&["review", "status", "one", "--json"]).json()["holds"], true);
    let path = ".hence/reviews/runs/one/trace.ndjson";
    let altered = String::from_utf8(world.read(path)).unwrap().replace("two <b>rounds", "ten <b>rounds");
    world.write(path, altered);
    let status = world.ask(&["review", "status", "one", "--json"]);
    assert_eq!((status.code, &status.json()["records"]), (1, &serde_json::json!(1)));
    assert!(status.json()["broken"].as_str().unwrap().starts_with("record 1: the record claims the hash"));
}

#[test]
fn a_decision_is_rescinded_and_a_successor_requested() {
    let world = opened();
    assert_eq!(said(&world, &["rescind", "one", "--note", "nothing there"]).0, 1);
    assert_eq!(said(&world, &["escalate", "one", "--note", "legal decides"]).0, 0);
    assert_eq!(said(&world, &["check", "one", "accepted", "verification#2"]).0, 1);
    assert_eq!(said(&world, &["check", "one", "accepted", "verification#2", "--note", "ran in CI"]).0, 0);
    assert_eq!(said(&world, &["waive", "one", "evidence-as-given", "--note", "known"]).0, 0);
    assert_eq!(said(&world, &["approve", "one"]).0, 0);
    assert_eq!(said(&world, &["request-changes", "one", "--note", "late thought"]).0, 1);
    assert_eq!(said(&world, &["rescind", "one", "--note", "late thought"]).0, 0);
    assert_eq!(said(&world, &["request-changes", "one"]).0, 1);
    assert_eq!(said(&world, &["request-changes", "one", "--note", "name the sources"]).0, 0);
    let status = world.ask(&["review", "status", "one", "--json"]).json();
    assert_eq!(status["standing"]["stage"], "changes_required");
    assert_eq!(status["standing"]["decision"], "changes_requested");
}

#[test]
fn the_packet_shows_open_gaps_of_an_earlier_trace() {
    let world = World::new();
    world.write("first.json", r#"{"trace_id": "a", "actions": [], "residuals": [{"residual_id": "r", "kind": "limitation", "statement": "no <i>load</i> test"}]}"#);
    world.write("second.json", r#"{"trace_id": "b", "actions": [], "trace_lineage": {"parent_trace_id": "a"},
        "residuals": [{"residual_id": "r", "kind": "limitation", "statement": "no <i>load</i> test", "status": "acknowledged"}]}"#);
    assert_eq!(said(&world, &["open", "second.json"]).0, 0);
    let packet = world.ask(&["review", "handoff", "b", "--after", "first.json"]);
    let text = String::from_utf8(packet.stdout).unwrap();
    assert!(text.contains("- still open from a: r: no &lt;i&gt;load&lt;/i&gt; test"), "{text}");
}

#[test]
fn an_altered_comment_is_detected_and_nothing_can_be_added() {
    let world = opened();
    assert_eq!(said(&world, &["comment", "one", "This is wrong"]).0, 0);
    let path = ".hence/reviews/runs/one/trace.ndjson";
    let altered = String::from_utf8(world.read(path)).unwrap().replace("This is wrong", "This is right");
    world.write(path, altered);
    assert_snapshot!("altered", world.cli(&["review", "status", "one"]));
    assert_snapshot!(
        "altered_refused",
        world.refused(&[&["review", "comment", "one", "x"][..], &NOW].concat())
    );
}

#[test]
fn an_altered_trace_is_detected() {
    let world = opened();
    let path = ".hence/reviews/runs/one/trace.json";
    let altered = String::from_utf8(world.read(path)).unwrap().replace("Which one?", "Which two?");
    world.write(path, altered);
    let status = world.ask(&["review", "status", "one", "--json"]);
    assert_eq!(status.code, 1);
    assert!(status.json()["broken"].as_str().unwrap().starts_with("the review is bound to sha256:"));
}

#[test]
fn a_blocking_question_is_escalated_and_a_rejection_has_a_reason() {
    let world = opened();
    let gap = ["gap", "one", "Who pays?", "--kind", "open_question", "--severity", "low"];
    assert_eq!(said(&world, &gap).0, 0);
    let status = world.ask(&["review", "status", "one", "--json"]).json();
    assert_eq!(status["standing"]["disposition"], "escalate-to-human");
    assert_eq!(said(&world, &["reject", "one"]).0, 1);
    assert_eq!(said(&world, &["reject", "one", "--note", "nobody pays"]).0, 0);
    assert_eq!(world.ask(&["review", "status", "one", "--json"]).json()["standing"]["decision"], "rejected");
}

#[test]
fn author_and_time_default_to_those_of_the_system() {
    let world = World::with_run("one");
    assert_snapshot!("nobody", world.refused(&["review", "open", "one"]));
    let world = World::new().env("USER", "grace");
    world.write("t.json", r#"{"trace_id": "t", "actions": []}"#);
    assert_eq!(world.ask(&["review", "open", "t.json"]).code, 0);
    let journal = String::from_utf8(world.read(".hence/reviews/runs/t/trace.ndjson")).unwrap();
    assert!(
        journal.contains(r#""author":"grace""#) && journal.contains(r#""time_source":"system""#),
        "{journal}"
    );
    assert_snapshot!("bad_time", world.refused(&["review", "comment", "t", "x", "--now", "noon"]));
}

#[test]
fn refusals_change_nothing_and_give_a_hint() {
    let world = opened();
    assert_snapshot!("open_twice", world.refused(&[&["review", "open", "one"][..], &NOW].concat()));
    assert_snapshot!("no_review", world.refused(&["review", "status", "two"]));
    assert_snapshot!("no_subject", world.refused(&[&["review", "ack", "one", "zzz"][..], &NOW].concat()));
    assert_snapshot!(
        "no_part",
        world.refused(&[&["review", "comment", "one", "x", "--on", "action:99"][..], &NOW].concat())
    );
    assert_snapshot!(
        "bad_part",
        world.refused(&[&["review", "comment", "one", "x", "--on", "nowhere"][..], &NOW].concat())
    );
    assert_eq!(World::new().ask(&["review", "status"]).code, 2);
}

#[test]
fn reviews_are_not_among_the_runs() {
    let world = opened();
    assert_eq!(world.ask(&["runs", "--json"]).json()["runs"].as_array().unwrap().len(), 1);
    assert_eq!(world.ask(&["doctor"]).code, 0);
}
