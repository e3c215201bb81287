//! Called commands and their descendants: what is left of them when a call ends, however it ends.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use hence_testkit::cli::World;

const RUN: [&str; 6] = ["run", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r"];

/// Writes a skill of one step that calls a shell script, with `more` in the step's config.
fn world(script: &str, effects: &str, more: &str) -> World {
    let world = World::new();
    let capabilities = serde_json::json!({"capabilities": {"act": {
        "description": "Runs a script", "effects": effects,
        "provider": {"kind": "command", "command": ["/bin/sh", "-c", script], "environment": ["PATH"]},
    }}});
    let skill = format!(
        "id: one\nversion: 1.0.0\nname: One\ndescription: One\ninputs: {{}}\noutputs: {{}}\nsteps:\n  - id: act\n    uses: act\n    input: {{amount: 5}}\n    output: {{ok: outputs.ok}}\n    config: {{{more}}}\n"
    );
    world.write("capabilities.yaml", capabilities.to_string()).write("skill.yaml", skill);
    world
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

/// Returns whether a process lives. One that has ended and is not reaped does not.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Waits until something holds that another process does. The end of a process that is no child cannot be waited for
/// otherwise; the wait is bounded, and no test depends on how long it takes.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the processes whose numbers a script has written.
fn pids(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path("pids")).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn all_end(world: &World, count: usize) {
    let pids = pids(world);
    assert_eq!(pids.len(), count, "{pids:?}");
    until("a process is left", || pids.iter().all(|pid| !lives(pid)));
}

/// Starts a descendant in the group, one in a session of its own, and one that is an orphan as well.
const FAMILY: &str = "echo $$ >> pids; (echo $(exec sh -c 'echo $PPID') >> pids; exec sleep 600) & \
    setsid sh -c 'echo $$ >> pids; exec sleep 600' & \
    (setsid sh -c 'echo $$ >> pids; exec sleep 600' &) ; \
    until [ $(wc -l < pids) -ge 4 ]; do sleep 0.01; done;";

#[test]
fn a_command_that_answered_has_succeeded_whatever_its_descendants_hold() {
    let script = format!("echo paid >> paid.log; {FAMILY} echo '{{\"ok\": true}}'; exit 0");
    let world = world(&script, "writes", "timeout_seconds: 600, retry: {max_attempts: 3}");
    let report = json(&world, &RUN);
    assert_eq!(
        (&report["status"], &report["outputs"]["ok"]),
        (&"completed".into(), &true.into()),
        "{report}"
    );
    assert_eq!(std::fs::read_to_string(world.path("paid.log")).unwrap(), "paid\n");
    all_end(&world, 4);
}

#[test]
fn a_time_out_ends_everything_and_a_call_that_acts_is_undecided() {
    let script = format!("echo paid >> paid.log; {FAMILY} wait; sleep 600");
    let config = "timeout_seconds: 2, retry: {max_attempts: 3, backoff_seconds: 0}";
    let world = world(&script, "writes", config);
    let waiting = world.ask(&RUN);
    assert_eq!(waiting.code, 3, "{}", waiting.stderr);
    assert_eq!(std::fs::read_to_string(world.path("paid.log")).unwrap(), "paid\n", "it is not repeated");
    all_end(&world, 4);
    let report = json(&world, &["why", "r"]);
    assert_eq!(
        (&report["standing"], &report["waiting"][0]["about"]),
        (&"waiting".into(), &"undecided".into())
    );
    assert!(report["waiting"][0]["question"].as_str().unwrap().contains("no reply within"), "{report}");
    assert_eq!(world.ask(&["answer", "r", "act", "--done", r#"{"ok": true}"#, "--resume"]).code, 0);
}

#[test]
fn a_reading_command_that_times_out_is_retried() {
    let config = "timeout_seconds: 0.3, retry: {max_attempts: 3, backoff_seconds: 0}";
    let world = world("echo read >> read.log; sleep 600", "reads", config);
    let report = json(&world, &RUN);
    assert_eq!((&report["status"], &report["failure"]["code"]), (&"failed".into(), &"step_timeout".into()));
    assert_eq!(std::fs::read_to_string(world.path("read.log")).unwrap().lines().count(), 3);
}

#[test]
fn a_command_that_is_killed_is_undecided() {
    let world = world("echo paid >> paid.log; kill -9 $$", "writes", "retry: {max_attempts: 3}");
    assert_eq!(world.ask(&RUN).code, 3);
    assert_eq!(std::fs::read_to_string(world.path("paid.log")).unwrap(), "paid\n");
    assert!(world.cli(&["why", "r"]).contains("signal: 9"), "the reason is shown");
}

fn begun(world: &World) -> Child {
    let child = world.command(&RUN).spawn().unwrap();
    until("the command begins", || pids(world).len() == 4);
    child
}

#[test]
fn a_command_and_its_descendants_die_with_the_process_that_called_it() {
    let script = format!("{FAMILY} wait; sleep 600; echo late >> late.log");
    let world = world(&script, "writes", "timeout_seconds: 600");
    let mut child = begun(&world);
    child.kill().unwrap();
    child.wait().unwrap();
    all_end(&world, 4);
    assert_eq!(json(&world, &["why", "r"])["standing"], "undecided");

    let world = self::world(&script, "writes", "timeout_seconds: 600");
    let mut child = begun(&world);
    let pid = child.id().to_string();
    until("a second signal ends it at once", || {
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        !lives(&pid)
    });
    child.wait().unwrap();
    all_end(&world, 4);
}

#[test]
fn an_answer_on_cut_input_is_no_success_and_input_that_nobody_reads_is_no_failure() {
    let large = "x".repeat(1 << 20);
    for (script, code) in [
        ("head -c 100 > /dev/null; echo '{\"ok\": true}'", 1),
        ("echo '{\"ok\": true}'", 0),
        ("exec 0<&-; echo '{\"ok\": true}'", 0),
        ("cat > /dev/null; echo '{\"ok\": true}'", 0),
    ] {
        let world = world(script, "reads", "retry: {max_attempts: 2}");
        let skill = String::from_utf8(world.read("skill.yaml")).unwrap();
        world.write("skill.yaml", skill.replace("amount: 5", &format!("amount: {large}")));
        let answer = world.ask(&RUN);
        assert_eq!(answer.code, code, "{script}: {}", answer.stderr);
        if code == 1 {
            let failed = world.cli(&["why", "r"]);
            assert!(failed.contains("bytes of its input"), "{failed}");
        }
    }
}

#[test]
fn a_command_that_kills_its_supervisor_is_undecided_and_ends() {
    for before in [
        "",
        "sleep 0.2;",
        "setsid sh -c 'echo $$ >> pids; exec sleep 600' & until [ -s pids ]; do sleep 0.01; done;",
    ] {
        let script = format!("{before} echo $$ >> pids; kill -9 $PPID; sleep 600");
        let world = world(&script, "writes", "retry: {max_attempts: 3}");
        let waiting = world.ask(&RUN);
        assert_eq!(waiting.code, 3, "{before} {}", waiting.stderr);
        all_end(&world, if before.starts_with("setsid") { 2 } else { 1 });
        assert!(world.cli(&["why", "r"]).contains("its supervisor ended"), "the reason is shown");
    }
}
