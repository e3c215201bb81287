//! Workers that are killed again and again, in a folder and on a PostgreSQL server that restarts in the middle: every run ends,
//! every effect happens once, and the runs have the bytes they have where nothing is ever killed.
//!
//! Each run acts three times, once of them in a nested skill, which the workers share in the second test.
//!
//! `HENCE_FLEET_RUNS`, `HENCE_FLEET_WORKERS` and `HENCE_FLEET_KILL_MS` change the numbers, `HENCE_FLEET_SEED` the workers that are
//! killed. On PostgreSQL the test says at its end how long each part took.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hence_testkit::cli::{Answer, World};
use hence_testkit::postgres::Cluster;
use serde_json::Value;

/// The steps of each run that act.
const STEPS: usize = 3;

/// The most kills before the test gives up.
const KILLS_MAX: usize = 5000;

/// Notes the key outside. A key that was noted before is known, as a service would know it.
const CAPABILITIES: &str = r#"
capabilities:
  act:
    description: Happens once for each key
    provider: {kind: command, command: [/bin/sh, -c, 'k=$(printf %s "$HENCE_IDEMPOTENCY_KEY" | tr / _); echo "$k" >> asked.log; mkdir "effects/$k" 2>/dev/null; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
"#;

/// The files of a run that are the same whenever it is executed.
const DOCUMENTS: [&str; 5] =
    ["trace.ndjson", "problem.json", "skill.json", "capabilities.json", "skills.json"];

/// The exit code of a command whose store could not be reached.
const STORE_EXIT: i32 = 4;

/// The times that such a command is repeated.
const TRIES_MAX: usize = 100;

/// The most runs whose bundles are compared.
const BUNDLES_MAX: usize = 100;

/// The files of a bundle that say when something was measured: two executions of one run never have the same.
const MEASURED: [&str; 2] = ["calls.ndjson", "times.ndjson"];

const SKILL: &str = "
id: s
version: 1.0.0
name: N
description: D
inputs: {number: {type: integer}}
outputs: {}
skills: [inner.yaml]
steps:
  - {id: s0, uses: act, input: {}, output: {ok: vars.s0}, config: {recovery: retry}}
  - {id: s1, uses: 'skill:inner', input: {}, output: {}, config: {depends_on: [s0]}}
  - {id: s2, uses: act, input: {}, output: {ok: vars.s2}, config: {depends_on: [s1], recovery: retry}}
";

const INNER: &str = "
id: inner
version: 1.0.0
name: N
description: D
inputs: {}
outputs: {}
steps:
  - {id: act, uses: act, input: {}, output: {ok: vars.ok}, config: {recovery: retry}}
";

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn id(run: usize) -> String {
    format!("run-{run:05}")
}

/// Does something for each run, on two threads: the machines of tests have two cores.
fn for_each_run(runs: usize, work: impl Fn(usize) + Sync) {
    let work = &work;
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || (part..runs).step_by(2).for_each(work));
        }
    });
}

/// Whoever creates runs.
struct Submitter<'a> {
    world: &'a World,
    store: &'a str,
}

impl Submitter<'_> {
    fn create(&self, run: usize, command: &str) {
        let (id, input) = (id(run), format!("number={run}"));
        let document = ["--store", self.store, command, "skill.yaml", "--capabilities", "capabilities.yaml"];
        let more = ["--input", &input, "--run-id", &id, "--now", "2026-02-02T00:00:00Z"];
        let words = [&document[..], &more].concat();
        let mut answer = self.world.ask(&words);
        // A command says at once that the server is not there, or that the restart cut it off. It is repeated, which changes nothing
        // that was done.
        for _ in 0..TRIES_MAX {
            if answer.code != STORE_EXIT {
                break;
            }
            // The server takes some time to recover.
            std::thread::sleep(Duration::from_millis(500));
            answer = self.world.ask(&words);
        }
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }
}

/// Whoever kills workers. Which one is chosen depends on the seed alone.
struct Killer {
    workers: Vec<Child>,
    random: u64,
}

impl Killer {
    fn kill_one(&mut self, next: Child) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let count = u64::try_from(self.workers.len()).unwrap();
        let index = usize::try_from(self.random % count).unwrap();
        let mut worker = std::mem::replace(&mut self.workers[index], next);
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        stop(&mut self.workers);
    }
}

fn stop(workers: &mut Vec<Child>) {
    for mut worker in workers.drain(..) {
        let _ = worker.kill();
        let _ = worker.wait();
    }
}

/// A store, the world around it, and workers.
struct Fleet {
    world: World,
    store: String,
    /// Options of the workers.
    options: &'static [&'static str],
    workers: Vec<Child>,
    random: u64,
}

