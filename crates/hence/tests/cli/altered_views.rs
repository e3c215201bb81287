//! Views of a run whose journal was altered: each says that what it shows is not what was recorded.

use hence_testkit::cli::{Answer, World};

/// Makes a completed run of a skill with so many steps.
fn run_of(steps: usize) -> World {
    let world = World::new();
    let steps: String = (0..steps)
        .map(|number| {
            format!("{{id: s{number}, uses: text.join, input: {{parts: [inputs.q]}}, output: {{text: vars.v{number}}}}},")
        })
        .collect();
    world.write(
        "many.yaml",
        format!(
            "{{id: many, version: 1.0.0, name: Many, description: d, inputs: {{q: {{type: string}}}}, outputs: {{}}, steps: [{steps}]}}"
        ),
    );
    world.ask(&["run", "many.yaml", "--input", "q=right", "--run-id", "many"]);
    world
}

/// Replaces a text in one record.
fn alter(world: &World, record: usize, from: &str, to: &str) {
    let journal = String::from_utf8(world.journal("many")).unwrap();
    let lines: Vec<String> = journal
        .lines()
        .enumerate()
        .map(|(index, line)| if index == record { line.replace(from, to) } else { line.to_owned() })
        .collect();
    let altered = lines.join("\n") + "\n";
    assert_ne!(altered, journal);
    world.set_journal("many", altered);
}

fn said(answer: &Answer) -> String {
    format!("{}{}", String::from_utf8_lossy(&answer.stdout), answer.stderr)
}

#[test]
fn every_view_of_an_altered_run_says_that_its_chain_is_broken() {
    for steps in [3, 300] {
        let world = run_of(steps);
        assert!(world.out("runs").contains("completed"), "{}", world.out("runs"));
        // A value, and a member that no state depends on.
        for (from, to) in [("right", "wrong"), ("\"version\":\"1.0.0\"", "\"version\":\"1.0.1\"")] {
            alter(&world, 2, from, to);
            let runs = world.out("runs");
            assert!(runs.contains("damaged") && !runs.contains("completed"), "{runs}");
            let why = said(&world.ask(&["why", "many"]));
            assert!(why.contains("damaged") && why.contains("record 2"), "{why}");
            for view in ["log many", "show many 2", "stats many", "state many", "state many --cognition"] {
                let answer = world.ask(&view.split(' ').collect::<Vec<_>>());
                assert!(answer.code != 0 && said(&answer).contains("record 2"), "{view}: {}", said(&answer));
                let mut json = view.split(' ').collect::<Vec<_>>();
                json.push("--json");
                let answer = world.ask(&json);
                assert!(answer.code != 0 && answer.stderr.contains("record 2"), "{view}: {}", said(&answer));
            }
            let log = world.ask(&["log", "many", "--limit", "5"]);
            assert!(
                said(&log).lines().any(|line| line.starts_with('2') && line.contains("altered")),
                "{}",
                said(&log)
            );
            assert_eq!(log.code, 5);
            alter(&world, 2, to, from);
            assert!(world.out("runs").contains("completed"), "{}", world.out("runs"));
            world.out("log many");
        }
    }
}

#[test]
fn a_window_of_a_long_run_is_that_of_the_whole_journal() {
    let world = run_of(300);
    let whole = world.ask(&["log", "many", "--limit", "0"]).stdout;
    let whole = String::from_utf8(whole).unwrap();
    let rows: Vec<&str> = whole.lines().collect();
    for from in [0_usize, 1, 63, 64, 65, 200, 301] {
        let text = world.out(&format!("log many --from {from} --limit 7"));
        for (place, row) in text.lines().skip(1).filter(|row| !row.contains("more;")).enumerate() {
            let expected: Vec<&str> = rows[from + place + 1].split_whitespace().collect();
            assert_eq!(row.split_whitespace().collect::<Vec<_>>(), expected, "{from}");
        }
        let by_index = world.ask(&["show", &format!("many@{from}"), "--json"]);
        assert_eq!(by_index.json()["index"], from);
    }
    let by_name = world.ask(&["show", "many", "s100", "--json"]).json();
    let index = by_name["index"].as_u64().unwrap();
    assert_eq!(world.ask(&["show", &format!("many@{index}"), "--json"]).json(), by_name);
    for place in ["many@302", "many@99999999999"] {
        assert_eq!(world.ask(&["show", place]).code, 2, "{place}");
        assert_eq!(world.ask(&["log", place]).code, 2, "{place}");
    }
    assert!(world.out("log many --from 302").contains("no record there; the run has 302"));
    // A record that is not where it says it is: the lines are counted.
    let journal = world.journal("many");
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let without: Vec<u8> = [&lines[..150], &lines[151..]].concat().concat();
    world.set_journal("many", &without);
    let answer = world.ask(&["log", "many", "--from", "149", "--limit", "3"]);
    assert!(answer.code == 5 && said(&answer).contains("record 150"), "{}", said(&answer));
}

