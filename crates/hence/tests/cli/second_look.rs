//! What a second hostile look at the product found: deeds that a view hid, guards that guarded nothing, names that named
//! something else.

use hence_testkit::cli::World;
use serde_json::{Value, json};

const CAPABILITIES: &str = r#"
capabilities:
  x.push: {description: p, effects: writes, action: GitPush, provider: {kind: command, command: [/bin/sh, -c, 'cat >>acted; echo >>acted; echo "{\"ok\":true}"'], environment: [PATH]}}
  x.garbled: {description: p, effects: writes, provider: {kind: command, command: [/bin/sh, -c, 'cat >>acted; echo >>acted; echo oops'], environment: [PATH]}}
  x.pure: {description: p, effects: none, determinism: deterministic, provider: {kind: command, command: [/bin/sh, -c, 'cat >/dev/null; echo "{\"n\":1}"'], environment: [PATH]}}
"#;

fn world() -> World {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES);
    world
}

/// Writes a skill with these steps and other members.
fn skill(world: &World, name: &str, steps: &str, more: &str) {
    world.write(
        &format!("{name}.yaml"),
        format!("id: {name}\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {{}}\noutputs: {{}}\n{more}\nsteps:\n{steps}\n"),
    );
}

fn run(world: &World, name: &str, more: &[&str]) -> hence_testkit::cli::Answer {
    let file = format!("{name}.yaml");
    world.ask(&[&["run", &file, "--capabilities", "capabilities.yaml", "--run-id", name], more].concat())
}

fn acted(world: &World) -> usize {
    std::fs::read_to_string(world.path("acted"))
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.is_empty())
        .count()
}

#[test]
fn a_step_that_no_person_answers_cannot_be_declared_an_approval() {
    let world = world();
    let ask = "  - {id: ok, uses: text.template, input: {template: {$literal: yes}, values: {}}, output: {text: vars.a}}";
    skill(&world, "by-metadata", ask, "metadata: {actions: {ok: UserApproval}}");
    let refused = run(&world, "by-metadata", &[]);
    assert!(refused.code != 0 && refused.stderr.contains("is the answer of a person"), "{}", refused.stderr);
    world.write("capabilities.yaml", CAPABILITIES.replace("action: GitPush", "action: UserApproval"));
    skill(&world, "by-capability", "  - {id: ok, uses: x.push, input: {}, output: {}}", "");
    let refused = run(&world, "by-capability", &[]);
    assert!(refused.code != 0 && refused.stderr.contains("is the answer of a person"), "{}", refused.stderr);
    assert_eq!(acted(&world), 0);
}

#[test]
fn a_deed_whose_step_failed_afterwards_is_a_deed() {
    let world = world();
    skill(&world, "mapped", "  - {id: p, uses: x.push, input: {force: true}, output: {nothere: vars.x}}", "");
    assert_eq!(run(&world, "mapped", &[]).code, 1);
    assert_eq!(acted(&world), 1);
    let judged =
        world.ask(&["policy", "check", "mapped", "--policy", "engineering", "--only", "no-force-push"]);
    assert_eq!(judged.code, 1, "{}", String::from_utf8_lossy(&judged.stdout));
}

#[test]
fn a_fork_asks_about_calls_that_no_step_on_record_covers() {
    let world = world();
    // A reply that cannot be read leaves the call undecided.
    skill(&world, "undecided", "  - {id: p, uses: x.garbled, input: {pay: 1}, output: {}}", "");
    run(&world, "undecided", &[]);
    let judged = world.ask(&["policy", "check", "undecided", "--policy", "engineering"]);
    assert!(
        judged.code == 5 && judged.stderr.contains("not final: step p called x.garbled"),
        "{}",
        judged.stderr
    );
    // The second step blocks after it was executed: its rule is about the result.
    let rule = r#"{"policies": [{"id": "five", "severity": "error", "on_violation": "block", "formula": "G(GitPush → result.n = 5)"}]}"#;
    world.write("five.json", rule);
    skill(&world, "blocked", "  - {id: p, uses: x.push, input: {}, output: {}}", "");
    run(&world, "blocked", &["--policy", "five.json"]);
    let before = acted(&world);
    assert!(before >= 2);
    for name in ["undecided", "blocked"] {
        let fork = world.ask(&["fork", name, "--from", "p"]);
        assert!(fork.code != 0 && fork.stderr.contains("E0312"), "{name}: {}", fork.stderr);
    }
    assert_eq!(acted(&world), before);
}

#[test]
fn a_reviewer_is_never_told_to_repeat_a_deed() {
    let world = world();
    skill(&world, "pushed", "  - {id: p, uses: x.push, input: {}, output: {}}", "");
    assert_eq!(run(&world, "pushed", &[]).code, 0);
    assert_eq!(world.ask(&["review", "open", "pushed", "--author", "ada"]).code, 0);
    let packet = String::from_utf8_lossy(&world.ask(&["review", "handoff", "pushed"]).stdout).into_owned();
    assert!(packet.contains("again, it acts") && !packet.contains("to check it: call"), "{packet}");
}

