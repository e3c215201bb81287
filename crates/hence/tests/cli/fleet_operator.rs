//! The queue for those who operate it: machines that lack something, removed runs, pauses, times and schedules.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicU32, Ordering};

use hence_fleet::JobQueue as _;
use hence_testkit::cli::World;
use hence_testkit::postgres::Cluster;
use serde_json::Value;

const SKILL: &str = "
id: s
version: 1.0.0
name: N
description: D
inputs: {n: {type: integer, required: false}}
outputs: {}
steps:
  - id: call
    uses: tool
    input: {}
    config: {recovery: retry}
";

const WORDS: [&str; 3] = ["skill.yaml", "--capabilities", "tools/capabilities.yaml"];

/// Returns the declaration of a tool.
fn capabilities(command: &str) -> String {
    format!(
        "capabilities:\n  tool:\n    description: A program\n    provider: {{kind: command, command: [{command}], environment: [PATH]}}\n"
    )
}

fn world_with(command: &str) -> World {
    let world = World::new();
    std::fs::create_dir(world.path("tools")).unwrap();
    world.write("skill.yaml", SKILL).write("tools/capabilities.yaml", capabilities(command));
    world
}

/// Returns a world whose tool is there and answers.
fn world() -> World {
    world_with("/bin/echo, '{}'")
}

