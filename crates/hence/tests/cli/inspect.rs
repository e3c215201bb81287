//! Inspecting a run: `log`, `show`, `state`, `replay`, `diff`, `stats`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::{World, problem};

#[test]
fn the_log_lists_records() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["log", "refund-42"]), @r"
    INDEX  KIND     WHAT             STATUS   HASH          RECORDED (MEASURED)       TOOK
    0      header   strict-2                  <digest>  <time>
    1      step     Normalize        success  <digest>  <time>  <n> ms
    2      step     Decompose        success  <digest>  <time>  <n> ms
    3      step     AcquireEvidence  success  <digest>  <time>  <n> ms
    4      step     Compute          success  <digest>  <time>  <n> ms
    5      step     Verify           success  <digest>  <time>  <n> ms
    6      control  loop 1: repeat            <digest>  <time>
    7      step     AcquireEvidence  success  <digest>  <time>  <n> ms
    8      step     Compute          success  <digest>  <time>  <n> ms
    9      step     Verify           success  <digest>  <time>  <n> ms
    10     control  loop 2: stop              <digest>  <time>
    11     step     Synthesize       success  <digest>  <time>  <n> ms
    12     step     Audit            success  <digest>  <time>  <n> ms
    13     control  complete                  <digest>  <time>
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["log", "refund-42", "--from", "3", "--limit", "2"]), @r"
    INDEX  KIND  WHAT             STATUS   HASH          RECORDED (MEASURED)       TOOK
    3      step  AcquireEvidence  success  <digest>  <time>  <n> ms
    4      step  Compute          success  <digest>  <time>  <n> ms
    9 more; --from 5 continues, --limit 0 shows all
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["log", "refund-42", "--from", "12", "--json"]), @r#"
    {
      "run": "refund-42",
      "total": 14,
      "records": [
        {
          "index": 12,
          "kind": "step",
          "what": "Audit",
          "status": "success",
          "logical_at": "2026-02-02T00:00:10Z",
          "measured": {
            "recorded_at": "<time>",
            "started_at": "<time>",
            "ended_at": "<time>",
            "duration_ms": <n>,
            "elsewhere": false
          },
          "hash": "<digest>"
        },
        {
          "index": 13,
          "kind": "control",
          "what": "complete",
          "status": null,
          "logical_at": "2026-02-02T00:00:11Z",
          "measured": {
            "recorded_at": "<time>",
            "started_at": null,
            "ended_at": null,
            "duration_ms": null,
            "elsewhere": false
          },
          "hash": "<digest>"
        }
      ],
      "broken": []
    }
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["log", "refund-42", "--from", "99"]), @r"
    no record there; the run has 14
    [exit 0]
    ");
}

