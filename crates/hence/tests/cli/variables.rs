//! `hence vars` on the command line.

use hence_testkit::cli::World;

const INIT: &str = "vars init audit 'count the errors' --now 2026-02-09T10:00:00Z";

fn begun() -> World {
    let world = World::new();
    world.out(INIT);
    world
}

fn filled() -> World {
    let world = begun();
    world.out("vars set audit error_count 3 -t number --source scan");
    world.out("vars checkpoint audit before --description 'before retrieval'");
    world.out("vars set audit error_count 4 -t number");
    world
}

#[test]
fn every_change_is_reported_with_the_head_it_made() {
    let world = World::new();
    insta::assert_snapshot!(world.all(&[
        INIT,
        "vars set audit error_count 3 -t number",
        "vars set audit Temp x --description 'a note'",
        "vars rename audit Temp note",
        "vars checkpoint audit before",
        "vars rm audit note",
        "vars rollback audit before",
        "vars final audit 'three errors'",
        "--json vars rollback audit before",
    ]));
}

#[test]
fn variables_can_be_read_now_and_at_any_position() {
    let world = filled();
    insta::assert_snapshot!(world.all(&[
        "vars get audit error_count",
        "vars get audit error_count --at before",
        "vars get audit error_count --at 2 --json",
        "vars get audit prompt --peek",
        "vars list audit",
        "vars list audit --at initial_state",
        "vars list audit --json",
        "vars checkpoints audit",
        "vars status audit",
        "vars history audit",
        "vars history audit --name error_count --limit 1 --json",
        "vars diff audit before now",
        "vars diff audit before before",
        "log audit",
        "runs",
    ]));
}

#[test]
fn every_refusal_names_its_code_and_its_rule() {
    let world = filled();
    world.out("vars set audit fixed 1 --read-only");
    insta::assert_snapshot!(world.all(&[
        "vars set audit prompt other",
        "vars set audit fixed 2",
        "vars set audit '9 lives' x",
        "vars set audit n x -t number",
        "vars set audit n 1 -t integer",
        "vars set audit n 1 --scope nowhere",
        "vars set audit n 1 --scope tree",
        "vars set audit n 1 --ttl 5",
        "vars set audit n 1 --if-mutation-count 1",
        "vars set audit n ../../etc/passwd -t file_path",
        "vars get audit nothing",
        "vars get audit nothing --peek",
        "vars get audit error_count --at never",
        "vars rename audit error_count prompt",
        "vars rm audit nothing",
        "vars checkpoint audit before",
        "vars rollback audit never",
        "vars status audit --state state-00000009",
        "vars status audit --state 9",
        "vars init audit again",
        "vars init child x --parent state-00000001",
        "vars init audit x --parent state-6117a60d",
        "vars init audit x --state-id mine",
        "vars set nobody n 1",
        "vars set audit n @nothing",
        "vars set audit n -t number",
        "--json vars set audit prompt other",
        "run .hence/none.json",
        "resume audit",
    ]));
}

#[test]
fn values_come_from_arguments_files_and_standard_input() {
    let world = begun();
    world.write("note.txt", "from a file\n");
    world.write("bad.txt", b"a\xff");
    let mut told = world.all(&[
        "vars set audit a @note.txt",
        "vars get audit a --peek --json",
        "vars set audit b @@x",
        "vars get audit b --peek",
        "vars set audit c '[1,{\"k\":123456789012345678901234567890}]' -t array",
        "vars get audit c --peek",
        "vars set audit d -t null",
        "vars get audit d --peek --json",
        "vars set audit e @bad.txt",
        "vars set audit g -5.5 -t number",
        "vars get audit g --peek",
    ]);
    told += &world.hence_with("vars set audit f - -t json", br#"{"from":"stdin"}"#);
    told += &world.hence("vars get audit f --peek");
    insta::assert_snapshot!(told);
}

#[test]
fn watching_prints_recorded_changes_and_ends_with_the_state() {
    let world = filled();
    let seen = world.hence("vars watch audit --from 1 --count 3");
    world.out("vars rm audit error_count");
    world.out("vars final audit done");
    insta::assert_snapshot!(seen + &world.hence("vars watch audit --from 4"));
}

#[test]
fn watching_waits_for_changes_of_another_process() {
    let world = begun();
    let watcher = hence_testkit::cli::piped(&mut world.command(&["vars", "watch", "audit", "--from", "2"]));
    world.out("vars set audit error_count 3 -t number");
    world.out("vars final audit done");
    let output = watcher.wait_with_output().unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && seen.lines().count() == 2, "{seen}");
}

