//! No document, however odd, makes anything panic, and nothing odd passes for compliance.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use hence_canon::{Object, Value};
use hence_policy::monitor::Monitor;
use hence_policy::policy::{Document, Policy, PolicySet, built_in};
use hence_policy::show::{github, junit, sarif};
use hence_policy::{FailOn, Options, check};
use hence_review::vocabulary::EvaluationStatus;
use proptest::prelude::*;
use std::sync::LazyLock;

static BUILT_IN: LazyLock<PolicySet> = LazyLock::new(built_in);

/// Keys that mean something somewhere, so that odd values end up where they hurt.
const KEYS: [&str; 24] = [
    "actions",
    "applies_when",
    "artifact_id",
    "artifact_type",
    "artifacts",
    "category",
    "derived_from",
    "evidence",
    "formula",
    "id",
    "inputs",
    "outputs",
    "payload",
    "policies",
    "policy_id",
    "predicates",
    "producer_action_id",
    "ref",
    "request",
    "residuals",
    "severity",
    "status",
    "trigger",
    "type",
];

const TEXTS: [&str; 14] = [
    "",
    " ",
    "a1",
    "a2",
    "EditFile",
    "GitCommit",
    "Release",
    "FileRef",
    "VerificationResult",
    "proved",
    "open",
    "critical",
    "G(EditFile → P_chain(∃ x ∈ outputs(a) . x.status = proved))",
    "∃ r ∈ residuals . ¬(r.severity ≥ r.status)",
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3i64).prop_map(Value::from),
        proptest::sample::select(TEXTS.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(proptest::sample::select(KEYS.to_vec()), inner, 0..6)
                .prop_map(|members| members.into_iter().collect::<Object>().into()),
        ]
    })
}

/// A document with lists of odd objects where a trace has its lists.
fn any_document() -> impl Strategy<Value = Value> {
    let list = || proptest::collection::vec(any_value(), 0..5).prop_map(Value::from);
    let trace = (list(), list(), list()).prop_map(|(actions, artifacts, residuals)| {
        let members = [("actions", actions), ("artifacts", artifacts), ("residuals", residuals)];
        members.into_iter().collect::<Object>().into()
    });
    prop_oneof![any_value(), trace]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_document_can_be_checked_and_shown(document in any_document()) {
        let set = &*BUILT_IN;
        let report = check(&document, set.policies(), Options::default());
        prop_assert_eq!(report.verdicts.len(), set.policies().len());
        if report.defect.is_some() {
            prop_assert!(!report.passes(FailOn::Error));
            prop_assert!(report.verdicts.iter().all(|verdict| verdict.status == EvaluationStatus::Unknown));
        }
        let shown = [report.to_value().to_string(), hence_review::show::junit("t", &[junit(&report, "t", FailOn::Error)]), github(&report, "t")];
        prop_assert!(shown.iter().all(|text| !text.is_empty() || report.passes(FailOn::Unknown)));
        let _ = sarif(&report, "t");
    }

    #[test]
    fn any_document_can_be_loaded_as_policies_or_is_refused(document in any_value()) {
        let loaded = PolicySet::load(&[Document { name: "d".to_owned(), value: document.clone() }]);
        match loaded {
            Ok(set) => {
                prop_assert!(!set.policies().is_empty());
                let report = check(&document, set.policies(), Options::default());
                prop_assert_eq!(report.verdicts.len(), set.policies().len());
            }
            Err(error) => prop_assert!(error.to_string().starts_with('d')),
        }
    }

    #[test]
    fn any_object_can_be_proposed_to_a_monitor(
        steps in proptest::collection::vec((any_value(), proptest::collection::vec(any_value(), 0..3)), 0..5),
    ) {
        let set = &*BUILT_IN;
        let mut monitor = Monitor::start(&Object::new(), set.policies(), Options::default());
        for (action, artifacts) in steps {
            let Some(action) = action.as_object() else { continue };
            let artifacts: Vec<Object> = artifacts.iter().filter_map(|item| item.as_object().cloned()).collect();
            if let Ok(proposal) = monitor.propose(action, &artifacts) {
                proposal.admit();
            }
        }
        prop_assert_eq!(monitor.verdicts().count() + monitor.deferred().len(), set.policies().len());
    }

    #[test]
    fn any_object_can_be_linted(object in any_value()) {
        if let Some(policy) = object.as_object().and_then(Policy::read) {
            let _ = (policy.lint(), policy.test(), policy.digest());
        }
    }
}
