//! Ids with special characters name runs like any other, and are always printed escaped.

use insta::assert_snapshot;

use hence_testkit::cli::{World, problem};

const STRANGE: [&str; 9] = [
    "refund 42",
    "a/b/../c",
    "line\nbreak: 14 records hold",
    "🙂 é",
    "\u{1b}[31mred\u{1b}[0m",
    "csi\u{9b}2J\u{7f}",
    "\u{202e}gnitirw",
    "it's \\ \"quoted\"",
    "..",
];

#[test]
fn strange_ids_name_runs_and_stay_inside_the_store() {
    for id in STRANGE {
        let world = World::new();
        world.run_problem(&problem(id));
        for command in ["log", "verify", "replay", "stats", "resume", "state"] {
            let answer = world.ask(&[command, id]);
            assert_eq!(answer.code, 0, "{command} {id:?}: {}", answer.stderr);
            assert_harmless(&answer.stdout);
            assert_harmless(answer.stderr.as_bytes());
        }
        assert_eq!(world.ask(&["export", id, "out"]).code, 0);
        assert_eq!(world.ask(&["import", "out", "--store", "other"]).code, 0);
        assert_eq!(world.ask(&["verify", id, "--store", "other"]).code, 0);
        let beside: Vec<_> =
            std::fs::read_dir(world.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(beside.len(), 4, "{id:?}: {beside:?}");
    }
}

#[test]
fn every_output_about_a_strange_id_is_escaped() {
    for id in STRANGE {
        let world = World::new();
        world.run_problem(&problem(id));
        let mut changed = problem(id);
        changed["inputs"]["prompt"] = "another".into();
        world.write("other.json", changed.to_string());
        let missing = format!("{id}?");
        let commands: [&[&str]; 12] = [
            &["runs"],
            &["runs", "--json"],
            &["run", "problem.json"],
            &["run", "other.json"],
            &["log", &missing],
            &["verify", &missing],
            &["show", id, &missing],
            &["state", id, &missing],
            &["state", id, "--json"],
            &["explain", &missing],
            &["run", &missing],
            &["diff", id, id],
        ];
        for arguments in commands {
            let answer = world.ask(arguments);
            assert_harmless(&answer.stdout);
            assert_harmless(answer.stderr.as_bytes());
        }
    }
}

fn assert_harmless(output: &[u8]) {
    let text = str::from_utf8(output).unwrap();
    let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(raw), "{text:?}");
    assert!(!text.contains("line\nbreak"), "{text:?}");
}

#[test]
fn a_hint_can_be_typed_as_it_is_printed() {
    let world = World::new();
    world.run_problem(&problem("line\nbreak"));
    assert_snapshot!(world.cli(&["verify", "line\nbreak"]), @r"
    line\nbreak: 14 records hold
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
    hint: a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT $'line\u000abreak'`
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["runs"]), @r"
    RUN          STATUS     RECORDS  CREATED (MEASURED)        HEAD
    line\nbreak  completed  14       <time>  <digest>
    [exit 0]
    ");
    world.run_problem(&problem("refund 42"));
    assert_snapshot!(world.refused(&["show", "refund 42", "99"]), @r#"
    --- stderr
    error[E0403]: run refund 42: expected a record below 14 or the name of a step, found "99"
    hint: `hence log 'refund 42'` lists the records; `hence explain E0403` says more
    [exit 2]
    "#);
}
