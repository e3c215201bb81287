//! Every run in `fixtures/` is verified and replayed by this version, and damage is found.

use std::path::Path;

use hence_testkit::cli::World;

/// Returns a world whose store is a copy of a fixture.
fn fixture(name: &str) -> World {
    let world = World::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    copy(&source, &world.path(".hence"));
    world
}

fn copy(source: &Path, target: &Path) {
    std::fs::create_dir_all(target).unwrap();
    for entry in std::fs::read_dir(source).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &target.join(name));
        } else {
            std::fs::copy(path, target.join(name)).unwrap();
        }
    }
}

#[test]
fn every_released_run_is_verified_and_replayed() {
    let stores: [(&str, &[&str]); 2] = [
        ("store-1", &["blob", "compat", "skill", "strict", "variables"]),
        ("store-1-strict-2", &["strict-2"]),
    ];
    for (store, runs) in stores {
        let world = fixture(store);
        for run in runs {
            for command in ["verify", "replay"] {
                let answer = world.ask(&[command, run]);
                assert_eq!(answer.code, 0, "{command} {run}: {}", answer.stderr);
            }
        }
    }
}

#[test]
fn damage_in_a_fixture_is_found() {
    assert_eq!(fixture("store-1-torn").ask(&["verify", "torn"]).code, 1);
    assert_eq!(fixture("store-1-flipped").ask(&["verify", "flipped"]).code, 1);
}
