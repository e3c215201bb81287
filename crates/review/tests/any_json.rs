//! No document makes the library panic, and reading a review never trusts what it reads.

use hence_canon::{Object, Value};
use hence_review::diff::diff;
use hence_review::grade::{Compliance, grade};
use hence_review::lineage::{Direction, Lineage, Picture};
use hence_review::model::{decode, encode};
use hence_review::residuals::{chain_gaps, derive_residuals};
use hence_review::review_log::{
    Review, ReviewHeader, Stamp, TimeSource, handoff, handoff_markdown, merged, read_review, seal_header,
};
use hence_review::validate::{readiness, validate, validate_canonical};
use hence_review::wire::Trace;
use hence_review::{ContentHash, goals, markdown_report};
use proptest::prelude::*;

/// Words that mean something somewhere in a trace, so that random documents reach the rules.
const KEYS: &[&str] = &[
    "trace_id",
    "spec_version",
    "actions",
    "artifacts",
    "residuals",
    "goals",
    "meta_actions",
    "policies",
    "policy_evaluations",
    "comments",
    "review_items",
    "trace_links",
    "trace_lineage",
    "trigger",
    "outcome",
    "id",
    "type",
    "category",
    "inputs",
    "outputs",
    "artifact_id",
    "artifact_type",
    "payload",
    "derived_from",
    "supersedes",
    "producer_action_id",
    "residual_id",
    "kind",
    "severity",
    "status",
    "statement",
    "target",
    "target_type",
    "target_id",
    "acceptance",
    "binding",
    "action_ids",
    "parent_id",
    "meta_action_id",
    "reproducibility",
    "procedure",
    "command",
    "files_modified",
    "high_stakes_paths",
    "evidence",
    "ref",
    "options",
    "timestamp",
];
const WORDS: &[&str] = &[
    "t",
    "a1",
    "1",
    "1.6",
    "1.7",
    "EditFile",
    "RunTests",
    "Verify",
    "gateway",
    "Diff",
    "CommandResult",
    "VerificationResult",
    "VerificationGoal",
    "high",
    "open",
    "open_question",
    "artifact",
    "action",
    "FileRef",
    "supersedes",
    "TaskReceived",
    "\u{1b}[31m<b>",
    "",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..9).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        proptest::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 96, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(proptest::sample::select(KEYS), inner, 0..9)
                .prop_map(|members| members.into_iter().collect::<Object>().into()),
        ]
    })
}

/// A document whose members are those of a trace, whatever they hold.
fn any_trace() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map(proptest::sample::select(KEYS), any_json(), 0..20)
        .prop_map(|members| members.into_iter().collect::<Object>().into())
}

fn header(trace: &Value) -> ReviewHeader {
    let stamp =
        Stamp { author: "a".into(), at: "2026-01-01T00:00:00Z".into(), time_source: TimeSource::Given };
    ReviewHeader { review_id: "r".into(), trace_id: "t".into(), content_hash: ContentHash::of(trace), stamp }
}

fn is_harmless(text: &str) -> bool {
    !text.contains('\u{1b}') && !text.contains("<b>")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_judged_and_never_panics(value in prop_oneof![any_json(), any_trace()]) {
        let report = validate(&value);
        validate_canonical(&value);
        let trace = Trace::read(&value);
        let lineage = Lineage::of(&trace);
        let mark = grade(&trace, &lineage, &report);
        let text = markdown_report(&trace, &mark, Compliance::recorded(&trace).as_ref());
        prop_assert!(is_harmless(&text), "{}", text);
        readiness(&trace, &report);
        goals::resolve(&trace, &lineage, goals::Stakes::High);
        derive_residuals(&trace);
        hence_review::reproduce::candidates(&trace);
        if let Some(picture) = Picture::of(&trace, &lineage, "a1", Direction::Around) {
            let drawn = [picture.mermaid().replace("<br/>", ""), picture.dot().replace("<b>", "")];
            prop_assert!(drawn.iter().all(|text| is_harmless(text)), "{:?}", drawn);
        }
        chain_gaps(&[trace.clone(), trace.clone()]);
        prop_assert!(diff(&trace, &trace).is_empty());
        if let Ok(canonical) = decode(&value) {
            prop_assert_eq!(decode(&encode(&canonical)).ok(), Some(canonical));
        }
    }

    #[test]
    fn any_json_can_be_reviewed(value in prop_oneof![any_json(), any_trace()]) {
        let review = Review::new(header(&value), &value);
        review.judgement();
        let earlier = [Trace::read(&value)];
        handoff(&review, &earlier);
        let text = handoff_markdown(&review, &earlier);
        prop_assert!(is_harmless(&text), "{}", text);
        // A review that said nothing adds nothing: its merged view breaks no rule the trace keeps.
        if value.as_object().is_some() && validate(&value).is_valid() {
            prop_assert!(validate(&merged(&review, seal_header(&header(&value)).head)).is_valid());
        }
    }

    #[test]
    fn any_bytes_are_no_review_unless_they_were_sealed(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let trace = Value::Null;
        prop_assert!(read_review(&bytes, &trace).broken.is_some());
        let mut journal = seal_header(&header(&trace)).line;
        prop_assert!(read_review(&journal, &trace).broken.is_none());
        journal.extend(&bytes);
        let has_line = bytes.contains(&b'\n');
        prop_assert_eq!(read_review(&journal, &trace).broken.is_some(), has_line);
    }
}
