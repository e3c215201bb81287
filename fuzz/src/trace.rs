//! Properties of reading any bytes as a review trace.

use hence_canon::{JsonPointer, Value, canonical_bytes, parse};
use hence_review::ContentHash;
use hence_review::diff::diff;
use hence_review::grade::grade;
use hence_review::lineage::{Direction, Lineage, Picture};
use hence_review::model::{decode, encode};
use hence_review::validate::{Finding, Rule, validate, validate_canonical, validate_read};
use hence_review::wire::Trace;

/// The number of artifacts whose ancestors and descendants are checked.
const ARTIFACTS_ASKED: usize = 8;

/// Validating and decoding never panic and agree with each other; findings lead to places; lineage runs both ways.
pub fn trace(bytes: &[u8]) {
    let Ok(value) = parse(bytes) else { return };
    judged(&value);
    decoded(&value);
    let trace = Trace::read(&value);
    let lineage = Lineage::of(&trace);
    looked_up(&trace);
    derived(&trace, &lineage);
    assert!(diff(&trace, &trace).is_empty());
    // What was read once is judged as what is read and judged in one go.
    if value.as_object().is_some() {
        assert_eq!(validate_read(&trace, &lineage), validate(&value));
    }
    let _ = grade(&trace, &lineage, &validate(&value));
}

/// Every finding points to a place of the document, or to a member that is missing there.
fn judged(value: &Value) {
    let report = validate(value);
    let there = |finding: &Finding| {
        let tokens: Vec<&str> = finding.pointer.tokens().collect();
        let around: JsonPointer =
            tokens.iter().take(tokens.len().saturating_sub(1)).map(ToString::to_string).collect();
        value.pointer(&finding.pointer).is_some() || value.pointer(&around).is_some()
    };
    for finding in report.findings() {
        assert!(there(finding), "{finding}");
        assert!(!finding.message.contains('\u{1b}'), "{finding:?}");
    }
    // The strict reading finds everything the lenient one does.
    let strict = validate_canonical(value);
    assert!(strict.findings().len() >= report.findings().len());
    assert!(strict.errors().count() >= report.errors().count());
}

/// A trace that fits the model is written and read back unchanged, and its hash does not depend on spelling.
fn decoded(value: &Value) {
    let strict = validate_canonical(value);
    let hash = ContentHash::of(value);
    assert_eq!(parse(&canonical_bytes(value)).map(|again| ContentHash::of(&again)), Ok(hash));
    match decode(value) {
        Ok(trace) => {
            assert!(!strict.findings().iter().any(|finding| finding.rule == Rule::Canonical));
            let written = encode(&trace);
            assert_eq!(decode(&written).as_ref(), Ok(&trace));
            assert_eq!(encode(&decode(&written).expect("it was decoded just now")), written);
        }
        Err(error) => assert!(!error.findings.is_empty() && !strict.is_valid()),
    }
}

/// Of two with one id the first is found.
fn looked_up(trace: &Trace) {
    for action in trace.actions() {
        let first = action.id().and_then(|id| trace.action_by_id(id));
        assert_eq!(first.is_some(), action.id().is_some());
        assert!(first.is_none_or(|first| first.position() <= action.position() && first.id() == action.id()));
    }
    for artifact in trace.artifacts() {
        let first = artifact.id().and_then(|id| trace.artifact_by_id(id));
        assert_eq!(first.is_some(), artifact.id().is_some());
        assert!(first.is_none_or(|first| first.index() <= artifact.index() && first.id() == artifact.id()));
    }
}

/// Every ancestor of an artifact has it among its descendants, and the other way round.
fn derived(trace: &Trace, lineage: &Lineage) {
    let ids = trace.artifacts().iter().filter_map(|artifact| artifact.id()).take(ARTIFACTS_ASKED);
    for id in ids {
        for ancestor in lineage.ancestors(id) {
            assert!(lineage.descendants(ancestor).contains(&id), "{ancestor} of {id}");
            assert!(lineage.is_ancestor(ancestor, id));
        }
        for descendant in lineage.descendants(id) {
            assert!(lineage.ancestors(descendant).contains(&id), "{descendant} of {id}");
        }
        let on_circle = lineage.cycles().iter().any(|circle| circle.contains(&id));
        assert_eq!(lineage.ancestors(id).contains(&id), on_circle, "{id}");
        assert!(Picture::of(trace, lineage, id, Direction::Around).is_some());
    }
}
