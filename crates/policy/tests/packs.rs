//! The packs that come with `hence` do what they say.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use hence_policy::policy::{Document, PolicySet, built_in, parse_toml};
use hence_review::vocabulary::EvaluationStatus;

#[test]
fn every_policy_of_every_pack_gets_the_verdicts_its_examples_state() {
    for policy in built_in().policies() {
        for outcome in policy.test().unwrap() {
            assert_eq!(outcome.difference, None, "{}: {}", policy.id(), outcome.about);
        }
    }
}

#[test]
fn every_policy_of_every_pack_shows_a_pass_and_a_failure() {
    for policy in built_in().policies() {
        let shown: BTreeSet<EvaluationStatus> =
            policy.examples().unwrap().into_iter().map(|example| example.expect).collect();
        assert!(shown.contains(&EvaluationStatus::Passed), "{} never passes", policy.id());
        assert!(shown.contains(&EvaluationStatus::Failed), "{} never fails", policy.id());
        assert!(policy.description().is_some(), "{} says nothing", policy.id());
    }
}

#[test]
fn no_policy_of_a_pack_has_a_finding_or_guesses() {
    for policy in built_in().policies() {
        let findings: Vec<String> = policy.lint().iter().map(ToString::to_string).collect();
        assert_eq!(findings, [""; 0], "{}", policy.id());
        assert!(policy.lint().iter().all(|finding| !finding.is_error()));
    }
}

#[test]
fn every_file_in_the_folder_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let value = parse_toml(&std::fs::read_to_string(&path).unwrap()).unwrap();
        documents.push(Document { name: path.display().to_string(), value });
    }
    let ids = |set: &PolicySet| -> BTreeSet<String> {
        set.policies().iter().map(|policy| policy.id().to_string()).collect()
    };
    assert_eq!(ids(&PolicySet::load(&documents).unwrap()), ids(&built_in()));
}

#[test]
fn an_example_that_gets_another_verdict_is_reported() {
    let text = r#"
        [[policy]]
        id = "p"
        formula = "F(Lint)"
        [[policy.example]]
        about = "wrong on purpose"
        expect = "passed"
        actions = [{ type = "RunTests" }]
    "#;
    let document = Document { name: "p.toml".to_owned(), value: parse_toml(text).unwrap() };
    let set = PolicySet::load(&[document]).unwrap();
    let outcome = &set.policies()[0].test().unwrap()[0];
    assert_eq!(
        outcome.difference.as_deref(),
        Some("expected passed, found failed (no action satisfies `Lint` (1 looked at))")
    );
}