#[test]
fn a_task_tree_is_drawn_and_an_open_child_keeps_its_parent_open() {
    let world = World::new();
    insta::assert_snapshot!(world.all(&[
        "vars init job 'whole task' --tree tree-00000001 --session s1",
        "vars init job 'first part' --parent state-79828857",
        "vars init job 'second part' --parent state-79828857",
        "vars set job shared 1 --scope tree --state state-4b0aea15",
        "vars get job shared --state state-e4653a36 --peek",
        "vars final job early",
        "vars final job done --state state-4b0aea15",
        "vars final job done --state state-e4653a36",
        "vars final job 'all done'",
        "vars tree job",
        "vars tree job --json",
        "verify job",
    ]));
}

#[test]
fn every_level_holds_and_a_bundle_contains_the_large_values() {
    let world = filled();
    world.write("big", "x".repeat(20_000));
    world.out("vars set audit long @big");
    world.write("limit", "y".repeat(10_240));
    world.out("vars set audit at_limit @limit");
    world.out("vars set audit at_limit @big");
    world.out("export audit bundle");
    insta::assert_snapshot!(world.all(&[
        "verify audit",
        "replay audit",
        "doctor",
        "--store other import bundle",
        "--store other doctor",
        "state audit /artifacts/iterations/0/output/changes/0/variable/value",
    ]));
    let long = world.out("--store other vars get audit at_limit --peek");
    assert_eq!(long.trim_end().len(), 20_000);
}

#[test]
fn a_damaged_record_stops_reading_and_writing_and_is_named() {
    let world = filled();
    let path = world.path(".hence/runs/audit/trace.ndjson");
    let journal = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, journal.replacen("\"value\":3", "\"value\":7", 1)).unwrap();
    for line in ["vars get audit error_count", "vars set audit other 1", "vars list audit"] {
        let refused = world.hence(line);
        assert!(refused.contains("error[E0301]: run audit: record 2 does not hold"), "{refused}");
    }
    assert!(world.hence("verify audit").contains("broken at record 2"));
}

#[test]
fn a_lost_or_altered_large_value_is_refused_and_not_replaced() {
    let world = begun();
    world.write("big", "x".repeat(20_000));
    world.out("vars set audit big @big");
    let digest = "42e8bc96b8eec8c4e5d503483ba0cb843ce95243c8ca8575ffc69cd25d12c61c";
    let blob = world.path(".hence/blobs").join(&digest[..2]).join(&digest[2..]);
    std::fs::write(&blob, "altered").unwrap();
    let altered = world.hence("vars get audit big");
    assert!(altered.contains("file_corrupt (rule SPILL-7)") && altered.ends_with("[exit 1]\n"), "{altered}");
    std::fs::remove_file(&blob).unwrap();
    let lost = world.hence("vars get audit big");
    assert!(lost.contains("file_missing (rule FILE-4)"), "{lost}");
}

