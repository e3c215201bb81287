//! Stores that are missing, not stores, in use, or read-only.

use insta::assert_snapshot;

use hence_testkit::cli::{World, problem};

#[test]
fn without_a_store_every_reading_command_says_how_to_create_one() {
    let world = World::new();
    assert_snapshot!(world.refused(&["runs"]), @r"
    --- stderr
    error[E0201]: .hence is not a store: expected a file `format`, found no folder
    hint: nothing was run here yet: `hence run` and `hence init` create a store; --store names another folder; `hence explain E0201` says more
    [exit 4]
    ");
    for arguments in [["log", "x"], ["verify", "x"], ["resume", "x"], ["stats", "x"], ["replay", "x"]] {
        assert!(world.refused(&arguments).contains("`hence run` and `hence init` create a store"));
    }
    assert!(!world.path(".hence").exists());
}

#[test]
fn a_file_where_the_store_should_be_is_left_alone() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string()).write(".hence", "mine");
    assert_snapshot!(world.refused(&["run", "problem.json"]), @r"
    --- stderr
    error[E0201]: cannot open .hence: expected a folder, found a file
    hint: name another folder with --store; `hence explain E0201` says more
    [exit 4]
    ");
    assert_snapshot!(world.refused(&["runs"]), @r"
    --- stderr
    error[E0201]: cannot open .hence: expected a folder, found a file
    hint: name another folder with --store; `hence explain E0201` says more
    [exit 4]
    ");
    assert_eq!(world.read(".hence"), b"mine");
}

#[test]
fn a_folder_of_other_things_is_left_alone() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string()).write(".hence/thesis.txt", "mine");
    assert_snapshot!(world.refused(&["run", "problem.json"]), @r"
    --- stderr
    error[E0201]: .hence is not a store: expected a file `format`, found thesis.txt
    hint: name another folder with --store, or use the version that wrote this one; `hence explain E0201` says more
    [exit 4]
    ");
    assert_snapshot!(world.refused(&["doctor", "--rebuild"]), @r"
    --- stderr
    error[E0201]: .hence is not a store: expected a file `format`, found thesis.txt
    hint: name another folder with --store, or use the version that wrote this one; `hence explain E0201` says more
    [exit 4]
    ");
}

#[test]
fn an_unknown_store_format_is_refused_by_readers_and_writers() {
    let world = World::with_run("refund-42");
    world.write(".hence/format", "hence-store 9\n");
    assert_snapshot!(world.refused(&["run", "problem.json"]), @r#"
    --- stderr
    error[E0201]: .hence/format names store format "hence-store 9", this version reads "hence-store 1"
    hint: name another folder with --store, or use the version that wrote this one; `hence explain E0201` says more
    [exit 4]
    "#);
    assert_snapshot!(world.refused(&["runs"]), @r#"
    --- stderr
    error[E0201]: .hence/format names store format "hence-store 9", this version reads "hence-store 1"
    hint: name another folder with --store, or use the version that wrote this one; `hence explain E0201` says more
    [exit 4]
    "#);
    assert_snapshot!(world.refused(&["doctor", "--rebuild"]), @r#"
    --- stderr
    error[E0201]: .hence/format names store format "hence-store 9", this version reads "hence-store 1"
    hint: name another folder with --store, or use the version that wrote this one; `hence explain E0201` says more
    [exit 4]
    "#);
}

#[test]
fn parent_folders_of_the_store_are_not_created() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    assert_snapshot!(world.refused(&["run", "problem.json", "--store", "no/such/place"]), @r"
    --- stderr
    error[E0207]: cannot create no/such/place: it does not exist
    hint: create the parent folder, or name another folder with --store; `hence explain E0207` says more
    [exit 4]
    ");
}

#[test]
fn a_read_only_store_is_named_and_still_readable() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with_run("refund-42");
    let runs = world.path(".hence/runs");
    let set = |mode| std::fs::set_permissions(&runs, std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o555);
    if std::fs::create_dir(runs.join("probe")).is_ok() {
        std::fs::remove_dir(runs.join("probe")).unwrap();
        set(0o755);
        eprintln!("skipped: this user may write read-only folders");
        return;
    }
    let shown = world.refused(&["run", "problem.json", "--trace-id", "other"]);
    assert!(shown.contains("permission denied") && shown.ends_with("[exit 4]"), "{shown}");
    assert_eq!(world.ask(&["verify", "refund-42"]).code, 0);
    set(0o755);
}

#[test]
fn a_missing_run_is_named() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.refused(&["log", "invoice"]), @r#"
    --- stderr
    error[E0202]: no run id begins with "invoice"
    hint: `hence runs` lists the runs; --store names another folder; `hence explain E0202` says more
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["verify", "invoice"]), @r#"
    --- stderr
    error[E0202]: no run id begins with "invoice"
    hint: no file has that name either; `hence runs` lists the runs, --store names another folder; `hence explain E0202` says more
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["log", "invoice", "--json"]), @r#"
    --- stderr
    {
      "error": {
        "code": "E0202",
        "message": "no run id begins with \"invoice\"",
        "findings": [],
        "hint": "`hence runs` lists the runs; --store names another folder"
      }
    }
    [exit 2]
    "#);
}

