//! The queue and workers: submitting, driving, parking, waking, cancelling, and what is refused.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};

use hence_fleet::JobQueue as _;
use serde_json::Value;

use hence_testkit::cli::World;

const CAPABILITIES: &str = r#"
capabilities:
  pay:
    description: Notes the key it was called with
    provider: {kind: command, command: [/bin/sh, -c, 'echo "$HENCE_IDEMPOTENCY_KEY" >> paid.log; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
  secretive:
    description: Needs a secret
    provider: {kind: command, command: [/bin/echo, '{}'], secret_environment: {TOKEN: {$secret: TOKEN}}}
secrets:
  TOKEN: {environment: FLEET_TOKEN}
"#;

fn skill(id: &str, steps: &str) -> String {
    format!("id: {id}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{}}\noutputs: {{}}\nsteps:\n{steps}")
}

const PAYING: &str = "
  - id: pay
    uses: pay
    input: {}
    output: {ok: vars.ok}
    config: {recovery: retry}
";

const ASKING: &str = "
  - id: ask
    uses: human.ask
    input: {question: Go?, type: boolean}
    output: {value: vars.go}
  - id: pay
    uses: pay
    input: {}
    output: {ok: vars.ok}
    config: {depends_on: [ask], recovery: retry}
";

fn world(steps: &str) -> World {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill("s", steps));
    world
}

const SKILL: [&str; 3] = ["skill.yaml", "--capabilities", "capabilities.yaml"];

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {}", answer.stderr))
}

fn submit(world: &World, words: &[&str]) -> Value {
    json(world, &[&["submit"], &SKILL[..], words].concat())
}

fn drive(world: &World) -> Value {
    json(world, &["worker", "--until-idle", "--quiet", "--lease", "5"])
}

