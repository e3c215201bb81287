//! `hence export` and `hence import`: a bundle is imported unchanged, or not at all.

use insta::assert_snapshot;
use serde_json::{Value, json};

use hence_testkit::cli::{World, large_problem, problem};

/// Creates a world with a run exported to `out` and a store without that run.
fn exported(problem: &Value) -> World {
    let world = World::new();
    world.run_problem(problem);
    let run = problem["id"].as_str().unwrap();
    assert_eq!(world.ask(&["export", run, "out"]).code, 0);
    std::fs::rename(world.path(".hence"), world.path("origin")).unwrap();
    world
}

/// Changes the manifest of the bundle in `out`.
fn change_manifest(world: &World, change: impl FnOnce(&mut Value)) {
    let mut manifest: Value = serde_json::from_slice(&world.read("out/bundle.json")).unwrap();
    change(&mut manifest);
    world.write("out/bundle.json", manifest.to_string());
}

/// Imports the bundle in `out`, which must be refused without making a store.
fn refused(world: &World) -> String {
    let shown = world.refused(&["import", "out"]);
    assert!(!world.path(".hence").exists(), "a refused bundle makes no store");
    shown
}

#[test]
fn the_journal_of_a_bundle_is_verified_with_the_large_values_next_to_it() {
    let world = exported(&large_problem("large"));
    let blobs: Vec<_> = std::fs::read_dir(world.path("out/blobs")).unwrap().collect();
    assert!(!blobs.is_empty());
    let verified = world.ask(&["verify", "out/trace.ndjson"]);
    assert_eq!(verified.code, 0, "{}", String::from_utf8_lossy(&verified.stdout));
    for blob in blobs {
        std::fs::write(blob.unwrap().path(), "other").unwrap();
    }
    let verified = world.ask(&["verify", "out/trace.ndjson"]);
    assert_eq!(verified.code, 1, "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn a_bundle_contains_everything_that_verifies_a_run() {
    let world = World::new();
    world.run_problem(&large_problem("large"));
    // The size of what a clock measured differs from run to run.
    std::fs::remove_file(world.path(".hence/runs/large/times.ndjson")).unwrap();
    assert_snapshot!(world.cli(&["export", "large", "out"]), @r"
    run     large
    bundle  out
    head    <digest>:14
    files   4 (35743 bytes)
    [exit 0]
    ");
    assert_snapshot!(world.cli(&["--store", "other", "import", "out"]), @r"
    run      large
    head     <digest>:14
    records  14
    blobs    1
    [exit 0]
    ");
    assert_eq!(world.ask(&["--store", "other", "verify", "large"]).code, 0);
    assert_eq!(world.ask(&["--store", "other", "replay", "large"]).code, 0);
    assert_eq!(world.read("other/runs/large/trace.ndjson"), world.journal("large"));
    assert_snapshot!(world.cli(&["--store", "other", "import", "out"]), @r"
    run      large (was there already, nothing changed)
    head     <digest>:14
    records  14
    blobs    1
    [exit 0]
    ");
}

#[test]
fn reports_in_json_name_run_head_and_place() {
    let world = World::with_run("refund-42");
    std::fs::remove_file(world.path(".hence/runs/refund-42/times.ndjson")).unwrap();
    assert_snapshot!(world.cli(&["export", "refund-42", "out", "--json"]), @r#"
    {
      "run": "refund-42",
      "dir": "out",
      "head": "<digest>:14",
      "files": 3,
      "bytes": 11020,
      "children": 0
    }
    [exit 0]
    "#);
    assert_snapshot!(world.cli(&["import", "out", "--json", "--store", "other"]), @r#"
    {
      "run": "refund-42",
      "head": "<digest>:14",
      "records": 14,
      "blobs": 0,
      "children": 0,
      "already_there": false
    }
    [exit 0]
    "#);
}

#[test]
fn a_folder_that_is_not_empty_is_not_exported_into() {
    let world = World::with_run("refund-42");
    world.write("out/mine.txt", "mine").write("file", "mine");
    assert_snapshot!(world.refused(&["export", "refund-42", "out"]), @r"
    --- stderr
    error[E0401]: out is not empty; a bundle needs an empty folder
    hint: name a folder that does not exist yet; `hence explain E0401` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["export", "refund-42", "file"]), @r"
    --- stderr
    error[E0401]: cannot create the folder file: a file has that name
    hint: name a folder that does not exist yet; `hence explain E0401` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["export", "nothing", "new"]), @r#"
    --- stderr
    error[E0202]: no run id begins with "nothing"
    hint: `hence runs` lists the runs; --store names another folder; `hence explain E0202` says more
    [exit 2]
    "#);
    assert!(!world.path("new").exists());
}

#[test]
fn a_changed_file_is_refused() {
    let world = exported(&problem("refund-42"));
    let mut journal = world.read("out/trace.ndjson");
    *journal.last_mut().unwrap() = b' ';
    world.write("out/trace.ndjson", journal);
    assert_snapshot!(refused(&world), @r"
    --- stderr
    error[E0402]: out: trace.ndjson: expected digest <digest>, found <digest>
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    ");
    world.write("out/problem.json", "{}");
    change_manifest(&world, |manifest| {
        manifest["files"].as_array_mut().unwrap().retain(|file| file["path"] != "trace.ndjson");
    });
    assert_snapshot!(refused(&world), @r"
    --- stderr
    error[E0402]: out: problem.json: expected 642 bytes, found 2
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    ");
}

#[test]
fn a_path_that_leads_out_of_the_bundle_is_refused() {
    for path in ["../origin/format", "/etc/hostname", "blobs/../../origin/format"] {
        let world = exported(&problem("refund-42"));
        change_manifest(&world, |manifest| {
            let files = manifest["files"].as_array_mut().unwrap();
            files.push(json!({"path": path, "sha256": "0".repeat(64), "bytes": 14}));
        });
        let shown = refused(&world);
        assert!(shown.contains("leads out of the bundle") && shown.ends_with("[exit 1]"), "{shown}");
    }
}

#[test]
fn a_symbolic_link_is_refused_anywhere_in_a_bundle() {
    let world = exported(&large_problem("large"));
    std::fs::rename(world.path("out/problem.json"), world.path("elsewhere.json")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere.json"), world.path("out/problem.json")).unwrap();
    assert_snapshot!(refused(&world), @r#"
    --- stderr
    error[E0402]: out: "problem.json" is not a plain file of the bundle
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    "#);
    let world = exported(&large_problem("large"));
    std::fs::rename(world.path("out/blobs"), world.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.path("out/blobs")).unwrap();
    let shown = refused(&world);
    assert!(shown.contains("is not a plain file of the bundle"), "{shown}");
}

#[test]
fn a_bundle_without_a_large_value_is_refused() {
    let world = exported(&large_problem("large"));
    change_manifest(&world, |manifest| {
        let files = manifest["files"].as_array_mut().unwrap();
        files.retain(|file| !file["path"].as_str().unwrap().starts_with("blobs/"));
    });
    assert_snapshot!(refused(&world), @r"
    --- stderr
    error[E0402]: out: blobs/<digest> is missing, a record refers to it
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    ");
}

#[test]
fn a_manifest_that_does_not_match_is_refused() {
    let world = exported(&problem("refund-42"));
    let honest = world.read("out/bundle.json");
    change_manifest(&world, |manifest| manifest["format"] = json!("hence-bundle/9"));
    assert_snapshot!(refused(&world), @r#"
    --- stderr
    error[E0402]: out/bundle.json: expected format "hence-bundle/1", found "hence-bundle/9"
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    "#);
    world.write("out/bundle.json", &honest);
    change_manifest(&world, |manifest| manifest["run"] = json!("refund-43"));
    assert_snapshot!(refused(&world), @r#"
    --- stderr
    error[E0402]: out: the manifest names run "refund-43", the journal is of "refund-42"
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    "#);
    world.write("out/bundle.json", &honest);
    change_manifest(&world, |manifest| manifest["head"] = json!(format!("{}:3", "0".repeat(64))));
    assert_snapshot!(refused(&world), @r"
    --- stderr
    error[E0402]: out: the manifest names head <digest>:3, the journal ends at <digest>:14
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    ");
    world.write("out/bundle.json", "{\"format\": 1}");
    assert_snapshot!(refused(&world), @r"
    --- stderr
    error[E0402]: out/bundle.json: not a manifest: invalid type: integer `1`, expected a string at line 1 column 12
    hint: export the run again, or check what changed in the folder; `hence explain E0402` says more
    [exit 1]
    ");
    std::fs::remove_file(world.path("out/bundle.json")).unwrap();
    assert_snapshot!(refused(&world), @r"
    --- stderr
    error[E0401]: cannot open out/bundle.json: it does not exist
    hint: name a folder created by `hence export`; `hence explain E0401` says more
    [exit 2]
    ");
}

#[test]
fn a_bundle_of_another_run_of_that_id_changes_nothing() {
    let mut other = large_problem("refund-42");
    other["inputs"]["prompt"] = json!("Which other one?");
    let world = exported(&other);
    world.run_problem(&problem("refund-42"));
    // A refused bundle leaves neither the run nor a blob.
    assert_snapshot!(world.refused(&["import", "out"]), @r"
    --- stderr
    error[E0204]: run refund-42 exists already with different content: journal differs
    hint: the stored run was not changed; compare with `hence diff`; `hence explain E0204` says more
    [exit 1]
    ");
}

#[test]
fn importing_again_restores_a_lost_value() {
    let world = World::new();
    world.run_problem(&large_problem("large"));
    assert_eq!(world.ask(&["export", "large", "out"]).code, 0);
    let before = world.stored();
    let blob = before.keys().find(|path| path.is_file() && path.to_str().unwrap().contains("blobs")).unwrap();
    std::fs::remove_file(blob).unwrap();
    assert_eq!(world.ask(&["doctor"]).code, 1);
    assert_eq!(world.ask(&["import", "out"]).code, 0);
    assert_eq!(world.ask(&["doctor"]).code, 0);
    hence_testkit::cli::assert_unchanged(&before, &world.stored());
}
