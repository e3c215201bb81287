//! The examples, killed again and again: resumed, they end in the bytes of an uninterrupted run.

use std::path::{Path, PathBuf};
use std::process::Command;

use hence_testkit::cli::World;

/// The number of times runs are killed in all; `HENCE_KILLS` raises it.
const KILLS: u64 = 200;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the words of the first run in an example's README.
fn words(readme: &str) -> Vec<String> {
    let text = readme.replace("\\\n", " ");
    let line = text.lines().map(str::trim).find(|line| line.starts_with("hence run ")).unwrap();
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quoted) = (String::new(), false);
    for c in line.split(" #").next().unwrap().chars().chain([' ']) {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            c => word.push(c),
        }
    }
    words.remove(0);
    if let Some(at) = words.iter().position(|word| word == "--run-id") {
        words.drain(at..at + 2);
    }
    words.extend(["--run-id", "example", "--now", "2026-02-02T00:00:00Z"].map(str::to_owned));
    words
}

/// The examples that run on their own, each with the command its README gives.
fn examples() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("examples/skills")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(readme) = std::fs::read_to_string(path.join("README.md")) else { continue };
        found.push((path.file_name().unwrap().to_str().unwrap().to_owned(), words(&readme)));
    }
    found.sort();
    assert!(found.len() >= 2);
    found
}

fn command(store: &Path, words: &[&str]) -> Command {
    let mut command = World::new().command(words);
    command.current_dir(root()).arg("--store").arg(store);
    command
}

fn journal(store: &Path) -> Vec<u8> {
    std::fs::read(store.join("runs/example/trace.ndjson")).unwrap_or_default()
}

#[test]
fn every_example_killed_anywhere_resumes_to_the_bytes_of_an_uninterrupted_run() {
    let kills = std::env::var("HENCE_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(KILLS);
    let examples = examples();
    let each = kills.div_ceil(examples.len() as u64);
    std::thread::scope(|scope| {
        for (seed, (name, words)) in (1..).zip(&examples) {
            scope.spawn(move || kill_again_and_again(name, words, each, seed));
        }
    });
}

fn kill_again_and_again(name: &str, words: &[String], kills: u64, seed: u64) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = folder.path().join("undisturbed");
    let output = command(&undisturbed, &words).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let whole = journal(&undisturbed);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed);
    for kill in 0..kills {
        let store = folder.path().join(format!("store-{kill}"));
        let mut child = command(&store, &words).spawn().unwrap();
        random = next(random);
        // At any byte of the journal, including the first, and a random time after it.
        let bytes = random % (whole.len() as u64 + 1);
        while (journal_bytes(&store) < bytes) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        for _ in 0..random >> 54 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(whole.starts_with(&journal(&store)), "{name}: kill {kill} left other bytes");
        let resumed = command(&store, &words).output().unwrap();
        assert!(
            resumed.status.success(),
            "{name}: kill {kill}: {}",
            String::from_utf8_lossy(&resumed.stderr)
        );
        assert!(journal(&store) == whole, "{name}: kill {kill}");
        std::fs::remove_dir_all(&store).unwrap();
    }
}

fn journal_bytes(store: &Path) -> u64 {
    std::fs::metadata(store.join("runs/example/trace.ndjson")).map_or(0, |found| found.len())
}

/// The next of a fixed sequence of numbers (xorshift).
const fn next(mut seed: u64) -> u64 {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^ (seed << 17)
}
