//! Generated tests descend from a state-space analysis.

use std::collections::{BTreeMap, BTreeSet};

use hence_review::vocabulary::ArtifactType;

use super::Outcome;
use crate::eval::Subject;

pub(super) fn check(subject: &Subject) -> Outcome {
    let derived = derived_from_analysis(subject);
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    let is_tests = |artifact: &&hence_review::wire::Artifact| artifact.is(ArtifactType::GeneratedTests);
    for tests in subject.trace().artifacts().iter().filter(is_tests) {
        outcome.checked = outcome.checked.map(|count| count + 1);
        let id = tests.id().unwrap_or("");
        if !derived.contains(id) {
            outcome.violating_artifacts.push(id.to_owned());
            outcome.faults.push(format!("no state-space analysis is among the ancestors of tests `{id}`"));
        }
    }
    outcome
}

/// Finds everything made from an analysis in one walk, however many tests ask.
fn derived_from_analysis(subject: &Subject) -> BTreeSet<&str> {
    let artifacts = subject.trace().artifacts();
    let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for artifact in artifacts {
        for source in artifact.derived_from() {
            children.entry(source).or_default().extend(artifact.id());
        }
    }
    let is_analysis =
        |artifact: &&hence_review::wire::Artifact| artifact.is(ArtifactType::StateSpaceAnalysisResult);
    let mut open: Vec<&str> =
        artifacts.iter().filter(is_analysis).filter_map(|artifact| artifact.id()).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        open.extend(children.get(id).into_iter().flatten().copied().filter(|child| found.insert(*child)));
    }
    found
}