impl Fleet {
    fn new(store: &str, options: &'static [&'static str]) -> Self {
        let world = World::new();
        world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL).write("inner.yaml", INNER);
        std::fs::create_dir(world.path("effects")).unwrap();
        let seed = number("HENCE_FLEET_SEED", 1);
        let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::try_from(seed).unwrap() | 1);
        Self { world, store: store.to_owned(), options, workers: Vec::new(), random }
    }

    fn ask(&self, words: &[&str]) -> Answer {
        self.world.ask(&[&["--store", &self.store], words].concat())
    }

    fn json(&self, words: &[&str]) -> Value {
        let answer = self.ask(&[words, &["--json"]].concat());
        serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{words:?}: {}", answer.stderr))
    }

    fn start_worker(&self) -> Child {
        let words = ["--store", &self.store, "worker", "--concurrency", "2", "--lease", "2", "-q"];
        let words = [&words, self.options].concat();
        self.world.untimed(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Returns the number of jobs that are not settled, and the runs whose workers died too often by chance.
    fn unsettled(&self) -> (u64, Vec<String>) {
        let jobs = &self.json(&["fleet"])["queues"][0]["jobs"];
        let count = |state: &str| jobs[state].as_u64().unwrap_or_default();
        assert_eq!(count("cancelled"), 0, "{}", self.json(&["fleet"]));
        let stuck = match count("quarantined") + count("dead") {
            0 => Vec::new(),
            _ => self.json(&["queue", "jobs", "--state", "quarantined", "--state", "dead"])["jobs"]
                .as_array()
                .unwrap()
                .clone(),
        };
        // A run is dead for one reason only: workers died too often in the run that it nests.
        let is_expected = |job: &Value| {
            job["state"] == "quarantined" || job["note"].to_string().contains(" is quarantined")
        };
        assert!(stuck.iter().all(is_expected), "{stuck:?}");
        let runs = stuck.iter().map(|job| job["run"].as_str().unwrap().to_owned()).collect();
        let open = ["ready", "claimed", "parked", "quarantined", "dead"];
        (open.into_iter().map(count).sum(), runs)
    }

    /// Submits runs, and kills a worker again and again from the first submission on until every run has ended. `at_half` is done once,
    /// when half of the runs are submitted.
    fn drive_with_kills(&mut self, runs: usize, workers: usize, mut at_half: Option<impl FnOnce()>) -> usize {
        let every = Duration::from_millis(u64::try_from(number("HENCE_FLEET_KILL_MS", 400)).unwrap());
        self.workers = (0..workers).map(|_| self.start_worker()).collect();
        let (submitted, store) = (AtomicUsize::new(0), self.store.clone());
        let submitter = Submitter { world: &self.world, store: &store };
        // The workers are taken apart from the rest, which the threads that submit use too.
        let mut killer = Killer { workers: std::mem::take(&mut self.workers), random: self.random };
        let kills = std::thread::scope(|scope| {
            let (submitter, submitted) = (&submitter, &submitted);
            for part in 0..2 {
                scope.spawn(move || {
                    for run in (part..runs).step_by(2) {
                        submitter.create(run, "submit");
                        submitted.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            let mut kills = 0;
            loop {
                let done = submitted.load(Ordering::SeqCst);
                let (unsettled, stuck) = self.unsettled();
                if done == runs && unsettled == 0 {
                    return kills;
                }
                assert!(kills < KILLS_MAX, "it takes too long: {}", self.json(&["fleet"]));
                if done * 2 >= runs
                    && let Some(half) = at_half.take()
                {
                    half();
                }
                killer.kill_one(self.start_worker());
                kills += 1;
                // Somebody looks after runs that lost too many workers by chance.
                for run in stuck.iter().map(|run| run.split('/').next().unwrap()) {
                    submitter.create(run[4..].parse().unwrap(), "submit");
                }
                // The test is about workers that die at any moment; the pause lets them get somewhere.
                std::thread::sleep(every);
            }
        });
        self.workers = std::mem::take(&mut killer.workers);
        kills
    }

    /// Checks that every effect happened once, and returns the number of calls that were made for them.
    fn check_effects(&self, runs: usize) -> usize {
        let effects = std::fs::read_dir(self.world.path("effects")).unwrap().count();
        assert_eq!(effects, runs * STEPS, "every effect happened once, under a key of its own");
        let asked = std::fs::read_to_string(self.world.path("asked.log")).unwrap().lines().count();
        assert!(asked >= effects, "{asked}");
        asked
    }

    fn check_journals(&self, runs: usize) {
        let verified = self.ask(&["verify", "--all", "--level", "spec"]);
        assert_eq!(verified.code, 0, "{}", verified.stderr);
        let listed = self.json(&["runs", "--status", "completed", "--limit", "0"]);
        assert_eq!(
            listed["runs"].as_array().map(Vec::len),
            Some(runs * 2),
            "every run ended, and its nested run"
        );
    }

    /// Exports a run and its nested run from a store, and returns the files with their bytes.
    fn exported(&self, store: &str, run: usize) -> Vec<(String, Vec<u8>)> {
        let folder = self.world.path(format!("bundle-{run}"));
        let (id, nested, path) = (id(run), format!("{}/s1", id(run)), folder.display().to_string());
        let mut all = Vec::new();
        for id in [&id, &nested] {
            let answer = self.world.ask(&["--store", store, "export", id, &path]);
            assert_eq!(answer.code, 0, "{}", answer.stderr);
            all.extend(files(&folder));
            std::fs::remove_dir_all(&folder).unwrap();
        }
        all
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        stop(&mut self.workers);
    }
}

/// Returns the files of a bundle with their bytes. Of a manifest, the lines about measured files are left out.
fn files(bundle: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(bundle).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .filter(|(name, _)| !MEASURED.contains(&name.as_str()))
        .collect();
    files.sort();
    let manifest = files.iter_mut().find(|(name, _)| name == "bundle.json").unwrap();
    let mut value: Value = serde_json::from_slice(&manifest.1).unwrap();
    let is_same = |file: &Value| !MEASURED.contains(&file["path"].as_str().unwrap());
    value["files"].as_array_mut().unwrap().retain(is_same);
    manifest.1 = value.to_string().into_bytes();
    files
}

/// Returns the journals and documents in the folder of a store's runs, by path.
fn documents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for path in std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if DOCUMENTS.contains(&path.file_name().unwrap().to_str().unwrap()) {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn workers_that_are_killed_lose_no_run_and_repeat_no_effect() {
    let (runs, workers) = (number("HENCE_FLEET_RUNS", 60), number("HENCE_FLEET_WORKERS", 4));
    let mut fleet = Fleet::new(".hence", &[]);
    assert_eq!(fleet.ask(&["queue", "add", "default"]).code, 0);
    let kills = fleet.drive_with_kills(runs, workers, None::<fn()>);
    let asked = fleet.check_effects(runs);
    fleet.check_journals(runs);
    eprintln!("{runs} runs, {workers} workers, {kills} kills, {asked} calls for {} effects", runs * STEPS);
}

#[test]
fn on_a_server_that_restarts_killed_workers_leave_the_bytes_of_a_folder_where_nothing_happened() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let (runs, workers) = (number("HENCE_FLEET_RUNS", 40), number("HENCE_FLEET_WORKERS", 4));
    let start = Instant::now();
    let mut fleet = Fleet::new(&cluster.address("schema=killed"), &["--share-nested"]);
    assert_eq!(fleet.ask(&["store", "migrate"]).code, 0);
    let kills = fleet.drive_with_kills(runs, workers, Some(|| cluster.restart_immediately()));
    let driven = start.elapsed();
    let asked = fleet.check_effects(runs);
    fleet.check_journals(runs);

    // The same runs once more, in the same world because capabilities name their folder, in a store where nothing is killed or shared.
    stop(&mut fleet.workers);
    let hosted = std::mem::replace(&mut fleet.store, ".hence".to_owned());
    std::fs::remove_dir_all(fleet.world.path("effects")).unwrap();
    std::fs::create_dir(fleet.world.path("effects")).unwrap();
    std::fs::remove_file(fleet.world.path("asked.log")).unwrap();
    let calm = Submitter { world: &fleet.world, store: ".hence" };
    for_each_run(runs, |run| calm.create(run, "run"));
    assert_eq!(fleet.check_effects(runs), runs * STEPS, "where nothing is killed nothing is called twice");
    // Every journal and every document, and the bundles of a hundred runs: an export is a process of its own.
    let copied = fleet.world.ask(&["store", "copy", &hosted, "copied"]);
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    let (one, other) =
        (documents(&fleet.world.path("copied/runs")), documents(&fleet.world.path(".hence/runs")));
    assert_eq!(one.len(), runs * 2 * DOCUMENTS.len());
    assert!(
        one == other,
        "{:?}",
        one.iter().zip(&other).find(|(one, other)| one != other).map(|(one, _)| one.0.clone())
    );
    let bundles = runs.min(BUNDLES_MAX);
    for_each_run(bundles, |run| {
        let run = run * runs / bundles;
        assert!(fleet.exported(&hosted, run) == fleet.exported(".hence", run), "{}", id(run));
    });
    let driven = driven.as_secs();
    eprintln!(
        "{runs} runs submitted and driven in {driven} s by {workers} workers with {kills} kills and one restart of \
         the server, {asked} calls for {} effects; {} documents and {bundles} bundles equal those of a folder",
        runs * STEPS,
        one.len()
    );
}
