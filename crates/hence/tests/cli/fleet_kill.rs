//! Workers that are killed again and again: every run ends, and every effect happens once.
//!
//! `HENCE_FLEET_RUNS` and `HENCE_FLEET_WORKERS` change the numbers, `HENCE_FLEET_STORE` the store: a URL or an empty folder.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use hence_testkit::cli::World;

/// The steps of each run that act.
const STEPS: usize = 3;

/// The time between two kills.
const KILL_EVERY: Duration = Duration::from_millis(400);

/// The most kills before the test gives up.
const KILLS_MAX: usize = 2000;

/// Notes the key outside. A key that was noted before is known, as a service would know it.
const CAPABILITIES: &str = r#"
capabilities:
  act:
    description: Happens once for each key
    provider: {kind: command, command: [/bin/sh, -c, 'k=$(printf %s "$HENCE_IDEMPOTENCY_KEY" | tr / _); echo "$k" >> asked.log; mkdir "effects/$k" 2>/dev/null; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
"#;

fn skill() -> String {
    let step = |number: usize| {
        let after = if number == 0 { String::new() } else { format!("depends_on: [s{}], ", number - 1) };
        format!(
            "  - id: s{number}\n    uses: act\n    input: {{}}\n    output: {{ok: vars.s{number}}}\n    config: {{{after}recovery: retry}}\n"
        )
    };
    let steps: String = (0..STEPS).map(step).collect();
    format!("id: s\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{}}\noutputs: {{}}\nsteps:\n{steps}")
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

struct Fleet {
    world: World,
    store: String,
    workers: Vec<Child>,
    random: u64,
}

impl Fleet {
    fn ask(&self, words: &[&str]) -> hence_testkit::cli::Answer {
        self.world.ask(&[&["--store", &self.store], words].concat())
    }

    fn json(&self, words: &[&str]) -> Value {
        let answer = self.ask(&[words, &["--json"]].concat());
        serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{words:?}: {}", answer.stderr))
    }

    fn start_worker(&self) -> Child {
        let words = ["--store", &self.store, "worker", "--concurrency", "2", "--lease", "2", "-q"];
        self.world.untimed(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn kill_one(&mut self) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let index = usize::try_from(self.random).unwrap_or_default() % self.workers.len();
        let next = self.start_worker();
        let mut worker = std::mem::replace(&mut self.workers[index], next);
        worker.kill().unwrap();
        worker.wait().unwrap();
    }

    fn count(&self, state: &str) -> usize {
        let jobs = &self.json(&["fleet"])["queues"][0]["jobs"][state];
        usize::try_from(jobs.as_u64().unwrap_or_default()).unwrap()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

#[test]
fn workers_that_are_killed_lose_no_run_and_repeat_no_effect() {
    let (runs, workers) = (number("HENCE_FLEET_RUNS", 60), number("HENCE_FLEET_WORKERS", 4));
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill());
    std::fs::create_dir(world.path("effects")).unwrap();
    let store = std::env::var("HENCE_FLEET_STORE").unwrap_or_else(|_| ".hence".to_owned());
    let mut fleet = Fleet { world, store, workers: Vec::new(), random: 0x9e37_79b9_7f4a_7c15 };
    assert_eq!(fleet.ask(&["queue", "add", "default"]).code, 0);
    let submit = |fleet: &Fleet, run: usize| {
        let id = format!("run-{run}");
        let words = ["submit", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", &id];
        let answer = fleet.ask(&words);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    };
    fleet.workers = (0..workers).map(|_| fleet.start_worker()).collect();
    let fleet_ref = &fleet;
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || (part..runs).step_by(2).for_each(|run| submit(fleet_ref, run)));
        }
    });
    let mut kills = 0;
    while fleet.count("ended") < runs {
        assert!(kills < KILLS_MAX, "it takes too long: {}", fleet.world.cli(&["fleet"]));
        fleet.kill_one();
        kills += 1;
        // Somebody looks after runs that lost too many workers by chance.
        for job in fleet.json(&["queue", "jobs", "--state", "quarantined"])["jobs"].as_array().unwrap() {
            submit(&fleet, job["run"].as_str().unwrap()[4..].parse().unwrap());
        }
        std::thread::sleep(KILL_EVERY);
    }
    let effects = std::fs::read_dir(fleet.world.path("effects")).unwrap().count();
    assert_eq!(effects, runs * STEPS, "every effect happened once, under a key of its own");
    let asked = std::fs::read_to_string(fleet.world.path("asked.log")).unwrap().lines().count();
    assert!(asked >= effects, "{asked}");
    let verified = fleet.ask(&["verify", "--all", "--level", "spec"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    eprintln!("{runs} runs, {workers} workers, {kills} kills, {asked} calls for {effects} effects");
}
