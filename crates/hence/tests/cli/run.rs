//! `hence run` and `hence resume`: completed runs, resumed runs, and runs that are not executed twice.

use insta::assert_snapshot;
use serde_json::json;

use hence_testkit::cli::{World, assert_unchanged, large_problem, problem};

#[test]
fn a_problem_gives_an_answer_and_names_its_journal() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    assert_snapshot!(world.cli(&["run", "problem.json"]), @r"
    answer        choose: e0 [e0].
    verification  passed
    status        completed
    run           refund-42
    head          <digest>:14
    record        .hence/runs/refund-42/trace.ndjson
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["runs"]), @r"
    RUN        STATUS     RECORDS  CREATED (MEASURED)        HEAD
    refund-42  completed  14       <time>  <digest>
    [exit 0]
    ");
}

#[test]
fn json_contains_the_same_report() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    assert_snapshot!(world.cli(&["run", "problem.json", "--json"]), @r#"
    {
      "run": "refund-42",
      "status": "completed",
      "answer": {"statements":[{"evidence":["e0"],"kind":"concluded","text":"choose: e0"}],"summary":"choose: e0 [e0]."},
      "verification": "passed",
      "reasons": [],
      "errors": [],
      "waiting": [],
      "usage": {
        "calls": 0,
        "tokens_in": 0,
        "tokens_out": 0,
        "cost": [],
        "limits": {
          "calls": null,
          "tokens": null,
          "cost": [],
          "seconds": null
        }
      },
      "records": 14,
      "head": "<digest>:14",
      "journal": ".hence/runs/refund-42/trace.ndjson",
      "start": "created",
      "cut": null,
      "policies": null
    }
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["runs", "--json"]), @r#"
    {
      "total": 1,
      "looked_at": 1,
      "complete": true,
      "runs": [
        {
          "run": "refund-42",
          "skill": null,
          "status": "completed",
          "reason": null,
          "records": 14,
          "head": "<digest>:14",
          "created_at": "2026-02-02T00:00:00Z",
          "measured_at": "<time>",
          "bytes": 10378,
          "waiting": [],
          "parent": null,
          "origin": null,
          "retries": null,
          "retry": null
        }
      ]
    }
    [exit 0]
    "#);
}

#[test]
fn arguments_reach_the_header() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    let arguments = [
        "run",
        "problem.json",
        "--run-id",
        "other",
        "--now",
        "2026-03-03T00:00:00Z",
        "--engine-version",
        "9.9.9",
    ];
    assert_eq!(world.ask(&arguments).code, 0);
    let header: serde_json::Value =
        serde_json::from_slice(world.journal("other").split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(header["trace_id"], "other");
    assert_eq!(header["created_at"], "2026-03-03T00:00:00Z");
    assert_eq!(header["engine_version"], "9.9.9");
}

#[test]
fn invalid_arguments_are_listed_and_nothing_is_created() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    assert_snapshot!(
        world.refused(&["run", "problem.json", "--now", "yesterday", "--engine-version", "new"]), @r#"
    --- stderr
    error[E0103]: the command line is refused: 2 findings
      engine_version: expected a semantic version such as 0.1.0, found "new"
      now: expected a UTC time such as 2026-02-02T00:00:00Z, found "yesterday"
    hint: fix the argument or leave it out; --help lists what the command takes; nothing was run or stored; `hence explain E0103` says more
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["run", "problem.json", "--profile", "loose"]), @r#"
    --- stderr
    error: invalid value 'loose' for '--profile <strict|compat>': expected profile `strict` or `compat`, found "loose"

    For more information, try '--help'.
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["run", "problem.json", "--run-id", ""]), @r"
    --- stderr
    error: a value is required for '--run-id <ID>' but none was supplied

    For more information, try '--help'.
    [exit 2]
    ");
    assert!(!world.path(".hence").exists());
}

#[test]
fn the_journal_can_be_copied_to_another_file() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    let answer = world.ask(&["run", "problem.json", "--journal", "-"]);
    assert_eq!(answer.stdout, world.journal("refund-42"));
    assert!(answer.stderr.contains("status        completed"), "{}", answer.stderr);
    assert_eq!(
        world.ask(&["run", "problem.json", "--run-id", "refund-42", "--journal", "copy.ndjson"]).code,
        0
    );
    assert_eq!(world.read("copy.ndjson"), world.journal("refund-42"));
}