#[test]
fn swapped_reviews_are_named_and_nothing_is_written_to_them() {
    let world = world();
    for name in ["one", "two"] {
        skill(&world, name, "  - {id: p, uses: x.push, input: {}, output: {}}", "");
        run(&world, name, &[]);
        assert_eq!(world.ask(&["review", "open", name, "--author", "ada"]).code, 0);
    }
    let folder = world.path(".hence/reviews/runs");
    std::fs::rename(folder.join("one"), folder.join("x")).unwrap();
    std::fs::rename(folder.join("two"), folder.join("one")).unwrap();
    std::fs::rename(folder.join("x"), folder.join("two")).unwrap();
    for words in [&["verify", "--all"][..], &["doctor"], &["review", "status", "one"]] {
        let answer = world.ask(words);
        let said = format!("{}{}", String::from_utf8_lossy(&answer.stdout), answer.stderr);
        assert!(answer.code != 0 && said.contains("stored as"), "{words:?}: {said}");
    }
    let comment = world.ask(&["review", "comment", "one", "hello", "--author", "eve"]);
    assert!(comment.code != 0 && comment.stderr.contains("stored as"), "{}", comment.stderr);
}

#[test]
fn what_a_verification_executes_is_in_its_report() {
    let world = world();
    skill(&world, "computed", "  - {id: p, uses: x.pure, input: {}, output: {n: vars.n}}", "");
    assert_eq!(run(&world, "computed", &[]).code, 0);
    let verify = |more: &[&str]| -> Value {
        let answer = world.ask(&[&["verify", "computed", "--json"], more].concat());
        serde_json::from_slice(&answer.stdout).unwrap()
    };
    assert_eq!(verify(&[])["called"], json!({}));
    assert_eq!(verify(&["--execute"])["called"], json!({"x.pure": 1}));
    let replayed = world.ask(&["replay", "computed", "--execute"]);
    assert!(String::from_utf8_lossy(&replayed.stdout).contains("called: x.pure (1 call)"));
}

#[test]
fn an_empty_name_names_no_run() {
    let world = World::with_run("only");
    for words in [
        &["policy", "check", "", "--policy", "engineering"][..],
        &["verify", ""],
        &["why", ""],
        &["export", "", "out"],
        &["trace", "show", ""],
        &["trace", "grade", ""],
        &["log", ""],
        &["view", "", "--html", "page.html"],
    ] {
        let answer = world.ask(words);
        assert!(answer.code != 0, "{words:?}: {}", String::from_utf8_lossy(&answer.stdout));
    }
    assert!(!world.path("page.html").exists());
}

#[test]
fn files_are_replaced_only_by_force() {
    let world = World::with_run("refund-42");
    world.write("session.jsonl", r#"{"type":"user","message":{"role":"user","content":"Hello"},"timestamp":"2026-01-01T00:00:00Z","sessionId":"s"}"#);
    world.ask(&["trace", "export", "refund-42", "--out", "trace.json"]);
    for words in [
        &["trace", "export", "refund-42", "--out", "kept"][..],
        &["import", "claude-code", "session.jsonl", "--out", "kept"],
        &["view", "refund-42", "--html", "kept"],
        &["policy", "check", "trace.json", "--policy", "engineering", "--into", "kept"],
    ] {
        world.write("kept", "precious");
        let refused = world.ask(words);
        assert!(refused.code != 0 && refused.stderr.contains("--force"), "{words:?}: {}", refused.stderr);
        assert_eq!(world.read("kept"), b"precious");
        world.ask(&[words, &["--force"]].concat());
        assert_ne!(world.read("kept"), b"precious", "{words:?}");
    }
}

#[test]
fn what_holds_no_session_and_no_trace_is_refused() {
    let world = World::new();
    for (name, text) in [("null.json", "null"), ("list.json", "[]"), ("other.json", r#"{"a": 1}"#)] {
        world.write(name, text);
        for command in ["show", "hash", "grade", "report", "goals", "residuals"] {
            let answer = world.ask(&["trace", command, name]);
            assert!(
                answer.code != 0 && answer.stderr.contains("E0602"),
                "{command} {name}: {}",
                answer.stderr
            );
        }
        let imported = world.ask(&["import", "claude-code", name, "--out", "made.json"]);
        assert!(imported.code != 0, "{name}: {}", imported.stderr);
        assert!(!world.path("made.json").exists(), "{name}");
    }
}

#[test]
fn a_guard_outside_of_config_never_runs_unguarded() {
    let world = world();
    skill(&world, "guard", "  - {id: p, uses: x.push, input: {}, output: {}, condition: \"1 == 2\"}", "");
    let refused = run(&world, "guard", &[]);
    assert!(refused.code != 0 && refused.stderr.contains("below `config`"), "{}", refused.stderr);
    skill(&world, "later", "  - {id: p, uses: x.push, input: {}, output: {}, timeout_seconds: 5}", "");
    let warned = run(&world, "later", &[]);
    assert!(warned.code == 0 && warned.stderr.contains("timeout_seconds"), "{}", warned.stderr);
    assert_eq!(acted(&world), 1);
}
