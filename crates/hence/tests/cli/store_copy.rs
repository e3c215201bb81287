//! Copying a store: every byte arrives, an interrupted copy continues, and nothing in the target is overwritten.

use hence_testkit::cli::{World, problem};

const LARGE: &str = "id: l\nversion: 1.0.0\nname: L\ndescription: Joins\ninputs: {text: {type: string}}\noutputs: {text: {type: string}}\nsteps:\n  - {id: join, uses: text.join, input: {parts: [inputs.text]}, output: {text: outputs.text}}\n";

fn world() -> World {
    let world = World::with_run("one");
    world.run_problem(&problem("two"));
    world.write("large.yaml", LARGE).write("large.txt", "x".repeat(20_000));
    assert_eq!(world.ask(&["run", "large.yaml", "--input", "text=@large.txt", "--run-id", "large"]).code, 0);
    assert_eq!(world.ask(&["trace", "export", "one", "--out", "one.json"]).code, 0);
    assert_eq!(world.ask(&["review", "open", "one.json", "--author", "ada"]).code, 0);
    world
}

fn copy(world: &World) -> (i32, serde_json::Value) {
    let answer = world.ask(&["store", "copy", ".hence", "copy", "--json"]);
    (answer.code, answer.json())
}

fn copied(run: &str) -> String {
    format!("copy/runs/{run}/trace.ndjson")
}

#[test]
fn a_copied_store_has_the_same_runs_reviews_values_and_tombstones() {
    let world = world();
    world.run_problem(&problem("removed"));
    assert_eq!(world.ask(&["rm", "removed", "--yes"]).code, 0);
    let (code, report) = copy(&world);
    assert_eq!((code, &report["complete"], &report["copied"]), (0, &true.into(), &4.into()), "{report}");
    assert_eq!((&report["blobs"], &report["tombstones"]), (&1.into(), &1.into()), "{report}");
    for run in ["one", "two", "large"] {
        assert_eq!(world.read(&copied(run)), world.journal(run));
    }
    assert_eq!(world.read("copy/removed/removed"), world.read(".hence/removed/removed"));
    let verified = world.ask(&["store", "verify", "--store", "copy", "--json"]);
    assert_eq!((verified.code, &verified.json()["runs"]), (0, &4.into()), "{}", verified.json());
    assert_eq!(world.ask(&["doctor", "--store", "copy"]).code, 0);
    // A run that was made here can be continued in the copy, and a second copy finds everything there.
    let (code, again) = copy(&world);
    assert_eq!((code, &again["copied"], &again["already_there"]), (0, &0.into(), &4.into()), "{again}");
}

#[test]
fn a_copy_that_was_interrupted_continues_and_records_added_since_follow() {
    let world = world();
    assert_eq!(copy(&world).0, 0);
    let whole = world.journal("two");
    let cut: Vec<u8> = whole.split_inclusive(|byte| *byte == b'\n').take(3).flatten().copied().collect();
    world.write(&copied("two"), cut);
    std::fs::remove_dir_all(world.path("copy/runs/one")).unwrap();
    let (code, report) = copy(&world);
    assert_eq!((code, &report["copied"], &report["already_there"]), (0, &2.into(), &2.into()), "{report}");
    assert_eq!(world.read(&copied("two")), whole);
    assert_eq!(world.read(&copied("one")), world.journal("one"));
}

#[test]
fn a_run_with_other_or_more_records_in_the_target_is_left_alone() {
    let world = world();
    assert_eq!(copy(&world).0, 0);
    let longer = world.read(&copied("two"));
    world.cut("two", 3);
    let other = String::from_utf8(world.journal("one")).unwrap().replacen("\"index\":0", "\"index\":0 ", 1);
    world.write(&copied("one"), &other);
    let (code, report) = copy(&world);
    assert_eq!((code, &report["complete"]), (5, &false.into()), "{report}");
    let reasons: Vec<&str> =
        report["left_out"].as_array().unwrap().iter().map(|left| left["reason"].as_str().unwrap()).collect();
    assert_eq!(
        reasons,
        ["the target has a run of that id with other records", "the target has more records of it"]
    );
    assert_eq!(world.read(&copied("two")), longer);
    assert_eq!(world.read(&copied("one")), other.as_bytes());
    assert!(world.refused(&["store", "copy", ".hence", ".hence"]).contains("onto itself"));
    assert!(world.refused(&["store", "copy", "nowhere", "copy"]).contains("nowhere"));
}

#[test]
fn a_strangers_run_stays_a_strangers_run_in_a_copy() {
    let world = world();
    assert_eq!(world.ask(&["export", "large", "bundle"]).code, 0);
    assert_eq!(world.ask(&["import", "bundle", "--store", "theirs"]).code, 0);
    assert_eq!(world.ask(&["store", "copy", "theirs", "ours"]).code, 0);
    assert!(!world.path("ours/runs/large/made").exists());
    assert_eq!(copy(&world).0, 0);
    assert!(world.path("copy/runs/large/made").exists());
}