#[test]
fn a_copy_that_cannot_be_written_is_reported_and_the_run_stays_stored() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    assert_snapshot!(world.cli(&["run", "problem.json", "--journal", "no/such/folder"]), @r"
    answer        choose: e0 [e0].
    verification  passed
    status        completed
    run           refund-42
    head          <digest>:14
    record        .hence/runs/refund-42/trace.ndjson
    --- stderr
    error[E0401]: cannot write no/such/folder: it does not exist
    hint: the run is in the store; `hence export refund-42 DIR` writes it elsewhere; `hence explain E0401` says more
    [exit 5]
    ");
    assert_eq!(world.ask(&["verify", "refund-42"]).code, 0);
}

#[test]
fn a_run_that_is_named_is_not_run_twice() {
    let world = World::with_run("refund-42");
    let before = world.stored();
    assert_snapshot!(world.cli(&["run", "problem.json", "--run-id", "refund-42"]), @r"
    answer        choose: e0 [e0].
    verification  passed
    status        completed
    run           refund-42
    head          <digest>:14
    record        .hence/runs/refund-42/trace.ndjson
    --- stderr
    run refund-42: already completed; nothing was run again
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["resume", "refund"]), @r"
    answer        choose: e0 [e0].
    verification  passed
    status        completed
    run           refund-42
    head          <digest>:14
    record        .hence/runs/refund-42/trace.ndjson
    --- stderr
    run refund-42: already completed; nothing was run again
    [exit 0]
    ");
    assert_unchanged(&before, &world.stored());
}

