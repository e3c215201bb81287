//! Records of strangers: reading one starts nothing that it declares.

use hence_testkit::cli::{World, problem};

const CAPABILITIES: &str = r#"
capabilities:
  calc.pure:
    description: Says it is pure
    determinism: deterministic
    effects: none
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"n\": 1}'"]}
  calc.gate:
    description: A gate that says it is pure
    determinism: deterministic
    effects: none
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"allowed\": true}'"]}
  calc.gated:
    description: Has a gate
    determinism: deterministic
    effects: none
    gates: {before: [calc.gate]}
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"n\": 2}'"]}
"#;

const SKILL: &str = "id: evil
version: 1.0.0
name: N
description: D
capabilities: capabilities.yaml
inputs: {xs: {type: array, default: [1, 2]}}
outputs: {n: {type: integer}}
steps:
  - {id: one, uses: calc.pure, input: {}, output: {n: outputs.n}}
  - {id: each, uses: calc.pure, input: {item: item}, config: {foreach: {items: inputs.xs, as: item}}}
  - {id: gated, uses: calc.gated, input: {}}
";

fn calls(world: &World) -> usize {
    std::fs::read_to_string(world.path("calls")).unwrap_or_default().lines().count()
}

#[test]
fn reading_a_record_starts_no_program_that_it_declares() {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL);
    let made = world.ask(&["run", "skill.yaml", "--run-id", "evil"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert_eq!(world.ask(&["export", "evil", "bundle"]).code, 0);
    let executed = calls(&world);
    assert_eq!(world.ask(&["--store", "other", "import", "bundle"]).code, 0);
    let readings: [&[&str]; 8] = [
        &["verify", "evil"],
        &["replay", "evil"],
        &["verify", "bundle/trace.ndjson"],
        &["replay", "bundle/trace.ndjson"],
        &["--store", "other", "verify", "evil"],
        &["--store", "other", "replay", "evil"],
        &["--store", "other", "trace", "export", "evil"],
        &["--store", "other", "log", "evil"],
    ];
    for reading in readings {
        assert_eq!(world.ask(reading).code, 0, "{}", world.cli(reading));
    }
    assert_eq!(calls(&world), executed);
    // The user may say so for a run of their own, and for no other.
    for foreign in [&["--store", "other", "replay", "evil"][..], &["verify", "bundle/trace.ndjson"]] {
        let refused = world.ask(&[foreign, &["--execute"]].concat());
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("was not made in this store"), "{}", refused.stderr);
    }
    assert_eq!(calls(&world), executed);
    for own in ["replay", "verify"] {
        let before = calls(&world);
        assert_eq!(world.ask(&[own, "evil", "--execute"]).code, 0);
        assert_eq!(calls(&world), before + executed, "{own}");
    }
}

#[test]
fn reading_a_problem_with_bound_steps_starts_nothing_either() {
    let world = World::new();
    let mut problem = problem("bound");
    problem["settings"]["bindings"]["Compute"]["capability"] = "calc.pure".into();
    world.write("capabilities.yaml", CAPABILITIES).write("problem.json", problem.to_string());
    let made = world.ask(&["run", "problem.json", "--capabilities", "capabilities.yaml"]);
    assert!(made.code <= 1, "{}", made.stderr);
    let executed = calls(&world);
    assert_eq!(executed, 1, "{}", made.stderr);
    for reading in [["verify", "bound"], ["replay", "bound"]] {
        assert_eq!(world.ask(&reading).code, 0, "{}", world.cli(&reading));
    }
    assert_eq!(calls(&world), executed);
    assert_eq!(world.ask(&["replay", "bound", "--execute"]).code, 0);
    assert_eq!(calls(&world), executed + 1);
}

/// A bundle of a run that waits before a command, a service and a model of a stranger would be called, with secrets of the
/// reader's.
fn strangers_bundle() -> World {
    let world = World::new().env("PATH", "/usr/bin:/bin");
    let capabilities = r#"
secrets: {key: {file: private.key}, token: {environment: STRANGE_TOKEN}}
capabilities:
  evil.run:
    description: d
    effects: writes
    secrets: [key]
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"n\": 1}'"]}
  evil.pure:
    description: d
    effects: none
    determinism: deterministic
    provider: {kind: command, command: [/bin/sh, -c, "echo x >> calls; printf '{\"n\": 1}'"]}
  evil.get:
    description: d
    effects: reads
    provider: {kind: http, url: "http://127.0.0.1:9/x"}
