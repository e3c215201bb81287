//! Exports of variables: every state keeps its own documents, and nothing else is overwritten.

use hence_testkit::cli::World;
use serde_json::Value;

const STATES: &str = "out/.aiwg/rlm/states";

fn state_of(world: &World, run: &str) -> String {
    let told: Value = serde_json::from_str(&world.out(&format!("vars status {run} --json"))).unwrap();
    told["state"].as_str().unwrap().to_owned()
}

fn files(world: &World, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![world.path(folder)];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(world.path(folder)).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_tasks_of_a_tree_and_of_other_runs_have_different_ids_and_documents() {
    let world = World::new();
    for run in ["job", "other", "ünïcode/täsk", "job 2"] {
        world.out(&format!("vars init '{run}' 'whole task'"));
    }
    for (parent, child) in
        [("job", "part-1"), ("job", "part-2"), ("part-1", "part-1-1"), ("part-1-1", "deep")]
    {
        world.out(&format!("vars spawn {parent} {child} {child}"));
    }
    world.out("vars set part-2 own_value 7");
    let runs = ["job", "other", "'ünïcode/täsk'", "'job 2'", "part-1", "part-2", "part-1-1", "deep"];
    let mut states: Vec<String> = runs.iter().map(|run| state_of(&world, run)).collect();
    states.sort();
    states.dedup();
    assert_eq!(states.len(), runs.len());
    // The order does not matter: a parent does not write the documents of its children.
    for run in runs.iter().chain(runs.iter().rev()) {
        world.out(&format!("vars export {run} out"));
    }
    for run in runs {
        let document: Value =
            serde_json::from_slice(&world.read(&format!("{STATES}/{}/state.json", state_of(&world, run))))
                .unwrap();
        let mutations = if run == "part-2" { 2 } else { 1 };
        assert_eq!(document["metadata"]["mutation_count"], mutations, "{run}");
    }
}

#[test]
fn exporting_again_replaces_the_whole_and_keeps_large_values() {
    let world = World::new();
    world.write("big", "x".repeat(20_000));
    world.out("vars init audit go");
    world.out("vars set audit brief x --scope temporary");
    world.out("vars set audit long_text @big");
    world.out("vars export audit out");
    assert!(world.path(format!("out/.aiwg/rlm/temp/{}/state.json", state_of(&world, "audit"))).exists());
    world.out("vars set audit long_text small");
    world.out("vars checkpoint audit later");
    world.out("vars rm audit brief");
    world.out("vars export audit out");
    world.out("vars export audit fresh");
    assert_eq!(files(&world, "out"), files(&world, "fresh"));
    for file in files(&world, "fresh") {
        assert_eq!(world.read(&format!("out/{file}")), world.read(&format!("fresh/{file}")), "{file}");
    }
}

#[test]
fn documents_of_another_run_or_another_course_are_not_overwritten() {
    let world = World::new();
    world.out("vars init audit go");
    world.out("vars set audit first_one 1");
    world.out("vars export audit out");
    let state = state_of(&world, "audit");
    let before = world.read(&format!("{STATES}/{state}/state.json"));
    // The same state in another run.
    world.out(&format!("vars import copy {STATES}/{state}/state.json --root out"));
    world.out("vars set copy first_one other");
    assert!(world.refused(&["vars", "export", "copy", "out"]).contains("documents of the run \"audit\""));
    // Another run of the same name.
    world.out("--store again vars init audit go");
    let refused = world.hence("--store again vars export audit out");
    assert!(refused.contains("error[E0505]") && refused.contains("documents of the run"), "{refused}");
    // An earlier copy of the same run, and a later one that took another course.
    let journal = world.journal("audit");
    world.out("vars set audit second_one 2");
    world.out("vars export audit out");
    world.set_journal("audit", &journal);
    assert!(world.refused(&["vars", "export", "audit", "out"]).contains("which is further"));
    world.out("vars set audit second_one 3");
    assert!(world.refused(&["vars", "export", "audit", "out"]).contains("another course"));
    let kept = world.read(&format!("{STATES}/{state}/state.json"));
    assert_ne!(kept, before);
    assert!(String::from_utf8(kept).unwrap().contains("\"2\""));
}

#[cfg(unix)]
#[test]
fn links_and_files_of_others_are_in_the_way() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    world.out("vars init audit go");
    let state = state_of(&world, "audit");
    world.write("elsewhere/kept", "kept");
    for link in
        ["one/.aiwg", "two/.aiwg/rlm", "three/.aiwg/rlm/states", &format!("four/.aiwg/rlm/states/{state}")]
    {
        let folder = link.split('/').next().unwrap().to_owned();
        std::fs::create_dir_all(world.path(link).parent().unwrap()).unwrap();
        symlink(world.path("elsewhere"), world.path(link)).unwrap();
        assert!(world.refused(&["vars", "export", "audit", &folder]).contains("holds a link"));
    }
    world.write(&format!("five/.aiwg/rlm/states/{state}/state.json"), "{}");
    assert!(world.refused(&["vars", "export", "audit", "five"]).contains("documents that name no run"));
    world.write("six/.aiwg/rlm", "a file");
    assert!(world.refused(&["vars", "export", "audit", "six"]).contains("something else than documents"));
    world.write(&format!("seven/.aiwg/rlm/states/{state}/export.json"), "[[[");
    world.refused(&["vars", "export", "audit", "seven"]);
    assert_eq!(files(&world, "elsewhere"), ["kept"]);
    // Other files of the folder stay, and the folder itself may be a link.
    world.write("eight/notes.txt", "mine");
    symlink(world.path("eight"), world.path("nine")).unwrap();
    world.out("vars export audit nine");
    assert!(files(&world, "eight").contains(&"notes.txt".to_owned()));
}

#[test]
fn shared_layers_are_exported_with_their_large_values_and_never_by_an_older_view() {
    let world = World::new();
    world.write("big", "y".repeat(20_000));
    for run in ["writer", "reader"] {
        world.out(&format!("vars init {run} go --session team"));
    }
    world.out("vars set writer shared_text @big");
    world.out("vars get reader shared_text --raw");
    world.out("vars export reader out");
    world.out("vars set writer shared_count 1");
    world.out("vars export writer out");
    let layer = world.read("out/.aiwg/rlm/sessions/team/state.json");
    // The reader has not seen the newest value, and does not take it away.
    world.out("vars export reader out");
    assert_eq!(world.read("out/.aiwg/rlm/sessions/team/state.json"), layer);
    let state = state_of(&world, "reader");
    world.out(&format!("--store other vars import again {STATES}/{state}/state.json --root out"));
    assert_eq!(world.out("--store other vars get again shared_text --peek").trim_end().len(), 20_000);
    // The same session of another store is another one.
    world.out("--store third vars init stranger go --session team");
    world.out("--store third vars set stranger shared_count 9");
    let refused = world.hence("--store third vars export stranger out");
    assert!(refused.contains("shared variables of another store or run"), "{refused}");
}
