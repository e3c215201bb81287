//! Effects and crashes: a command that logs its input to a file, in a run that is killed around it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use hence_testkit::cli::World;

/// The number of times runs with effects are killed, for each recovery.
const KILLS: u64 = 25;

const CAPABILITIES: &str = r#"
capabilities:
  pay:
    description: Writes down what it was asked for
    provider: {kind: command, command: [/bin/sh, -c, 'echo "$HENCE_IDEMPOTENCY_KEY" >> effects.log; printf "{\"ok\": true}"']}
    output: {type: object, required: [ok], properties: {ok: {type: boolean}}}
  slow:
    description: Takes its time
    provider: {kind: command, command: [/bin/sh, -c, 'echo begun >> slow.log; sleep 0.4; printf "{\"ok\": true}"']}
    effects: reads
  stuck:
    description: Never ends
    provider: {kind: command, command: [/bin/sleep, '60']}
  late:
    description: Never ends, and changes nothing
    provider: {kind: command, command: [/bin/sleep, '60']}
    effects: reads
"#;

fn skill(recovery: &str) -> String {
    let step = |id: &str, more: &str| {
        format!(
            "  - id: {id}\n    uses: pay\n    input: {{who: {id}}}\n    output: {{ok: vars.{id}}}\n    config: {{recovery: {recovery}{more}}}\n"
        )
    };
    let steps = [
        step("one", ", depends_on: []"),
        step("two", ", depends_on: []"),
        step("three", ", depends_on: [one], foreach: {items: \"[1, 2, 3]\", parallel: 2}"),
        step("four", ", depends_on: [two, three]"),
    ];
    format!(
        "id: pay\nversion: 1.0.0\nname: Pay\ndescription: Pays\ninputs: {{}}\noutputs: {{}}\nsteps:\n{}",
        steps.concat()
    )
}

fn world(recovery: &str) -> World {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill(recovery));
    world
}

const RUN: [&str; 8] = [
    "run",
    "skill.yaml",
    "--capabilities",
    "capabilities.yaml",
    "--run-id",
    "r",
    "--now",
    "2026-02-02T00:00:00Z",
];

fn effects(world: &World) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(world.path("effects.log")).unwrap_or_default();
    let mut counts = BTreeMap::new();
    text.lines().for_each(|line| *counts.entry(line.to_owned()).or_default() += 1);
    counts
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

