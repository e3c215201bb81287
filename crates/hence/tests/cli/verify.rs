//! `hence verify` on whole, cut and rewritten journals: what holds, and what a bare chain cannot show.

use insta::assert_snapshot;
use serde_json::json;

use hence_testkit::cli::{World, problem};

#[test]
fn a_whole_run_holds_at_every_level_that_needs_no_anchor() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["verify", "refund-42"]), @r"
    refund-42: 14 records hold
      bytes     holds
      chain     holds
      linked    holds
      spec      holds
      replay    holds
      anchored  not checked  no head kept elsewhere was given
    head <digest>:14
    not shown by these checks:
      that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it
      that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT refund-42`
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["verify", "refund-42", "--json"]), @r#"
    {
      "target": "refund-42",
      "holds": true,
      "records": 14,
      "intact": 14,
      "head": "<digest>:14",
      "complete": true,
      "levels": [
        {
          "level": "bytes",
          "verdict": "holds",
          "line": null,
          "reasons": [],
          "unchecked": []
        },
        {
          "level": "chain",
          "verdict": "holds",
          "line": null,
          "reasons": [],
          "unchecked": []
        },
        {
          "level": "linked",
          "verdict": "holds",
          "line": null,
          "reasons": [],
          "unchecked": [
            "input_hash of Normalize (the problem is not known)",
            "input_hash of Decompose (the problem is not known)",
            "input_hash of AcquireEvidence (the problem is not known)",
            "input_hash of Compute (the problem is not known)",
            "input_hash of AcquireEvidence (the problem is not known)",
            "input_hash of Compute (the problem is not known)"
          ]
        },
        {
          "level": "spec",
          "verdict": "holds",
          "line": null,
          "reasons": [],
          "unchecked": []
        },
        {
          "level": "replay",
          "verdict": "holds",
          "line": null,
          "reasons": [],
          "unchecked": []
        },
        {
          "level": "anchored",
          "verdict": "not_checked",
          "line": null,
          "reasons": [],
          "unchecked": [
            "no head kept elsewhere was given"
          ]
        }
      ],
      "links": [],
      "blobs": [],
      "beside": [],
      "snapshot": null,
      "called": {},
      "not_shown": [
        "that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it",
        "that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it",
        "that recorded inputs, evidence and replies were true: a record proves what was written down"
      ]
    }
    [exit 0]
    "#);
}

#[test]
fn the_head_that_was_printed_is_an_anchor() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["verify", "refund-42", "--anchor", &world.head("refund-42")]), @r"
    refund-42: 14 records hold
      bytes     holds
      chain     holds
      linked    holds
      spec      holds
      replay    holds
      anchored  holds
    head <digest>:14
    not shown by these checks:
      that recorded inputs, evidence and replies were true: a record proves what was written down
    [exit 0]
    ");
    assert_snapshot!(world.refused(&["verify", "refund-42", "--anchor", "abc"]), @r#"
    --- stderr
    error: invalid value 'abc' for '--anchor <HASH:COUNT>': an anchor is HASH:COUNT, 64 lower-case hex digits and a number of records above 0, found "abc"

    For more information, try '--help'.
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["verify", "refund-42", "--level", "deep"]), @r#"
    --- stderr
    error: invalid value 'deep' for '--level <LEVEL>': expected one of bytes, chain, linked, spec, replay, anchored, found "deep"

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn verification_stops_at_the_requested_level() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["verify", "refund-42", "--level", "chain"]), @r"
    refund-42: 14 records hold
      bytes     holds
      chain     holds
      anchored  not checked  no head kept elsewhere was given
    head <digest>:14
    not shown by these checks:
      that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it
      that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it
      that the states follow from the results: that needs the problem
      that running it again gives the same bytes
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT refund-42`
    [exit 0]
    ");
}

