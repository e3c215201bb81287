//! The same problem gives the same bytes in any environment, folder and store.

use hence_testkit::cli::{World, large_problem, problem, problem_with_evidence};

#[test]
fn the_environment_does_not_reach_a_record() {
    let environments: [&[(&str, &str)]; 4] = [
        &[],
        &[("TZ", "Pacific/Chatham"), ("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")],
        &[("TZ", "UTC-14"), ("SOURCE_DATE_EPOCH", "0"), ("FAKETIME", "-30d"), ("HOME", "/nowhere")],
        &[("RAYON_NUM_THREADS", "1"), ("RUST_MIN_STACK", "67108864"), ("COLUMNS", "20"), ("TERM", "dumb")],
    ];
    for problem in [problem("same"), large_problem("same"), problem_with_evidence("same", 20)] {
        let journals: Vec<Vec<u8>> = environments
            .iter()
            .map(|environment| {
                let world =
                    environment.iter().fold(World::new(), |world, (name, value)| world.env(name, value));
                world.run_problem(&problem);
                assert_eq!(world.ask(&["verify", "same"]).code, 0);
                world.journal("same")
            })
            .collect();
        assert!(journals.iter().all(|journal| *journal == journals[0]));
    }
}

#[test]
fn other_runs_in_the_store_change_nothing() {
    let alone = World::with_run("same");
    let company = World::new();
    for id in ["a", "sam", "same-again"] {
        company.run_problem(&problem(id));
    }
    company.run_problem(&problem("same"));
    assert_eq!(alone.journal("same"), company.journal("same"));
}

#[test]
fn a_problem_with_other_formatting_has_the_same_journal() {
    let plain = World::with_run("same");
    let pretty = World::new();
    pretty.write("problem.json", serde_json::to_string_pretty(&problem("same")).unwrap());
    assert_eq!(pretty.ask(&["run", "problem.json"]).code, 0);
    assert_eq!(plain.journal("same"), pretty.journal("same"));
}
