//! Bad inputs: a typed outcome, a run that can be resumed, and nothing half-made.

use hence_testkit::model_server::{ModelServer, Said};

use crate::scripted::{arguments, model, server, world};

#[test]
fn inputs_that_cannot_be_used_are_refused_before_a_run_exists() {
    let Some(world) = world() else { return };
    let server = server(&[], |_| String::new());
    let model = model(&server);
    world
        .write("bin.dat", [0xff, 0xfe, 0])
        .write("bad.json", "{")
        .write("bad.csv", "a,a\n1,2\n")
        .write("ok.txt", "x");
    for (words, code) in [
        (vec!["solve", "q", "--model", &model, "--context", "none.txt"], "E0340"),
        (vec!["solve", "q", "--model", &model, "--context", "bin.dat"], "E0340"),
        (vec!["solve", "q", "--model", &model, "--context", "bad.json"], "E0340"),
        (vec!["solve", "q", "--model", &model, "--context", "bad.csv"], "E0340"),
        (vec!["solve", "q", "--model", &model, "--context", "*.none"], "E0340"),
        (vec!["solve", "q", "--model", "gpt", "--context", "ok.txt"], "E0341"),
        (vec!["solve", "q", "--model", "openai:gpt", "--context", "ok.txt"], "E0322"),
        (vec!["solve", "q", "--model", &model, "--max-depth", "9"], "E0103"),
        (vec!["solve", "q", "--model", &model, "--price", "cheap"], "E0103"),
    ] {
        let answer = world.ask(&words);
        assert!(
            answer.code != 0 && answer.stderr.contains(code),
            "{words:?}: {} {}",
            answer.code,
            answer.stderr
        );
    }
    assert_eq!(server.count(), 0);
    let none = world.ask(&["runs", "--json"]);
    assert!(
        !String::from_utf8_lossy(&none.stdout).contains("\"run\""),
        "{}",
        String::from_utf8_lossy(&none.stdout)
    );
}

#[test]
fn a_missing_worker_is_named_with_the_command_that_installs_it() {
    let world = hence_testkit::cli::World::new().env("HENCE_MONTY", "/nowhere/monty");
    let answer = world.ask(&["solve", "q", "--model", "http://127.0.0.1:9/v1#m"]);
    assert!(
        answer.code == 1 && answer.stderr.contains("E0342") && answer.stderr.contains("pip install"),
        "{}",
        answer.stderr
    );
}

#[test]
fn a_context_that_changes_or_vanishes_stops_the_run_until_it_is_back() {
    let Some(world) = world() else { return };
    let down = ModelServer::answering(|asked| match crate::scripted::turn(asked) {
        Some(1) => Said::Text("```repl\nn = len(context)\n```".to_owned()),
        _ if asked.number < 3 => Said::Error("403 Forbidden", "later".to_owned()),
        _ => Said::Text("```repl\nFinal = [n, slice(0, 3)]\n```".to_owned()),
    });
    world.write("c.txt", "abcdef");
    let model = model(&down);
    assert_eq!(world.ask(&arguments("q", &["c.txt"], &model)).code, 5);
    world.write("c.txt", "abcdeX");
    let mut changed = world.ask(&["resume", "r"]);
    if !changed.stderr.contains("context") {
        changed = world.ask(&["resume", "r"]);
    }
    assert!(
        changed.code == 5 && changed.stderr.contains("has changed"),
        "{} {}",
        changed.code,
        changed.stderr
    );
    std::fs::remove_file(world.path("c.txt")).unwrap();
    let gone = world.ask(&["resume", "r"]);
    assert!(gone.code == 5 && gone.stderr.contains("does not exist"), "{}", gone.stderr);
    let verified = world.ask(&["verify", "r"]);
    assert!(String::from_utf8_lossy(&verified.stdout).contains("does not exist"), "{}", verified.stderr);
    world.write("c.txt", "abcdef");
    let done = world.ask(&["resume", "r"]);
    assert!(done.code == 0 && String::from_utf8_lossy(&done.stdout).contains("abc"), "{}", done.stderr);
}