fn json(world: &World, words: &[&str]) -> Value {
    let answer = world.ask(&[words, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{words:?}: {}", answer.stderr))
}

fn submit(world: &World, words: &[&str]) -> Value {
    json(world, &[&["submit"], &WORDS[..], words].concat())
}

fn drive(world: &World) -> Value {
    json(world, &["worker", "--until-idle", "--quiet", "--lease", "5"])
}

fn job_of(world: &World, run: &str) -> Value {
    json(world, &["why", run])["job"].clone()
}

fn install(world: &World, path: &str) {
    world.write(path, "#!/bin/sh\necho '{}'\n");
    std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Submits a run, and drives it while its program is away and when it is there again.
fn a_worker_without_it_declines(world: &World, remove: impl Fn(), restore: impl Fn(), reason: &str) {
    submit(world, &["--run-id", "r"]);
    remove();
    let done = drive(world);
    assert_eq!((done["ended"].as_u64(), done["failed"].as_u64()), (Some(0), Some(0)), "{done}");
    let job = job_of(world, "r");
    assert_eq!(job["state"], "ready", "{job}");
    let declined = job["declined"][0].as_str().unwrap();
    assert!(declined.contains("E0321") && declined.contains(reason), "{declined}");
    restore();
    assert_eq!(drive(world)["ended"], 1);
    assert_eq!(job_of(world, "r")["says"].as_str().unwrap().split(',').next(), Some("its run is completed"));
}

#[test]
fn a_worker_without_the_program_leaves_the_run_to_others() {
    let world = world_with("./tool");
    install(&world, "tools/tool");
    let gone = || std::fs::remove_file(world.path("tools/tool")).unwrap();
    a_worker_without_it_declines(&world, gone, || install(&world, "tools/tool"), "is not a program here");

    let place = World::new();
    install(&place, "absolute");
    let path = place.path("absolute");
    let world = world_with(path.to_str().unwrap());
    let gone = || std::fs::remove_file(&path).unwrap();
    a_worker_without_it_declines(&world, gone, || install(&place, "absolute"), "is not a program here");

    let search = World::new();
    install(&search, "some-tool-of-ours");
    let folders = format!("{}:/usr/bin:/bin", search.path("").display());
    let world = world_with("some-tool-of-ours").env("PATH", &folders);
    let gone = || std::fs::remove_file(search.path("some-tool-of-ours")).unwrap();
    let back = || install(&search, "some-tool-of-ours");
    a_worker_without_it_declines(&world, gone, back, "no such program");

    let world = world_with("/bin/echo, '{}'");
    let gone = || std::fs::rename(world.path("tools"), world.path("away")).unwrap();
    let back = || symlink(world.path("away"), world.path("tools")).unwrap();
    a_worker_without_it_declines(&world, gone, back, "is not there");
}

#[test]
fn a_run_by_hand_fails_where_the_program_is_missing() {
    let world = world_with("./tool");
    let answer = world.ask(&[&["run"], &WORDS[..], &["--run-id", "r"]].concat());
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    assert_eq!(json(&world, &["why", "r"])["standing"], "failed");
}

#[test]
fn the_id_of_a_removed_run_is_not_used_again() {
    let world = world();
    submit(&world, &["--key", "order-7"]);
    assert_eq!(drive(&world)["ended"], 1);
    assert_eq!(world.ask(&["export", "key-order-7", "out"]).code, 0);
    assert_eq!(world.ask(&["rm", "key-order-7", "--yes"]).code, 0);
    let stone = || -> Value {
        serde_json::from_slice(&world.read(".hence/removed/key-order-7")).expect("a tombstone")
    };
    let first = stone();
    for words in [&["--key", "order-7"][..], &["--key", "order-7", "--input", "n=8"]] {
        let again = world.refused(&[&["submit"], &WORDS[..], words].concat());
        assert!(again.contains("error[E0204]") && again.contains("another --key"), "{again}");
    }
    let again = world.refused(&[&["run"], &WORDS[..], &["--run-id", "key-order-7"]].concat());
    assert!(again.contains("error[E0204]"), "{again}");
    assert_eq!(json(&world, &["runs"])["runs"], Value::Array(Vec::new()), "nothing was created");
    assert_eq!(stone(), first);
    // What was exported comes back; removing it again loses no tombstone.
    assert_eq!(world.ask(&["import", "out"]).code, 0);
    assert_eq!(world.ask(&["rm", "key-order-7", "--yes"]).code, 0);
    assert_eq!(stone()["earlier"], first);
    assert_eq!(stone()["hashes"], first["hashes"]);
}

#[test]
fn a_removed_number_is_not_given_again() {
    let world = World::new();
    world.write("problem.json", hence_testkit::cli::problem("p").to_string());
    assert_eq!(world.ask(&["run", "problem.json"]).code, 0);
    assert_eq!(world.ask(&["rm", "p", "--yes"]).code, 0);
    assert_eq!(world.ask(&["run", "problem.json"]).code, 0);
    assert_eq!(json(&world, &["runs"])["runs"][0]["run"], "p-2");
}

#[test]
fn a_run_with_a_job_is_removed_only_after_it_was_cancelled() {
    let world = world();
    submit(&world, &["--run-id", "r"]);
    for words in [&["rm", "r"][..], &["rm", "r", "--yes"]] {
        let refused = json(&world, words);
        assert_eq!(refused["runs"], Value::Array(Vec::new()));
        let reason = refused["kept"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("ready in queue default") && reason.contains("hence cancel r"), "{reason}");
    }
    assert_eq!(world.ask(&["cancel", "r"]).code, 0);
    assert_eq!(world.ask(&["rm", "r", "--yes"]).code, 0);
    assert_eq!(json(&world, &["fleet"])["stuck"], Value::Array(Vec::new()));
}

#[test]
fn a_job_whose_run_is_gone_can_be_cancelled() {
    let world = world();
    submit(&world, &["--run-id", "r"]);
    submit(&world, &["--run-id", "other"]);
    // Somebody removed the folder by hand.
    std::fs::remove_dir_all(world.path(".hence/runs/r")).unwrap();
    drive(&world);
    assert_eq!(json(&world, &["fleet"])["stuck"][0]["run"], "r");
    assert_eq!(json(&world, &["cancel", "r"])["outcome"], "cancelled");
    assert_eq!(json(&world, &["fleet"])["stuck"], Value::Array(Vec::new()));
    assert!(world.refused(&["cancel", "nobody"]).contains("E0202"));
}

/// Makes a schedule due: nobody waits for the new year, so its stored time becomes one that has passed.
fn make_due(world: &World) {
    let queue = hence_fleet::FolderQueue::at(world.path(".hence/queue"));
    let mut schedule = queue.schedules().unwrap().remove(0);
    schedule.next_at = Some(hence_fleet::Time::from_millis(1_609_459_200_000));
    queue.put_schedule(&schedule).unwrap();
}

#[test]
fn a_worker_that_ends_when_it_is_idle_submits_what_is_due() {
    for mode in ["--until-idle", "--once"] {
        let world = world();
        let words =
            [&["queue", "schedule", "yearly", "@yearly"], &WORDS[..], &["--run-id", "template"]].concat();
        assert_eq!(world.ask(&words).code, 0);
        make_due(&world);
        assert_eq!(json(&world, &["worker", mode, "--quiet", "--lease", "5"])["ended"], 1, "{mode}");
        let schedule = json(&world, &["queue", "schedules"])["schedules"][0].clone();
        let last = schedule["last_at"].as_str().unwrap();
        // The time that got the run, not the first of those that were missed.
        let runs = json(&world, &["runs"]);
        let ids: Vec<&str> =
            runs["runs"].as_array().unwrap().iter().filter_map(|run| run["run"].as_str()).collect();
        let second = last.replace(".000Z", "Z");
        assert!(ids.contains(&format!("yearly-{second}").as_str()), "{last} of {ids:?}");
    }
}

#[test]
fn a_blank_key_is_refused() {
    let world = world();
    for key in ["", "  ", "\t"] {
        let refused = world.refused(&[&["submit"], &WORDS[..], &["--key", key]].concat());
        assert!(refused.contains("error[E0102]") && refused.contains("--key"), "{refused}");
    }
    assert_eq!(submit(&world, &["--key", "k"])["run"], "key-k");
}

#[test]
fn a_pause_of_the_queue_is_named_where_it_holds_a_run_up() {
    let world = world();
    assert!(submit(&world, &["--run-id", "before"])["job"].get("paused_since").is_none());
    assert_eq!(world.ask(&["queue", "pause", "default"]).code, 0);
    let submitted = submit(&world, &["--run-id", "r"]);
    assert_eq!(submitted["job"]["resume_queue"], "hence queue resume default");
    assert!(job_of(&world, "r")["paused_since"].is_string());
    let text = String::from_utf8(world.ask(&["why", "r"]).stdout).unwrap();
    assert!(text.contains("no run of queue default begins since"), "{text}");
    assert_eq!(world.ask(&["queue", "resume", "default"]).code, 0);
    assert!(job_of(&world, "r").get("paused_since").is_none());
}

#[test]
fn a_time_that_has_passed_is_now() {
    let world = world();
    let job = submit(&world, &["--run-id", "r", "--at", "2000-01-01T00:00:00Z"])["job"].clone();
    assert_eq!(job["due_at"], job["submitted_at"]);
}

/// A store in a schema of the shared server; `None` where there is no PostgreSQL.
fn hosted(world: &World) -> Option<(&'static Cluster, String, String)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let cluster = Cluster::shared()?;
    let schema = format!("operator_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let address = cluster.address(&format!("schema={schema}"));
    assert_eq!(world.ask(&["--store", &address, "store", "migrate"]).code, 0);
    Some((cluster, address, schema))
}

#[test]
fn a_database_keeps_every_tombstone_and_gives_no_id_twice() {
    let world = world();
    let Some((cluster, address, schema)) = hosted(&world) else { return };
    let ask = |words: &[&str]| world.ask(&[&["--store", &address], words].concat());
    let start = [&["run"], &WORDS[..], &["--run-id", "r"]].concat();
    assert_eq!(ask(&start).code, 0);
    assert_eq!(ask(&["export", "r", "out"]).code, 0);
    assert_eq!(ask(&["rm", "r", "--yes"]).code, 0);
    let again = ask(&start);
    assert!(again.stderr.contains("error[E0204]"), "{}", again.stderr);
    assert_eq!(ask(&["import", "out"]).code, 0);
    assert_eq!(ask(&["rm", "r", "--yes"]).code, 0);
    let stones = cluster.sql(&format!("select count(*) from {schema}.tombstone"));
    assert_eq!(stones.trim(), "2");
}

#[test]
fn a_journal_that_was_cut_in_the_database_is_named_and_not_passed_on() {
    let world = world();
    let Some((cluster, address, schema)) = hosted(&world) else { return };
    let ask = |words: &[&str]| world.ask(&[&["--store", &address], words].concat());
    for id in ["r", "whole"] {
        assert_eq!(ask(&[&["run"], &WORDS[..], &["--run-id", id]].concat()).code, 0);
    }
    assert_eq!(ask(&["verify", "r"]).code, 0);
    cluster.sql(&format!(
        "delete from {schema}.record c using {schema}.run r \
         where r.id = 'r' and c.run = r.key and c.index = r.head_count - 1"
    ));
    let cut = "the last of them is not there";
    for words in [&["verify", "r"][..], &["verify", "--all"], &["doctor"]] {
        let answer = ask(words);
        let said = String::from_utf8_lossy(&answer.stdout).into_owned();
        assert!(answer.code != 0 && said.contains(cut), "{words:?}: {said}{}", answer.stderr);
        assert!(!said.contains("no journal"), "{said}");
    }
    let exported = ask(&["export", "r", "bundle"]);
    assert!(exported.code != 0 && exported.stderr.contains(cut), "{}", exported.stderr);
    assert!(!world.path("bundle").exists());
    let copied = world.ask(&["store", "copy", &address, "copy", "--json"]);
    assert_eq!(copied.code, 5, "{}", copied.stderr);
    let report = copied.json();
    assert_eq!((&report["copied"], &report["left_out"][0]["run"]), (&1.into(), &"r".into()));
    assert!(report["left_out"][0]["reason"].as_str().unwrap().contains(cut), "{report}");
}

#[test]
fn a_damaged_row_of_the_queue_is_named_and_ends_a_worker_that_would_wait_for_ever() {
    let world = world();
    let Some((cluster, address, schema)) = hosted(&world) else { return };
    let ask = |words: &[&str]| world.ask(&[&["--store", &address], words].concat());
    for id in ["r", "other"] {
        assert_eq!(ask(&[&["submit"], &WORDS[..], &["--run-id", id]].concat()).code, 0);
    }
    assert_eq!(ask(&["doctor"]).code, 0);
    cluster.sql(&format!(
        "update {schema}.queue_row set content = replace(content, '\"priority\":0', '\"priority\":\"no\"') \
         where content like '%\"run\":\"r\"%'"
    ));
    let worker = ask(&["worker", "--until-idle", "--quiet", "--lease", "5"]);
    assert!(worker.code != 0 && worker.stderr.contains("error[E0903]"), "{}", worker.stderr);
    assert!(worker.stderr.contains("of queue_row, of run r"), "{}", worker.stderr);
    let doctor = ask(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.code != 0 && said.contains("of queue_row, of run r"), "{said}");
    cluster.sql(&format!(
        "update {schema}.queue_row set content = replace(content, '\"run\":\"r\"', '\"run\":\"other\"') \
         where content like '%\"run\":\"r\"%'"
    ));
    cluster.sql(&format!(
        "update {schema}.queue_row set content = replace(content, '\"priority\":\"no\"', '\"priority\":0')"
    ));
    let doctor = ask(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.code != 0 && said.contains("its content belongs to the key"), "{said}");
}

#[test]
fn doctor_finds_what_somebody_changed_next_to_the_records() {
    let world = world();
    let Some((cluster, address, schema)) = hosted(&world) else { return };
    let ask = |words: &[&str]| world.ask(&[&["--store", &address], words].concat());
    assert_eq!(ask(&[&["run"], &WORDS[..], &["--run-id", "r"]].concat()).code, 0);
    assert_eq!(ask(&["doctor"]).code, 0);
    let changes = [
        (
            "update {schema}.record set hash = sha256('x') where index = 1",
            "the column `hash` of 1 of its records",
        ),
        ("update {schema}.run set header = '{}'", "the column `header` of its row"),
        (
            "insert into {schema}.attachment_part values (999999, 'note', 1, 0, 'a')",
            "attachment note of the missing row of run 999999",
        ),
        ("insert into {schema}.attachment values (999998, 'gone', 1, 0)", "of the missing run 999998"),
        ("insert into {schema}.blob_part values (0, sha256('v'), 0, 'v')", "parts of the missing value"),
    ];
    for (change, finding) in changes {
        cluster.sql(&change.replace("{schema}", &schema));
        let doctor = ask(&["doctor"]);
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(doctor.code != 0 && said.contains(finding), "{change}: {said}");
    }
}

#[test]
fn a_run_is_removed_by_the_holder_of_its_lease_alone() {
    let world = world();
    let Some((cluster, address, schema)) = hosted(&world) else { return };
    let ask = |words: &[&str]| world.ask(&[&["--store", &address], words].concat());
    assert_eq!(ask(&[&["run"], &WORDS[..], &["--run-id", "r"]].concat()).code, 0);
    let remove = format!(
        "select {schema}.remove_run(key, epoch, coalesce(lease_token, ''), 'forged') from {schema}.run"
    );
    assert_eq!(cluster.sql(&remove).trim(), "f", "its lease has ended");
    cluster.sql(&format!(
        "update {schema}.run set lease_token = 'somebody', lease_until = clock_timestamp() + interval '1 hour'"
    ));
    let other = remove.replace("coalesce(lease_token, '')", "'another'");
    assert_eq!(cluster.sql(&other).trim(), "f", "somebody else holds it");
    assert_eq!(cluster.sql(&format!("select count(*) from {schema}.tombstone")).trim(), "0");
    assert_eq!(ask(&["verify", "r"]).code, 0);
}

#[test]
fn an_owner_who_may_not_create_roles_is_told_what_to_do() {
    // Roles belong to the whole server, and those of the shared one exist.
    let Some(cluster) = Cluster::start(&[]) else { return };
    cluster.sql("create role owner login; grant create on database postgres to owner;");
    let world = world();
    let of = |role: &str| cluster.address("schema=owned").replacen("postgres@", &format!("{role}@"), 1);
    let first = world.ask(&["--store", &of("owner"), "store", "migrate"]);
    let said = String::from_utf8_lossy(&first.stdout).into_owned();
    assert_eq!(first.code, 0, "{}", first.stderr);
    for role in ["hence_writer", "hence_reader", "hence_auditor"] {
        assert!(said.contains(&format!("create role {role} nologin;")), "{said}");
    }
    assert!(first.stderr.contains("`hence store migrate` once more"), "{}", first.stderr);
    cluster.sql(
        "create role hence_writer nologin; create role hence_reader nologin; create role hence_auditor nologin; \
         create role ann login in role hence_writer; create role ben login in role hence_reader;",
    );
    let ann = of("ann");
    let start = [&["--store", &ann, "run"], &WORDS[..], &["--run-id", "r"]].concat();
    let refused = world.ask(&start);
    assert!(refused.code != 0 && refused.stderr.contains("hence store migrate"), "{}", refused.stderr);
    let second = json(&world, &["--store", &of("owner"), "store", "migrate"]);
    assert!(second.get("missing_roles").is_none(), "{second}");
    let run = world.ask(&start);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(world.ask(&["--store", &of("ben"), "verify", "r"]).code, 0);
    assert_eq!(world.ask(&["--store", &ann, "rm", "r", "--yes"]).code, 0);
}

#[test]
fn a_misspelt_address_is_no_folder_and_shows_no_password() {
    let world = world();
    for address in ["postgresq://ann:s3cret@db/team", "postgres:/ann:s3cret@db/team"] {
        let answer = world.ask(&[&["--store", address, "run"], &WORDS[..]].concat());
        assert!(answer.code != 0 && answer.stderr.contains("error[E0209]"), "{}", answer.stderr);
        assert!(!answer.stderr.contains("s3cret"), "{}", answer.stderr);
    }
    assert!(!world.path("postgresq:").exists() && !world.path("postgres:").exists());
}

#[test]
fn jobs_of_a_queue_that_does_not_exist_are_refused() {
    let world = world();
    submit(&world, &["--run-id", "r"]);
    let refused = world.refused(&["queue", "jobs", "--queue", "defualt"]);
    assert!(refused.contains("error[E0901]"), "{refused}");
}