#[test]
fn a_damaged_record_hides_nothing_but_itself() {
    let world = World::with_run("refund-42");
    let mut lines: Vec<Vec<u8>> =
        world.journal("refund-42").split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines[2] = b"{}\n".to_vec();
    world.set_journal("refund-42", lines.concat());
    assert_snapshot!(world.cli(&["log", "refund-42", "--limit", "5"]), @r"
    INDEX  KIND        WHAT                                                         STATUS   HASH          RECORDED (MEASURED)       TOOK
    0      header      strict-2                                                              <digest>  <time>
    1      step        Normalize                                                    success  <digest>  <time>  <n> ms
    2      unreadable  not a record: missing_field:type, missing_field:record_hash                         not measured
    3      step        AcquireEvidence                                              success  <digest>  <time>  <n> ms
    4      step        Compute                                                      success  <digest>  <time>  <n> ms
    9 more; --from 5 continues, --limit 0 shows all
    --- stderr
    run refund-42: 1 line of times.ndjson ignored: not a measurement of a record that this journal has
    error[E0301]: run refund-42: its chain is broken at record 2: missing_field, index_mismatch, record_hash_mismatch; shown is what the file says, not what was recorded
    hint: `hence verify refund-42` shows where the journal first breaks; `hence explain E0301` says more
    [exit 5]
    ");
    world.set_journal("refund-42", [lines[0].clone(), b"not JSON\n".to_vec()].concat());
    assert_snapshot!(world.refused(&["show", "refund-42", "1"]), @r"
    --- stderr
    run refund-42: 13 lines of times.ndjson ignored: not a measurement of a record that this journal has
    error[E0301]: run refund-42: record 1: expected a JSON value, found 'n' at line 1, column 1
    hint: `hence verify refund-42` shows where the journal first breaks; `hence explain E0301` says more
    [exit 1]
    ");
}

#[test]
fn a_record_is_shown_by_index_or_step() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["show", "refund-42", "6"]), @r#"
    {
      "action": "repeat",
      "control_type": "loop",
      "end_step": "Verify",
      "index": 6,
      "loop_iteration": 1,
      "prev_hash": "<digest>",
      "record_hash": "<digest>",
      "start_step": "AcquireEvidence",
      "state_hash": "<digest>",
      "stop_condition": {
        "operator": "gte",
        "path": "artifacts.verification.evidence_count",
        "value": 2
      },
      "type": "control"
    }

    measured  recorded <time>
    [exit 0]
    "#);
    let by_name = world.ask(&["show", "refund-42", "Verify", "--json"]).json();
    assert_eq!(by_name["index"], 9);
    assert_snapshot!(world.refused(&["show", "refund-42", "14"]), @r#"
    --- stderr
    error[E0403]: run refund-42: expected a record below 14 or the name of a step, found "14"
    hint: `hence log refund-42` lists the records; `hence explain E0403` says more
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["show", "refund-42", "Guess"]), @r#"
    --- stderr
    error[E0403]: run refund-42: expected a record below 14 or the name of a step, found "Guess"
    hint: `hence log refund-42` lists the records; `hence explain E0403` says more
    [exit 2]
    "#);
}

