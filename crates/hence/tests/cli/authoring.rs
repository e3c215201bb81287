//! An agent of its own reports its work with `hence trace init`, `act`, … on a journal.

use hence_testkit::cli::World;
use serde_json::Value;

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {}", answer.stderr))
}

/// Returns arguments with the time of a second.
fn at<'a>(arguments: &[&'a str], time: &'a str) -> Vec<&'a str> {
    [arguments, &["--now", time]].concat()
}

/// Makes a world with a trace of two actions, an artifact and a gap.
fn begun() -> World {
    let world = World::new();
    world.write("ledger.py", "x = 1\n");
    for (arguments, time) in [
        (
            &["trace", "init", "fix", "Fix the rounding", "--agent", "bot", "--model", "m"][..],
            "2026-02-09T10:00:00Z",
        ),
        (
            &[
                "trace",
                "act",
                "fix",
                "ReadFile",
                "Read it",
                "--why",
                "named",
                "--file",
                "ledger.py",
                "--input",
                "problem",
                "--output",
                "src:SourceCode:@ledger.py",
            ],
            "2026-02-09T10:00:01Z",
        ),
        (
            &[
                "trace",
                "act",
                "fix",
                "RunTests",
                "Run the tests",
                "--why",
                "cover it",
                "--input",
                "src",
                "--command",
                "pytest",
                "--exit-code",
                "1",
                "--tokens-in",
                "10",
                "--tokens-out",
                "5",
                "--cost",
                "0.25USD",
            ],
            "2026-02-09T10:00:02Z",
        ),
        (
            &[
                "trace",
                "residual",
                "fix",
                "Not tried on Windows",
                "--kind",
                "unverified",
                "--severity",
                "low",
                "--on",
                "artifact:src",
                "--by",
                "3",
            ],
            "2026-02-09T10:00:03Z",
        ),
    ] {
        let answer = world.ask(&at(arguments, time));
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
    }
    world
}

#[test]
fn a_reported_trace_is_a_run_and_a_valid_trace() {
    let world = begun();
    let trace = json(&world, &["trace", "export", "fix"]);
    assert_eq!(
        (&trace["assistant"], &trace["model"], &trace["trace_id"]),
        (&"bot".into(), &"m".into(), &"fix".into())
    );
    assert_eq!(trace["actions"].as_array().unwrap().len(), 3, "{trace}");
    assert_eq!(trace["actions"][1]["outputs"][0], "src");
    assert_eq!(trace["actions"][2]["result"]["status"], "failed", "{trace}");
    assert_eq!(trace["outcome"]["type"], "ProcessInterrupted");
    let sha256 = trace["artifacts"][1]["metadata"]["sha256"].as_str().unwrap();
    assert_eq!(sha256.len(), 64);
    let valid = json(&world, &["trace", "validate", "fix", "--canonical"]);
    assert_eq!((&valid["valid"], &valid["warnings"]), (&true.into(), &0.into()), "{valid}");
    let done = world.ask(&at(&["trace", "complete", "fix", "Done"], "2026-02-09T10:01:00Z"));
    assert_eq!(done.code, 0, "{}", done.stderr);
    for arguments in [
        &["verify", "fix"][..],
        &["replay", "fix"],
        &["log", "fix"],
        &["show", "fix", "trace.act"],
        &["trace", "show", "fix"],
        &["trace", "residuals", "fix"],
        &["trace", "lineage", "fix", "src"],
        &["why", "fix"],
        &["state", "fix"],
    ] {
        let answer = world.ask(arguments);
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
    }
    assert_eq!(json(&world, &["runs"])["runs"][0]["status"], "completed");
    let used = &json(&world, &["stats", "fix"])["usage"];
    assert_eq!((&used["tokens_in"], &used["tokens_out"]), (&10.into(), &5.into()), "{used}");
    assert_eq!(used["cost"][0]["amount"], "0.25", "{used}");
    assert_eq!(json(&world, &["stats"])["usage"]["tokens_in"], 10);
    let ended = world.ask(&["trace", "act", "fix", "Explain", "More", "--why", "late"]);
    assert!(ended.code == 1 && ended.stderr.contains("the trace has ended"), "{}", ended.stderr);
}

#[test]
fn a_refused_operation_changes_no_byte_and_says_what_was_expected() {
    let world = begun();
    world.write(
        "payload.json",
        r#"{"reference_artifact_id": "spec", "target_artifact_id": "src", "status": "good"}"#,
    );
    let before = world.journal("fix");
    for (arguments, code, expected) in [
        (&["act", "fix", "RunTest", "x", "--why", "y"][..], 2, "did you mean `RunTests`?"),
        (&["act", "fix", "RunTests", "x", "--why", " "], 1, "expected text in the rationale"),
        (&["act", "fix", "RunTests", "x", "--why", "y", "--input", "scr"], 1, "did you mean `src`?"),
        (&["act", "fix", "RunTests", "x", "--why", "y", "--output", "src:Plan"], 1, "which is taken"),
        (&["act", "fix", "RunTests", "x", "--why", "y", "--output", "p:Pla"], 2, "did you mean `Plan`?"),
        (&["act", "fix", "RunTests", "x", "--why", "y", "--output", "p:FormalModel"], 1, "has a payload"),
        (&["act", "fix", "RunTests", "x", "--why", "y", "--choose", "a"], 1, "are for decisions"),
        (&["act", "fix", "ExclusiveDecision", "x", "--why", "y"], 1, "expected the option with --choose"),
        (
            &["artifact", "fix", "SourceCode", "--by", "9"],
            1,
            "expected an action of the trace, 2 to 3, found 9",
        ),
        (&["artifact", "fix", "SourceCode", "--content", "@absent"], 2, "it does not exist"),
        (
            &["artifact", "fix", "ConformanceResult", "--payload", "@payload.json"],
            1,
            "conformance status is one of",
        ),
        (&["observe", "fix", "x", "--on", "1"], 1, "expected an action of the trace, 2 to 3, found 1"),
        (&["link", "fix", "fix", "--as", "reruns"], 1, "to another one"),
        (&["link", "fix", "other", "--as", "replaces"], 2, "relationship is one of"),
        (
            &["residual", "fix", "--id", "r1", "--status", "addressed"],
            1,
            "expected the action that addressed it",
        ),
        (&["residual", "fix", "--id", "r2", "--status", "waived"], 1, "expected a declared gap of the trace"),
        (&["residual", "fix", "x"], 2, "--kind"),
        (&["complete", "fix"], 2, "SUMMARY"),
        (&["act", "absent", "Explain", "x", "--why", "y"], 2, "absent"),
        (&["init", "fix", "again", "--agent", "bot"], 1, "E0204"),
    ] {
        let answer = world.ask(&[&["trace"], arguments].concat());
        assert_eq!(answer.code, code, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(expected), "{arguments:?}: {}", answer.stderr);
        assert_eq!(world.journal("fix"), before, "{arguments:?}");
    }
}