#[test]
fn an_ambiguous_prefix_lists_its_runs_and_a_whole_id_wins() {
    let world = World::with_run("refund-4");
    for id in ["refund-42", "refund-43"] {
        world.run_problem(&problem(id));
    }
    assert_snapshot!(world.refused(&["log", "refund"]), @r#"
    --- stderr
    error[E0203]: 3 run ids begin with "refund": refund-4, refund-42, refund-43
    hint: give more of the id; `hence explain E0203` says more
    [exit 2]
    "#);
    assert_eq!(world.ask(&["log", "refund-4"]).code, 0);
    assert_eq!(world.ask(&["log", "refund-43"]).code, 0);
}

#[test]
fn a_run_that_another_process_writes_is_left_to_it() {
    let world = World::with_run("refund-42");
    let half: Vec<u8> = world
        .journal("refund-42")
        .split_inclusive(|byte| *byte == b'\n')
        .take(5)
        .flatten()
        .copied()
        .collect();
    world.set_journal("refund-42", &half);
    world.write(".hence/runs/refund-42/lock", "process 7");
    let lock = std::fs::File::options().write(true).open(world.path(".hence/runs/refund-42/lock")).unwrap();
    lock.lock().unwrap();
    assert_snapshot!(world.refused(&["resume", "refund-42"]), @r"
    --- stderr
    error[E0205]: run refund-42 is being written by process 7
    hint: nothing was run; `hence why RUN` shows how far that process is; repeat the command when it has ended; `hence explain E0205` says more
    [exit 4]
    ");
    assert_snapshot!(world.refused(&["run", "problem.json", "--run-id", "refund-42"]), @r"
    --- stderr
    error[E0205]: run refund-42 is being written by process 7
    hint: nothing was run; `hence why RUN` shows how far that process is; repeat the command when it has ended; `hence explain E0205` says more
    [exit 4]
    ");
    // Reading works next to a writer.
    assert_eq!(world.ask(&["log", "refund-42"]).code, 0);
    drop(lock);
    assert_eq!(world.ask(&["resume", "refund-42"]).code, 0);
}

#[test]
fn two_processes_that_run_the_same_problem_leave_one_whole_run() {
    let world = World::new();
    world.write("problem.json", problem("refund-42").to_string());
    let children: Vec<_> = (0..4).map(|_| world.command(&["run", "problem.json"]).spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        // A second writer is refused while the first one writes.
        let code = output.status.code().unwrap();
        assert!(code == 0 || (code == 4 && stderr.contains("E0205")), "exit {code}: {stderr}");
    }
    assert_eq!(world.ask(&["resume", "refund-42"]).code, 0);
    let alone = World::with_run("refund-42");
    assert_eq!(world.journal("refund-42"), alone.journal("refund-42"));
}

#[test]
fn the_doctor_finds_nothing_in_a_healthy_store() {
    let world = World::with_run("refund-42");
    assert_snapshot!(world.cli(&["doctor"]), @r"
    checked 1 run and 0 blobs
    nothing is wrong
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["doctor", "--json"]), @r#"
    {
      "runs": 1,
      "blobs": 0,
      "done": [],
      "findings": []
    }
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["doctor", "--rebuild"]), @r"
    done: index: rebuilt from 1 journals
    nothing is wrong
    [exit 0]
    ");
}

#[test]
fn the_doctor_names_a_torn_tail_and_removes_it_on_request() {
    let world = World::with_run("refund-42");
    let mut torn = world.journal("refund-42");
    torn.extend_from_slice(b"{\"torn");
    world.set_journal("refund-42", &torn);
    assert_snapshot!(world.cli(&["doctor"]), @r"
    checked 1 run and 0 blobs
    found: run refund-42: 6 bytes of an unfinished append at byte 10378
    --- stderr
    hint: `hence doctor --rebuild` repairs what can be repaired without losing a record
    [exit 1]
    ");
    assert_eq!(world.journal("refund-42"), torn);
    assert_snapshot!(world.cli(&["doctor", "--rebuild"]), @r"
    done: run refund-42: cut 6 bytes of an unfinished append at byte 10378; the journal ends at <digest>:14
    done: index: rebuilt from 1 journals
    nothing is wrong
    [exit 0]
    ");
    assert_eq!(world.journal("refund-42"), torn[..torn.len() - 6]);
}

#[test]
fn the_doctor_names_damage_and_does_not_touch_it() {
    let world = World::with_run("refund-42");
    let mut damaged = world.journal("refund-42");
    damaged.extend_from_slice(b"not a record\n");
    world.set_journal("refund-42", &damaged);
    assert_snapshot!(world.refused(&["doctor"]), @r"
    checked 1 run and 0 blobs
    found: run refund-42: damaged: the last whole line is not JSON: expected a JSON value, found 'n' at line 1, column 1
    --- stderr
    hint: `hence verify RUN` shows which records of a run still hold; importing its bundle again restores lost values
    [exit 1]
    ");
    assert_snapshot!(world.cli(&["doctor", "--rebuild"]), @r"
    done: index: rebuilt from 1 journals
    found: run refund-42: damaged: the last whole line is not JSON: expected a JSON value, found 'n' at line 1, column 1
    --- stderr
    hint: `hence verify RUN` shows which records of a run still hold; importing its bundle again restores lost values
    [exit 5]
    ");
    assert_eq!(world.journal("refund-42"), damaged);
    assert_snapshot!(world.refused(&["resume", "refund-42"]), @r"
    --- stderr
    error[E0206]: run refund-42 is damaged: the last whole line is not JSON: expected a JSON value, found 'n' at line 1, column 1
    hint: `hence verify refund-42` shows which records still hold; `hence doctor` checks the whole store; `hence explain E0206` says more
    [exit 4]
    ");
    assert_snapshot!(world.cli(&["runs"]), @r"
    RUN        STATUS   RECORDS  CREATED (MEASURED)        HEAD
    refund-42  damaged  ?        <time>
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["stats"]), @r"
    runs           1
    torn           0
    damaged        1
    records        0
    journal bytes  10391
    measured       <time> to <time>, 14 of 0 records
    took           <n> ms in 10 steps
    [exit 0]
    ");
}