#[test]
fn the_state_is_shown_whole_in_part_and_at_any_record() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["state", "refund-42", "/status"]), @r#"
    "completed"
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["state", "refund-42", "/status", "--at", "0"]), @r#"
    "pending"
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["state", "refund-42", "/artifacts/evidence", "--at", "AcquireEvidence"]), @r#"
    [
      {
        "id": "e0",
        "supports": [
          "choice"
        ],
        "supports_by": "declared"
      }
    ]
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["state", "refund-42", "", "--at", "0", "--json"]), @r#"
    {"artifacts":{},"assumptions":[],"constraints":["it exists"],"errors":[],"metadata":{"created_at":"2026-02-02T00:00:00Z","model_profile":null,"policy_profile":null,"trace_id":"refund-42","updated_at":"2026-02-02T00:00:00Z"},"problem":{"created_at":"2026-02-02T00:00:00Z","id":"refund-42","inputs":{"constraint_checks":[{"constraint":"it exists","expression":"tasks.choice == 'e0'"}],"constraints":["it exists"],"context":{"evidence":[{"id":"e0","supports":["choice"]},{"id":"e1","supports":["choice"]}]},"goals":["choose"],"prompt":"Which one?","tasks":[{"goal":"choose","id":"choice","method":"evidence.e0.id"}]},"settings":{"evidence_batch":1,"evidence_required":true,"loop":{"enabled":true,"end_step":"Verify","max_iterations":2,"start_step":"AcquireEvidence","stop_condition":{"operator":"gte","path":"artifacts.verification.evidence_count","value":2}}},"version":"1.0.0"},"status":"pending","step_index":0,"version":"1.0.0"}
    [exit 0]
    "#);
    assert_snapshot!(world.refused(&["state", "refund-42", "/nothing/here"]), @r"
    --- stderr
    error[E0403]: run refund-42: nothing is at /nothing/here in the state
    hint: `hence state refund-42` shows the whole state; with --cognition, what the steps of a skill read and wrote: inputs, vars, outputs; `hence explain E0403` says more
    [exit 2]
    ");
    assert_eq!(world.out("state refund-42 status"), world.out("state refund-42 /status"));
    assert_eq!(
        world.out("state refund-42 artifacts.verification"),
        world.out("state refund-42 /artifacts/verification")
    );
    assert!(world.refused(&["state", "refund-42", "/artifacts~2"]).contains("E0403"));
    assert_snapshot!(world.refused(&["state", "refund-42", "/status", "--at", "99"]), @r#"
    --- stderr
    error[E0403]: run refund-42: expected a record below 14 or the name of a step, found "99"
    hint: `hence log refund-42` lists the records; `hence explain E0403` says more
    [exit 2]
    "#);
}

#[test]
fn pointers_reach_keys_with_slashes_and_tildes() {
    let world = World::new();
    let mut odd = problem("refund-42");
    odd["inputs"]["context"]["a/b"] = json!({"c~d": 1});
    world.run_problem(&odd);
    assert_snapshot!(world.cli(&["state", "refund-42", "/problem/inputs/context/a~1b/c~0d"]), @r"
    1
    [exit 0]
    ");
    assert_snapshot!(world.refused(&["state", "refund-42", "/problem/inputs/context/a~2b"]), @r#"
    --- stderr
    error[E0403]: in a JSON pointer `~` is written `~0` and `/` is written `~1`, found "/problem/inputs/context/a~2b"
    hint: write a place as /artifacts/verification/status; `hence explain E0403` says more
    [exit 2]
    "#);
}

#[test]
fn a_replay_reports_whether_every_byte_is_equal() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["replay", "refund-42"]), @r"
    refund-42: every byte is equal
      10 steps executed again, 0 results read from the journal
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["replay", "refund-42", "--json"]), @r#"
    {
      "run": "refund-42",
      "equal": true,
      "executed": 10,
      "read": 0,
      "called": {},
      "difference": null
    }
    [exit 0]
    "#);
    let other = World::new();
    let mut changed = problem("refund-42");
    changed["settings"]["loop"]["max_iterations"] = json!(7);
    other.run_problem(&changed);
    world.set_journal("refund-42", other.journal("refund-42"));
    assert_snapshot!(world.refused(&["replay", "refund-42"]), @r"
    refund-42: differs at record 0
      differs in /initial_state_hash, /problem_spec_hash, /record_hash
      10 steps executed again, 0 results read from the journal
    --- stderr
    hint: `hence verify refund-42` shows where the journal first breaks
    [exit 1]
    ");
}

#[test]
fn runs_are_compared() {
    let world = World::with_run("one");
    world.write("copy.ndjson", world.journal("one"));
    assert_snapshot!(world.cli(&["diff", "one", "copy.ndjson"]), @r"
    one and copy.ndjson are equal, 14 records
    [exit 0]
    ");
    let mut other = problem("two");
    other["inputs"]["context"]["evidence"][1] = json!({"id": "another"});
    world.run_problem(&other);
    assert_snapshot!(world.cli(&["diff", "one", "two"]), @r#"
    one and two differ from record 0 on
    record 0
      /problem/inputs/context/evidence/1/id  "e1" | "another"
      /problem/inputs/context/evidence/1/supports  ["choice"] | nothing
    record 7 (AcquireEvidence)
      /result/output/0/id  "e1" | "another"
      /result/output/0/shared_words  nothing | []
      /result/output/0/supports/0  "choice" | nothing
      /result/output/0/supports_by  "declared" | "shared words"
    1 id or time differs as in any two runs; --json lists them
    [exit 1]
    "#);
    assert_snapshot!(world.cli(&["diff", "one", "two", "--limit", "1", "--json"]), @r#"
    {
      "left": "one",
      "right": "two",
      "equal": false,
      "first_line": 0,
      "records": [
        14,
        14
      ],
      "total": 7,
      "places": [
        {
          "line": 0,
          "step": null,
          "path": "/trace_id",
          "left": "one",
          "right": "two"
        }
      ]
    }
    [exit 1]
    "#);
    assert_snapshot!(world.refused(&["diff", "one", "three"]), @r#"
    --- stderr
    error[E0202]: no run id begins with "three"
    hint: no file has that name either; `hence runs` lists the runs, --store names another folder; `hence explain E0202` says more
    [exit 2]
    "#);
}

#[test]
fn records_of_the_same_step_are_compared_wherever_they_stand() {
    let world = World::with_run("one");
    world.write("problem.json", problem("one").to_string());
    world.ask(&["run", "problem.json", "--run-id", "two", "--policy", "reasoning"]);
    let report = world.ask(&["diff", "one", "two", "--limit", "0", "--json"]).json();
    let places = report["places"].as_array().unwrap();
    let policies = places.iter().find(|place| place["step"] == "$policies").unwrap();
    assert_eq!((&policies["left"], &policies["path"]), (&Value::Null, &json!("")), "{policies}");
    // Every other record has a counterpart, except for the verdicts at the end.
    let alone: Vec<&Value> =
        places.iter().filter(|place| place["path"] == "").map(|place| &place["step"]).collect();
    assert_eq!(alone, [&json!("$policies"), &json!("$verdicts")]);
}

#[test]
fn a_journal_is_compared_with_its_own_beginning() {
    let world = World::with_run("one");
    let cut: Vec<u8> =
        world.journal("one").split_inclusive(|byte| *byte == b'\n').take(12).flatten().copied().collect();
    world.write("cut.ndjson", cut);
    assert_snapshot!(world.cli(&["diff", "one", "cut.ndjson"]), @r#"
    one and cut.ndjson differ from record 12 on
      records: 14 and 12
    record 12 (Audit)
      whole record  {"index":12,"prev_hash":"<digest>… | nothing
    record 13
      whole record  {"action":"complete","at":"2026-02-02T00:00:11Z","control_ty… | nothing
    [exit 1]
    "#);
}

#[test]
fn lines_that_are_not_records_are_compared_as_text() {
    let world = World::with_run("one");
    let journal = String::from_utf8(world.journal("one")).unwrap();
    world.write("spaced.ndjson", journal.replacen('{', "{ ", 1));
    assert_snapshot!(world.cli(&["diff", "one", "spaced.ndjson"]), @r"
    one and spaced.ndjson differ from record 0 on
      the values are the same, spelled otherwise
    [exit 1]
    ");
    world.write("noise.ndjson", "noise \u{1b}[31m\n");
    world.write("other.ndjson", "other\n");
    assert_snapshot!(world.cli(&["diff", "noise.ndjson", "other.ndjson"]), @r#"
    noise.ndjson and other.ndjson differ from record 0 on
    record 0
      whole record  "noise \u001b[31m" | "other"
    [exit 1]
    "#);
}

#[test]
fn stats_counts_the_store_or_one_run() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["stats"]), @r"
    runs           1
    torn           0
    damaged        0
    records        14
    journal bytes  10378
    measured       <time> to <time>, 14 of 14 records
    took           <n> ms in 10 steps
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["stats", "--json"]), @r#"
    {
      "runs": 1,
      "torn": 0,
      "damaged": 0,
      "records": 14,
      "journal_bytes": 10378,
      "measured": {
        "records": 14,
        "first_at": "<time>",
        "last_at": "<time>",
        "steps_ms": 0,
        "steps": 10,
        "calls_ms": 0,
        "calls": 0,
        "waits_ms": 0,
        "waits": 0,
        "elsewhere": false
      },
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
      "latency": []
    }
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["stats", "refund-42"]), @r"
    run            refund-42
    journal bytes  10378
    steps          10
    by step        AcquireEvidence 2, Audit 1, Compute 2, Decompose 1, Normalize 1, Synthesize 1, Verify 2
    by status      success 10
    decisions      complete 1, repeat 1, stop 1
    measured       <time> to <time>, 14 of 14 records
    took           <n> ms in 10 steps
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["stats", "refund-42", "--json"]), @r#"
    {
      "run": "refund-42",
      "journal_bytes": 10378,
      "records": 14,
      "steps": 10,
      "by_step": {
        "AcquireEvidence": 2,
        "Audit": 1,
        "Compute": 2,
        "Decompose": 1,
        "Normalize": 1,
        "Synthesize": 1,
        "Verify": 2
      },
      "by_status": {
        "success": 10
      },
      "by_action": {
        "complete": 1,
        "repeat": 1,
        "stop": 1
      },
      "measured": {
        "records": 14,
        "first_at": "<time>",
        "last_at": "<time>",
        "steps_ms": 0,
        "steps": 10,
        "calls_ms": 0,
        "calls": 0,
        "waits_ms": 0,
        "waits": 0,
        "elsewhere": false
      },
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
      "latency": []
    }
    [exit 0]
    "#);
}
