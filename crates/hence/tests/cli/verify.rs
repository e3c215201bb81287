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
            "input_hash of Decompose (the problem is not known)"
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
      spec      not checked  the problem is not at hand
      replay    not checked  the problem is not at hand
      anchored  not checked  no head kept elsewhere was given
      linked: not checked: input_hash of Normalize (the problem is not known)
      linked: not checked: input_hash of Decompose (the problem is not known)
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
      spec      not checked  the problem is not at hand
      replay    not checked  the problem is not at hand
      anchored  not checked  no head kept elsewhere was given
      linked: not checked: input_hash of Normalize (the problem is not known)
      linked: not checked: input_hash of Decompose (the problem is not known)
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
      spec      not checked  the problem is not at hand
      replay    not checked  the problem is not at hand
      anchored  broken       record_count_mismatch, expected 14, found 9
                             head_mismatch, expected <digest>…, found <digest>…
      linked: not checked: input_hash of Normalize (the problem is not known)
      linked: not checked: input_hash of Decompose (the problem is not known)
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