fn state_of(world: &World, run: &str) -> String {
    json(world, &["why", run])["job"]["state"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_submitted_run_is_driven_by_a_worker_and_ends_as_if_it_had_been_run() {
    let world = world(PAYING);
    let submitted = submit(&world, &["--run-id", "r"]);
    assert_eq!((submitted["run"].as_str(), submitted["outcome"].as_str()), (Some("r"), Some("queued")));
    assert_eq!(state_of(&world, "r"), "ready");
    assert!(!world.path("paid.log").exists(), "nothing runs before a worker claims it");
    let done = drive(&world);
    assert_eq!((done["drives"].as_u64(), done["ended"].as_u64()), (Some(1), Some(1)));
    assert_eq!(state_of(&world, "r"), "ended");
    assert_eq!(world.read("paid.log").iter().filter(|byte| **byte == b'\n').count(), 1);
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
    assert_eq!(world.ask(&["replay", "r"]).code, 0);
}

#[test]
fn submitting_again_changes_nothing() {
    let world = world(PAYING);
    let key = ["--key", "order-7"];
    assert_eq!(submit(&world, &key)["run"], "key-order-7");
    assert_eq!(submit(&world, &key)["outcome"], "already_queued");
    drive(&world);
    assert_eq!(submit(&world, &key)["outcome"], "already_ended");
    assert_eq!(drive(&world)["drives"], 0);
    assert_eq!(world.read("paid.log").iter().filter(|byte| **byte == b'\n').count(), 1);
    world.write("skill.yaml", skill("s", ASKING));
    let other = world.ask(&[&["submit"], &SKILL[..], &key].concat());
    assert!(other.stderr.contains("error[E0204]"), "another document under the same key: {}", other.stderr);
}

#[test]
fn a_run_that_was_created_without_a_job_is_queued_by_the_next_submission() {
    let world = world(PAYING);
    submit(&world, &["--run-id", "r"]);
    // As after a crash between the two: the run is there, and no queue names it.
    std::fs::remove_dir_all(world.path(".hence/queue")).unwrap();
    assert_eq!(submit(&world, &["--run-id", "r"])["outcome"], "queued");
    assert_eq!(drive(&world)["ended"], 1);
}

#[test]
fn a_run_that_waits_for_a_person_is_parked_and_its_answer_wakes_it() {
    let world = world(ASKING);
    submit(&world, &["--run-id", "r"]);
    let done = drive(&world);
    assert_eq!((done["parked"].as_u64(), done["ended"].as_u64()), (Some(1), Some(0)));
    let why = json(&world, &["why", "r"]);
    assert_eq!(why["standing"], "waiting");
    assert_eq!(why["job"]["says"], "it waits for a person: step ask");
    let fleet = json(&world, &["fleet"]);
    assert_eq!(fleet["stuck"][0]["reason"], "waits for a person: step ask");
    assert_eq!(drive(&world)["drives"], 0, "nobody drives what waits");
    let answer = world.ask(&["answer", "r", "ask", "--value", "yes"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(state_of(&world, "r"), "ready");
    assert_eq!(drive(&world)["ended"], 1);
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
}

#[test]
fn priorities_pauses_and_times_decide_what_is_driven_first() {
    let world = world(PAYING);
    world.ask(&["queue", "add", "night"]);
    submit(&world, &["--run-id", "low", "--priority", "-1"]);
    submit(&world, &["--run-id", "high", "--priority", "5"]);
    submit(&world, &["--run-id", "late", "--at", "1h"]);
    submit(&world, &["--run-id", "dark", "--queue", "night"]);
    assert_eq!(world.ask(&["queue", "pause", "night"]).code, 0);
    let first = world.ask(&["worker", "--once", "--log", "json"]);
    assert!(
        first.stderr.contains(r#""event":"ended","reason":"completed","run":"high""#),
        "{}",
        first.stderr
    );
    drive(&world);
    let states = ["low", "high", "late", "dark"].map(|run| state_of(&world, run));
    assert_eq!(states, ["ended", "ended", "ready", "ready"]);
    assert_eq!(world.ask(&["queue", "resume", "night"]).code, 0);
    assert_eq!(json(&world, &["worker", "--until-idle", "--queue", "default", "-q"])["drives"], 0);
    assert_eq!(drive(&world)["ended"], 1);
}

#[test]
fn limits_are_set_shown_and_removed() {
    let world = world(PAYING);
    world.ask(&["init"]);
    let limited = json(&world, &["queue", "limit", "default", "--concurrency", "2", "--rate", "100/1m"]);
    assert_eq!(
        (limited["queues"][0]["concurrency"].as_u64(), limited["queues"][0]["spacing_ms"].as_u64()),
        (Some(2), Some(600))
    );
    let groups = json(&world, &["queue", "limit", "default", "--each-group", "--concurrency", "1"]);
    assert_eq!(groups["queues"][0]["group_concurrency"], 1);
    let capability = json(&world, &["queue", "limit", "--capability", "pay", "--concurrency", "1"]);
    assert_eq!(capability["capabilities"][0]["capability"], "pay");
    let removed = json(&world, &["queue", "limit", "default"]);
    assert_eq!(removed["queues"][0]["concurrency"], Value::Null);
    submit(&world, &["--run-id", "r", "--group", "ada"]);
    assert_eq!(drive(&world)["ended"], 1);
    let refused = world.ask(&["queue", "limit", "default", "--concurrency", "0"]);
    assert!(
        refused.stderr.contains("error[E0902]: the concurrency is 0, expected at least 1"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_cancelled_run_keeps_its_records_and_can_be_submitted_again() {
    let world = world(PAYING);
    submit(&world, &["--run-id", "r"]);
    assert_eq!(json(&world, &["cancel", "r"])["outcome"], "cancelled");
    assert_eq!(drive(&world)["drives"], 0);
    assert_eq!(world.ask(&["cancel", "r"]).code, 1, "nothing is left to cancel");
    assert_eq!(submit(&world, &["--run-id", "r"])["outcome"], "queued_again");
    assert_eq!(drive(&world)["ended"], 1);
    let never = World::with_run("by-hand").ask(&["cancel", "by-hand"]);
    assert!(never.stderr.contains("error[E0902]: run by-hand is in no queue"), "{}", never.stderr);
}

#[test]
fn a_worker_without_the_secret_leaves_the_run_to_another() {
    let secretive = "\n  - id: one\n    uses: secretive\n    input: {}\n";
    let world = world(secretive).env("FLEET_TOKEN", "token-of-the-fleet");
    submit(&world, &["--run-id", "r"]);
    let mut poor = world.untimed(&["worker", "--until-idle", "--name", "poor", "-q"]);
    assert!(poor.env_remove("FLEET_TOKEN").output().unwrap().status.success());
    let job = &json(&world, &["why", "r"])["job"];
    assert_eq!(job["state"], "ready");
    assert!(job["declined"][0].as_str().unwrap().starts_with("poor: E0322"), "{job}");
    drive(&world);
    assert_eq!(state_of(&world, "r"), "ended", "a worker that has it drives it");
}

#[test]
fn a_worker_without_the_pinned_skill_or_capabilities_leaves_the_run_to_another() {
    for (document, reason) in [("skill.json", "old: E0"), ("capabilities.json", "old: E0")] {
        let world = world(PAYING);
        submit(&world, &["--run-id", "r"]);
        // As for a worker of a version that does not have what the run pins.
        let (stored, hidden) = (format!(".hence/runs/r/{document}"), world.path("hidden"));
        std::fs::rename(world.path(&stored), &hidden).unwrap();
        let old = world.ask(&["worker", "--until-idle", "--name", "old", "-q"]);
        assert_eq!(old.code, 0, "{}", old.stderr);
        let job = json(&world, &["why", "r"])["job"].clone();
        assert_eq!(job["state"], "ready", "{document}: {job}");
        assert!(job["declined"][0].as_str().unwrap().starts_with(reason), "{document}: {job}");
        assert!(world.cli(&["why", "r"]).contains("declined  old: "), "{document}");
        let stuck = json(&world, &["fleet"])["stuck"].clone();
        assert_eq!(stuck[0]["run"], "r", "{document}: {stuck}");
        std::fs::rename(&hidden, world.path(&stored)).unwrap();
        assert_eq!(
            json(&world, &["worker", "--until-idle", "--name", "new", "-q"])["ended"],
            1,
            "{document}"
        );
        assert_eq!(state_of(&world, "r"), "ended", "{document}");
    }
}

#[test]
fn a_queue_that_does_not_exist_is_refused_before_a_run_is_created() {
    let world = world(PAYING);
    world.ask(&["queue", "add", "night"]);
    let refused = world.ask(&[&["submit"], &SKILL[..], &["--queue", "nigth", "--run-id", "r"]].concat());
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("error[E0901]: there is no queue nigth"), "{}", refused.stderr);
    assert!(!world.path(".hence/runs/r").exists());
    let worker = world.ask(&["worker", "--queue", "nigth"]);
    assert!(worker.stderr.contains("error[E0901]"), "{}", worker.stderr);
    for words in [&["--at", "soon"][..], &["--journal", "x"], &["--deadline", "3"]] {
        let refused = world.ask(&[&["submit"], &SKILL[..], words].concat());
        assert_eq!(refused.code, 2, "{words:?}: {}", refused.stderr);
    }
}

/// A worker that serves until it is told to end, with the lines it says.
struct Serving {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl Serving {
    fn start(world: &World, words: &[&str]) -> Self {
        let mut child = world.untimed(&[&["worker"], words].concat()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// Waits for a line that contains a text.
    fn hear(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.said.read_line(&mut line).unwrap(),
                0,
                "the worker ended before it said {text:?}"
            );
            if line.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn two_workers_never_have_one_name_and_a_signal_ends_one_in_good_order() {
    let world = world(PAYING);
    world.ask(&["init"]);
    let mut one = Serving::start(&world, &["--name", "w"]);
    one.hear("registered");
    let two = world.ask(&["worker", "--name", "w"]);
    assert_eq!(two.code, 2);
    assert!(two.stderr.contains("error[E0904]: a worker named w is alive: process "), "{}", two.stderr);
    submit(&world, &["--run-id", "r"]);
    one.hear("ended: run r");
    let killed = std::process::Command::new("kill").args(["-TERM", &one.child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    one.hear("draining");
    assert!(one.child.wait().unwrap().success());
    assert_eq!(json(&world, &["fleet"])["workers"], Value::Array(Vec::new()), "it left");
}

#[test]
fn a_worker_tells_its_figures_and_its_health() {
    let world = world(PAYING);
    submit(&world, &["--run-id", "r"]);
    let mut worker = Serving::start(&world, &["--metrics", "127.0.0.1:0"]);
    let line = worker.hear("metrics at http://");
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    worker.hear("ended: run r");
    let ask = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(format!("{path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let metrics = ask("GET /metrics");
    for line in [
        "hence_worker_drives_total{end=\"ended\"} 1",
        "hence_worker_claim_lag_seconds_count 1",
        "hence_queue_jobs{queue=\"default\",state=\"ended\"} 1",
        "hence_queue_lag_seconds{queue=\"default\"} 0.000",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    assert!(ask("GET /health").starts_with("HTTP/1.1 200 OK"));
    assert!(ask("GET /elsewhere").starts_with("HTTP/1.1 404"));
    assert!(ask("POST /metrics").starts_with("HTTP/1.1 405"));
}

const WAITING: &str = "
  - id: pause
    uses: wait.for
    input: {seconds: 1}
    output: {value: vars.at}
  - id: pay
    uses: pay
    input: {}
    output: {ok: vars.ok}
    config: {depends_on: [pause], recovery: retry}
";

#[test]
fn a_timer_is_parked_by_a_worker_and_waited_for_by_a_run_until_the_same_time() {
    let world = world(WAITING);
    submit(&world, &["--run-id", "r"]);
    assert_eq!(drive(&world)["parked"], 1);
    let why = json(&world, &["why", "r"]);
    assert_eq!(
        (why["job"]["state"].as_str(), why["waiting"][0]["about"].as_str()),
        (Some("parked"), Some("timer"))
    );
    let due = why["waiting"][0]["question"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    // A person who resumes it waits for the time that the worker found, not for another second.
    let resumed = world.ask(&["resume", "r"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let shown = json(&world, &["show", "r", "pause"]).to_string();
    assert!(shown.contains(&due) && shown.contains("clock"), "{due}: {shown}");
    assert_eq!(drive(&world)["ended"], 1, "the worker finds it ended");
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
    assert_eq!(world.ask(&["replay", "r"]).code, 0);
}

#[test]
fn a_run_that_is_killed_while_it_waits_for_a_timer_waits_for_the_same_time() {
    let world = world(&WAITING.replace("seconds: 1}", "seconds: 3600}"));
    let words = ["run", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r"];
    let mut child = world.untimed(&words).spawn().unwrap();
    let asked = |world: &World| {
        let log = std::fs::read_to_string(world.path(".hence/runs/r/calls.ndjson")).unwrap_or_default();
        log.lines().find(|line| line.contains(r#""kind":"question""#)).map(str::to_owned)
    };
    let first = loop {
        if let Some(line) = asked(&world) {
            break line;
        }
        assert!(child.try_wait().unwrap().is_none(), "it waits");
        std::thread::yield_now();
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let mut again = world.untimed(&["resume", "r"]).spawn().unwrap();
    let mut said = BufReader::new(again.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("waits until") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0);
    }
    again.kill().unwrap();
    again.wait().unwrap();
    let due = line.trim().rsplit(' ').next().unwrap();
    assert!(first.contains(due), "{first}\n{line}");
}

#[test]
fn a_schedule_submits_runs_of_the_documents_that_were_pinned() {
    let world = world(PAYING);
    let words = [&["queue", "schedule", "yearly", "@yearly"], &SKILL[..], &["--run-id", "template"]].concat();
    let made = json(&world, &words);
    assert_eq!(made["schedules"][0]["template"], "template");
    // The skill changes; the schedule does not.
    world.write("skill.yaml", skill("other", ASKING));
    assert_eq!(drive(&world)["drives"], 0, "it is not due");
    // Nobody waits for the new year: the stored time becomes one that has passed.
    let queue = hence_fleet::FolderQueue::at(world.path(".hence/queue"));
    let mut schedule = queue.schedules().unwrap().remove(0);
    schedule.next_at = Some(hence_fleet::Time::from_millis(1_609_459_200_000));
    queue.put_schedule(&schedule).unwrap();
    let mut worker = Serving::start(&world, &["--lease", "5"]);
    let line = worker.hear("ended: run yearly-");
    assert!(line.contains("-01-01T00:00:00Z"), "{line}");
    drop(worker);
    assert_eq!(queue.schedules().unwrap()[0].note, None);
    let runs = json(&world, &["runs"]);
    let ids: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().filter_map(|run| run["run"].as_str()).collect();
    let fired: Vec<&&str> = ids.iter().filter(|id| id.starts_with("yearly-")).collect();
    assert_eq!(fired.len(), 1, "of the times that were missed only the last gets a run: {ids:?}");
    assert_eq!(world.ask(&["verify", fired[0]]).code, 0);
    assert_eq!(json(&world, &["queue", "unschedule", "yearly"])["schedules"], Value::Array(Vec::new()));
}

/// Makes a schedule due: nobody waits for the new year, so its stored time becomes one that has passed.
fn make_due(world: &World) -> hence_fleet::FolderQueue {
    let queue = hence_fleet::FolderQueue::at(world.path(".hence/queue"));
    let mut schedule = queue.schedules().unwrap().remove(0);
    schedule.next_at = Some(hence_fleet::Time::from_millis(1_609_459_200_000));
    queue.put_schedule(&schedule).unwrap();
    queue
}

#[test]
fn a_problem_is_scheduled_like_a_skill() {
    let world = World::new();
    world.write("problem.json", hence_testkit::cli::problem("p").to_string());
    let words = ["queue", "schedule", "yearly", "@yearly", "problem.json", "--run-id", "template"];
    assert_eq!(json(&world, &words)["schedules"][0]["template"], "template");
    let queue = make_due(&world);
    let mut worker = Serving::start(&world, &["--lease", "5"]);
    let line = worker.hear("ended: run yearly-");
    drop(worker);
    assert_eq!(queue.schedules().unwrap()[0].note, None);
    let runs = json(&world, &["runs"]);
    let mut ids = runs["runs"].as_array().unwrap().iter().filter_map(|run| run["run"].as_str());
    let id = ids.find(|id| id.starts_with("yearly-")).expect("a run of the schedule");
    assert_eq!(world.ask(&["verify", id]).code, 0, "{line}");
    assert_eq!(world.ask(&["replay", id]).code, 0, "{line}");
}

#[test]
fn a_schedule_whose_template_is_gone_is_tried_again_ever_more_rarely_and_named() {
    let world = world(PAYING);
    let words = [&["queue", "schedule", "yearly", "@yearly"], &SKILL[..], &["--run-id", "template"]].concat();
    assert_eq!(world.ask(&words).code, 0);
    assert_eq!(world.ask(&["rm", "template", "--yes"]).code, 0);
    let queue = make_due(&world);
    let worker = Serving::start(&world, &["--lease", "5"]);
    let start = std::time::Instant::now();
    let schedule = loop {
        let schedule = queue.schedules().unwrap().remove(0);
        if schedule.failures > 0 {
            break schedule;
        }
        assert!(start.elapsed().as_secs() < 60, "the worker does not fire it");
        // A worker looks at schedules once a second and says nothing about them.
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    drop(worker);
    assert!(schedule.retry_at.unwrap() > schedule.next_at.unwrap());
    let fleet = json(&world, &["fleet"]);
    let failing = &fleet["failing_schedules"][0];
    assert_eq!(
        (failing["schedule"].as_str(), failing["failures"].as_u64()),
        (Some("yearly"), Some(schedule.failures.into()))
    );
    assert!(failing["reason"].as_str().unwrap().contains("template"), "{failing}");
    assert!(world.cli(&["fleet"]).contains("yearly"), "people see it too");
    let listed = json(&world, &["queue", "schedules"]);
    assert!(listed["schedules"][0]["retry_at"].is_string(), "{listed}");
}

#[test]
fn only_the_clock_ends_a_timer() {
    let waiting = "\n  - id: rest\n    uses: wait.for\n    input: {seconds: 3600}\n";
    let world = world(waiting);
    submit(&world, &["--run-id", "r"]);
    assert_eq!(drive(&world)["parked"], 1);
    let before = world.journal("r");
    let refused = world.ask(&["answer", "r", "rest", "--value", "yes"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("error[E0305]: run r: step rest waits until "), "{}", refused.stderr);
    for words in [&["--value", "yes"][..], &["--done", "{}"], &["--retry"], &["--fail"]] {
        let refused = world.ask(&[&["answer", "r", "rest"], words].concat());
        assert!(refused.stderr.contains("only the clock ends it"), "{words:?}: {}", refused.stderr);
    }
    assert_eq!(state_of(&world, "r"), "parked");
    assert_eq!(world.journal("r"), before);
}

#[test]
fn a_schedule_that_cannot_be_is_refused() {
    let world = world(PAYING);
    let refused = world.ask(&[&["queue", "schedule", "x", "61 2 * * *"], &SKILL[..]].concat());
    assert!(refused.stderr.contains("error[E0905]: the field minute is"), "{}", refused.stderr);
    let zone =
        world.ask(&[&["queue", "schedule", "x", "@daily"], &SKILL[..], &["--zone", "Mars/Base"]].concat());
    assert!(zone.stderr.contains("error[E0905]: there is no time zone \"Mars/Base\""), "{}", zone.stderr);
    assert!(
        !world.path(".hence/runs").exists()
            || std::fs::read_dir(world.path(".hence/runs")).unwrap().count() == 0
    );
}

#[test]
fn a_change_that_a_crash_tore_is_cut_off_and_said() {
    let world = world(PAYING);
    submit(&world, &["--run-id", "r"]);
    let log = world.path(".hence/queue/log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes.extend_from_slice(b"0123456789abcdef [{\"job\":");
    std::fs::write(&log, bytes).unwrap();
    assert_eq!(state_of(&world, "r"), "ready", "a reader is not disturbed");
    let again = world.ask(&[&["submit"], &SKILL[..], &["--run-id", "other"]].concat());
    assert!(again.stderr.contains("25 bytes of an unfinished change were cut off"), "{}", again.stderr);
    assert_eq!(drive(&world)["ended"], 2);
}