#[test]
fn garbage_in_the_notes_next_to_a_journal_is_named() {
    let world = run_of(1);
    assert_eq!(world.ask(&["doctor"]).code, 0);
    for (name, garbage) in [("made", "garbage\n"), ("made", "hence-made 1 x y\n"), ("id", "many")] {
        let path = format!(".hence/runs/many/{name}");
        let before = std::fs::read(world.path(&path)).ok();
        world.write(&path, garbage);
        let answer = world.ask(&["doctor"]);
        assert!(said(&answer).contains(&format!("many/{name}:")), "{}", said(&answer));
        match before {
            Some(before) => drop(world.write(&path, before)),
            None => std::fs::remove_file(world.path(&path)).unwrap(),
        }
        assert!(world.out("doctor").contains("nothing is wrong"));
    }
    world.out("vars init v task");
    let ended = world.ask(&["vars", "final", "v", "done", "--on-complete", "true"]);
    assert_eq!(ended.code, 0, "{}", said(&ended));
    let path = ".hence/runs/v/handlers.ndjson";
    let log = String::from_utf8(world.read(path)).unwrap();
    assert_eq!(log.lines().count(), 2);
    assert!(world.out("doctor").contains("nothing is wrong"));
    for garbage in [format!("{log}garbage\n"), format!("{{}}\n{log}"), log.replace("begun", "bogus")] {
        world.write(path, garbage);
        let answer = world.ask(&["doctor"]);
        assert!(
            answer.code == 1 && said(&answer).contains("run v: handlers.ndjson: line"),
            "{}",
            said(&answer)
        );
    }
    // A part of a line is that of a process that was killed.
    world.write(path, format!("{log}{{\"handler\""));
    world.out("doctor");
}

#[test]
fn an_artifact_of_a_long_run_is_that_of_its_state() {
    let world = run_of(300);
    let state = world.ask(&["state", "many", "--json"]).json();
    let artifacts = state["artifacts"].as_object().unwrap();
    for (key, value) in artifacts.iter().step_by(17) {
        let shown = world.ask(&["state", "many", &format!("/artifacts/{key}"), "--json"]).json();
        assert_eq!(shown, *value, "{key}");
    }
    let by_name = world.ask(&["state", "many", "artifacts.s7.produced", "--json"]).json();
    assert_eq!(by_name, serde_json::json!({"text": "right"}));
    for nothing in ["/artifacts/s300", "/artifacts/000001:s7", "/artifacts/s7/nope", "/artifacts/s"] {
        assert_eq!(world.ask(&["state", "many", nothing]).code, 2, "{nothing}");
    }
    alter(&world, 8, "right", "wrong");
    let answer = world.ask(&["state", "many", "/artifacts/s7"]);
    assert!(answer.code == 5 && said(&answer).contains("record 8"), "{}", said(&answer));
}

