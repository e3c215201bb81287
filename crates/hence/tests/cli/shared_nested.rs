//! Nested skills that workers share: other workers drive them, the parent holds no thread, and every journal has the bytes it has
//! where the nested skill is executed inside its step.

use std::collections::BTreeMap;

use hence_fleet::JobQueue as _;
use hence_testkit::cli::{Answer, World};
use serde_json::Value;

const CAPABILITIES: &str = r#"
capabilities:
  note:
    description: Notes the key it was called with
    provider: {kind: command, command: [/bin/sh, -c, 'echo "$HENCE_IDEMPOTENCY_KEY" >> noted.log; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
  fail:
    description: Fails
    provider: {kind: command, command: [/bin/sh, -c, 'echo no >&2; exit 1']}
"#;

fn skill(id: &str, more: &str, steps: &str) -> String {
    format!(
        "id: {id}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{n: {{type: integer, required: false}}}}\noutputs: {{}}\n{more}steps:\n{steps}"
    )
}

const NOTE: &str =
    "  - {id: note, uses: note, input: {}, output: {ok: vars.ok}, config: {recovery: retry}}\n";

/// Three nested runs side by side, each of which acts and nests one more, between two steps that act.
fn outer() -> String {
    let each = "  - {id: each, uses: 'skill:inner', input: {}, output: {}, config: {depends_on: [note], foreach: {items: \"[1, 2, 3]\", as: n, parallel: 3}}}\n";
    let last = "  - {id: last, uses: note, input: {}, output: {ok: vars.last}, config: {depends_on: [each], recovery: retry}}\n";
    skill("outer", "skills: [inner.yaml, deep.yaml]\n", &format!("{NOTE}{each}{last}"))
}

/// A world with the skill `outer`, whose nested skill has these steps.
fn world(inner: &str) -> World {
    let world = World::new();
    world
        .write("capabilities.yaml", CAPABILITIES)
        .write("outer.yaml", outer())
        .write("inner.yaml", skill("inner", "", inner))
        .write("deep.yaml", skill("deep", "", NOTE));
    world
}

fn nesting() -> String {
    format!(
        "{NOTE}  - {{id: deep, uses: 'skill:deep', input: {{}}, output: {{}}, config: {{depends_on: [note]}}}}\n"
    )
}

const RUN: [&str; 7] =
    ["outer.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r", "--now", "2026-02-02T00:00:00Z"];

fn json(world: &World, words: &[&str]) -> Value {
    let answer = world.ask(&[words, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{words:?}: {}", answer.stderr))
}

fn submit(world: &World) {
    let answer = world.ask(&[&["submit"], &RUN[..]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
}

fn drive(world: &World) -> Value {
    json(world, &["worker", "--until-idle", "--share-nested", "--quiet", "--lease", "5"])
}

fn run_inside(world: &World, more: &[&str]) -> Answer {
    world.ask(&[&["run"], &RUN[..], more].concat())
}

fn state_of(world: &World, run: &str) -> String {
    json(world, &["why", run])["job"]["state"].as_str().unwrap_or("none").to_owned()
}

fn noted(world: &World) -> usize {
    std::fs::read_to_string(world.path("noted.log")).map(|text| text.lines().count()).unwrap_or_default()
}

/// Returns the journals of all runs by id.
fn journals(world: &World) -> BTreeMap<String, Vec<u8>> {
    let runs = json(world, &["runs", "--limit", "0"]);
    let ids = runs["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_owned());
    let journal = |id: String| {
        let dir = world.path("bundle").display().to_string();
        let answer = world.ask(&["export", &id, &dir]);
        assert_eq!(answer.code, 0, "{id}: {}", answer.stderr);
        assert!(!world.path("bundle/calls.ndjson").exists(), "{id}: its calls are all recorded");
        let journal = world.read("bundle/trace.ndjson");
        std::fs::remove_dir_all(world.path("bundle")).unwrap();
        (id, journal)
    };
    ids.map(journal).collect()
}

/// Checks that a world has the same journals as one in which nothing was shared.
fn assert_same(shared: &World, inside: &World) {
    let (one, other) = (journals(shared), journals(inside));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (id, journal) in &one {
        assert!(*journal == other[id], "{id}");
    }
    assert_eq!(noted(shared), noted(inside));
    assert_eq!(shared.ask(&["verify", "--all"]).code, 0);
    assert_eq!(shared.ask(&["doctor"]).code, 0);
}

#[test]
fn shared_runs_at_every_depth_have_the_bytes_of_runs_inside_their_step() {
    let (shared, inside) = (world(&nesting()), world(&nesting()));
    assert_eq!(run_inside(&inside, &[]).code, 0);
    submit(&shared);
    let done = drive(&shared);
    assert_eq!(done["ended"], 7, "the run, three below it, and one below each: {done}");
    assert_same(&shared, &inside);
    assert_eq!(noted(&shared), 8);
}

#[test]
fn the_parent_is_parked_while_others_drive_what_it_nests() {
    let (shared, inside) = (world(NOTE), world(NOTE));
    assert_eq!(run_inside(&inside, &[]).code, 0);
    submit(&shared);
    let once = ["worker", "--once", "--share-nested", "-q"];
    assert_eq!(json(&shared, &once)["parked"], 1);
    assert_eq!(state_of(&shared, "r"), "parked");
    assert_eq!(noted(&shared), 1, "only the step before was executed");
    let why = json(&shared, &["why", "r"]);
    assert_eq!(why["job"]["says"], "it waits for 3 runs");
    assert!(why["waiting"].to_string().contains("it continues when run r/each"), "{why}");
    let refused = shared.ask(&["answer", "r", "each/0.0/inner/1", "--value", "yes"]);
    assert!(refused.stderr.contains("only the end of that run ends it"), "{}", refused.stderr);
    assert_eq!(shared.ask(&["resume", "r"]).code, 3, "a person who resumes it waits for the same runs");
    // A resumed run is looked at once more.
    assert_eq!(json(&shared, &["worker", "--once", "-q"])["parked"], 1);
    assert_eq!(noted(&shared), 1);
    // Workers that share nothing drive what others shared.
    for _ in 0..3 {
        assert_eq!(json(&shared, &["worker", "--once", "-q"])["ended"], 1);
    }
    assert_eq!(state_of(&shared, "r"), "ready");
    assert_eq!(json(&shared, &["worker", "--once", "-q"])["ended"], 1);
    assert_same(&shared, &inside);
}

#[test]
fn a_person_answers_a_nested_run_where_it_is() {
    let asking =
        "  - {id: ask, uses: human.ask, input: {question: 'Go?', type: boolean}, output: {value: vars.go}}\n";
    let shared = world(&format!("{asking}{NOTE}"));
    submit(&shared);
    let done = drive(&shared);
    assert_eq!((done["parked"].as_u64(), done["ended"].as_u64()), (Some(4), Some(0)), "{done}");
    let runs = json(&shared, &["runs", "--limit", "0"]);
    let nested: Vec<String> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|run| run["run"].as_str())
        .filter(|id| id.starts_with("r/"))
        .map(str::to_owned)
        .collect();
    assert_eq!(nested.len(), 3);
    for run in &nested {
        let waiting = json(&shared, &["why", run])["waiting"].clone();
        let key = waiting[0]["key"].as_str().unwrap_or_else(|| panic!("{waiting}")).to_owned();
        let answer = shared.ask(&["answer", run, &key, "--value", "yes"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }
    assert_eq!(drive(&shared)["ended"], 4);
    assert_eq!(shared.ask(&["verify", "--all"]).code, 0);
    assert_eq!(noted(&shared), 5);
}

#[test]
fn a_nested_run_that_fails_fails_its_parent_as_it_would_inside() {
    let failing = "  - {id: fail, uses: fail, input: {}, output: {}}\n";
    let (shared, inside) = (world(failing), world(failing));
    assert_eq!(run_inside(&inside, &[]).code, 1);
    submit(&shared);
    drive(&shared);
    assert_eq!(
        json(&shared, &["why", "r"])["job"]["says"].as_str().unwrap().split(',').next(),
        Some("its run is failed")
    );
    let (one, other) = (journals(&shared), journals(&inside));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    assert!(one.iter().all(|(id, journal)| other[id] == *journal));
}

#[test]
fn limits_keep_nested_runs_inside_so_that_they_are_counted_in_order() {
    let (shared, inside) = (world(NOTE), world(NOTE));
    assert_eq!(run_inside(&inside, &["--max-calls", "9"]).code, 0);
    let submitted = shared.ask(&[&["submit"], &RUN[..], &["--max-calls", "9"]].concat());
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    assert_eq!(drive(&shared)["drives"], 1, "nothing was shared");
    assert_same(&shared, &inside);
}

#[test]
fn cancelling_the_parent_cancels_what_it_waits_for_and_submitting_it_again_continues_both() {
    let (shared, inside) = (world(NOTE), world(NOTE));
    assert_eq!(run_inside(&inside, &[]).code, 0);
    submit(&shared);
    assert_eq!(json(&shared, &["worker", "--once", "--share-nested", "-q"])["parked"], 1);
    assert_eq!(json(&shared, &["cancel", "r"])["outcome"], "cancelled");
    assert_eq!(drive(&shared)["drives"], 0, "nobody drives what was cancelled");
    assert_eq!(noted(&shared), 1);
    submit(&shared);
    assert_eq!(drive(&shared)["ended"], 4);
    assert_same(&shared, &inside);
}

#[test]
fn a_nested_run_that_is_given_up_is_named_by_its_parent_until_somebody_submits_it_again() {
    let (shared, inside) = (world(NOTE), world(NOTE));
    assert_eq!(run_inside(&inside, &[]).code, 0);
    submit(&shared);
    assert_eq!(json(&shared, &["worker", "--once", "--share-nested", "-q"])["parked"], 1);
    // As a worker would that cannot drive it: the queue is told so.
    let queue = hence_fleet::FolderQueue::at(shared.path(".hence/queue"));
    let worker = hence_fleet::NewWorker {
        name: hence_fleet::WorkerName::new("w").unwrap(),
        about: "a test".to_owned(),
        queues: Default::default(),
        concurrency: 8,
        lease: hence_fleet::Millis::seconds(60),
        nonce: 1,
    };
    let worker = queue.register(&worker).unwrap();
    let request = hence_fleet::ClaimRequest { worker: worker.clone(), request: 1, max: 8 };
    for claim in queue.claim(&request).unwrap().claims {
        let reason = "a test gave it up".to_owned();
        queue.settle(&claim.run, claim.token, &hence_fleet::Settlement::Hopeless { reason }).unwrap();
    }
    queue.unregister(&worker).unwrap();
    drive(&shared);
    assert_eq!(state_of(&shared, "r"), "dead");
    let note = json(&shared, &["why", "r"])["job"]["note"].as_str().unwrap().to_owned();
    assert!(note.contains("nested run r/each") && note.contains("a test gave it up"), "{note}");
    submit(&shared);
    assert_eq!(drive(&shared)["ended"], 4);
    assert_same(&shared, &inside);
}