"#;
    let steps = "  - {id: pure, uses: evil.pure, input: {}}
  - {id: ask, uses: human.ask, input: {question: Go on?}, output: {value: vars.a}}
  - {id: run, uses: evil.run, input: {a: vars.a}, output: {n: outputs.n}}
  - {id: get, uses: evil.get, input: {a: vars.a}}
";
    world.write("capabilities.yaml", capabilities).write("private.key", "a private key\n");
    world.write("skill.yaml", SKILL.split("steps:\n").next().unwrap().to_owned() + "steps:\n" + steps);
    let made = world.env("STRANGE_TOKEN", "a strange token");
    let answer = made.ask(&["run", "skill.yaml", "--run-id", "evil"]);
    assert_eq!(answer.code, 3, "{}", answer.stderr);
    assert_eq!(made.ask(&["export", "evil", "bundle"]).code, 0);
    assert_eq!(made.ask(&["--store", "other", "import", "bundle"]).code, 0);
    made
}

const TOUCHING: [&[&str]; 22] = [
    &["verify", "evil"],
    &["verify", "--all"],
    &["replay", "evil"],
    &["doctor"],
    &["runs"],
    &["log", "evil"],
    &["why", "evil"],
    &["state", "evil"],
    &["stats", "evil"],
    &["trace", "export", "evil"],
    &["trace", "export", "evil", "--format", "otlp"],
    &["show", "evil", "pure"],
    &["state", "evil", "--cognition"],
    &["blame", "evil", "n"],
    &["impact", "evil", "pure"],
    &["policy", "check", "evil", "--policy", "oversight"],
    &["review", "open", "evil", "--author", "eve"],
    &["checkpoint", "evil", "here"],
    &["export", "evil", "again"],
    &["resume", "evil"],
    &["fork", "evil", "--from", "run", "--yes"],
    &["retry", "evil", "--yes"],
];