#[test]
fn another_problem_under_the_same_id_is_a_conflict() {
    let world = World::with_run("refund-42");
    let mut other = problem("refund-42");
    other["inputs"]["prompt"] = json!("Which other one?");
    world.write("other.json", other.to_string());
    assert_snapshot!(world.refused(&["run", "other.json", "--run-id", "refund-42"]), @r#"
    --- stderr
    error[E0204]: run refund-42 exists already with different content: journal differs
      problem.json /inputs/prompt: stored is "Which one?", given is "Which other one?"
    hint: the stored run was not changed: `hence log refund-42` shows it, --run-id gives this one another id; `hence explain E0204` says more
    [exit 1]
    "#);
    assert_snapshot!(world.refused(&["run", "other.json", "--trace-id", "refund-42", "--json"]), @r#"
    --- stderr
    {
      "error": {
        "code": "E0204",
        "message": "run refund-42 exists already with different content: journal differs",
        "findings": [
          "problem.json /inputs/prompt: stored is \"Which one?\", given is \"Which other one?\""
        ],
        "hint": "the stored run was not changed: `hence log refund-42` shows it, --run-id gives this one another id"
      }
    }
    [exit 1]
    "#);
}

#[test]
fn the_same_problem_with_other_formatting_is_the_same_run() {
    let world = World::with_run("refund-42");
    let before = world.stored();
    world.write("pretty.json", serde_json::to_string_pretty(&problem("refund-42")).unwrap());
    let answer = world.ask(&["run", "pretty.json", "--run-id", "refund-42", "--json"]);
    assert!(answer.code == 0 && answer.json()["start"] == "already_ended", "{}", answer.stderr);
    assert_unchanged(&before, &world.stored());
}

#[test]
fn the_compat_profile_runs_replays_and_verifies() {
    let world = World::new();
    let mut straight = problem("refund-42");
    straight["settings"] = json!({});
    world.write("problem.json", straight.to_string());
    assert_snapshot!(world.cli(&["run", "problem.json", "--profile", "compat"]), @r"
    answer        Processed 1 task(s).
    verification  passed
    status        completed
    run           refund-42
    head          <digest>:8
    record        .hence/runs/refund-42/trace.ndjson
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["runs"]), @r"
    RUN        STATUS     RECORDS  CREATED (MEASURED)        HEAD
    refund-42  completed  8        <time>  <digest>
    [exit 0]
    ");
    for command in ["verify", "replay", "log", "state", "resume"] {
        assert_eq!(world.ask(&[command, "refund-42"]).code, 0, "{command}");
    }
    assert_snapshot!(world.refused(&["run", "problem.json", "--run-id", "refund-42"]), @r#"
    --- stderr
    error[E0204]: run refund-42 exists already with different content: journal differs
      header /clock: stored is nothing, given is "ticking"
      header /index: stored is nothing, given is 0
      header /profile: stored is nothing, given is "strict-2"
    hint: the stored run was not changed: `hence log refund-42` shows it, --run-id gives this one another id; `hence explain E0204` says more
    [exit 1]
    "#);
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_the_run_stays_stored() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = world.command(&["run", "problem.json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.ask(&["verify", "refund-42"]).code, 0);
}

#[test]
fn a_failed_run_is_a_finding_with_a_journal() {
    let world = World::new();
    let mut failing = problem("refund-42");
    failing["settings"]["loop"]["max_iterations"] = json!(1);
    world.write("problem.json", failing.to_string());
    assert_snapshot!(world.cli(&["run", "problem.json"]), @r"
    verification  passed
    error         loop_max_iterations_reached: Loop stop condition not met after 1 iteration(s).
    status        failed
    run           refund-42
    head          <digest>:7
    record        .hence/runs/refund-42/trace.ndjson
    [exit 1]
    ");
    assert_snapshot!(world.cli(&["runs"]), @r"
    RUN        STATUS  RECORDS  CREATED (MEASURED)        HEAD
    refund-42  failed  7        <time>  <digest>
    [exit 0]
    ");
    assert_eq!(world.ask(&["verify", "refund-42"]).code, 0);
}

#[test]
fn an_interrupted_run_resumes_to_the_same_bytes() {
    let world = World::with_run("refund-42");
    let whole = world.journal("refund-42");
    let half = first_lines(&whole, 7);
    world.set_journal("refund-42", &half);
    assert_snapshot!(world.cli(&["runs"]), @r"
    RUN        STATUS      RECORDS  CREATED (MEASURED)        HEAD
    refund-42  unfinished  7        <time>  <digest>
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["resume", "refund-42"]), @r"
    answer        choose: e0 [e0].
    verification  passed
    status        completed
    run           refund-42
    head          <digest>:14
    record        .hence/runs/refund-42/trace.ndjson
    [exit 0]
    ");
    assert_eq!(world.journal("refund-42"), whole);
    world.set_journal("refund-42", &half);
    let answer = world.ask(&["run", "problem.json", "--run-id", "refund-42", "--json"]);
    assert_eq!((answer.code, answer.json()["start"].as_str()), (0, Some("resumed")));
    assert_eq!(world.journal("refund-42"), whole);
}

#[test]
fn a_torn_tail_is_removed_and_reported() {
    let world = World::with_run("refund-42");
    let whole = world.journal("refund-42");
    let torn = whole[..whole.len() - 700].to_vec();
    world.set_journal("refund-42", &torn);
    assert_snapshot!(world.cli(&["resume", "refund-42"]), @r"
    answer        choose: e0 [e0].
    verification  passed
    status        completed
    run           refund-42
    head          <digest>:14
    record        .hence/runs/refund-42/trace.ndjson
    --- stderr
    run refund-42: cut 833 bytes of an unfinished append at byte 8845; the journal ends at <digest>:12
    [exit 0]
    ");
    assert_eq!(world.journal("refund-42"), whole);
    world.set_journal("refund-42", &torn);
    let answer = world.ask(&["resume", "refund-42", "--json"]).json();
    assert!(answer["cut"].as_str().unwrap().starts_with("cut "), "{answer}");
    assert_eq!(world.journal("refund-42"), whole);
}

#[test]
fn a_journal_of_another_problem_is_not_resumed_and_keeps_its_torn_tail() {
    let world = World::with_run("refund-42");
    let mut torn = first_lines(&world.journal("refund-42"), 7);
    torn.extend_from_slice(b"{\"torn");
    world.set_journal("refund-42", &torn);
    let mut other = problem("refund-42");
    other["inputs"]["prompt"] = json!("Which other one?");
    world.write(".hence/runs/refund-42/problem.json", other.to_string());
    assert_snapshot!(world.refused(&["resume", "refund-42"]), @r"
    --- stderr
    error[E0302]: run refund-42: record 0 does not follow from the program: the header is not the one this problem and engine write
    hint: `hence verify refund-42` shows where the journal first breaks; `hence explain E0302` says more
    [exit 1]
    ");
}

#[test]
fn large_values_are_stored_as_blobs_and_read_back() {
    let world = World::new();
    world.run_problem(&large_problem("large"));
    let shown = world.ask(&["show", "large", "3", "--json"]).json();
    assert!(shown["record"]["result"]["output"]["$blob"]["sha256"].is_string(), "{shown}");
    assert!(shown["output"].to_string().len() > 12 * 1024);
    let state = world.ask(&["state", "large", "/artifacts", "--json"]).json();
    assert!(state.to_string().len() > 12 * 1024);
    assert!(!state.to_string().contains("$blob"), "{state}");
    let raw = world.ask(&["state", "large", "/artifacts", "--raw", "--json"]).json();
    assert!(raw.to_string().contains("$blob"), "{raw}");
    assert_eq!(world.ask(&["replay", "large"]).code, 0);
}

/// Returns the first `count` lines of a journal.
fn first_lines(journal: &[u8], count: usize) -> Vec<u8> {
    journal.split_inclusive(|byte| *byte == b'\n').take(count).flatten().copied().collect()
}
