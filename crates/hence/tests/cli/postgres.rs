//! The command line on a PostgreSQL store: the same answers and the same bytes as on a folder, and clear refusals.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use hence_testkit::cli::{Answer, World, problem};
use hence_testkit::postgres::Cluster;
use serde_json::Value;

const CAPABILITIES: &str = r#"
capabilities:
  pay:
    description: Notes the key it was called with
    provider: {kind: command, command: [/bin/sh, -c, 'echo "$HENCE_IDEMPOTENCY_KEY" >> paid.log; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
"#;

const ASKING: &str = "
id: s
version: 1.0.0
name: N
description: D
inputs: {}
outputs: {}
steps:
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

const SKILL: [&str; 3] = ["skill.yaml", "--capabilities", "capabilities.yaml"];
const NOW: [&str; 2] = ["--now", "2026-02-02T00:00:00Z"];

/// A world whose store is a schema of the shared server.
struct Hosted {
    world: World,
    address: String,
    schema: String,
}

impl Hosted {
    /// Makes a store without tables; `None` where there is no PostgreSQL.
    fn empty() -> Option<(&'static Cluster, Self)> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let cluster = Cluster::shared()?;
        let schema = format!("cli_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let address = cluster.address(&format!("schema={schema}"));
        let world = World::new();
        world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", ASKING);
        Some((cluster, Self { world, address, schema }))
    }

    fn new() -> Option<(&'static Cluster, Self)> {
        let (cluster, hosted) = Self::empty()?;
        assert_eq!(hosted.ask(&["store", "migrate"]).code, 0);
        Some((cluster, hosted))
    }

    fn ask(&self, words: &[&str]) -> Answer {
        self.world.ask(&[&["--store", &self.address], words].concat())
    }

    fn json(&self, words: &[&str]) -> Value {
        let answer = self.ask(&[words, &["--json"]].concat());
        serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{words:?}: {}", answer.stderr))
    }

    fn drive(&self) -> Value {
        self.json(&["worker", "--until-idle", "--quiet", "--lease", "5"])
    }

    fn state_of(&self, run: &str) -> Value {
        self.json(&["why", run])["job"]["state"].clone()
    }

    /// Returns the address for another role.
    fn address_as(&self, role: &str) -> String {
        self.address.replacen("postgres@", &format!("{role}@"), 1)
    }

    /// Asks as another role.
    fn ask_as(&self, role: &str, words: &[&str]) -> Answer {
        self.world.ask(&[&["--store", &self.address_as(role)], words].concat())
    }

    /// Starts a worker and waits until it has registered.
    fn serving(&self, words: &[&str]) -> Serving {
        let words = [&["--store", &self.address, "worker", "--lease", "5"], words].concat();
        let mut child = self.world.untimed(&words).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut serving = Serving { child, said };
        serving.hear("registered");
        serving
    }
}

/// A worker that serves until the end of a test.
struct Serving {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl Serving {
    /// Waits for a line that contains a text.
    fn hear(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "it ended before it said {text:?}");
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_has_the_same_answers_and_bytes_as_on_a_folder() {
    let Some((_, hosted)) = Hosted::new() else { return };
    let folder = World::with_run("one");
    hosted.world.write("problem.json", problem("one").to_string());
    assert_eq!(hosted.ask(&["run", "problem.json"]).code, 0);
    for words in [
        &["log", "one"][..],
        &["show", "one", "3"],
        &["state", "one"],
        &["why", "one"],
        &["verify", "one"],
        &["replay", "one"],
    ] {
        let one = hosted.world.cli(&[&["--store", &hosted.address], words].concat());
        // Advice names the store, and so does the place of the journal.
        let shown = |text: &str| {
            let lines = text.lines().filter(|line| {
                !line.contains(".hence/") && !line.contains("postgres://") && !line.starts_with("next ")
            });
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(shown(&one), shown(&folder.cli(words)), "{words:?}");
    }
    let dir = hosted.world.path("bundle");
    assert_eq!(hosted.ask(&["export", "one", &dir.display().to_string()]).code, 0);
    assert_eq!(hosted.world.read("bundle/trace.ndjson"), folder.journal("one"));
}

#[test]
fn a_question_is_answered_and_the_run_resumed() {
    let Some((_, hosted)) = Hosted::new() else { return };
    let run = [&["run"], &SKILL[..], &["--run-id", "r"], &NOW].concat();
    assert_eq!(hosted.ask(&run).code, 3, "it waits");
    assert_eq!(hosted.json(&["why", "r"])["standing"], "waiting");
    let answer = hosted.ask(&["answer", "r", "ask", "--value", "yes"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(hosted.ask(&["resume", "r"]).code, 0);
    assert_eq!(hosted.ask(&["verify", "r"]).code, 0);
    assert_eq!(hosted.world.read("paid.log").iter().filter(|byte| **byte == b'\n').count(), 1);
}

#[test]
fn a_store_is_copied_to_the_database_and_back_without_a_changed_byte() {
    let Some((_, hosted)) = Hosted::new() else { return };
    hosted.world.run_problem(&problem("one"));
    hosted.world.run_problem(&problem("two"));
    let there = hosted.world.ask(&["store", "copy", ".hence", &hosted.address, "--json"]);
    assert_eq!((there.code, &there.json()["copied"]), (0, &2.into()), "{}", there.stderr);
    let back = hosted.world.ask(&["store", "copy", &hosted.address, "back"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    for run in ["one", "two"] {
        assert_eq!(hosted.world.read(&format!("back/runs/{run}/trace.ndjson")), hosted.world.journal(run));
    }
    assert_eq!(hosted.ask(&["store", "verify"]).code, 0);
    assert_eq!(hosted.ask(&["doctor"]).code, 0);
}

#[test]
fn a_submitted_run_is_parked_woken_and_ended_by_workers() {
    let Some((_, hosted)) = Hosted::new() else { return };
    let submit = [&["submit"], &SKILL[..], &["--run-id", "r"], &NOW].concat();
    assert_eq!(hosted.json(&submit)["outcome"], "queued");
    assert_eq!(hosted.json(&submit)["outcome"], "already_queued");
    let mut worker = hosted.serving(&["--name", "w"]);
    worker.hear("parked: run r");
    assert_eq!(hosted.json(&["why", "r"])["job"]["says"], "it waits for a person: step ask");
    assert_eq!(hosted.ask(&["answer", "r", "ask", "--value", "yes"]).code, 0);
    worker.hear("ended: run r");
    assert_eq!(hosted.state_of("r"), "ended");
    assert_eq!(hosted.json(&["fleet"])["queues"][0]["jobs"]["ended"], 1);
    assert_eq!(hosted.ask(&["verify", "r"]).code, 0);
}

#[test]
fn a_cancelled_run_keeps_its_records_and_limits_are_obeyed() {
    let Some((_, hosted)) = Hosted::new() else { return };
    let submit = |id: &str| [&["submit"], &SKILL[..], &["--run-id", id], &NOW].concat().join(" ");
    for id in ["a", "b"] {
        let words = submit(id);
        assert_eq!(hosted.ask(&words.split(' ').collect::<Vec<_>>()).code, 0);
    }
    assert_eq!(hosted.json(&["cancel", "b"])["outcome"], "cancelled");
    assert_eq!(hosted.ask(&["queue", "pause", "default"]).code, 0);
    assert_eq!(hosted.drive()["drives"], 0, "a paused queue is left alone");
    assert_eq!(hosted.ask(&["queue", "resume", "default"]).code, 0);
    let limited = hosted.json(&["queue", "limit", "default", "--concurrency", "1"]);
    assert_eq!(limited["queues"][0]["concurrency"], 1);
    assert_eq!(hosted.drive()["parked"], 1);
    assert_eq!((hosted.state_of("a"), hosted.state_of("b")), ("parked".into(), "cancelled".into()));
    assert_eq!(hosted.ask(&["resume", "b"]).code, 3, "its records are there");
}

#[test]
fn a_wrong_password_is_refused_and_never_shown() {
    let Some((cluster, hosted)) = Hosted::new() else { return };
    // The name is the one that the rules of the test server ask for a password.
    cluster.sql("create role with_password login password 'right' in role hence_writer");
    let wrong = hosted.ask_as("with_password:s3cret", &["runs"]);
    assert_eq!(wrong.code, 4);
    assert!(wrong.stderr.contains("error[E0209]"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("password authentication failed"), "{}", wrong.stderr);
    assert!(!wrong.stderr.contains("s3cret"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("hint: check the user, the password"), "{}", wrong.stderr);
    let worker = hosted.ask_as("with_password:s3cret", &["worker", "--once"]);
    assert_eq!(worker.code, 4, "{}", worker.stderr);
    assert_eq!(hosted.ask_as("with_password:right", &["runs"]).code, 0);
}

#[test]
fn tables_that_were_never_made_are_asked_for() {
    let Some((_, hosted)) = Hosted::empty() else { return };
    for words in [
        &["runs"][..],
        &["run", "skill.yaml", "--capabilities", "capabilities.yaml"],
        &["submit", "skill.yaml", "--capabilities", "capabilities.yaml"],
        &["worker", "--once"],
        &["fleet"],
    ] {
        let refused = hosted.ask(words);
        assert_eq!(refused.code, 4, "{words:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("has no tables of hence"), "{words:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("store migrate"), "{words:?}: {}", refused.stderr);
    }
}

#[test]
fn a_role_that_may_only_read_reads_and_is_refused_everything_else() {
    let Some((cluster, hosted)) = Hosted::new() else { return };
    let role = format!("reader_{}", hosted.schema);
    cluster.sql(&format!("create role {role} login in role hence_reader"));
    let submit = [&["submit"], &SKILL[..], &["--run-id", "r"], &NOW].concat();
    assert_eq!(hosted.ask(&submit).code, 0);
    for words in
        [&["runs"][..], &["log", "r"], &["why", "r"], &["verify", "r"], &["fleet"], &["queue", "jobs"]]
    {
        let read = hosted.ask_as(&role, words);
        assert!([0, 3].contains(&read.code), "{words:?}: {} {}", read.code, read.stderr);
    }
    for words in [
        &["run", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "n"][..],
        &["submit", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "n"],
        &["resume", "r"],
        &["cancel", "r"],
        &["queue", "pause", "default"],
        &["worker", "--once"],
    ] {
        let refused = hosted.ask_as(&role, words);
        assert_eq!(refused.code, 4, "{words:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("nothing can be written with this role"),
            "{words:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(hosted.state_of("r"), "ready", "nothing changed");
}

#[test]
fn a_queue_that_does_not_exist_is_refused_before_a_run_is_created() {
    let Some((_, hosted)) = Hosted::new() else { return };
    assert_eq!(hosted.ask(&["queue", "add", "night"]).code, 0);
    let refused = hosted.ask(&[&["submit"], &SKILL[..], &["--queue", "nigth", "--run-id", "r"]].concat());
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("error[E0901]: there is no queue nigth"), "{}", refused.stderr);
    assert!(refused.stderr.contains("default, night"), "{}", refused.stderr);
    assert_eq!(hosted.json(&["runs"])["runs"], Value::Array(Vec::new()));
    let worker = hosted.ask(&["worker", "--queue", "nigth"]);
    assert!(worker.stderr.contains("error[E0901]"), "{}", worker.stderr);
    let submitted = hosted.json(&[&["submit"], &SKILL[..], &["--queue", "night", "--run-id", "r"]].concat());
    assert_eq!(submitted["job"]["queue"], "night");
}

#[test]
fn two_workers_never_have_one_name() {
    let Some((_, hosted)) = Hosted::new() else { return };
    let _one = hosted.serving(&["--name", "w"]);
    let two = hosted.ask(&["worker", "--name", "w"]);
    assert_eq!(two.code, 2);
    assert!(two.stderr.contains("error[E0904]: a worker named w is alive: process "), "{}", two.stderr);
}

#[test]
fn a_worker_without_the_pinned_skill_or_capabilities_leaves_the_run_to_another() {
    let Some((cluster, hosted)) = Hosted::new() else { return };
    for (run, document) in [("a", "skill.json"), ("b", "capabilities.json")] {
        let submit = [&["submit"], &SKILL[..], &["--run-id", run], &NOW].concat();
        assert_eq!(hosted.json(&submit)["outcome"], "queued");
        // As for a worker of a version that does not have what the run pins.
        let rename = |from: &str, to: &str| {
            for table in ["attachment", "attachment_part"] {
                let place = format!("{0}.{table}", hosted.schema);
                let run = format!("(select key from {0}.run where id = '{run}')", hosted.schema);
                cluster
                    .sql(&format!("update {place} set name = '{to}' where name = '{from}' and run = {run}"));
            }
        };
        rename(document, "hidden");
        assert_eq!(hosted.ask(&["worker", "--until-idle", "--name", "old", "-q"]).code, 0);
        let job = hosted.json(&["why", run])["job"].clone();
        assert_eq!(job["state"], "ready", "{document}: {job}");
        assert!(job["declined"][0].as_str().unwrap().starts_with("old: E0"), "{document}: {job}");
        rename("hidden", document);
        assert_eq!(
            hosted.json(&["worker", "--until-idle", "--name", "new", "-q"])["parked"],
            1,
            "{document}"
        );
    }
}

#[test]
fn nested_skills_are_shared_and_have_the_same_bytes() {
    let Some((_, hosted)) = Hosted::new() else { return };
    let skill = |id: &str, more: &str, steps: &str| {
        let head = format!(
            "id: {id}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{n: {{type: integer, required: false}}}}\noutputs: {{}}\n"
        );
        format!("{head}{more}steps:\n{steps}")
    };
    let pay = "  - {id: pay, uses: pay, input: {}, output: {ok: vars.ok}, config: {recovery: retry}}\n";
    let each = "  - {id: each, uses: 'skill:inner', input: {}, output: {}, config: {foreach: {items: \"[1, 2]\", as: n, parallel: 2}}}\n";
    hosted.world.write("outer.yaml", skill("outer", "skills: [inner.yaml]\n", each));
    hosted.world.write("inner.yaml", skill("inner", "", pay));
    let run = ["outer.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r"];
    let inside = hosted.world.ask(&[&["run"], &run[..], &NOW].concat());
    assert_eq!(inside.code, 0, "{}", inside.stderr);
    assert_eq!(hosted.ask(&[&["submit"], &run[..], &NOW].concat()).code, 0);
    let done = hosted.json(&["worker", "--until-idle", "--share-nested", "-q", "--lease", "5"]);
    assert_eq!(done["ended"], 3, "{done}");
    let runs = hosted.json(&["runs"]);
    for id in runs["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap()) {
        let [one, other] = ["one", "other"].map(|name| hosted.world.path(name));
        assert_eq!(hosted.ask(&["export", id, &one.display().to_string()]).code, 0, "{id}");
        assert_eq!(hosted.world.ask(&["export", id, &other.display().to_string()]).code, 0, "{id}");
        assert_eq!(hosted.world.read("one/trace.ndjson"), hosted.world.read("other/trace.ndjson"), "{id}");
        [one, other].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    }
    assert_eq!(hosted.world.read("paid.log").iter().filter(|byte| **byte == b'\n').count(), 4);
}
