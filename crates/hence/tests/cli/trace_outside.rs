//! `hence trace reproduce` and `hence trace bind`: programs and repositories, without a shell.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::World;

fn candidate(id: i64, command: &str, expected: Option<&str>) -> Value {
    json!({"id": id, "category": "activity", "type": "RunCommand", "label": "l", "rationale": "r",
        "reproducibility": {"status": "reproducible", "reproduction_kind": "tool_reexecution",
            "procedure": {"kind": "command", "command": command},
            "expected_output": {"result_summary": expected}}})
}

fn trace(actions: &[Value]) -> String {
    json!({"trace_id": "t", "spec_version": "1.6", "assistant": "a", "model": "m", "timestamp": "2026-01-01T00:00:00Z",
        "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"}, "artifacts": [],
        "actions": actions})
    .to_string()
}

/// A world whose commands find the programs of this machine.
fn world() -> World {
    World::new().env("PATH", &std::env::var("PATH").unwrap())
}

#[test]
fn nothing_runs_without_request_and_hostile_commands_never_run() {
    let world = world();
    let hostile = [
        "cat a; touch /tmp/hence-was-here",
        "cat a | tee stolen",
        "cat $(touch x)",
        "cat `touch x`",
        "cat a > b",
        "cat a && rm -rf .",
        "sh -c 'touch x'",
        "LD_PRELOAD=./x.so cat a",
        "git -c core.pager=./x log",
        "./cat a",
        "cat a\ntouch x",
        "cat ../../etc/passwd",
        "cat 'a",
    ];
    let mut actions: Vec<Value> =
        hostile.iter().zip(2..).map(|(command, id)| candidate(id, command, Some("one"))).collect();
    actions.push(candidate(1, "cat a", Some("one")));
    world.write("t.json", trace(&actions)).write("src/a", "one\n");
    assert_snapshot!("dry", world.cli(&["trace", "reproduce", "t.json"]));
    let report = world.ask(&["trace", "reproduce", "t.json", "--run", "--with", "src", "--json"]);
    assert_eq!((report.code, &report.json()["reproduced"]), (0, &json!(1)));
    assert_eq!(report.json()["not_run"], hostile.len());
    let left: Vec<_> = std::fs::read_dir(world.path("src")).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn safe_commands_run_in_a_copy_and_are_compared() {
    let world = world();
    let mut elsewhere = candidate(5, "cat a", Some("one"));
    elsewhere["reproducibility"]["procedure"]["working_directory"] = "../..".into();
    let mut below = candidate(6, "cat b", Some("two"));
    below["reproducibility"]["procedure"]["working_directory"] = "deep".into();
    let actions = [
        candidate(1, "cat a | grep one", Some("one")),
        candidate(2, "cat a", Some("\u{1b}[31mthree")),
        candidate(3, "cat a", None),
        candidate(4, "ls *", Some("a")),
        elsewhere,
        below,
    ];
    world.write("t.json", trace(&actions)).write("src/a", "one\n").write("src/deep/b", "two\n");
    let ran = world.cli(&["trace", "reproduce", "t.json", "--run", "--with", "src"]);
    assert!(ran.contains("of 4 ran isolated: without network"), "{ran}");
    // Whether the system can isolate is its own affair.
    let ran: Vec<&str> = ran.lines().filter(|line| !line.contains("isolated: ")).collect();
    assert_snapshot!("ran", ran.join("\n"));
    let one =
        world.ask(&["trace", "reproduce", "t.json", "--run", "--with", "src", "--action", "1", "--json"]);
    assert_eq!((one.code, one.json()["candidates"].as_array().unwrap().len()), (0, 1));
    let isolation = one.json()["candidates"][0]["isolation"].as_str().unwrap().to_owned();
    assert!(isolation == "isolated" || isolation.starts_with("not isolated: "), "{isolation}");
    assert_snapshot!("no_candidate", world.refused(&["trace", "reproduce", "t.json", "--action", "9"]));
    assert_snapshot!(
        "no_folder",
        world.refused(&["trace", "reproduce", "t.json", "--run", "--with", "nowhere"])
    );
    assert_snapshot!("no_time", world.refused(&["trace", "reproduce", "t.json", "--run", "--timeout", "0"]));
}

#[test]
fn a_real_run_is_reproduced_from_its_trace() {
    let binary = Path::new(env!("CARGO_BIN_EXE_hence")).parent().unwrap().to_owned();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let world = World::with_run("one").env("PATH", &path);
    assert_eq!(world.ask(&["trace", "export", "one", "--out", "t.json"]).code, 0);
    let report = world.ask(&["trace", "reproduce", "t.json", "--run", "--with", ".", "--json"]);
    assert_eq!(report.json()["not_run"], 0, "{}", report.json());
    assert!(report.json()["candidates"].as_array().unwrap().iter().all(|row| row["exit_code"] == 0));
}

fn git(world: &World, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(world.path("repo"))
        .args(["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"])
        .args(["-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A world with a repository of one commit.
fn repository() -> World {
    let mut world = world();
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.org"),
        ("GIT_COMMITTER_NAME", "ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.org"),
        ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
        ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
    ] {
        world = world.env(name, value);
    }
    world.write("repo/a", "one\n").write("t.json", trace(&[]));
    git(&world, &["init", "--quiet"]);
    git(&world, &["remote", "add", "origin", "https://user:secret@host.example/owner/ledger.git"]);
    git(&world, &["add", "a"]);
    git(&world, &["commit", "--quiet", "-m", "first"]);
    world
}

#[test]
fn a_trace_is_bound_to_a_commit_and_every_state_is_reported() {
    let world = repository();
    let check = |file: &str| {
        let report = world.ask(&["trace", "bind", file, "--repo", "repo", "--check", "--json"]);
        (report.code, report.json()["state"].as_str().unwrap().to_owned(), report.json()["noted"] == true)
    };
    assert_eq!(check("t.json"), (1, "unbound".to_owned(), false));
    let bind = ["trace", "bind", "t.json", "--repo", "repo", "--out", "bound.json", "--json"];
    let report = world.ask(&bind);
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert_eq!((&report.json()["repo"], &report.json()["branch"]), (&json!("owner/ledger"), &json!("main")));
    assert_eq!(check("bound.json"), (0, "bound".to_owned(), true));
    let note = git(&world, &["notes", "--ref", "ponens", "show", "HEAD"]);
    assert!(note.starts_with("Trace-Id: t\nContent-Hash: sha256:"), "{note}");
    assert_eq!(world.ask(&bind).code, 0);
    let text = String::from_utf8(world.read("bound.json")).unwrap();
    assert!(!text.contains("secret"));
    world.write("dirty.json", text.replace("ProcessCompleted", "ProcessAborted"));
    assert_eq!(check("dirty.json"), (1, "dirty".to_owned(), true));
    assert_snapshot!("bind_changed", world.refused(&["trace", "bind", "dirty.json", "--repo", "repo"]));
    world.write("other.json", trace(&[]).replace("\"t\"", "\"u\""));
    assert_snapshot!("bind_taken", world.refused(&["trace", "bind", "other.json", "--repo", "repo"]));
    let add = ["trace", "residuals", "add", "bound.json", "x", "--kind", "limitation", "--severity", "low"];
    assert_eq!(world.ask(&[&add[..], &["--out", "next.json"]].concat()).code, 0);
    assert_eq!(
        world.ask(&["trace", "bind", "next.json", "--repo", "repo", "--out", "next.json", "--force"]).code,
        0
    );
    assert!(git(&world, &["notes", "--ref", "ponens", "show", "HEAD"]).starts_with("Trace-Id: t.2\n"));
    git(&world, &["commit", "--quiet", "--allow-empty", "-m", "second"]);
    assert_eq!(check("next.json"), (1, "stale".to_owned(), false));
}

#[test]
fn binding_without_a_commit_is_refused() {
    let world = world();
    world.write("t.json", trace(&[])).write("plain/a", "x");
    let refused = world.ask(&["trace", "bind", "t.json", "--repo", "plain", "--json"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("E0705") && refused.stderr.contains("has no commit to bind to"));
    let alone = World::new().env("PATH", "/nowhere");
    alone.write("t.json", trace(&[]));
    assert!(alone.ask(&["trace", "bind", "t.json"]).stderr.contains("the program git cannot be run"));
}

/// A program that a person calls `pytest` and that does everything it should not.
const HOSTILE_TESTS: &str = r#"#!/bin/sh
: > "$OUTSIDE/written" 2>/dev/null && echo wrote outside
: > inside && echo wrote inside
(exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null && echo connected
kill -0 "$TESTER" 2>/dev/null && echo reached the tester
[ -e "/proc/$TESTER/status" ] && grep -q "^Pid:.$TESTER\$" "/proc/$TESTER/status" && echo saw the tester
mount -t tmpfs none /proc 2>/dev/null && echo mounted
setsid sh -c 'sh -c "echo up > daemon; exec sleep 6000$PORT" & exit 0' >/dev/null 2>&1
(setsid sh -c '(trap "" TERM HUP INT; sleep 6001$PORT) & :' &)
nohup sleep 6002$PORT >/dev/null 2>&1 &
while [ ! -s daemon ]; do sleep 0.05; done
echo "daemon $(cat daemon)"
"#;

#[cfg(target_os = "linux")]
#[test]
fn a_reproduced_command_writes_nothing_outside_reaches_nobody_and_leaves_nothing_running() {
    use std::os::unix::fs::PermissionsExt as _;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let outside = tempfile::tempdir().unwrap();
    let world = World::new();
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    let tester = std::process::id().to_string();
    let world = world.env("PATH", &path).env("PORT", &port).env("TESTER", &tester);
    let world = world.env("OUTSIDE", &outside.path().display().to_string());
    // Bash has connections; another shell reports that it has none.
    let shell = if Path::new("/bin/bash").exists() { "#!/bin/bash" } else { "#!/bin/sh" };
    world.write("bin/pytest", HOSTILE_TESTS.replacen("#!/bin/sh", shell, 1)).write("src/a", "one\n");
    let program = world.path("bin/pytest");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.write("t.json", trace(&[candidate(1, "pytest -q", Some("x"))]));
    let report = world
        .ask(&[
            "trace",
            "reproduce",
            "t.json",
            "--run",
            "--with",
            "src",
            "--env",
            "PORT",
            "--env",
            "TESTER",
            "--env",
            "OUTSIDE",
            "--json",
        ])
        .json();
    let row = &report["candidates"][0];
    let output = row.to_string();
    assert!(output.contains("wrote inside") && output.contains("daemon "), "{report}");
    // Whether namespaces are to be had or not, nothing outlives the command.
    let left = || -> Vec<String> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.contains("600") && line.contains(&port)).collect()
    };
    let started = std::time::Instant::now();
    while !left().is_empty() {
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?} lives", left());
        // A killed process is in the list until its parent has seen its end.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    if row["isolation"] != "isolated" {
        eprintln!("skipped in part: {}", row["isolation"]);
        return;
    }
    for deed in ["wrote outside", "connected", "reached the tester", "saw the tester", "mounted"] {
        assert!(!output.contains(deed), "{deed}: {output}");
    }
    assert!(!outside.path().join("written").exists());
    assert!(listener.accept().is_err(), "somebody connected");
    assert!(!world.path("src/inside").exists(), "the copy is written to, not the project");
}
