//! `kill -9` at seeded moments: stored records survive, and the resumed run writes the same bytes.

use std::process::Child;

use hence_testkit::cli::{World, problem_with_evidence};

/// The number of pieces of evidence, each taken in a round of its own: over a thousand records.
const ITEMS: usize = 300;
/// The number of times the run is killed.
const KILLS: u64 = 10;
/// The number of times the file is looked at before giving up; the run ends long before.
const LOOKS_MAX: u64 = 50_000_000;

#[test]
fn a_killed_run_resumes_to_the_bytes_of_an_uninterrupted_one() {
    let problem = problem_with_evidence("long", ITEMS);
    let undisturbed = World::new();
    undisturbed.run_problem(&problem);
    let whole = undisturbed.journal("long");

    let world = World::new();
    world.write("problem.json", problem.to_string());
    let mut kept = Vec::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for kill in 0..KILLS {
        let arguments: &[&str] = if kill == 0 { &["run", "problem.json"] } else { &["resume", "long"] };
        let mut child = world.command(arguments).spawn().unwrap();
        seed = next(seed);
        // Somewhere in the next tenth of the journal, at any byte of a record.
        let more = seed % (whole.len() as u64 / KILLS);
        wait_for_bytes(&world, &mut child, kept.len() as u64 + more);
        child.kill().unwrap();
        child.wait().unwrap();
        let journal = std::fs::read(world.path(JOURNAL)).unwrap_or_default();
        assert!(journal.starts_with(&kept), "kill {kill} lost records");
        assert!(whole.starts_with(&journal), "kill {kill} left other bytes");
        // A line with a line feed is a whole record and must survive.
        let end = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        kept = journal[..end].to_vec();
    }
    let arguments: &[&str] = if kept.is_empty() { &["run", "problem.json"] } else { &["resume", "long"] };
    let answer = world.ask(arguments);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(world.journal("long") == whole, "the journal differs from that of an undisturbed run");
    assert_eq!(world.ask(&["verify", "long"]).code, 0);
    assert_eq!(world.ask(&["doctor"]).code, 0);
}

const JOURNAL: &str = ".hence/runs/long/trace.ndjson";

/// Waits until the journal has that many bytes, or the command has ended.
fn wait_for_bytes(world: &World, child: &mut Child, bytes: u64) {
    for _ in 0..LOOKS_MAX {
        let length = std::fs::metadata(world.path(JOURNAL)).map_or(0, |metadata| metadata.len());
        if length > bytes || child.try_wait().unwrap().is_some() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("the journal did not grow to {bytes} bytes");
}

/// The next of a fixed sequence of numbers (xorshift).
const fn next(mut seed: u64) -> u64 {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^ (seed << 17)
}
