//! Measured times: kept next to the journal, shown as measured, never part of a record.

use hence_testkit::cli::World;
use serde_json::{Value, json};

const SLEEP_MS: u64 = 50;

/// A skill with the steps `slow`, which takes 50 milliseconds, and `quick`; both call commands.
fn world() -> World {
    let world = World::new();
    let command = |script: &str| {
        json!({"description": "Works", "effects": "reads",
            "provider": {"kind": "command", "command": ["/bin/sh", "-c", script], "environment": ["PATH"]}})
    };
    let capabilities = json!({"capabilities": {
        "slow": command("cat >/dev/null; sleep 0.05; echo '{\"v\": 1}'"),
        "quick": command("cat >/dev/null; echo '{\"v\": 1}'"),
        "flaky": command("cat >/dev/null; test -f tried && echo '{\"v\": 1}' && exit; touch tried; exit 3"),
        "fails": command("cat >/dev/null; exit 3"),
    }});
    world.write("caps.json", capabilities.to_string());
    world
}

fn skill(id: &str, steps: &str) -> String {
    format!("id: {id}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{}}\noutputs: {{}}\nsteps:\n{steps}")
}

fn step(id: &str, uses: &str, more: &str) -> String {
    format!(
        "  - id: {id}\n    uses: {uses}\n    input: {{}}\n    output: {{v: vars.{id}}}\n    config: {{{more}}}\n"
    )
}

fn run(world: &World, id: &str, steps: &str, more: &[&str]) -> Value {
    world.write("s.yaml", skill(id, steps));
    let words = ["run", "s.yaml", "--run-id", id, "--capabilities", "caps.json", "--json"];
    let answer = world.ask(&[&words[..], more].concat());
    assert!([0, 1, 3, 5].contains(&answer.code), "{}", answer.stderr);
    answer.json()
}

fn json_of(world: &World, words: &[&str]) -> Value {
    let answer = world.ask(&[words, &["--json"]].concat());
    assert_eq!(answer.code, 0, "{words:?}: {}", answer.stderr);
    answer.json()
}

fn log(world: &World, run: &str) -> Vec<Value> {
    json_of(world, &["log", run])["records"].as_array().unwrap().clone()
}

fn duration(row: &Value) -> u64 {
    row["measured"]["duration_ms"].as_u64().unwrap_or_else(|| panic!("{row}"))
}

fn times(run: &str) -> String {
    format!(".hence/runs/{run}/times.ndjson")
}

#[test]
fn a_step_takes_as_long_as_a_clock_says_in_every_view() {
    let world = world();
    run(&world, "r", &(step("slow", "slow", "") + &step("quick", "quick", "")), &[]);
    let rows = log(&world, "r");
    assert!(duration(&rows[1]) >= SLEEP_MS, "{}", rows[1]);
    assert!(rows.iter().all(|row| row["measured"]["recorded_at"].is_string()), "{rows:?}");
    assert_eq!(rows[1]["measured"]["elsewhere"], false);
    let shown = json_of(&world, &["show", "r", "slow"]);
    let call = &shown["calls"][0];
    assert_eq!(call["key"], "slow/0.0/call/slow/1");
    assert!(call["duration_ms"].as_u64().unwrap() >= SLEEP_MS, "{call}");
    let stats = json_of(&world, &["stats", "r"]);
    assert!(stats["measured"]["steps_ms"].as_u64().unwrap() >= SLEEP_MS, "{stats}");
    assert_eq!((&stats["measured"]["steps"], &stats["measured"]["calls"]), (&json!(2), &json!(2)));
    assert_eq!(json_of(&world, &["stats"])["measured"]["records"], 4);
    assert!(json_of(&world, &["why", "r"])["since"].as_str().unwrap().ends_with('Z'));
    assert!(json_of(&world, &["runs"])["runs"][0]["measured_at"].is_string());
    world.out("trace export r --out t.json");
    let trace: Value = serde_json::from_slice(&world.read("t.json")).unwrap();
    let execution = &trace["actions"][1]["execution"];
    assert!(execution["duration_ms"].as_u64().unwrap() >= SLEEP_MS, "{execution}");
    assert_eq!(execution["duration_source"], "measured next to the journal");
    // No text shows the logical clock, and the journal does not know of any of this.
    for view in ["log r", "stats r", "why r", "runs"] {
        assert!(!world.out(view).contains(":01Z"), "{view}");
    }
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
    assert_eq!(world.ask(&["replay", "r"]).code, 0);
}

