//! Every example of the repository: run, exported, validated, graded, reported, handed to a reviewer.

use std::path::{Path, PathBuf};

use hence_testkit::cli::World;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The problems and skills of a folder and the folders in it.
fn found(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_problem = path.parent() == Some(examples().as_path()) && name.ends_with(".json");
        if path.is_dir() {
            found(&path, into);
        } else if is_problem || name == "skill.yaml" {
            into.push(path);
        }
    }
    into.sort();
}

/// The arguments after the document, as the example's own page gives them.
fn arguments(example: &Path) -> Vec<String> {
    let page = example.parent().unwrap().join("README.md");
    let page = std::fs::read_to_string(page).unwrap_or_default();
    let lines = page.replace("\\\n", " ");
    let line = lines.lines().find(|line| line.contains("hence run") && line.contains("skill.yaml"));
    let words = line.unwrap_or("").split_whitespace().map(|word| word.trim_matches('\'').to_owned());
    words.skip_while(|word| !word.ends_with("skill.yaml")).skip(1).collect()
}

#[test]
fn every_example_is_exported_validated_graded_and_reported() {
    let mut all = Vec::new();
    found(&examples(), &mut all);
    assert!(all.len() >= 6, "{all:?}");
    for example in all {
        let world = World::new();
        // As its page is written: in the root of the repository.
        let root = examples().parent().unwrap().canonicalize().unwrap();
        let document = example.canonicalize().unwrap();
        let more: Vec<String> = arguments(&example)
            .into_iter()
            .map(|word| word.replace("@examples/", &format!("@{}/examples/", root.display())))
            .collect();
        let shown = example.display().to_string();
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let run = world.ask(&[&["run", document.to_str().unwrap(), "--json"][..], &more].concat());
        // An example that asks a person waits (3); its trace says so.
        assert!([0, 1, 3].contains(&run.code), "{shown}: {}", run.stderr);
        let id = world.ask(&["runs", "--json"]).json()["runs"][0]["run"].as_str().unwrap().to_owned();
        let export = world.ask(&["trace", "export", &id, "--out", "t.json"]);
        assert_eq!(export.code, 0, "{shown}: {}", export.stderr);
        let judged = world.ask(&["trace", "validate", "t.json", "--canonical", "--json"]);
        assert_eq!((judged.code, &judged.json()["warnings"]), (0, &0.into()), "{shown}: {}", judged.json());
        let grade = world.ask(&["trace", "grade", "t.json", "--json"]).json();
        assert!(grade["overall"].as_u64().unwrap() >= 60, "{shown}: {grade}");
        for row in grade["dimensions"].as_array().unwrap() {
            let is_full = row["score"].is_null() || row["score"] == 1.0;
            assert!(is_full || row["raise"].is_string(), "{shown}: {row}");
        }
        let report = String::from_utf8(world.ask(&["trace", "report", "t.json"]).stdout).unwrap();
        assert!(report.contains("**Grade ") && report.contains("**Gaps:**"), "{shown}: {report}");
        assert_eq!(world.ask(&["review", "open", &id, "--author", "ada"]).code, 0, "{shown}");
        let packet = world.ask(&["review", "handoff", &id]);
        assert_eq!(packet.code, 0, "{shown}: {}", packet.stderr);
    }
}