#[test]
#[cfg(unix)]
fn a_file_reference_reads_below_the_root_and_nowhere_else() {
    let world = begun();
    world.write(".aiwg/rlm/notes/plan.json", r#"{"step":1}"#);
    world.write("secret.txt", "secret");
    std::os::unix::fs::symlink("../../../secret.txt", world.path(".aiwg/rlm/notes/out.txt")).unwrap();
    insta::assert_snapshot!(world.all(&[
        "vars set audit plan file:.aiwg/rlm/notes/plan.json -t file_path",
        "vars get audit plan --peek",
        "vars get audit plan --raw",
        "vars set audit out file:.aiwg/rlm/notes/out.txt -t file_path",
        "vars get audit out",
        "vars set audit up file:.aiwg/rlm/../../secret.txt -t file_path",
        "vars set audit abs file:/etc/passwd -t file_path",
        "vars set audit gone file:.aiwg/rlm/notes/gone.txt -t file_path",
        "vars get audit gone",
    ]));
    let away = World::new();
    std::fs::rename(world.path(".aiwg"), away.path("aiwg")).unwrap();
    std::os::unix::fs::symlink(away.path("aiwg"), world.path(".aiwg")).unwrap();
    let outside = world.hence("vars get audit plan");
    assert!(outside.contains("invalid_path (rule FILE-2)"), "{outside}");
}

#[test]
fn documents_are_exported_and_imported_again() {
    let world = filled();
    world.write("big", "x".repeat(20_000));
    world.out("vars set audit big @big");
    let mut told = world.all(&[
        "vars export audit out",
        "vars import again out/.aiwg/rlm/states/state-6117a60d/state.json --root out",
        "vars get again error_count --at before",
        "vars rollback again before",
        "vars history again",
        "verify again",
        "vars import lost out/.aiwg/rlm/states/state-6117a60d/state.json",
    ]);
    world.write(
        "bad.yaml",
        "version: 1.0.0\nstate_id: mine\nvariables: {x: {name: y, value: 1, type: text}}\n",
    );
    world.write(
        "good.yaml",
        "version: 1.0.0\nstate_id: state-0000000a\nvariables:\n  prompt: {name: prompt, value: go, type: text}\n  count: \
         {name: count, value: 3, type: number, updated_at: 2026-02-09T12:00:00.25+02:00}\n",
    );
    told += &world.all(&["vars import bad bad.yaml", "vars import good good.yaml", "vars list good", "runs"]);
    insta::assert_snapshot!(told);
    let log =
        std::fs::read_to_string(world.path("out/.aiwg/rlm/states/state-6117a60d/history.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 4);
}

#[test]
fn a_temporary_variable_expires_when_another_state_advances_the_clock() {
    let world = begun();
    world.out("vars set audit brief 1 --scope temporary --ttl 2");
    assert!(world.out("vars list audit").contains("brief"));
    world.out("vars init audit other --add");
    world.out("vars set audit note 1 --state state-2c74c676");
    assert!(!world.out("vars list audit").contains("brief"));
    assert!(world.out("vars list audit --at 2").contains("brief"));
    assert!(world.hence("vars get audit brief --peek").contains("not_found (rule READ-2)"));
    // A refused command records nothing, and the next accepted one records the end as well.
    assert!(world.hence("vars get audit brief").contains("not_found (rule READ-2)"));
    assert!(!world.out("log audit").contains("vars.expire"));
    world.out("vars set audit later 1");
    assert!(world.out("log audit").contains("vars.expire"));
}

#[test]
fn the_prompt_runs_commands_line_by_line_and_continues_after_a_mistake() {
    let world = begun();
    let lines = "# a comment\nset n 1 -t number\nset text 'two words'\nnonsense\nset prompt x\nget text\nlist\n\nquit\nget n\n";
    insta::assert_snapshot!(world.hence_with("repl audit", lines.as_bytes()));
}

#[test]
fn a_run_of_another_kind_is_refused_with_a_hint() {
    let world = World::new();
    world.write("p.json", hence_testkit::cli::problem("p").to_string());
    world.out("run p.json");
    insta::assert_snapshot!(world.hence("vars list p"));
}

#[test]
fn a_parent_reads_the_results_of_its_children_and_failed_ones_do_not_block_it() {
    let world = World::new();
    world.out("vars init job 'whole task' --tree tree-00000001");
    for part in ["first", "second", "third"] {
        world.out(&format!("vars init job {part} --parent state-79828857"));
    }
    insta::assert_snapshot!(world.all(&[
        "vars result job state-4b0aea15",
        "vars final job 42 -t number --state state-4b0aea15",
        "vars result job state-4b0aea15",
        "vars fail job --state state-e4653a36 --reason 'no source'",
        "vars result job state-e4653a36",
        "vars cancel job --state state-6dde7853",
        "vars cancel job --state state-6dde7853",
        "vars set job x 1 --state state-6dde7853",
        "vars result job state-00000009",
        "vars final job done",
        "vars status job --state state-e4653a36",
        "vars tree job",
        "verify job --level linked",
    ]));
}

#[test]
fn checkpoints_and_rollbacks_based_on_an_older_count_are_refused() {
    let world = filled();
    for line in [
        "vars checkpoint audit late --if-mutation-count 2",
        "vars rollback audit before --if-mutation-count 2",
    ] {
        let refused = world.hence(line);
        assert!(refused.contains("conflict (rule CAS-1)") && refused.ends_with("[exit 1]\n"), "{refused}");
    }
    world.out("vars checkpoint audit late --if-mutation-count 3");
    world.out("vars rollback audit before --if-mutation-count 3");
    assert_eq!(world.out("vars get audit error_count"), "3\n");
}

const SKILL: &str = r#"{"id":"count","version":"1.0.0","name":"Count","description":"Counts the parts",
 "inputs":{"word":{"type":"string","default":"b"}},"outputs":{"late":{"type":"string","required":true}},
 "steps":[
  {"id":"first","uses":"text.join","input":{"parts":["a","inputs.word"]},"output":{"text":"vars.first"},
   "config":{"variables":{"first":{"type":"text","scope":"temporary","ttl_seconds":2,"description":"a note"}}}},
  {"id":"second","uses":"text.join","input":{"parts":["vars.first","c"]},"output":{"text":"vars.second"},
   "config":{"variables":{"second":{"read_only":true}}}},
  {"id":"third","uses":"text.join","input":{"parts":["vars.second","d"]},"output":{"text":"vars.Final"}},
  {"id":"never","uses":"text.join","input":{"parts":["x"]},"output":{"text":"outputs.late"}}]}"#;

#[test]
fn the_vars_of_a_skill_are_variables_and_its_answer_completes_the_run() {
    let world = World::new();
    world.write("skill.json", SKILL);
    insta::assert_snapshot!(world.all(&[
        "run skill.json --run-id count --now 2026-02-02T00:00:00Z",
        "log count",
        "vars list count",
        "vars get count second",
        "vars get count first --at 2",
        "vars status count",
        "vars history count",
        "vars diff count initial_state now",
        "vars set count second x",
        "vars final count x",
        "verify count",
        "replay count",
    ]));
    // The process was killed before the completion.
    world.cut("count", 1);
    insta::assert_snapshot!(
        "the_vars_of_a_skill_roll_back_with_it",
        world.all(&[
            "checkpoint count early --at first",
            "rollback count early",
            "vars list count",
            "resume count",
            "verify count",
            "vars export count out",
        ])
    );
}

#[test]
fn a_step_that_violates_a_rule_of_variables_fails_and_names_the_rule() {
    let world = World::new();
    let refused = |from: &str, to: &str| {
        world.write("skill.json", SKILL.replacen(from, to, 1));
        world.hence("run skill.json --now 2026-02-02T00:00:00Z")
    };
    let told = refused(r#""output":{"text":"vars.Final"}"#, r#""output":{"text":"vars.second"}"#);
    assert!(told.contains("read_only, RO-1"), "{told}");
    let told = refused(r#""type":"text""#, r#""type":"number""#);
    assert!(told.contains("type_mismatch, TYPE-1"), "{told}");
    world.write("skill.json", SKILL.replace("vars.second\"", "vars.sec-ond\""));
    let told = world.hence("run skill.json --now 2026-02-02T00:00:00Z");
    assert!(told.contains("invalid_name, NAME-1"), "{told}");
    let told = refused(r#""scope":"temporary","ttl_seconds":2"#, r#""scope":"tree""#);
    assert!(told.contains("completed"), "a skill's run has a tree: {told}");
    let told = refused(r#""ttl_seconds":2"#, r#""ttl_seconds":0"#);
    assert!(told.contains("vars.first"), "what is past its time cannot be read: {told}");
    let told = refused(r#""scope":"temporary""#, r#""scope":"nowhere""#);
    assert!(told.contains("`scope` is one of global, session, tree, temporary"), "{told}");
}

#[test]
fn a_child_in_its_own_run_shares_the_tree_and_returns_its_result() {
    let world = World::new();
    insta::assert_snapshot!(world.all(&[
        "vars init job 'whole task' --tree tree-00000001 --session s1 --now 2026-02-09T10:00:00Z",
        "vars set job plan 'look first' --scope tree",
        "vars spawn job part 'first part'",
        "vars get part plan --peek",
        "vars set part found 3 -t number --scope tree",
        "vars get job found",
        "vars list job",
        "vars final job early",
        "vars set job x 1 --state state-4b0aea15",
        "vars result job state-4b0aea15",
        "vars spawn part detail 'a detail'",
        "vars final part 'too early'",
        "vars final detail 'the detail'",
        "vars final part 'three found'",
        "vars result job state-4b0aea15",
        "vars tree detail",
        "vars final job 'all done'",
        "vars tree job",
        "log job",
        "verify job",
        "verify part",
        "verify detail",
        "runs",
        "--store .hence/scopes runs",
        "--store .hence/scopes verify tree-00000001",
        "vars spawn job part again",
        "vars spawn job late 'after the end'",
    ]));
}

#[test]
fn session_and_global_variables_are_shared_across_runs_without_loss() {
    let world = World::new();
    for run in ["a", "b"] {
        world.out(&format!("vars init {run} task --session s1"));
    }
    world.out("vars init c task");
    world.out("vars set a note from_a");
    world.out("vars set a everywhere 1 --scope global -t number");
    assert_eq!(world.out("vars get b note"), "from_a\n");
    assert_eq!(world.out("vars get c everywhere --peek"), "1\n");
    assert!(world.hence("vars get c note").contains("not_found (rule READ-2)"));
    world.out("vars checkpoint a before");
    world.out("vars set a note changed");
    world.out("vars set b note from_b");
    // Each state logs only its own writes, and sees those of the others.
    assert_eq!(world.out("vars get a note"), "from_b\n");
    let refused = world.hence("vars rollback a before");
    assert!(
        refused.contains("rollback_conflict (rule RB-10)") && refused.contains("another run"),
        "{refused}"
    );
    world.out("vars rm b note");
    assert!(world.hence("vars get a note").contains("not_found"), "what is gone is gone for all");
    world.out("vars set c everywhere 2 -t number");
    world.out("vars set c own 1");
    assert_eq!(world.out("vars get a everywhere"), "2\n");
    for run in ["a", "b", "c"] {
        let verified = world.hence(&format!("verify {run}"));
        assert!(verified.ends_with("[exit 0]\n"), "{verified}");
    }
    let history = world.out("vars history a");
    assert!(!history.contains("from_b") && history.contains("changed"), "{history}");
}
