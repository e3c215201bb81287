//! Snapshots of runs of variables: a cache that makes commands cost what is new. It changes no answer.

use hence_canon::Digest;
use hence_testkit::cli::World;

/// Makes a run with so many changes that it has a snapshot.
fn with_snapshot() -> World {
    let world = World::new();
    world.out("vars init audit 'count the errors' --now 2026-02-09T10:00:00Z");
    world.out("vars set audit keep_me kept");
    world.out("vars checkpoint audit early");
    let lines: String = (1..=150).map(|number| format!("set counter {number} -t number\n")).collect();
    let told = world.ask_with_input(&["repl", "audit"], lines.as_bytes());
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(world.path(SNAPSHOT).is_file());
    world
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SNAPSHOT: &str = ".hence/runs/audit/snapshot";

/// The views of a run that are read from a snapshot, as far as there is one.
fn views(world: &World) -> String {
    world.all(&[
        "vars get audit counter --peek",
        "vars get audit keep_me --peek",
        "vars list audit --json",
        "vars checkpoints audit",
        "vars status audit",
        "vars diff audit early now",
        "vars history audit --limit 3",
        "why audit",
        "state audit /step_index",
        "state audit /metadata",
        "runs",
    ])
}

#[test]
fn the_records_before_a_snapshot_are_not_read_and_verify_reads_them() {
    let world = with_snapshot();
    let mut journal = world.journal("audit");
    let fifth = journal.split_inclusive(|byte| *byte == b'\n').take(5).map(<[u8]>::len).sum::<usize>();
    journal[fifth + 40] ^= 1;
    world.set_journal("audit", &journal);
    assert_eq!(world.out("vars get audit counter --peek").trim(), "150");
    world.out("vars set audit counter 151 -t number");
    let verified = world.ask(&["verify", "audit"]);
    assert_eq!(verified.code, 1);
    assert!(text(&verified.stdout).contains("broken at record 5"), "{}", text(&verified.stdout));
}

#[test]
fn answers_and_later_records_are_the_same_with_and_without_a_snapshot() {
    let (with, without) = (with_snapshot(), with_snapshot());
    std::fs::remove_file(without.path(SNAPSHOT)).unwrap();
    assert_eq!(views(&with), views(&without));
    for world in [&with, &without] {
        for line in [
            "vars set audit counter 7 -t number --now 2027-01-01T00:00:00Z",
            "vars rollback audit early --now 2027-01-01T00:00:01Z",
            "vars rename audit keep_me kept_name --now 2027-01-01T00:00:02Z",
            "vars final audit done --now 2027-01-01T00:00:03Z",
        ] {
            world.out(line);
        }
    }
    // The times of the first changes are those of each world, so the records are compared without them.
    assert_eq!(views(&with).replace("audit", ""), views(&without).replace("audit", ""));
    with.out("verify audit");
    without.out("verify audit");
}

#[test]
fn a_torn_or_foreign_snapshot_is_not_used() {
    let world = with_snapshot();
    let right = views(&world);
    let bytes = world.read(SNAPSHOT);
    world.out("vars init other 'another run'");
    let lines: String = (1..=150).map(|number| format!("set counter {number} -t number\n")).collect();
    world.ask_with_input(&["repl", "other"], lines.as_bytes());
    let foreign = world.read(".hence/runs/other/snapshot");
    std::fs::remove_dir_all(world.path(".hence/runs/other")).unwrap();
    let cut = &bytes[..bytes.len() / 2];
    for snapshot in [b"".as_slice(), b"hence-snapshot 1 ", cut, &foreign, b"\xff\xfe"] {
        world.write(SNAPSHOT, snapshot);
        assert_eq!(views(&world), right);
    }
}

#[test]
fn a_forged_snapshot_is_named_by_verify_and_doctor_and_removed_by_a_repair() {
    let world = with_snapshot();
    let honest = String::from_utf8(world.read(SNAPSHOT)).unwrap();
    let (first, body) = honest.split_once('\n').unwrap();
    let (magic, _) = first.rsplit_once(' ').unwrap();
    let forged = body.replace("\"kept\"", "\"lost\"");
    assert_ne!(forged, body);
    world.write(SNAPSHOT, format!("{magic} {}\n{forged}", Digest::of(forged.as_bytes())));
    let verified = world.ask(&["verify", "audit"]);
    assert_eq!(verified.code, 1);
    assert!(
        text(&verified.stdout).contains("the snapshot that commands read is not theirs"),
        "{}",
        text(&verified.stdout)
    );
    let checked = world.ask(&["doctor"]);
    assert_eq!(checked.code, 1);
    assert!(text(&checked.stdout).contains("is not what the journal says"), "{}", text(&checked.stdout));
    world.ask(&["doctor", "--rebuild"]);
    assert!(!world.path(SNAPSHOT).exists());
    world.out("verify audit");
    assert_eq!(world.out("vars get audit keep_me --peek").trim(), "kept");
}

#[test]
fn a_bundle_has_no_snapshot() {
    let world = with_snapshot();
    world.out("export audit bundle");
    assert!(!world.path("bundle/snapshot").exists());
    world.write("bundle/snapshot", world.read(SNAPSHOT));
    let elsewhere = World::new();
    let told = elsewhere.ask(&["import", world.path("bundle").to_str().unwrap()]);
    assert!(!elsewhere.path(SNAPSHOT).exists(), "{}", told.stderr);
}
