//! The reviewer's packet: orient, re-check, work through, hunt for gaps, decide.

use hence_canon::{Object, Value};

use crate::grade::grade;
use crate::model::CheckOutcome;
use crate::residuals::{chain_gaps, predecessors};
use crate::validate::validate_read;
use crate::vocabulary::{ResidualSeverity, ResidualStatus};
use crate::wire::{Event, Trace};

use super::checkable::Checkable;
use super::gap::{Gap, Origin};
use super::review::Review;

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect::<Object>().into()
}

/// A gap that a trace before this one left open and that this one does not close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inherited {
    /// The trace that declared it first.
    pub(super) trace_id: String,
    pub(super) residual_id: String,
    pub(super) statement: String,
}

/// Returns what the traces before this one left open, as far as they are given.
pub(super) fn inherited(review: &Review, earlier: &[Trace]) -> Vec<Inherited> {
    let own = review.trace().trace_id().unwrap_or("");
    let chain: Vec<Trace> = earlier.iter().chain([review.trace()]).cloned().collect();
    let open = chain_gaps(&chain).into_iter().filter(|gap| gap.is_open());
    open.filter_map(|gap| {
        let first = gap.links.first().map(|link| link.trace_id.clone()).filter(|id| id != own)?;
        Some(Inherited { trace_id: first, residual_id: gap.residual_id, statement: gap.statement })
    })
    .collect()
}

/// Makes the packet as a document; [`super::handoff_markdown`] writes the same for people.
///
/// `earlier` are the traces this one follows, as far as they are at hand: what they left open is part of it.
pub fn handoff(review: &Review, earlier: &[Trace]) -> Value {
    let judgement = review.judgement();
    let obstacles = judgement.obstacles.iter().map(|found| {
        object([("subject", found.subject.as_str().into()), ("reason", found.reason.as_str().into())])
    });
    let disposition =
        object([("disposition", judgement.disposition.as_str().into()), ("obstacles", obstacles.collect())]);
    object([
        ("format", "hence-handoff/1".into()),
        ("orient", orient(review, earlier)),
        ("evidence", review.claims().map(|(claim, outcome)| evidence(claim, outcome)).collect()),
        ("work", work(review).into_iter().map(task).collect()),
        ("items", review.items().iter().map(item).collect()),
        ("undeclared", undeclared(review).into_iter().map(task).collect()),
        ("verdict", disposition),
    ])
}

fn orient(review: &Review, earlier: &[Trace]) -> Value {
    let trace = review.trace();
    let event = |event: Option<Event>| {
        event.map(|event| {
            let text = |key: &str| Value::from(event.text(key));
            object([("type", text("type")), ("summary", text("summary")), ("reason", text("reason"))])
        })
    };
    let lineage = trace.entry().member("trace_lineage").cloned().unwrap_or_default();
    let links: Value = trace.trace_links().map(|link| Value::from(link.source().clone())).collect();
    let left_open = inherited(review, earlier).into_iter().map(|gap| {
        object([
            ("trace_id", gap.trace_id.into()),
            ("residual_id", gap.residual_id.into()),
            ("statement", gap.statement.into()),
        ])
    });
    let grade = grade(trace, &review.lineage, &validate_read(trace, &review.lineage));
    object([
        ("review_id", review.header.review_id.clone().into()),
        ("trace_id", review.header.trace_id.clone().into()),
        ("content_hash", review.header.content_hash.into()),
        ("trigger", event(trace.trigger()).into()),
        ("outcome", event(trace.outcome()).into()),
        ("actions", trace.actions().len().into()),
        ("artifacts", trace.artifacts().len().into()),
        ("files_modified", trace.files_modified().collect()),
        ("trace_lineage", lineage),
        ("trace_links", links),
        ("predecessors", predecessors(trace).iter().map(String::as_str).collect()),
        ("left_open_before", left_open.collect()),
        ("grade", format!("{} ({}/100)", grade.letter.as_str(), grade.overall).into()),
        ("validation_errors", review.errors.into()),
    ])
}

fn evidence(claim: &Checkable, outcome: Option<CheckOutcome>) -> Value {
    let class = claim.judgement.as_ref().map(|judgement| judgement.class.as_str());
    object([
        ("artifact_id", claim.artifact_id.as_str().into()),
        ("type", claim.kind.as_str().into()),
        ("about", claim.about.as_str().into()),
        ("action_id", claim.action_id.into()),
        ("command", claim.command.as_deref().into()),
        ("command_class", class.into()),
        ("tool", claim.tool.as_deref().into()),
        ("expected", claim.expected.as_deref().into()),
        ("checked", outcome.map(CheckOutcome::as_str).into()),
    ])
}

/// Returns the gaps to work through, the worst open ones first; undeclared ones stand apart.
pub(super) fn work(review: &Review) -> Vec<&Gap> {
    let mut gaps: Vec<&Gap> = review.gaps().iter().filter(|gap| gap.origin != Origin::Undeclared).collect();
    gaps.sort_by_key(|gap| (gap.status != ResidualStatus::Open, std::cmp::Reverse(gap.severity)));
    gaps
}

/// Returns what was changed and neither verified nor declared.
pub(super) fn undeclared(review: &Review) -> Vec<&Gap> {
    review.gaps().iter().filter(|gap| gap.origin == Origin::Undeclared).collect()
}

fn task(gap: &Gap) -> Value {
    object([
        ("residual_id", gap.id.as_str().into()),
        ("origin", gap.origin.as_str().into()),
        ("kind", gap.kind.as_str().into()),
        ("severity", gap.severity.map(ResidualSeverity::as_str).into()),
        ("status", gap.status.as_str().into()),
        ("statement", gap.statement.as_str().into()),
        ("target", gap.target.as_str().into()),
        ("suggested_check", gap.suggested_check.as_deref().into()),
        ("on_high_stakes", gap.on_high_stakes.into()),
        ("urgency", gap.urgency().as_str().into()),
        ("triage", triage(gap).into()),
    ])
}

/// Returns what the procedure asks a reviewer to do with a gap.
pub(super) fn triage(gap: &Gap) -> &'static str {
    match gap.kind.as_str() {
        "assumption" if gap.on_high_stakes => "check the premise",
        "assumption" => "raise an item on the premise",
        "unverified" | "stale_evidence" if gap.on_high_stakes => "run the check; it blocks until then",
        "unverified" | "stale_evidence" => "run the check or raise an item",
        "out_of_scope" => "confirm the exclusion; escalate if the work depends on it",
        "limitation" => "carry the bound on; block if the result is used outside it",
        "open_question" => "a person decides",
        _ => "decide what kind of gap it is",
    }
}

fn item(found: &super::Item) -> Value {
    object([
        ("review_item_id", found.event.review_item_id.as_str().into()),
        ("title", found.event.title.clone().into()),
        ("origin", found.origin.as_str().into()),
        ("blocking", found.event.blocking.into()),
        ("status", found.status.into()),
        ("author", found.stamp.author.clone().into()),
        ("assignee", found.event.assignee.clone().into()),
    ])
}