#[test]
fn an_imported_run_calls_nothing_without_the_word_of_the_user() {
    let world = strangers_bundle();
    let executed = calls(&world);
    let with_store = |arguments: &[&'static str]| [&["--store", "other"], arguments].concat();
    let refused: [&[&str]; 5] = [
        &["resume", "evil"],
        &["retry", "evil", "--yes"],
        &["fork", "evil", "--from", "pure", "--yes"],
        &["answer", "evil", "ask", "--value", "yes"],
        &["answer", "evil", "ask", "--value", "yes", "--resume"],
    ];
    for arguments in refused {
        let answer = world.ask(&with_store(arguments));
        assert_eq!(answer.code, 1, "{arguments:?}: {}", answer.stderr);
        for told in
            ["E0323", "evil.run: ", "/bin/sh", "evil.get: ", "http://127.0.0.1:9/x", "--trust-imported"]
        {
            assert!(answer.stderr.contains(told), "{arguments:?} does not name {told}: {}", answer.stderr);
        }
    }
    assert_eq!(calls(&world), executed);
    let trusted = ["answer", "evil", "ask", "--value", "yes", "--resume", "--trust-imported"];
    let answer = world.ask(&with_store(&trusted));
    assert_eq!(answer.code, 1, "the service is down: {}", answer.stderr);
    assert_eq!(calls(&world), executed + 1, "the command was called");
}

#[test]
fn a_fork_of_an_imported_run_without_declared_calls_needs_no_permission() {
    let world = World::new();
    let skill = SKILL.replace("capabilities: capabilities.yaml\n", "");
    let steps =
        "steps:\n  - {id: sum, uses: number.sum, input: {values: inputs.xs}, output: {sum: outputs.n}}\n";
    world.write("skill.yaml", skill.split("steps:\n").next().unwrap().to_owned() + steps);
    assert_eq!(world.ask(&["run", "skill.yaml", "--run-id", "kind"]).code, 0);
    assert_eq!(world.ask(&["export", "kind", "bundle"]).code, 0);
    assert_eq!(world.ask(&["--store", "other", "import", "bundle"]).code, 0);
    let forked = world.ask(&["--store", "other", "fork", "kind", "--from", "sum", "--run-id", "again"]);
    assert_eq!(forked.code, 0, "{}", forked.stderr);
}

/// Runs a command under `strace` and returns the calls of the system by which a process reaches out; `None` where the
/// machine cannot trace.
#[cfg(target_os = "linux")]
fn traced(world: &World, arguments: &[&str]) -> Option<Vec<String>> {
    let plain = world.command(arguments);
    let log = world.path("strace.log");
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=execve,connect,openat,open,socket", "-o"]).arg(&log);
    command.arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().unwrap()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    let output = command.output().ok()?;
    assert!(output.status.code().is_some_and(|code| code <= 5), "{arguments:?}");
    let text = std::fs::read_to_string(&log).ok().filter(|text| text.contains("execve("))?;
    Some(text.lines().map(str::to_owned).collect())
}

#[cfg(target_os = "linux")]
#[test]
fn whatever_is_done_with_a_strangers_bundle_no_process_is_started_and_no_connection_opened() {
    let world = strangers_bundle();
    let executed = calls(&world);
    let mut all: Vec<Vec<&str>> = vec![
        vec!["--store", "third", "import", "bundle"],
        vec!["verify", "bundle/trace.ndjson"],
        vec!["replay", "bundle/trace.ndjson"],
    ];
    all.extend(TOUCHING.iter().map(|arguments| [&["--store", "other"], *arguments].concat()));
    for arguments in all {
        let Some(lines) = traced(&world, &arguments) else {
            eprintln!("skipped: strace is not available or may not trace here");
            return;
        };
        let started: Vec<&String> = lines.iter().filter(|line| line.contains("execve(")).collect();
        assert_eq!(started.len(), 1, "{arguments:?} starts only itself: {started:#?}");
        let connected: Vec<&String> =
            lines.iter().filter(|line| line.contains("connect(") || line.contains("socket(")).collect();
        assert!(connected.is_empty(), "{arguments:?}: {connected:#?}");
        let read: Vec<&String> = lines.iter().filter(|line| line.contains("private.key")).collect();
        assert!(read.is_empty(), "{arguments:?} reads a secret that only the record names: {read:#?}");
    }
    assert_eq!(calls(&world), executed);
}

/// Fails unless a command starts only itself, opens no socket and reads no secret; false where nothing can be traced.
#[cfg(target_os = "linux")]
fn is_quiet(world: &World, arguments: &[&str]) -> bool {
    let Some(lines) = traced(world, arguments) else {
        eprintln!("skipped: strace is not available or may not trace here");
        return false;
    };
    let of = |words: &[&str]| -> Vec<String> {
        lines.iter().filter(|line| words.iter().any(|word| line.contains(word))).cloned().collect()
    };
    assert_eq!(of(&["execve("]).len(), 1, "{arguments:?}: {:#?}", of(&["execve("]));
    let reached = of(&["connect(", "socket(", "private.key"]);
    assert!(reached.is_empty(), "{arguments:?}: {reached:#?}");
    true
}

/// A stranger's problem whose steps are bound to a command and a service, run under policies.
fn strangers_problem(world: &World) {
    let capabilities = r#"
secrets: {key: {file: private.key}}
capabilities:
  evil.compute:
    description: d
    effects: writes
    secrets: [key]
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo x >> calls; printf '{\"status\": \"ok\", \"task_count\": 1}'"]}
  evil.model:
    description: d
    effects: reads
    output: {type: object}
    provider: {kind: llm, api: openai, model: m, endpoint: "http://127.0.0.1:9/v1", prompt: "x"}
"#;
    let mut bound = problem("bound");
    bound["settings"]["bindings"]["Compute"]["capability"] = "evil.compute".into();
    let policy = "[[policy]]\nid = \"p\"\nseverity = \"error\"\nformula = \"G(GitCommit → P(RunTests ∧ completed))\"\n";
    world.write("bound.yaml", capabilities).write("bound.json", bound.to_string()).write("p.toml", policy);
    let made = ["run", "bound.json", "--capabilities", "bound.yaml", "--policy", "p.toml"];
    let answer = world.ask(&made);
    assert!(answer.code <= 1, "{}", answer.stderr);
}

/// A stranger's variables, with a completion handler that ran where they were made.
fn strangers_variables(world: &World) {
    for line in ["vars init v 'Do it'", "vars set v abc 1", "vars set v shared 1 --scope global"] {
        world.out(line);
    }
    let done = world.ask(&["vars", "final", "v", "done", "--on-complete", "/bin/sh -c 'echo x >> calls'"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn problems_and_variables_of_a_stranger_start_nothing_either() {
    let world = World::new().env("PATH", "/usr/bin:/bin");
    world.write("private.key", "a private key\n");
    strangers_problem(&world);
    strangers_variables(&world);
    let executed = calls(&world);
    for run in ["bound", "v"] {
        let bundle = format!("bundle-{run}");
        assert_eq!(world.ask(&["export", run, &bundle]).code, 0);
        let mut all: Vec<Vec<&str>> = vec![
            vec!["--store", "other", "import", &bundle],
            vec!["--store", "other", "verify", "--all"],
            vec!["--store", "other", "doctor"],
        ];
        for command in ["verify", "replay", "log", "why", "state", "stats", "resume", "retry"] {
            all.push(vec!["--store", "other", command, run]);
        }
        all.push(vec!["--store", "other", "trace", "export", run]);
        all.push(vec!["--store", "other", "policy", "check", run, "--policy", "oversight"]);
        all.push(vec!["--store", "other", "review", "open", run, "--author", "eve"]);
        for arguments in all {
            if !is_quiet(&world, &arguments) {
                return;
            }
        }
    }
    let more: [&[&str]; 5] = [
        &["fork", "bound", "--from", "Compute", "--yes"],
        &["fork", "v", "--from", "2", "--run-id", "again"],
        &["vars", "list", "v"],
        &["vars", "tree", "v"],
        &["vars", "get", "v", "abc"],
    ];
    for arguments in more {
        assert!(is_quiet(&world, &[&["--store", "other"], arguments].concat()));
    }
    assert_eq!(calls(&world), executed);
    for command in [&["resume", "bound"][..], &["fork", "bound", "--from", "Compute", "--yes"]] {
        let refused = world.ask(&[&["--store", "other"], command].concat());
        assert!(refused.code == 1 || refused.stderr.contains("ended"), "{command:?}: {}", refused.stderr);
    }
}

#[test]
fn a_store_that_comes_with_a_checkout_was_not_made_here() {
    let world = strangers_bundle();
    // Everything that an archive or a checkout brings, the note of the store's own runs too.
    let copy = World::new().env("PATH", "/usr/bin:/bin").env("STRANGE_TOKEN", "a strange token");
    let status = std::process::Command::new("cp")
        .args(["-a".as_ref(), world.path(".hence").as_os_str(), copy.path(".hence").as_os_str()])
        .status()
        .unwrap();
    assert!(status.success());
    copy.write("private.key", "a private key\n");
    assert!(copy.path(".hence/runs/evil/made").is_file());
    let refused: [&[&str]; 4] = [
        &["resume", "evil"],
        &["retry", "evil", "--yes"],
        &["fork", "evil", "--from", "pure", "--yes"],
        &["answer", "evil", "ask", "--value", "yes", "--resume"],
    ];
    for arguments in refused {
        let answer = copy.ask(arguments);
        assert!(answer.code == 1 && answer.stderr.contains("E0323"), "{arguments:?}: {}", answer.stderr);
    }
    let execute = copy.ask(&["verify", "evil", "--execute"]);
    assert!(execute.stderr.contains("was not made in this store"), "{}", execute.stderr);
    assert_eq!(calls(&copy), 0);
    // The run itself, where it was made, goes on.
    let answer = world.ask(&["answer", "evil", "ask", "--value", "yes", "--resume"]);
    assert!(!answer.stderr.contains("E0323"), "{}", answer.stderr);
}
