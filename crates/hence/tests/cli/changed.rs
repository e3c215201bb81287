//! Journals changed by hand: the first bad record is named, and what holds before it.

use insta::assert_snapshot;

use hence_testkit::cli::World;

/// Verifies a journal whose lines were changed, and checks that verifying changes nothing.
fn verify(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> String {
    let world = World::with_run("refund-42");
    let mut lines: Vec<Vec<u8>> =
        world.journal("refund-42").split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    change(&mut lines);
    world.set_journal("refund-42", lines.concat());
    let shown = world.refused(&["verify", "refund-42"]);
    // Other commands read as far as they can.
    let log = world.ask(&["log", "refund-42"]);
    // An unfinished append and other spaces break no chain.
    let is_broken = shown.contains("chain     broken") && !shown.contains("missing_final_lf");
    assert_eq!(log.code == 5 && log.stderr.contains("its chain is broken"), is_broken, "{}", log.stderr);
    let commands: [&[&str]; 5] = [
        &["show", "refund-42", "0"],
        &["replay", "refund-42"],
        &["stats", "refund-42"],
        &["state", "refund-42"],
        &["resume", "refund-42"],
    ];
    for arguments in commands {
        let before = world.stored();
        let answer = world.ask(arguments);
        assert!(!answer.stderr.contains("panicked"), "{arguments:?}: {}", answer.stderr);
        if answer.code != 0 {
            hence_testkit::cli::assert_unchanged(&before, &world.stored());
        }
    }
    shown.split("not shown by these checks:").next().unwrap().to_owned()
}

#[test]
fn a_flipped_bit_is_named_by_its_record() {
    let shown = verify(|lines| {
        let line = &mut lines[7];
        let at = line.windows(6).position(|window| window == b"\"step\"").unwrap() + 9;
        line[at] ^= 1;
    });
    assert_snapshot!(shown, @r"
    refund-42: broken at record 7 of 14
      records 0–6 hold; 8–13 cannot be judged from here
      bytes     holds
      chain     broken       record 7: record_hash_mismatch, stored <digest>…, computed <digest>…
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 7: bytes_differ, differs in /result/step
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn a_dropped_line_is_named_by_the_record_after_it() {
    assert_snapshot!(verify(|lines| drop(lines.remove(7))), @r"
    refund-42: broken at record 7 of 13
      records 0–6 hold; 8–12 cannot be judged from here
      bytes     holds
      chain     broken       record 7: index_mismatch, expected 7, found 8
                             record 7: prev_hash_mismatch, expected <digest>…, found <digest>…
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 7: bytes_differ, differs in /index, /prev_hash, /record_hash, /result/finished_at, /result/input_hash, /result/output, /result/output_hash, /result/…
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn reordered_lines_are_named() {
    assert_snapshot!(verify(|lines| lines.swap(4, 5)), @r"
    refund-42: broken at record 4 of 14
      records 0–3 hold; 5–13 cannot be judged from here
      bytes     holds
      chain     broken       record 4: index_mismatch, expected 4, found 5
                             record 4: prev_hash_mismatch, expected <digest>…, found <digest>…
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 4: bytes_differ, differs in /index, /prev_hash, /record_hash, /result/finished_at, /result/input_hash, /result/output/aggregate, /result/output/conc…
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn a_line_written_twice_is_named() {
    assert_snapshot!(verify(|lines| lines.insert(4, lines[4].clone())), @r"
    refund-42: broken at record 5 of 15
      records 0–4 hold; 6–14 cannot be judged from here
      bytes     holds
      chain     broken       record 5: index_mismatch, expected 5, found 4
                             record 5: prev_hash_mismatch, expected <digest>…, found <digest>…
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 5: bytes_differ, differs in /index, /prev_hash, /record_hash, /result/finished_at, /result/input_hash, /result/output/aggregate, /result/output/conc…
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn crlf_is_named() {
    let shown = verify(|lines| {
        for line in lines {
            line.insert(line.len() - 1, b'\r');
        }
    });
    assert_snapshot!(shown, @r"
    refund-42: broken at record 0 of 14
      no record holds; 1–13 cannot be judged from here
      bytes     broken       record 0: not_canonical, not canonical JSON at byte 484
      chain     broken       record 0: crlf, line ends with CR LF, expected LF alone
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 0: bad_value, line ends with CR LF, expected LF alone
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn spaces_in_a_record_are_named() {
    assert_snapshot!(verify(|lines| lines[3].insert(1, b' ')), @r"
    refund-42: broken at record 3 of 14
      records 0–2 hold
      bytes     broken       record 3: not_canonical, not canonical JSON at byte 1
      chain     holds
      linked    holds
      spec      holds
      replay    broken       record 3: bytes_differ
      anchored  not checked  no head kept elsewhere was given
    head <digest>:14
    ");
}

#[test]
fn a_torn_tail_is_named() {
    let shown = verify(|lines| {
        let line = lines.last_mut().unwrap();
        line.truncate(40);
    });
    assert_snapshot!(shown, @r"
    refund-42: broken at record 13 of 14
      records 0–12 hold
      bytes     broken       record 13: missing_final_lf
      chain     broken       record 13: invalid_json, expected the end of a string, found the end of the text at line 1, column 41 (`/at`)
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 13: bytes_differ
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn a_missing_header_is_named() {
    assert_snapshot!(verify(|lines| drop(lines.remove(0))), @r"
    refund-42: broken at record 0 of 13
      no record holds; 1–12 cannot be judged from here
      bytes     holds
      chain     broken       record 0: first_not_header
                             record 0: index_mismatch, expected 0, found 1
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 0: bad_value, not a record: first_not_header
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn an_empty_journal_is_named() {
    assert_snapshot!(verify(Vec::clear), @r"
    refund-42: it holds no record
      bytes     holds
      chain     broken       record 0: empty_trace
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 0: bad_value, blank line
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn bytes_that_are_not_text_are_named() {
    assert_snapshot!(verify(|lines| lines[2] = b"\xff\xfe\0\n".to_vec()), @r"
    refund-42: broken at record 2 of 14
      records 0–1 hold; 3–13 cannot be judged from here
      bytes     broken       record 2: not_canonical, not canonical JSON at byte 0
      chain     broken       record 2: invalid_utf8, bytes are not UTF-8
      linked    broken       as chain
      spec      broken       as chain
      replay    broken       record 2: bytes_differ
      anchored  not checked  no head kept elsewhere was given
    ");
}

#[test]
fn a_journal_that_is_missing_is_damage() {
    let world = World::with_run("refund-42");
    std::fs::remove_file(world.path(".hence/runs/refund-42/trace.ndjson")).unwrap();
    assert_snapshot!(world.refused(&["verify", "refund-42"]), @r"
    --- stderr
    error[E0206]: run refund-42 is damaged: it has no journal
    hint: restore a copy of its journal, or remove the run's folder; `hence doctor` checks the whole store; `hence explain E0206` says more
    [exit 4]
    ");
    assert_snapshot!(world.refused(&["resume", "refund-42"]), @r"
    --- stderr
    error[E0206]: run refund-42 is damaged: it has no journal
    hint: restore a copy of its journal, or remove the run's folder; `hence doctor` checks the whole store; `hence explain E0206` says more
    [exit 4]
    ");
    assert_snapshot!(world.refused(&["doctor"]), @r"
    checked 1 run and 0 blobs
    found: run refund-42: damaged: it has no journal
    --- stderr
    hint: `hence verify RUN` shows which records of a run still hold; importing its bundle again restores lost values
    [exit 1]
    ");
}

#[test]
fn a_missing_problem_stops_only_the_commands_that_need_it() {
    let world = World::with_run("refund-42");
    std::fs::remove_file(world.path(".hence/runs/refund-42/problem.json")).unwrap();
    assert_eq!(world.ask(&["verify", "refund-42"]).code, 1);
    assert_eq!(world.ask(&["log", "refund-42"]).code, 0);
    assert_snapshot!(world.refused(&["replay", "refund-42"]), @r"
    --- stderr
    error[E0403]: refund-42: its problem is missing
    hint: put the problem next to the journal as problem.json; `hence explain E0403` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["state", "refund-42"]), @r"
    --- stderr
    error[E0403]: refund-42: its problem is missing
    hint: put the problem next to the journal as problem.json; `hence explain E0403` says more
    [exit 2]
    ");
}

#[test]
fn a_missing_or_altered_blob_is_named() {
    let world = World::new();
    world.run_problem(&hence_testkit::cli::large_problem("large"));
    let blob =
        world.stored().into_keys().find(|path| path.is_file() && path.to_str().unwrap().contains("blobs"));
    let blob = blob.unwrap();
    let bytes = std::fs::read(&blob).unwrap();
    std::fs::write(&blob, b"{}").unwrap();
    assert_snapshot!(world.refused(&["show", "large", "3"]), @r#"
    {
      "index": 3,
      "prev_hash": "<digest>",
      "record_hash": "<digest>",
      "result": {
        "finished_at": "2026-02-02T00:00:03Z",
        "input_hash": "<digest>",
        "output": {
          "$blob": {
            "bytes": 12359,
            "media_type": "application/json",
            "sha256": "<digest>"
          }
        },
        "output_hash": "<digest>",
        "started_at": "2026-02-02T00:00:02Z",
        "status": "success",
        "step": "AcquireEvidence",
        "version": "1.0.0"
      },
      "state_after_hash": "<digest>",
      "state_before_hash": "<digest>",
      "step_index": 2,
      "type": "step"
    }

    measured  <time> to <time>, <n> ms
    --- stderr
    error[E0208]: blob <digest> could not be read: blob <digest> is damaged: its 2 bytes have the digest <digest>
    hint: `hence doctor` lists what is missing; import the bundle again to restore it; `hence explain E0208` says more
    [exit 5]
    "#);
    assert_snapshot!(world.refused(&["doctor"]), @r"
    checked 1 run and 1 blob
    found: blob <digest>: damaged, its bytes have the digest <digest>
    found: run large: spec broken at record 7: input_hash_mismatch, expected <digest>…, found <digest>…
    found: run large: blob <digest> is altered
    --- stderr
    hint: `hence verify RUN` shows which records of a run still hold; importing its bundle again restores lost values
    [exit 1]
    ");
    std::fs::remove_file(&blob).unwrap();
    assert_snapshot!(world.refused(&["state", "large"]), @r"
    --- stderr
    error[E0208]: blob <digest> is missing
    hint: `hence state large --raw` prints references as they are; importing the bundle again restores values; `hence explain E0208` says more
    [exit 4]
    ");
    assert_snapshot!(world.refused(&["export", "large", "out"]), @r"
    --- stderr
    error[E0208]: no blob <digest>
    hint: `hence doctor` lists what is missing; import the bundle again to restore it; `hence explain E0208` says more
    [exit 4]
    ");
    assert!(!world.path("out").exists(), "a bundle that cannot be whole is not begun");
    assert_eq!(world.ask(&["log", "large"]).code, 0);
    assert_snapshot!(world.refused(&["doctor"]), @r"
    checked 1 run and 0 blobs
    found: run large: spec broken at record 7: input_hash_mismatch, expected <digest>…, found <digest>…
    found: run large: blob <digest> is missing
    --- stderr
    hint: `hence verify RUN` shows which records of a run still hold; importing its bundle again restores lost values
    [exit 1]
    ");
    std::fs::write(&blob, bytes).unwrap();
    assert_eq!(world.ask(&["state", "large"]).code, 0);
}