#[test]
fn a_model_that_never_finishes_ends_in_a_typed_outcome() {
    let Some(world) = world() else { return };
    let server = server(&[], |_| String::new());
    world.write("c.txt", "text");
    let model = model(&server);
    let words = [&arguments("q", &["c.txt"], &model)[..], &["--max-turns", "3", "--json"]].concat();
    let answer = world.ask(&words);
    let report: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(
        (answer.code, &report["limit"]["name"], &report["partial_answer"]),
        (5, &"turns".into(), &"I do not know.".into())
    );
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
    assert_eq!(world.ask(&["replay", "r"]).code, 0);
}

#[test]
fn replies_in_every_shape_and_busy_endpoints_are_survived() {
    let Some(world) = world() else { return };
    for voice in hence_testkit::providers::VOICES {
        let server = ModelServer::answering(|asked| match asked.number {
            0 => Said::RateLimited("0"),
            1 => Said::Cut("```repl".to_owned()),
            2 => Said::Malformed("[]".to_owned()),
            3 => Said::Text(String::new()),
            4 => Said::Error("503 Service Unavailable", "later".to_owned()),
            _ => Said::Text("```repl\nFinal = 'done'\n```".to_owned()),
        });
        world.write("c.txt", "text");
        let (model, run) = (server.model(voice, "m"), format!("r-{voice:?}"));
        let answer = world.ask(&["solve", "q", "--context", "c.txt", "--model", &model, "--run-id", &run]);
        assert_eq!(answer.code, 0, "{voice:?}: {}", answer.stderr);
    }
}

#[test]
fn an_imported_run_asks_no_model_without_the_users_word() {
    let Some(world) = world() else { return };
    let down = ModelServer::answering(|asked| match asked.number {
        0 => Said::Text("```repl\na = 1\n```".to_owned()),
        _ => Said::Error("401 Unauthorized", "no".to_owned()),
    });
    world.write("c.txt", "text");
    let model = model(&down);
    world.ask(&arguments("q", &["c.txt"], &model));
    assert_eq!(world.ask(&["export", "r", "b"]).code, 0);
    let asked = down.count();
    let there = crate::scripted::world().unwrap();
    there.write("c.txt", "text");
    let bundle = world.path("b");
    let imported = there.ask(&["import", bundle.to_str().unwrap()]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let resumed = there.ask(&["resume", "r"]);
    assert!(resumed.code != 0 && resumed.stderr.contains("E0323"), "{} {}", resumed.code, resumed.stderr);
    assert_eq!(down.count(), asked);
    // Whoever wrote the record chose the blocks and the paths, so neither is touched.
    std::fs::remove_file(there.path("c.txt")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(there.path("c.txt")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let verified = there.ask(&["verify", "r", "--json"]);
    let report = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(verified.code == 0 && report.contains("its blocks are not run"), "{report}{}", verified.stderr);
    let replayed = there.ask(&["replay", "r"]);
    assert!(replayed.code != 0 && replayed.stderr.contains("its blocks are not run"), "{}", replayed.stderr);
}

#[test]
fn a_context_that_became_a_pipe_is_refused_without_waiting() {
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|_| Said::Text("```repl\nFinal = 1\n```".to_owned()));
    world.write("c.json", "[1]").write("c.txt", "text");
    let model = model(&server);
    assert_eq!(world.ask(&arguments("q", &["c.txt", "c.json"], &model)).code, 0);
    for name in ["c.txt", "c.json"] {
        let kept = std::fs::read(world.path(name)).unwrap();
        std::fs::remove_file(world.path(name)).unwrap();
        let made = std::process::Command::new("mkfifo").arg(world.path(name)).status();
        assert!(made.is_ok_and(|status| status.success()));
        let verified = world.ask(&["verify", "r", "--json"]);
        assert!(
            String::from_utf8_lossy(&verified.stdout).contains("it is not a file"),
            "{name}: {}",
            verified.stderr
        );
        std::fs::remove_file(world.path(name)).unwrap();
        world.write(name, kept);
    }
}