#[test]
fn a_file_is_verified_alone_or_with_its_problem() {
    let world = World::with_run("refund-42");
    world.write("alone/copy.ndjson", world.journal("refund-42"));
    assert_snapshot!(world.cli(&["verify", "alone/copy.ndjson"]), @r"
    alone/copy.ndjson: 14 records hold
      bytes     holds
      chain     holds
      linked    holds
      spec      not checked  the problem is missing
      replay    not checked  the problem is missing
      anchored  not checked  no head kept elsewhere was given
      linked: not checked: input_hash of Normalize (the problem is not known)
      linked: not checked: input_hash of Decompose (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
    head <digest>:14
    not shown by these checks:
      that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it
      that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it
      that the states follow from the results: that needs the problem
      that running it again gives the same bytes
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT alone/copy.ndjson`
    [exit 0]
    ");
    assert_eq!(world.ask(&["verify", "alone/copy.ndjson", "--problem", "problem.json"]).code, 0);
    let mut other = problem("refund-42");
    other["inputs"]["prompt"] = json!("Which other one?");
    world.write("other.json", other.to_string());
    assert_snapshot!(world.cli(&["verify", "alone/copy.ndjson", "--problem", "other.json"]), @r"
    alone/copy.ndjson: broken at record 0 of 14
      bytes     holds
      chain     holds
      linked    holds
      spec      broken       record 0: problem_spec_hash_mismatch, expected <digest>…, found <digest>…
                             record 0: initial_state_hash_mismatch, expected <digest>…, found <digest>…
      replay    broken       record 0: bytes_differ, differs in /initial_state_hash, /problem_spec_hash, /record_hash
      anchored  not checked  no head kept elsewhere was given
      linked: not checked: input_hash of Normalize (the problem is not known)
      linked: not checked: input_hash of Decompose (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
    head <digest>:14
    not shown by these checks:
      that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it
      that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a copy stored elsewhere shows what changed: `hence diff COPY alone/copy.ndjson`
    hint: a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT alone/copy.ndjson`
    [exit 1]
    ");
    assert_snapshot!(world.refused(&["verify", "alone/copy.ndjson", "--problem", "nowhere.json"]), @r"
    --- stderr
    error[E0401]: cannot read nowhere.json: it does not exist
    hint: check the path and its permissions; `hence explain E0401` says more
    [exit 2]
    ");
}

#[test]
fn a_journal_cut_at_a_record_passes_as_a_chain_and_fails_against_the_anchor() {
    let world = World::with_run("refund-42");
    let head = world.head("refund-42");
    let cut: Vec<u8> = world
        .journal("refund-42")
        .split_inclusive(|byte| *byte == b'\n')
        .take(9)
        .flatten()
        .copied()
        .collect();
    world.write("alone/cut.ndjson", cut);
    assert_snapshot!(world.cli(&["verify", "alone/cut.ndjson"]), @r"
    alone/cut.ndjson: 9 records hold
      bytes     holds
      chain     holds
      linked    holds
      spec      not checked  the problem is missing
      replay    not checked  the problem is missing
      anchored  not checked  no head kept elsewhere was given
      linked: not checked: input_hash of Normalize (the problem is not known)
      linked: not checked: input_hash of Decompose (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
    head <digest>:9
    the run is unfinished: more records should follow
    not shown by these checks:
      that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it
      that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it
      that the states follow from the results: that needs the problem
      that running it again gives the same bytes
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT alone/cut.ndjson`
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["verify", "alone/cut.ndjson", "--anchor", &head]), @r"
    alone/cut.ndjson: 9 records hold, and they are not the ones the head names
      bytes     holds
      chain     holds
      linked    holds
      spec      not checked  the problem is missing
      replay    not checked  the problem is missing
      anchored  broken       record_count_mismatch, expected 14, found 9
                             head_mismatch, expected <digest>…, found <digest>…
      linked: not checked: input_hash of Normalize (the problem is not known)
      linked: not checked: input_hash of Decompose (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
      linked: not checked: input_hash of AcquireEvidence (the problem is not known)
      linked: not checked: input_hash of Compute (the problem is not known)
    head <digest>:9
    the run is unfinished: more records should follow
    not shown by these checks:
      that the states follow from the results: that needs the problem
      that running it again gives the same bytes
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a copy stored elsewhere shows what changed: `hence diff COPY alone/cut.ndjson`
    [exit 1]
    ");
}

#[test]
fn a_line_of_100_megabytes_is_named_and_not_read_as_a_record() {
    let world = World::with_run("refund-42");
    let mut journal = world.journal("refund-42");
    journal.extend_from_slice(b"{\"a\":\"");
    journal.resize(journal.len() + 100_000_000, b'x');
    journal.extend_from_slice(b"\"}\n");
    world.write("alone/long.ndjson", journal);
    let shown = world.refused(&["verify", "alone/long.ndjson", "--level", "chain"]);
    assert_snapshot!(shown.split("not shown by these checks:").next().unwrap(), @r"
    alone/long.ndjson: broken at record 14 of 15
      records 0–13 hold
      bytes     holds
      chain     broken       record 14: line_too_long, line has 100000008 bytes, limit is 67108864
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn a_recomputed_journal_holds_by_itself_and_fails_against_the_anchor() {
    let world = World::with_run("refund-42");
    let head = world.head("refund-42");
    // Whoever can write the store can run another problem under the same id: every hash is right.
    let forger = World::new();
    let mut other = problem("refund-42");
    other["inputs"]["prompt"] = json!("Which other one?");
    forger.run_problem(&other);
    world.set_journal("refund-42", forger.journal("refund-42"));
    world.write(".hence/runs/refund-42/problem.json", other.to_string());
    assert_snapshot!(world.cli(&["verify", "refund-42"]), @r"
    refund-42: 14 records hold
      bytes     holds
      chain     holds
      linked    holds
      spec      holds
      replay    holds
      anchored  not checked  no head kept elsewhere was given
    head <digest>:14
    not shown by these checks:
      that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it
      that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT refund-42`
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["verify", "refund-42", "--anchor", &head]), @r"
    refund-42: 14 records hold, and they are not the ones the head names
      bytes     holds
      chain     holds
      linked    holds
      spec      holds
      replay    holds
      anchored  broken  head_mismatch, expected <digest>…, found <digest>…
    head <digest>:14
    not shown by these checks:
      that recorded inputs, evidence and replies were true: a record proves what was written down
    --- stderr
    hint: a copy stored elsewhere shows what changed: `hence diff COPY refund-42`
    [exit 1]
    ");
    assert_eq!(world.ask(&["verify", "refund-42", "--problem", "problem.json"]).code, 1);
}

/// Returns the first `count` records of a run's journal.
fn first_records(world: &World, run: &str, count: usize) -> Vec<u8> {
    world.journal(run).split_inclusive(|byte| *byte == b'\n').take(count).flatten().copied().collect()
}

#[test]
fn an_earlier_head_is_an_anchor_up_to_its_record() {
    let world = World::with_run("refund-42");
    let head_at = |count: usize| {
        let whole = world.journal("refund-42");
        world.set_journal("refund-42", first_records(&world, "refund-42", count));
        let head = world.head("refund-42");
        world.set_journal("refund-42", whole);
        head
    };
    for count in [1, 2, 9, 13] {
        let shown = world.cli(&["verify", "refund-42", "--anchor", &head_at(count)]);
        let wanted = format!("it holds up to record {}, which the head names", count - 1);
        assert!(shown.contains(&wanted) && shown.contains("[exit 0]"), "{count}: {shown}");
    }
    // The same number of records with another hash is another run.
    let other = World::with_run("refund-43");
    other.set_journal("refund-43", first_records(&other, "refund-43", 9));
    let shown = world.refused(&["verify", "refund-42", "--anchor", &other.head("refund-43")]);
    assert!(shown.contains("head_mismatch"), "{shown}");
}

#[test]
fn an_unfinished_run_of_a_problem_is_not_different() {
    let world = World::with_run("refund-42");
    for count in [1, 5, 13] {
        world.set_journal("refund-42", first_records(&world, "refund-42", count));
        let shown = world.cli(&["verify", "refund-42"]);
        assert!(shown.contains("the run is unfinished") && shown.contains("[exit 0]"), "{shown}");
        assert_eq!(world.ask(&["replay", "refund-42"]).code, 0);
        assert_eq!(world.ask(&["resume", "refund-42"]).code, 0);
    }
}

#[test]
fn a_journal_under_the_id_of_another_run_is_named() {
    let world = World::with_run("one");
    world.run_problem(&problem("two"));
    for (from, to) in [("one", "swap"), ("two", "one"), ("swap", "two")] {
        let folder = |run: &str| world.path(format!(".hence/runs/{run}"));
        std::fs::rename(folder(from), folder(to)).unwrap();
    }
    let shown = world.refused(&["verify", "one"]);
    assert!(shown.contains("its header names two") && shown.contains("those of another run"), "{shown}");
    let doctor = world.refused(&["doctor"]);
    assert!(doctor.contains("run one: its journal is that of run two"), "{doctor}");
    // A journal's file may have any name.
    world.write("any-name.ndjson", world.journal("one"));
    assert_eq!(world.ask(&["verify", "any-name.ndjson"]).code, 0);
}

#[test]
fn the_doctor_finds_an_altered_record_in_every_store_of_the_folder() {
    let world = World::with_run("refund-42");
    let text = String::from_utf8(world.journal("refund-42")).unwrap();
    world.set_journal("refund-42", text.replacen("\"status\":\"success\"", "\"status\":\"skipped\"", 1));
    let shown = world.refused(&["doctor"]);
    assert!(shown.contains("run refund-42: chain broken at record 1"), "{shown}");

    let world = World::with_run("refund-42");
    assert_eq!(world.ask(&["vars", "init", "v", "What?"]).code, 0);
    assert_eq!(world.ask(&["vars", "set", "v", "shared", "1", "--scope", "global"]).code, 0);
    assert_eq!(world.ask(&["trace", "export", "refund-42", "--out", "t.json"]).code, 0);
    let opened = world.ask(&["review", "open", "t.json", "--author", "ada"]);
    assert_eq!(opened.code, 0, "{}", opened.stderr);
    assert_eq!(world.ask(&["doctor"]).code, 0, "{}", world.cli(&["doctor"]));
    for store in ["scopes", "reviews"] {
        let runs = world.path(format!(".hence/{store}/runs"));
        let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
        let file = run.join("trace.ndjson");
        let whole = std::fs::read(&file).unwrap();
        let text = String::from_utf8(whole.clone()).unwrap();
        let digit = text.rfind(|letter: char| letter.is_ascii_digit()).unwrap();
        let mut altered = text.into_bytes();
        altered[digit] = if altered[digit] == b'0' { b'1' } else { b'0' };
        std::fs::write(&file, altered).unwrap();
        let shown = world.refused(&["doctor"]);
        assert!(shown.contains(&format!("found: {store}: ")), "{shown}");
        std::fs::write(&file, whole).unwrap();
    }
}

#[test]
fn a_stored_run_without_a_document_that_it_pins_does_not_hold() {
    let world = World::with_run("refund-42");
    std::fs::remove_file(world.path(".hence/runs/refund-42/problem.json")).unwrap();
    let shown = world.refused(&["verify", "refund-42"]);
    for row in ["chain     holds", "spec      broken", "replay    broken", "problem.json is missing"] {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    // A journal's file alone is judged as far as it goes.
    world.write("alone.ndjson", world.journal("refund-42"));
    assert_eq!(world.ask(&["verify", "alone.ndjson"]).code, 0);

    let world = World::new();
    world.write(
        "caps.yaml",
        "capabilities: {c.c: {description: d, provider: {kind: command, command: [/bin/echo, '{}']}}}",
    );
    world.write(
        "s.yaml",
        "id: s\nversion: 1.0.0\nname: S\ndescription: D\ncapabilities: caps.yaml\ninputs: {}\noutputs: {}\nsteps:\n  - {id: a, uses: c.c}\n",
    );
    assert_eq!(world.ask(&["run", "s.yaml", "--run-id", "s"]).code, 0);
    assert_eq!(world.ask(&["verify", "s"]).code, 0);
    for document in ["skill.json", "capabilities.json", "problem.json"] {
        let path = world.path(format!(".hence/runs/s/{document}"));
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for altered in [None, Some("{}")] {
            if let Some(altered) = altered {
                std::fs::write(&path, altered).unwrap();
            }
            let shown = world.refused(&["verify", "s"]);
            for row in ["chain     holds", "spec      broken", "[exit 1]"] {
                assert!(shown.contains(row), "{document} {altered:?}: {shown}");
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
}

#[test]
fn large_values_are_part_of_what_is_verified() {
    let world = World::new();
    world.write("large.txt", "x".repeat(20_000));
    assert_eq!(world.ask(&["vars", "init", "v", "What?"]).code, 0);
    assert_eq!(world.ask(&["vars", "set", "v", "big", "@large.txt"]).code, 0);
    assert_eq!(world.ask(&["verify", "v"]).code, 0, "{}", world.cli(&["verify", "v"]));
    let shelf = std::fs::read_dir(world.path(".hence/blobs")).unwrap().next().unwrap().unwrap().path();
    let blob = std::fs::read_dir(shelf).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&blob, "another text").unwrap();
    let shown = world.refused(&["verify", "v"]);
    assert!(shown.contains("altered, and a record refers to it"), "{shown}");
    std::fs::remove_file(&blob).unwrap();
    let shown = world.refused(&["verify", "v"]);
    assert!(shown.contains("missing, and a record refers to it"), "{shown}");
}

#[test]
fn every_run_of_a_store_is_verified_at_once() {
    let world = World::with_run("one");
    world.run_problem(&problem("two"));
    assert_snapshot!(world.cli(&["verify", "--all"]), @r"
    2 of 2 runs hold, 28 records
    [exit 0]
    ");
    let text = String::from_utf8(world.journal("two")).unwrap();
    world.set_journal("two", text.replacen("\"status\":\"success\"", "\"status\":\"skipped\"", 1));
    assert_snapshot!(world.refused(&["verify", "--all"]), @r"
    1 of 2 runs hold, 28 records
      two  broken at record 1 of 14
             chain broken at record 1: bad_value at result.output; record_hash_mismatch, stored <digest>…, computed <digest>…
             replay broken at record 1: bytes_differ, differs in /result/status
    --- stderr
    hint: `hence verify two` shows where the journal first breaks
    [exit 1]
    ");
    assert_eq!(world.ask(&["verify"]).code, 2);
    assert_eq!(world.ask(&["verify", "one", "--all"]).code, 2);
}

#[test]
fn a_file_that_is_another_document_is_not_called_a_broken_journal() {
    let world = World::with_run("one");
    world.write("problem.json", world.read(".hence/runs/one/problem.json"));
    world.write("skill.yaml", "id: s\nsteps: []\n");
    world.write("trace.json", r#"{"trace_id": "t", "actions": []}"#);
    for (file, kind) in
        [("problem.json", "a problem"), ("skill.yaml", "a skill"), ("trace.json", "a review trace")]
    {
        let answer = world.ask(&["verify", file]);
        assert_eq!(answer.code, 2, "{}", answer.stderr);
        assert!(
            answer.stderr.contains(&format!("{file} is not a journal: it is {kind}")),
            "{}",
            answer.stderr
        );
    }
    // A journal is one, whole, cut or damaged.
    let whole = world.journal("one");
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut zeros = whole.clone();
    zeros[..header].fill(0);
    for bytes in [&whole[..], &whole[..header], &whole[..header - 5], &whole[header + 9..], &zeros] {
        world.write("copy.ndjson", bytes);
        assert!(!world.ask(&["verify", "copy.ndjson"]).stderr.contains("not a journal"));
    }
    // Without the name of a journal, a file in which no line is a record is something else.
    for bytes in [&b"{}\n"[..], b"nonsense", b"# Notes\n\nabout `record_hash`\n"] {
        world.write("copy.ndjson", bytes).write("notes", bytes);
        assert!(!world.ask(&["verify", "copy.ndjson"]).stderr.contains("not a journal"));
        let answer = world.ask(&["verify", "notes"]);
        assert!(answer.stderr.contains("not a journal: it is a file in which"), "{}", answer.stderr);
    }
}
