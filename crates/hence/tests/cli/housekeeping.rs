//! Removing runs and large values, tombstones, bundles with children, sessions of this machine.

use serde_json::Value;

use hence_testkit::cli::{World, problem};

const NESTED: &str = "id: outer\nversion: 1.0.0\nname: O\ndescription: Nests\ninputs: {}\noutputs: {text: {type: string}}\nskills: [inner.yaml]\nsteps:\n  - {id: inner, uses: 'skill:inner', input: {}, output: {text: outputs.text}}\n";
const INNER: &str = "id: inner\nversion: 1.0.0\nname: I\ndescription: Joins\ninputs: {}\noutputs: {text: {type: string}}\nsteps:\n  - {id: join, uses: text.join, input: {parts: [a]}, output: {text: outputs.text}}\n";

fn names(world: &World) -> Vec<String> {
    let rows = world.ask(&["runs", "--json"]).json();
    let mut names: Vec<String> =
        rows["runs"].as_array().unwrap().iter().map(|row| row["run"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn nested() -> World {
    let world = World::new();
    world.write("outer.yaml", NESTED).write("inner.yaml", INNER);
    assert_eq!(world.ask(&["run", "outer.yaml", "--run-id", "outer"]).code, 0);
    world
}

#[test]
fn a_removed_run_leaves_its_hashes_and_can_be_brought_back() {
    let world = World::with_run("vendor-choice");
    let (head, journal) = (world.head("vendor-choice"), world.journal("vendor-choice"));
    assert_eq!(world.ask(&["export", "vendor-choice", "out"]).code, 0);
    // Without --yes it is a plan.
    let plan = world.ask(&["rm", "vendor-choice", "--json"]).json();
    assert_eq!((&plan["removed"], &plan["runs"][0]["head"]), (&false.into(), &head.as_str().into()));
    assert_eq!(world.journal("vendor-choice"), journal);
    assert!(world.refused(&["rm", "vendor", "--yes"]).contains("whole id"));
    assert_eq!(world.ask(&["rm", "vendor-choice", "--yes"]).code, 0);
    assert_eq!(names(&world), Vec::<String>::new());
    let stone: Value = serde_json::from_slice(&world.read(".hence/removed/vendor-choice")).unwrap();
    assert_eq!((&stone["head"], &stone["reason"]), (&head.as_str().into(), &"rm".into()));
    let last = stone["hashes"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert_eq!(Some(last), head.split(':').next());
    assert!(world.refused(&["log", "vendor-choice"]).contains("was removed at"));
    assert_eq!(world.ask(&["doctor"]).code, 0, "{}", world.cli(&["doctor"]));
    // The same bundle twice is the same run once.
    assert_eq!(world.ask(&["import", "out", "--json"]).json()["already_there"], false);
    assert_eq!(world.ask(&["import", "out", "--json"]).json()["already_there"], true);
    assert_eq!(world.journal("vendor-choice"), journal);
    assert_eq!(world.ask(&["verify", "vendor-choice", "--anchor", &head]).code, 0);
}

#[test]
fn collecting_keeps_young_runs_unfinished_ones_and_those_others_come_from() {
    let world = nested();
    world.run_problem(&problem("old"));
    world.cut("old", 1);
    let plan = |arguments: &[&str]| world.ask(&[&["gc", "--json"], arguments].concat()).json();
    assert_eq!(plan(&["--plan"])["runs"].as_array().unwrap().len(), 0, "nothing is 30 days old");
    let all = plan(&["--plan", "--older-than", "0s"]);
    let listed: Vec<&str> =
        all["runs"].as_array().unwrap().iter().map(|row| row["run"].as_str().unwrap()).collect();
    assert!(listed.contains(&"outer") && !listed.contains(&"old"), "{all}");
    assert_eq!(names(&world).len(), 3, "a plan changes nothing");
    // A fork that stays keeps its origin.
    assert_eq!(world.ask(&["fork", "old:Verify", "--run-id", "young"]).code, 0);
    let failed = plan(&["--apply", "--older-than", "0s", "--status", "failed"]);
    assert_eq!(failed["runs"].as_array().unwrap().len(), 0);
    let done = plan(&["--apply", "--older-than", "0s", "--status", "unfinished"]);
    assert_eq!(done["runs"].as_array().unwrap().len(), 0, "{done}");
    assert_eq!(done["kept"][0]["what"], "old");
    assert_eq!(world.ask(&["gc", "--apply", "--older-than", "0s"]).code, 0);
    assert_eq!(names(&world), ["old"]);
    assert_eq!(world.ask(&["gc", "--apply", "--older-than", "0s"]).code, 0, "a second time changes nothing");
    assert_eq!(world.ask(&["gc"]).code, 2, "a plan or its application must be asked for");
}

#[test]
fn large_values_go_with_the_last_run_that_names_them() {
    let world = World::new();
    let large = "x".repeat(20_000);
    world.write("large.yaml", format!("id: l\nversion: 1.0.0\nname: L\ndescription: Joins\ninputs: {{}}\noutputs: {{text: {{type: string}}}}\nsteps:\n  - {{id: join, uses: text.join, input: {{parts: [{large}]}}, output: {{text: outputs.text}}}}\n"));
    for run in ["one", "two"] {
        assert_eq!(
            world.ask(&["run", "large.yaml", "--run-id", run, "--now", "2026-02-02T00:00:00Z"]).code,
            0
        );
    }
    assert!(world.out("doctor").contains("and 1 blob"));
    assert_eq!(world.ask(&["rm", "one", "--yes", "--json"]).json()["blobs"], 0);
    assert_eq!(world.ask(&["verify", "two"]).code, 0);
    assert_eq!(world.ask(&["rm", "two", "--yes", "--json"]).json()["blobs"], 1);
    assert!(world.out("doctor").contains("and 0 blobs"));
}

#[test]
fn a_bundle_with_children_is_a_whole_tree() {
    let world = nested();
    let before = names(&world);
    assert_eq!(before.len(), 2);
    assert_eq!(world.ask(&["export", "outer", "out", "--with-children", "--json"]).json()["children"], 1);
    assert_eq!(world.ask(&["rm", "outer", "--with-children", "--yes"]).code, 0);
    assert_eq!(names(&world), Vec::<String>::new());
    assert_eq!(world.ask(&["import", "out", "--json"]).json()["children"], 1);
    assert_eq!(names(&world), before);
    assert_eq!(world.ask(&["verify", "outer"]).code, 0, "{}", world.cli(&["verify", "outer"]));
    assert_eq!(world.ask(&["import", "out", "--json"]).json()["already_there"], true);
    // A child that was altered is refused before anything is stored.
    world.ask(&["rm", "outer", "--with-children", "--yes"]);
    world.write("out/children/0000/trace.ndjson", "{}\n");
    assert!(world.refused(&["import", "out"]).contains("E0402"));
}

#[test]
fn the_newest_session_of_an_agent_is_found() {
    let world = World::new();
    let home = world.path("home").display().to_string();
    let session = include_str!("../../../../examples/sessions/cart-rounding.jsonl");
    world.write("home/.claude/projects/a/old.jsonl", "{}");
    world.write("home/.claude/projects/b/new.jsonl", session);
    let old = std::fs::File::open(world.path("home/.claude/projects/a/old.jsonl")).unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let world = world.env("HOME", &home);
    let answer = world.ask(&["import", "--latest", "claude-code"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(!answer.json()["actions"].as_array().unwrap().is_empty());
    assert!(answer.stderr.contains("new.jsonl"), "{}", answer.stderr);
    assert!(world.refused(&["import", "--latest", "claude-cod"]).contains("did you mean `claude-code`?"));
    assert!(world.refused(&["import", "--latest", "codex"]).contains("no session of codex"));
}

#[test]
fn a_run_that_ended_is_followed_to_its_end() {
    let world = World::with_run("vendor-choice");
    let listed = world.out("log vendor-choice");
    // Columns that are fixed before the rows are known are wider.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&world.out("log vendor-choice --follow")), words(&listed));
    let watched = world.ask(&["watch", "vendor-choice"]);
    let shown = words(&String::from_utf8_lossy(&watched.stdout));
    assert!(shown.starts_with(&words(&listed)), "{}", watched.stderr);
}

#[test]
fn what_is_not_a_tombstone_of_its_run_is_named() {
    let world = World::new();
    for id in ["one", "two"] {
        world.run_problem(&problem(id));
        world.out(&format!("rm {id} --yes"));
    }
    world.out("doctor");
    world.out("verify --all");
    let (stone, path) = (world.read(".hence/removed/one"), world.path(".hence/removed/one"));
    let other = world.read(".hence/removed/two");
    for bytes in [b"".as_slice(), b"{}", b"\xff", &other] {
        world.write(".hence/removed/one", bytes);
        let found = world.ask(&["doctor"]);
        assert_eq!(found.code, 1);
        let said = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(said.contains("removed/one: it is not the tombstone"), "{said}");
    }
    // The stone of one run under the name of another.
    world.write(".hence/removed/one", &stone).write(".hence/removed/zz", &stone);
    for command in [&["doctor"][..], &["verify", "zz"]] {
        let found = world.ask(command);
        let said = format!("{}{}", String::from_utf8_lossy(&found.stdout), found.stderr);
        assert!(found.code != 0 && said.contains("zz"), "{command:?}: {said}");
    }
    std::fs::remove_file(world.path(".hence/removed/zz")).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), &path).unwrap();
    for command in [&["doctor"][..], &["verify", "--all"]] {
        let found = world.ask(command);
        let said = format!("{}{}", String::from_utf8_lossy(&found.stdout), found.stderr);
        assert!(found.code == 1 && said.contains("removed/one"), "{command:?}: {said}");
    }
    // What is not a run is not counted among the runs.
    world.run_problem(&problem("three"));
    let said = world.ask(&["verify", "--all"]);
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("1 of 1 run holds"), "{:?}", said.stdout);
    std::fs::remove_file(&path).unwrap();
    std::fs::File::create(&path).unwrap().set_len(2 << 30).unwrap();
    assert_eq!(world.ask(&["doctor"]).code, 1, "a file beyond every limit");
    world.write(".hence/removed/one", &stone);
    world.out("doctor");
}
