//! Generated tests descend from a state-space analysis.

use hence_review::vocabulary::ArtifactType;
use hence_review::wire::Artifact;

use super::Outcome;
use crate::eval::Subject;

pub(super) fn check(subject: &Subject) -> Outcome {
    let of_type =
        |kind: ArtifactType| subject.trace().artifacts().iter().filter(move |artifact| artifact.is(kind));
    let analyses = of_type(ArtifactType::StateSpaceAnalysisResult).filter_map(Artifact::id);
    // One walk for all tests, however many ask. Tests are no analyses, so starting points do no harm.
    let grounded = subject.lineage().with_descendants(analyses);
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    for tests in of_type(ArtifactType::GeneratedTests) {
        outcome.checked = outcome.checked.map(|count| count + 1);
        let id = tests.id().unwrap_or("");
        if grounded.binary_search(&id).is_err() {
            outcome.violating_artifacts.push(id.to_owned());
            outcome.faults.push(format!("no state-space analysis is among the ancestors of tests `{id}`"));
        }
    }
    outcome
}