#[test]
fn gaps_references_links_and_observations_appear_in_the_trace() {
    let world = begun();
    world.write(
        "payload.json",
        r#"{"reference_artifact_id": "spec", "target_artifact_id": "src", "status": "passed"}"#,
    );
    for arguments in [
        &[
            "reference",
            "fix",
            "spec",
            "--name",
            "Spec",
            "--domain",
            "money",
            "--goal",
            "g:invariant:sums hold",
        ][..],
        &[
            "act",
            "fix",
            "ConformanceCheck",
            "Check",
            "--why",
            "approved",
            "--input",
            "src",
            "--input",
            "spec",
            "--tool",
            "checker",
        ],
        &["artifact", "fix", "ConformanceResult", "--id", "c", "--from", "src", "--payload", "@payload.json"],
        &[
            "artifact",
            "fix",
            "SourceCode",
            "--id",
            "src2",
            "--supersedes",
            "src",
            "--from",
            "src",
            "--by",
            "4",
        ],
        &["observe", "fix", "One is slow", "--on", "3", "--confidence", "low", "--from", "src"],
        &["residual", "fix", "--id", "r1", "--status", "acknowledged"],
        &["residual", "fix", "--id", "r1", "--status", "addressed", "--by", "4", "--note", "checked"],
        &["link", "fix", "older", "--as", "conformance_recheck_of"],
        &["complete", "fix", "Gave up", "--as", "aborted"],
    ] {
        let answer = world.ask(&[&["trace"], arguments].concat());
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
    }
    let trace = json(&world, &["trace", "export", "fix"]);
    assert_eq!(trace["reference_artifacts"][0]["verification_goals"][0]["kind"], "invariant");
    assert_eq!(trace["actions"][3]["outputs"].as_array().unwrap().len(), 2, "{trace}");
    assert_eq!(trace["actions"][2]["observations"][0]["confidence"], "low");
    let gap = trace["residuals"].as_array().unwrap().iter().find(|gap| gap["residual_id"] == "r1").unwrap();
    assert_eq!((&gap["status"], &gap["addressed_by_action_id"]), (&"addressed".into(), &4.into()), "{gap}");
    assert_eq!(trace["trace_links"][0]["relationship"], "conformance_recheck_of");
    assert_eq!(trace["trace_lineage"]["parent_trace_id"], "older");
    let newer =
        trace["artifacts"].as_array().unwrap().iter().find(|made| made["artifact_id"] == "src2").unwrap();
    assert_eq!((&newer["revision"], &newer["supersedes"]), (&2.into(), &"src".into()));
    assert_eq!(trace["outcome"]["type"], "ProcessAborted");
    let valid = json(&world, &["trace", "validate", "fix", "--canonical"]);
    assert_eq!(valid["errors"], 0, "{valid}");
    // The work was not completed, and the run says so.
    assert_eq!(json(&world, &["runs"])["runs"][0]["status"], "failed");
    assert_eq!(world.ask(&["verify", "fix"]).code, 0, "{}", world.cli(&["verify", "fix"]));
}

#[test]
fn a_secret_in_a_command_is_not_recorded_and_an_altered_report_is_found() {
    let world = begun();
    let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    let command = format!("curl -H 'Authorization: Bearer {token}' https://example.org");
    let answer =
        world.ask(&["trace", "act", "fix", "RunCommand", "Call", "--why", "y", "--command", &command]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stderr.contains("secret"), "{}", answer.stderr);
    let journal = String::from_utf8(world.journal("fix")).unwrap();
    assert!(!journal.contains(token), "{journal}");
    world.set_journal("fix", journal.replace("cover it", "cover if").as_bytes());
    assert_eq!(world.ask(&["verify", "fix"]).code, 1);
    assert_ne!(world.ask(&["trace", "act", "fix", "Explain", "x", "--why", "y"]).code, 0);
}

#[test]
fn other_kinds_of_runs_take_no_reports_and_a_report_takes_no_checkpoint() {
    let world = begun();
    assert_eq!(world.ask(&["vars", "init", "other", "a task"]).code, 0);
    let answer = world.ask(&["trace", "act", "other", "Explain", "x", "--why", "y"]);
    assert!(answer.code == 1 && answer.stderr.contains("a run of the kind `variables`"), "{}", answer.stderr);
    for arguments in [&["checkpoint", "fix", "here"][..], &["fork", "fix", "--from", "2"], &["resume", "fix"]]
    {
        let answer = world.ask(arguments);
        assert_eq!(answer.code, 1, "{arguments:?}: {}", answer.stderr);
    }
}