#[test]
fn swapped_journals_and_altered_variables_are_damaged_in_lists() {
    let world = run_of(1);
    world.out("vars init v task");
    world.out("vars set v x 1");
    let runs = |of: &str| world.path(format!(".hence/runs/{of}"));
    let swap = || {
        std::fs::rename(runs("v"), runs("q")).unwrap();
        std::fs::rename(runs("many"), runs("v")).unwrap();
        std::fs::rename(runs("q"), runs("many")).unwrap();
    };
    swap();
    let listed = world.out("runs");
    assert_eq!(listed.matches("damaged").count(), 2, "{listed}");
    assert!(said(&world.ask(&["why", "v"])).contains("its journal is that of run many"));
    swap();
    assert!(!world.out("runs").contains("damaged"));
    let journal = String::from_utf8(world.journal("v")).unwrap();
    world.set_journal("v", journal.replacen("task", "tusk", 1));
    assert!(world.out("runs").contains("damaged"));
    let why = said(&world.ask(&["why", "v"]));
    assert!(why.contains("damaged") && why.contains("its chain is broken"), "{why}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_the_system_refuses_to_read_is_unreadable_not_damaged() {
    let world = run_of(3);
    for failure in ["EACCES", "EMFILE", "EIO"] {
        for view in ["runs", "why many"] {
            // A list that is still valid is not read again.
            let _ = std::fs::remove_file(world.path(".hence/index"));
            let words: Vec<&str> = view.split(' ').collect();
            let plain = world.command(&words);
            let mut command = std::process::Command::new("strace");
            command.args(["-f", "-qq", "-o"]).arg(world.path("strace.log"));
            // The tracer compares texts.
            command.args(["-P", ".hence/runs/many/trace.ndjson"]);
            command.args(["-e", &format!("inject=openat:error={failure}")]);
            command.arg(plain.get_program()).args(plain.get_args());
            command.current_dir(plain.get_current_dir().unwrap()).env_clear();
            command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let Ok(output) = command.output() else {
                eprintln!("skipped: strace is not available");
                return;
            };
            if !world.path("strace.log").exists() {
                eprintln!("skipped: strace may not trace here");
                return;
            }
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(
                said.contains("unreadable") && said.contains("trace.ndjson: "),
                "{failure} {view}: {said}"
            );
            assert!(!said.contains("damaged"), "{failure} {view}: {said}");
            assert!(view != "runs" || output.status.code() == Some(4), "{failure}: {said}");
        }
    }
    assert!(world.out("runs").contains("completed"));
}

#[test]
fn an_earlier_state_of_a_long_run_is_that_of_its_first_records() {
    let world = run_of(300);
    world.out("vars init v task");
    let lines: String = (0..300).map(|number| format!("set name{} {number}\n", number % 7)).collect();
    world.ask_with_input(&["repl", "v"], lines.as_bytes());
    for (run, journal) in [("many", world.journal("many")), ("v", world.journal("v"))] {
        for at in ["0", "1", "64", "65", "200", "299", "300"] {
            let state = world.ask(&["state", run, "--at", at, "--json"]).json();
            for part in ["status", "step_index", "metadata", "errors", "problem"] {
                let shown = world.ask(&["state", run, part, "--at", at, "--json"]).json();
                assert_eq!(shown, state[part], "{run} {part} {at}");
            }
        }
        // What follows the record is not read.
        let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
        let garbage = [&lines[..250], &[&b"garbage\n"[..]], &lines[251..]].concat().concat();
        let before = world.ask(&["state", run, "--at", "200", "--json"]).stdout;
        world.set_journal(run, &garbage);
        let answer = world.ask(&["state", run, "--at", "200", "--json"]);
        assert_eq!((answer.code, answer.stdout), (0, before));
        assert_eq!(world.ask(&["state", run, "--at", "280"]).code, 1);
        world.set_journal(run, &journal);
    }
    assert_eq!(world.ask(&["state", "many", "/status", "--at", "302"]).code, 2);
    let early = world.ask(&["state", "many", "artifacts.s7.produced", "--at", "8", "--json"]).json();
    assert_eq!(early, serde_json::json!({"text": "right"}));
    assert_eq!(world.ask(&["state", "many", "artifacts.s7", "--at", "7"]).code, 2);
    let whole = world.ask(&["state", "many", "--cognition", "--at", "299", "--json"]).json();
    assert!(whole["trace"]["steps"].as_array().unwrap().iter().all(|step| step["latency_ms"].is_u64()));
    alter(&world, 8, "right", "wrong");
    let answer = world.ask(&["state", "many", "/status", "--at", "9"]);
    assert!(answer.code != 0 && said(&answer).contains("record 8"), "{}", said(&answer));
}

#[test]
fn a_part_of_the_cognitive_state_of_a_long_run_is_that_of_the_whole() {
    let world = run_of(300);
    let whole = world.ask(&["state", "many", "--cognition", "--json"]).json();
    assert!(whole["status"] == "completed" && whole["vars"]["v7"] == "right", "{whole}");
    let places = [
        "/status",
        "/trace/metrics",
        "/trace/metrics/elapsed_ms",
        "/inputs",
        "/vars/v7",
        "/finished_at",
        "/events/3",
    ];
    for round in ["computed", "cached"] {
        for place in places {
            let part = world.ask(&["state", "many", place, "--cognition", "--json"]).json();
            assert_eq!(&part, whole.pointer(place).unwrap(), "{round} {place}");
        }
        assert_eq!(world.ask(&["state", "many", "/trace", "--cognition", "--json"]).json(), whole["trace"]);
        assert_eq!(world.ask(&["state", "many", "/nope", "--cognition"]).code, 2);
        assert!(world.out("doctor").contains("nothing is wrong"), "{round}");
    }
    // A forged part is found, as any other part of the view.
    let view = String::from_utf8(world.read(".hence/runs/many/view")).unwrap();
    assert!(view.contains("/trace/metrics"));
    let (_, body) = view.split_once('\n').unwrap();
    let forged = body.replace(r#""/finished_at":"2"#, r#""/finished_at":"3"#);
    assert_ne!(forged, body);
    let digest = hence_canon::Digest::of(forged.as_bytes());
    world.write(".hence/runs/many/view", format!("hence-view 1 {digest}\n{forged}"));
    assert!(said(&world.ask(&["doctor"])).contains("run many: the cached view of it"));
}

#[test]
fn files_that_no_command_writes_are_named_wherever_they_are() {
    let world = run_of(1);
    world.out("vars init v task");
    world.out("vars set v shared 1 --scope global");
    world.out("run many.yaml --input q=x --run-id other");
    world.out("rm other --yes");
    world.out("runs");
    assert!(world.out("doctor").contains("nothing is wrong"));
    let strange = [
        ("runs/many/notes.txt", "run many: notes.txt: no command writes"),
        ("scopes/runs/global/notes.txt", "scopes: run global: notes.txt: no command writes"),
        ("scopes/odd", "scopes/odd: the store did not create it"),
        ("odd", "odd: the store did not create it"),
    ];
    for (path, named) in strange {
        let path = world.path(format!(".hence/{path}"));
        std::fs::write(&path, "x").unwrap();
        let found = world.out("doctor");
        assert!(found.contains(named), "{found}");
        std::fs::remove_file(path).unwrap();
    }
    let of_scope = |found: &str| found.contains("scopes/global") && found.contains("not checked");
    assert!(!of_scope(&world.out("verify v")));
    let scope = world.path(".hence/scopes/runs/global");
    std::fs::rename(&scope, world.path("away")).unwrap();
    let found = world.out("verify v");
    assert!(of_scope(&found), "{found}");
    std::fs::rename(world.path("away"), &scope).unwrap();
    // A renamed file is one that no command writes either.
    let folder = world.path(".hence/runs/many");
    std::fs::rename(folder.join("times.ndjson"), folder.join("times.ndjson.old")).unwrap();
    assert!(world.out("doctor").contains("run many: times.ndjson.old: no command writes"));
    let removed = world.path(".hence/removed");
    std::fs::remove_dir_all(&removed).unwrap();
    std::fs::write(&removed, "x").unwrap();
    let answer = world.ask(&["doctor"]);
    assert!(
        answer.code == 1 && said(&answer).contains("expected a folder, found a file"),
        "{}",
        said(&answer)
    );
}