/// Waits until journal and calls together have that many bytes, or the command has ended, and kills it.
fn kill_at(world: &World, child: &mut Child, bytes: u64) {
    let length = |name: &str| {
        std::fs::metadata(world.path(format!(".hence/runs/r/{name}"))).map_or(0, |found| found.len())
    };
    while length("trace.ndjson") + length("calls.ndjson") < bytes && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Executes the first run, and returns the largest sizes of journal and call log.
fn undisturbed(recovery: &str) -> (Vec<u8>, u64) {
    let world = world(recovery);
    let answer = world.ask(&RUN);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let counts = effects(&world);
    assert_eq!((counts.len(), counts.values().sum::<usize>()), (6, 6));
    let journal = world.journal("r");
    let bytes = journal.len() as u64 + 6 * 700;
    (journal, bytes)
}

#[test]
fn killed_anywhere_with_recovery_retry_it_ends_in_the_same_bytes() {
    let (whole, bytes) = undisturbed("retry");
    for kill in 0..KILLS {
        let world = world("retry");
        let mut child = world.command(&RUN).spawn().unwrap();
        kill_at(&world, &mut child, bytes * kill / KILLS);
        let answer = world.ask(&RUN);
        assert_eq!(answer.code, 0, "kill {kill}: {}", answer.stderr);
        assert!(world.journal("r") == whole, "kill {kill}");
        assert_eq!(effects(&world).len(), 6, "a call that is made again carries the same key");
    }
}

#[test]
fn killed_anywhere_with_recovery_ask_nothing_happens_twice() {
    let (_, bytes) = undisturbed("ask");
    let mut asked = 0;
    for kill in 0..KILLS {
        let world = world("ask");
        let mut child = world.command(&RUN).spawn().unwrap();
        kill_at(&world, &mut child, bytes * kill / KILLS);
        let mut answer = world.ask(&RUN);
        while answer.code == 3 {
            let report = json(&world, &["why", "r"]);
            assert_eq!(report["standing"], "waiting", "{report}");
            for waiting in report["waiting"].as_array().unwrap() {
                asked += 1;
                assert_eq!(waiting["about"], "undecided");
                let key = waiting["key"].as_str().unwrap();
                let told = world.ask(&["answer", "r", key, "--done", r#"{"ok": true}"#, "--by", "ada"]);
                assert_eq!(told.code, 0, "{}", told.stderr);
            }
            answer = world.ask(&["resume", "r"]);
        }
        assert_eq!(answer.code, 0, "kill {kill}: {}", answer.stderr);
        assert!(effects(&world).values().all(|times| *times == 1), "kill {kill}: {:?}", effects(&world));
        assert_eq!(world.ask(&["verify", "r"]).code, 0);
    }
    assert!(asked > 0, "no kill came between an intent and its result");
}

/// Creates a run whose only call was started by a process that died.
fn undecided(recovery: &str) -> World {
    let world = World::new();
    let skill = "id: one\nversion: 1.0.0\nname: One\ndescription: One\ninputs: {}\noutputs: {}\nsteps:\n  - id: pay\n    uses: stuck\n    output: {ok: outputs.ok}\n    config: {recovery: RECOVERY}\n";
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill.replace("RECOVERY", recovery));
    let mut child = world.command(&RUN).spawn().unwrap();
    let begun = Instant::now();
    while !std::fs::read_to_string(world.path(".hence/runs/r/calls.ndjson"))
        .unwrap_or_default()
        .contains("intent")
    {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    assert_eq!(json(&world, &["why", "r"])["standing"], "held");
    assert!(world.refused(&["answer", "r", "pay", "--fail"]).contains("E0205"));
    child.kill().unwrap();
    child.wait().unwrap();
    world
}

#[test]
fn an_undecided_call_is_explained_and_a_person_decides_it() {
    let world = undecided("ask");
    let report = json(&world, &["why", "r"]);
    assert_eq!((&report["standing"], &report["waiting"][0]["step"]), (&"undecided".into(), &"pay".into()));
    assert_eq!(world.ask(&["resume", "r"]).code, 3);
    assert!(world.refused(&["answer", "r", "pay", "--value", "1"]).contains("E0307"));
    assert!(world.refused(&["answer", "r", "pay", "--done", "[]"]).contains("E0307"));
    assert_eq!(world.ask(&["answer", "r", "pay", "--done", r#"{"ok": true}"#, "--resume"]).code, 0);
    let text = String::from_utf8(world.journal("r")).unwrap();
    assert!(text.contains(r#""decided":"done""#), "the record says that a person decided");

    let world = undecided("ask");
    assert_eq!(world.ask(&["answer", "r", "pay", "--fail", "--resume"]).code, 1);
    assert_eq!(json(&world, &["why", "r"])["standing"], "failed");

    let world = undecided("fail");
    assert_eq!(world.ask(&["resume", "r"]).code, 1);
    assert!(String::from_utf8(world.journal("r")).unwrap().contains("undecided after a crash"));
}

fn slow() -> World {
    let world = World::new();
    let step = |id: &str| format!("  - id: {id}\n    uses: slow\n    output: {{ok: vars.{id}}}\n");
    let steps: String = ["a", "b", "c"].map(step).concat();
    let skill = format!(
        "id: slow\nversion: 1.0.0\nname: Slow\ndescription: Slow\ninputs: {{}}\noutputs: {{}}\nsteps:\n{steps}"
    );
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill);
    world
}

#[test]
fn a_run_can_be_resumed_after_an_interrupt_or_a_deadline() {
    let undisturbed = slow();
    assert_eq!(undisturbed.ask(&RUN).code, 0);
    let whole = undisturbed.journal("r");

    let world = slow();
    let late = world.ask(&[&RUN[..], &["--deadline", "0.1"]].concat());
    assert_eq!(late.code, 5, "{}", late.stderr);
    assert!(late.stderr.contains("E0309") && late.stderr.contains("deadline"), "{}", late.stderr);
    assert_eq!(world.ask(&["resume", "r"]).code, 0);
    assert!(world.journal("r") == whole);
    assert_eq!(std::fs::read_to_string(world.path("slow.log")).unwrap().lines().count(), 3);

    let world = slow();
    let child = world.command(&RUN).spawn().unwrap();
    while !world.path("slow.log").exists() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(json(&world, &["why", "r"])["standing"], "stopped");
    assert_eq!(world.ask(&["resume", "r"]).code, 0);
    assert!(world.journal("r") == whole);
    assert_eq!(std::fs::read_to_string(world.path("slow.log")).unwrap().lines().count(), 3);
    assert_eq!(world.ask(&[&RUN[..], &["--deadline", "-1"]].concat()).code, 2);
}

#[test]
fn a_second_interrupt_ends_the_process_at_once() {
    let world = World::new();
    let skill = "id: one\nversion: 1.0.0\nname: One\ndescription: One\ninputs: {}\noutputs: {}\nsteps:\n  - id: pay\n    uses: stuck\n";
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill);
    let mut child = world.command(&RUN).spawn().unwrap();
    while !std::fs::read_to_string(world.path(".hence/runs/r/calls.ndjson"))
        .unwrap_or_default()
        .contains("intent")
    {
        std::thread::yield_now();
    }
    let begun = Instant::now();
    let pid = child.id().to_string();
    let interrupt = || std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    interrupt();
    // Signals may merge until the first is handled, so they are repeated.
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "a second interrupt does not wait for the call");
        std::thread::sleep(Duration::from_millis(20));
        interrupt();
    }
    assert_eq!(json(&world, &["why", "r"])["standing"], "undecided");
}

#[test]
fn a_call_that_exceeds_its_time_limit_fails_and_the_others_continue_on_request() {
    let world = World::new();
    let skill = "id: late\nversion: 1.0.0\nname: Late\ndescription: Late\ninputs: {}\noutputs: {}\nsteps:\n  - id: late\n    uses: late\n    config: {depends_on: [], timeout_seconds: 0.3}\n  - id: behind\n    uses: number.sum\n    input: {values: [1]}\n    config: {depends_on: [late]}\n  - id: apart\n    uses: number.sum\n    input: {values: [1]}\n    output: {sum: outputs.sum}\n    config: {depends_on: []}\n";
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill);
    let report = json(&world, &RUN);
    assert_eq!((&report["status"], &report["failure"]["code"]), (&"failed".into(), &"step_timeout".into()));
    let mut arguments = RUN.to_vec();
    arguments[5] = "go-on";
    arguments.extend(["--on-failure", "continue"]);
    let report = json(&world, &arguments);
    assert_eq!((&report["status"], &report["outputs"]["sum"]), (&"partial".into(), &1.into()));
    let steps: Vec<&str> =
        report["steps"].as_array().unwrap().iter().map(|row| row["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["late", "apart", "behind"]);
    std::io::stderr().flush().unwrap();
}

#[test]
fn a_call_log_that_is_left_over_is_removed_and_one_that_no_record_covers_is_not() {
    let calls = ".hence/runs/r/calls.ndjson";
    // A process that dies between the last record and the removal leaves the log of the whole run.
    let world = world("ask");
    let lines = |world: &World| {
        let mut child = world.command(&RUN).spawn().unwrap();
        let mut seen = Vec::new();
        while child.try_wait().unwrap().is_none() {
            let read = std::fs::read(world.path(calls)).unwrap_or_default();
            seen = if read.len() > seen.len() { read } else { seen };
        }
        seen
    };
    let left = lines(&world);
    assert!(!left.is_empty() && !world.path(calls).exists());
    let journal = world.journal("r");
    for repair in [&["resume", "r"][..], &["doctor", "--rebuild"]] {
        world.write(calls, &left);
        let found = json(&world, &["doctor"])["findings"].to_string();
        assert!(found.contains("call log is left over"), "{found}");
        assert_eq!(world.ask(repair).code, 0, "{repair:?}");
        assert!(!world.path(calls).exists(), "{repair:?}");
        assert_eq!(json(&world, &["doctor"])["findings"].to_string(), "[]");
    }
    // A call of a step that no record has keeps the log, whatever else is in it.
    let other = r#"{"capability":"pay","idempotency_key":"k","input":1,"input_sha256":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b","key":"other/0.0/call/pay/1","kind":"intent","step":"other"}"#;
    world.write(calls, [&left[..], other.as_bytes(), b"\n"].concat());
    assert_eq!(world.ask(&["resume", "r"]).code, 0);
    world.ask(&["doctor", "--rebuild"]);
    assert!(world.path(calls).exists(), "a call that no record covers is kept");
    assert_eq!(world.journal("r"), journal);
}
