//! The time of changes to variables: the caller's, recorded, and never going back.

use std::time::Duration;

use hence_testkit::cli::World;
use serde_json::Value;

fn begun() -> World {
    let world = World::new();
    world.out("vars init audit 'count the errors' --now 2026-02-09T10:00:00Z");
    world
}

/// Runs a line with the clock of the machine.
fn real(world: &World, line: &[&str]) -> (i32, String) {
    let output = world.untimed(line).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

fn times(world: &World, run: &str) -> Vec<String> {
    let told: Value = serde_json::from_str(&world.out(&format!("vars history {run} --json"))).unwrap();
    let entries = told["mutations"].as_array().unwrap().iter();
    entries.map(|entry| entry["timestamp"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_time_to_live_ends_by_real_time_and_reading_does_not_move_time() {
    let world = World::new();
    assert_eq!(real(&world, &["vars", "init", "live", "go"]).0, 0);
    let set = ["vars", "set", "live", "brief", "x", "--scope", "temporary", "--ttl", "2"];
    assert_eq!(real(&world, &set).0, 0);
    let peek = ["vars", "get", "live", "brief", "--peek"];
    for _ in 0..5 {
        assert_eq!(real(&world, &["vars", "get", "live", "prompt"]).0, 0);
        assert_eq!(real(&world, &peek).1, "x\n");
    }
    let records = std::fs::read(world.path(".hence/runs/live/trace.ndjson")).unwrap();
    // Nothing else shows that two seconds of real time end a time to live of two seconds.
    std::thread::sleep(Duration::from_millis(2100));
    // Looking finds it expired, and records nothing.
    assert!(real(&world, &peek).1.contains("not_found"));
    assert!(!real(&world, &["vars", "list", "live"]).1.contains("brief"));
    assert_eq!(std::fs::read(world.path(".hence/runs/live/trace.ndjson")).unwrap(), records);
    assert!(real(&world, &["vars", "get", "live", "brief"]).1.contains("not_found"));
    assert_eq!(real(&world, &["verify", "live"]).0, 0);
    assert!(!world.out("vars history live").contains("1970-"));
}

#[test]
fn a_given_time_is_recorded_and_one_before_the_last_counts_as_the_last() {
    let world = begun();
    world.out("vars set audit first_one 1 --now 2026-02-09T12:00:00.250+02:00");
    let back = world.hence("vars set audit second_one 2 --now 2020-01-01T00:00:00Z");
    assert!(back.contains("2020-01-01T00:00:00Z is before the last recorded time"), "{back}");
    world.out("vars set audit third_one 3 --now 2026-02-09T10:00:09Z");
    let at = [
        "2026-02-09T10:00:00Z",
        "2026-02-09T10:00:00.25Z",
        "2026-02-09T10:00:00.25Z",
        "2026-02-09T10:00:09Z",
    ];
    assert_eq!(times(&world, "audit"), at);
    world.out("verify audit");
    for bad in ["yesterday", "2026-02-30T00:00:00Z", "2026-02-09 10:00", "10000-01-01T00:00:00Z", ""] {
        let words = ["vars", "set", "audit", "third_one", "4", "--now", bad];
        let refused = world.refused(&words);
        assert!(refused.contains("--now") || refused.contains("expected a time"), "{refused}");
    }
}

#[test]
fn lifetimes_of_any_size_are_kept_or_refused() {
    let world = begun();
    let brief = "vars set audit brief x --scope temporary --now 2026-02-09T10:00:01Z --ttl";
    assert!(world.hence(&format!("{brief} -1")).contains("[exit 2]"));
    assert!(world.hence(&format!("{brief} 1.5")).contains("[exit 2]"));
    world.out(&format!("{brief} 0"));
    let gone = world.hence("vars get audit brief --peek --now 2026-02-09T10:00:01Z");
    assert!(gone.contains("not_found"), "{gone}");
    world.out(&format!("{brief} 18446744073709551615"));
    assert_eq!(world.out("vars get audit brief --peek --now 9998-12-31T23:59:59Z"), "x\n");
    world.out("verify audit");
}

#[test]
fn shared_variables_never_go_back_in_time() {
    let world = World::new();
    for run in ["early", "late"] {
        world.out(&format!("vars init {run} go --session team --now 2026-02-09T10:00:00Z"));
    }
    world.out("vars set late shared_fact 1 --now 2026-02-09T11:00:00Z");
    // The clock of this caller is an hour behind.
    world.out("vars set early shared_fact 2 --now 2026-02-09T10:00:05Z");
    let told: Value = serde_json::from_str(&world.out("vars list late --json")).unwrap();
    let rows = told["variables"].as_array().unwrap();
    let shared = rows.iter().find(|row| row["name"] == "shared_fact").unwrap();
    assert_eq!((&shared["value"], &shared["updated_at"]), (&"2".into(), &"2026-02-09T11:00:00Z".into()));
    world.out("verify early");
    world.out("--store .hence/scopes verify session-team");
}

#[test]
fn writers_with_different_clocks_lose_nothing() {
    let world = begun();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let world = &world;
            scope.spawn(move || {
                for write in 0..10 {
                    let minute = (writer * 13 + write * 7) % 60;
                    let name = format!("from_{writer}_{write}x");
                    let now = format!("2026-02-09T{:02}:{minute:02}:00Z", 10 + (3 * writer) % 5);
                    world.out(&format!("vars set audit {name} 1 --now {now}"));
                }
            });
        }
    });
    let at = times(&world, "audit");
    assert_eq!(at.len(), 41);
    assert!(at.is_sorted(), "{at:?}");
    world.out("verify audit");
    world.out("replay audit");
}

#[test]
fn an_export_can_be_imported_whatever_times_it_has() {
    let world = World::new();
    // Created and checkpointed later than updated: what the document says is the past of the new run.
    world.write(
        "document.yaml",
        "version: 1.0.0\nstate_id: state-c3d4e5f6\nvariables:\n  prompt: {name: prompt, value: go, type: text}\n  \
         doc_summary: {name: doc_summary, value: a, type: text, created_at: '2031-02-09T10:01:00Z'}\nhistory:\n  \
         checkpoints: [{checkpoint_id: ckpt-00000001, name: before, timestamp: '2032-02-09T10:01:00Z'}]\n",
    );
    world.out("vars import first document.yaml");
    world.out("vars set first doc_summary changed");
    for (from, to) in [("first", "second"), ("second", "third")] {
        world.out(&format!("vars export {from} {from}-out"));
        let document = format!("{from}-out/.aiwg/rlm/states/state-c3d4e5f6/state.json");
        world.out(&format!("vars import {to} {document} --root {from}-out"));
        world.out(&format!("verify {to}"));
    }
    assert_eq!(world.out("vars get third doc_summary --peek"), "changed\n");
}