#[test]
fn the_cognitive_state_ends_with_all_its_times() {
    let world = world();
    run(&world, "r", &(step("slow", "slow", "") + &step("bad", "fails", "")), &[]);
    let state = json_of(&world, &["state", "r", "--cognition"]);
    assert_eq!(state["status"], "failed");
    for member in ["started_at", "finished_at", "updated_at"] {
        assert!(state[member].is_string(), "{member}");
    }
    let slow = &state["trace"]["steps"][0];
    assert!(slow["started_at"].is_string() && slow["ended_at"].is_string(), "{slow}");
    assert!(slow["latency_ms"].as_u64().unwrap() >= SLEEP_MS, "{slow}");
    assert!(state["trace"]["metrics"]["elapsed_ms"].as_u64().unwrap() >= SLEEP_MS);
    assert!(state["step_results"]["slow"]["latency_ms"].as_u64().unwrap() >= SLEEP_MS);
    for event in state["events"].as_array().unwrap() {
        assert!(event["timestamp"].is_string(), "{event}");
    }
    run(&world, "ok", &step("slow", "slow", ""), &[]);
    let state = json_of(&world, &["state", "ok", "--cognition"]);
    assert_eq!(state["status"], "completed");
    let last = state["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["type"], "skill_completed");
    assert_eq!(last["timestamp"], state["finished_at"]);
}

#[test]
fn the_cognitive_state_after_any_record_is_shown() {
    let world = world();
    let failing = "  - id: bad\n    uses: fails\n    input: {v: vars.slow}\n    output: {}\n";
    run(&world, "r", &(step("slow", "slow", "") + failing), &[]);
    let at = |record: &str| json_of(&world, &["state", "r", "--cognition", "--at", record]);
    let before = at("0");
    assert_eq!((&before["status"], &before["current_step"]), (&json!("running"), &json!("slow")));
    assert_eq!((&before["finished_at"], &before["vars"]), (&Value::Null, &json!({})));
    let after = at("slow");
    assert_eq!((&after["status"], &after["current_step"]), (&json!("running"), &json!("bad")));
    assert_eq!(after["vars"], json!({"slow": 1}));
    let end = at("2");
    assert_eq!((&end["status"], &end["current_step"]), (&json!("failed"), &Value::Null));
    let bad = &end["step_results"]["bad"];
    assert_eq!((&bad["resolved_input"], &bad["reads"]), (&json!({"v": 1}), &json!(["vars.slow"])));
    assert_eq!(world.ask(&["state", "r", "--cognition", "--at", "9"]).code, 2);
}

#[test]
fn attempts_and_items_are_measured_each() {
    let world = world();
    let steps = step("again", "flaky", "retry: {max_attempts: 3, backoff_seconds: 0}")
        + &step("each", "quick", "foreach: {items: \"[1, 2, 3]\", parallel: 2}");
    run(&world, "r", &steps, &[]);
    let keys = |step: &str| {
        let shown = json_of(&world, &["show", "r", step]);
        let calls = shown["calls"].as_array().unwrap().clone();
        let mut keys: Vec<String> =
            calls.iter().map(|call| call["key"].as_str().unwrap().to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys("again"), ["again/0.0/call/flaky/1", "again/0.0/call/flaky/2"]);
    assert_eq!(keys("each"), ["each/0.0/call/quick/1", "each/0.1/call/quick/1", "each/0.2/call/quick/1"]);
}

#[test]
fn a_wait_is_measured_from_the_question_to_the_answer() {
    let world = world();
    let ask = "  - id: ask\n    uses: human.ask\n    input: {question: Go on?}\n    output: {}\n";
    run(&world, "r", &(step("quick", "quick", "") + ask), &[]);
    let asked = json_of(&world, &["why", "r"])["asked"][0].clone();
    assert!(asked["asked_at"].is_string() && asked["answered_at"].is_null(), "{asked}");
    // The wait of a person is real time; only its lower bound is asserted.
    std::thread::sleep(std::time::Duration::from_millis(SLEEP_MS));
    let answer = world.ask(&["answer", "r", "ask", "--value", "yes", "--by", "ada", "--resume", "--json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let wait = json_of(&world, &["show", "r", "ask"])["waits"][0].clone();
    assert!(wait["duration_ms"].as_u64().unwrap() >= SLEEP_MS, "{wait}");
    assert_eq!(json_of(&world, &["why", "r"])["asked"], json!([]));
    assert!(json_of(&world, &["stats", "r"])["measured"]["waits_ms"].as_u64().unwrap() >= SLEEP_MS);
}

#[test]
fn a_nested_run_has_times_of_its_own() {
    let world = world();
    world.write("inner.yaml", skill("inner", &step("slow", "slow", "")));
    let call = "  - id: call\n    uses: skill:inner\n    input: {}\n    output: {}\n";
    run(&world, "outer", call, &["--skill", "inner.yaml"]);
    assert!(duration(&log(&world, "outer")[1]) >= SLEEP_MS);
    let inner = log(&world, "outer/call");
    assert!(duration(&inner[1]) >= SLEEP_MS, "{inner:?}");
    let shown = json_of(&world, &["show", "outer", "call"]);
    assert_eq!(shown["calls"][0]["key"], "call/0.0/inner/1/slow/0.0/call/slow/1");
    assert_eq!(json_of(&world, &["show", "outer/call", "slow"])["calls"].as_array().unwrap().len(), 1);
}

#[test]
fn a_fork_claims_no_time_of_the_records_it_shares() {
    let world = world();
    run(&world, "r", &(step("slow", "slow", "") + &step("quick", "quick", "")), &[]);
    world.out("fork r --from quick --run-id f");
    let rows = log(&world, "f");
    assert_eq!(rows[1]["what"], "slow");
    assert_eq!(rows[1]["measured"], Value::Null);
    assert!(rows[0]["measured"].is_object() && rows[2]["measured"].is_object());
    assert!(world.out("log f").contains("not measured"));
}

#[test]
fn a_lost_or_alien_time_log_changes_nothing_but_the_times() {
    let world = world();
    run(&world, "r", &(step("slow", "slow", "") + &step("quick", "quick", "")), &[]);
    run(&world, "other", &step("quick", "quick", ""), &[]);
    let head = world.head("r");
    let whole = world.read(&times("r"));
    let check = |bytes: &[u8], measured: usize| {
        world.write(&times("r"), bytes);
        let rows = log(&world, "r");
        assert_eq!(rows.iter().filter(|row| row["measured"].is_object()).count(), measured);
        assert!(
            rows.iter().all(|row| row["measured"]["duration_ms"].as_u64().is_none_or(|ms| ms < 3_600_000))
        );
        for view in [
            &["stats", "r"][..],
            &["why", "r"],
            &["show", "r", "1"],
            &["runs"],
            &["state", "r", "--cognition"],
        ] {
            json_of(&world, view);
        }
        for view in ["log r", "stats r", "why r", "show r 1", "verify r", "replay r", "doctor"] {
            let words: Vec<&str> = view.split(' ').collect();
            assert_eq!(world.ask(&words).code, 0, "{view}");
        }
        world.out("trace export r --out t.json --force");
        assert_eq!(world.head("r"), head);
    };
    check(&whole, 4);
    // A kill loses the end, at any byte.
    let lines = whole.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines >= 8, "{lines}");
    check(&whole[..whole.len() - 1], 3);
    check(&whole[..whole.len() / 2], 2);
    check(b"", 0);
    check(b"\x00\xff\n{}\n[1]\n", 0);
    check(&world.read(&times("other")), 0);
    let text = String::from_utf8(whole.clone()).unwrap();
    check(text.replace("\"duration_ms\":", "\"duration_ms\":-").as_bytes(), 4);
    check(text.replace("\"duration_ms\":", "\"duration_ms\":99999999999999999999").as_bytes(), 4);
    check(text.replace("\"at\":\"2", "\"at\":\"0").as_bytes(), 0);
    let mut reversed: Vec<&str> = text.lines().collect();
    reversed.reverse();
    check(format!("{}\n", reversed.join("\n")).as_bytes(), 4);
    std::fs::remove_file(world.path(times("r"))).unwrap();
    assert!(log(&world, "r").iter().all(|row| row["measured"].is_null()));
    assert!(world.out("why r").contains("not measured"));
}

#[test]
fn a_killed_run_has_the_times_of_its_records_and_no_others() {
    let world = world();
    let steps = step("quick", "quick", "") + &step("slow", "slow", "");
    world.write("s.yaml", skill("r", &steps));
    let words = ["run", "s.yaml", "--run-id", "r", "--capabilities", "caps.json"];
    let journal = world.path(".hence/runs/r/trace.ndjson");
    let mut child = world.command(&words).spawn().unwrap();
    // It is killed while it executes the second step.
    let records =
        || std::fs::read(&journal).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
    while records() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for row in log(&world, "r") {
        let measured = &row["measured"];
        assert!(measured.is_null() || measured["recorded_at"].is_string(), "{row}");
        assert!(row["what"] != "slow" || duration(&row) >= SLEEP_MS, "{row}");
    }
    let resumed = world.ask(&["resume", "r"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let rows = log(&world, "r");
    assert!(duration(&rows[2]) >= SLEEP_MS, "{}", rows[2]);
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_time_log_is_not_followed() {
    let world = world();
    let ask = "  - id: ask\n    uses: human.ask\n    input: {question: Go on?}\n    output: {}\n";
    run(&world, "r", ask, &[]);
    world.write("outside", "mine\n");
    std::fs::remove_file(world.path(times("r"))).unwrap();
    std::os::unix::fs::symlink(world.path("outside"), world.path(times("r"))).unwrap();
    let said = world.ask(&["log", "r"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("times.ndjson is not read"), "{}", said.stderr);
    // The run continues without measuring.
    let answer = world.ask(&["answer", "r", "ask", "--value", "yes", "--by", "ada", "--resume"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stderr.contains("not every time was measured"), "{}", answer.stderr);
    assert_eq!(world.read("outside"), b"mine\n");
}

#[test]
fn a_bundle_brings_times_that_are_shown_as_measured_elsewhere() {
    let world = world();
    run(&world, "r", &step("slow", "slow", ""), &[]);
    world.out("export r out");
    world.out("--store there import out");
    let answer = world.ask(&["--store", "there", "log", "r", "--json"]).json();
    let row = &answer["records"][1];
    assert!(duration(row) >= SLEEP_MS);
    assert_eq!(row["measured"]["elsewhere"], true);
    let text = world.out("--store there log r");
    assert!(text.contains("measured elsewhere"), "{text}");
    // The same run again is the same run, whatever was measured of it.
    world.out("--store there import out");
    world.out("import out");
    // Exported from there, the times stay those of elsewhere.
    world.out("--store there export r out2");
    world.out("--store third import out2");
    let answer = world.ask(&["--store", "third", "log", "r", "--json"]).json();
    assert_eq!(answer["records"][1]["measured"]["elsewhere"], true);
}

#[test]
fn a_problem_is_measured_step_by_step() {
    let world = World::with_run("refund-42");
    let rows = log(&world, "refund-42");
    let steps: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "step").collect();
    assert!(steps.iter().all(|row| row["measured"]["duration_ms"].is_u64()), "{steps:?}");
    assert!(rows.iter().all(|row| row["measured"]["recorded_at"].is_string()));
}

#[test]
fn runs_of_variables_are_measured() {
    let world = world();
    world.out("vars init v 'Do it' --now 2030-01-01T00:00:00Z");
    world.out("vars set v abc 1 --scope global --now 2030-01-01T00:00:00Z");
    let rows = log(&world, "v");
    assert!(rows.len() >= 3 && rows.iter().all(|row| row["measured"]["recorded_at"].is_string()), "{rows:?}");
    let measured = rows[2]["measured"]["recorded_at"].as_str().unwrap();
    assert!(
        !measured.starts_with("2030"),
        "the caller's time is recorded, the machine's is measured: {measured}"
    );
    assert_eq!(json_of(&world, &["why", "v"])["since"], rows.last().unwrap()["measured"]["recorded_at"]);
    assert!(json_of(&world, &["runs"])["runs"][0]["measured_at"].is_string());
    for line in ["verify v", "replay v", "doctor", "--store .hence/scopes log global", "export v bundle"] {
        world.out(line);
    }
    world.out("--store other import bundle");
    assert!(json_of(&world, &["--store", "other", "log", "v"]).to_string().contains("\"elsewhere\":true"));
}

#[test]
fn calls_of_a_process_that_was_killed_are_called_not_measured() {
    let world = World::new();
    world.out("new skill notes");
    let notes = r#"notes=["buy milk", "call the bank about the new account"]"#;
    assert_eq!(world.ask(&["run", "notes/skill.yaml", "--input", notes, "--run-id", "notes"]).code, 3);
    let times = ".hence/runs/notes/times.ndjson";
    let whole = String::from_utf8(world.read(times)).unwrap();
    let is_call = |line: &&str| line.contains(r#""call":"count/"#);
    assert_eq!(whole.lines().filter(is_call).count(), 2, "{whole}");
    // A process that is killed has written no time of the calls of its step; the next one measures the others.
    let keep = |calls: usize| {
        let mut left = calls;
        let mut lines = Vec::new();
        for line in whole.lines() {
            if !is_call(&line) || left > 0 {
                left -= usize::from(is_call(&line));
                lines.push(line);
            }
        }
        world.write(times, lines.join("\n") + "\n");
        let row = world.out("log notes").lines().find(|line| line.contains(" count ")).unwrap().to_owned();
        (row, world.out("show notes count"))
    };
    let (row, shown) = keep(2);
    assert!(row.ends_with(" ms") && !shown.contains("not measured"), "{row}\n{shown}");
    let (row, shown) = keep(1);
    assert!(row.ends_with(" ms, rest not measured"), "{row}");
    assert!(shown.contains("1 of 2 calls not measured"), "{shown}");
    let (row, shown) = keep(0);
    assert!(row.ends_with("  not measured"), "{row}");
    assert!(shown.contains("2 of 2 calls not measured"), "{shown}");
}
