//! A trace and its review as one document.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use crate::model::{ReviewEvent, Target};
use crate::vocabulary::{ResidualKind, ResidualSource, ResidualStatus};

use super::gap::{Gap, Origin};
use super::record::ReviewHead;
use super::review::Review;
use super::thread::{Item, Remark};

/// Returns the trace with the comments, items and gaps of the review, the status of each, and a summary under `review`.
///
/// The document is a view with a content hash of its own; the trace does not change.
pub fn merged(review: &Review, head: ReviewHead) -> Value {
    let comments = written(review, "comments", "comment_id", |object, id| {
        let remark = review.comments.get(id)?;
        let stamp = remark.resolved.as_ref().filter(|_| object.get("status") != Some(&"resolved".into()))?;
        Some(object.with("status", "resolved").with("resolved_at", stamp.at.clone()))
    });
    let items = written(review, "review_items", "review_item_id", |object, id| {
        let item = review.item(id)?;
        Some(settled(object.with("status", item.status), item))
    });
    let residuals = written(review, "residuals", "residual_id", |object, id| {
        let gap = review.gap(id).filter(|gap| gap.origin == Origin::Declared)?;
        Some(object.with("status", gap.status))
    });
    let is_new = |origin: Origin| origin == Origin::Reviewer;
    let remarks = review.comments.all().iter().filter(|remark| is_new(remark.origin)).map(comment);
    let raised = review.items().iter().filter(|item| is_new(item.origin)).map(item);
    let shown = review.gaps().iter().filter(|gap| {
        matches!(gap.origin, Origin::Derived | Origin::Undeclared) && gap.status != ResidualStatus::Open
    });
    let residuals = residuals.into_iter().chain(added(review)).chain(shown.map(surfaced));
    review
        .trace
        .source()
        .with("comments", comments.into_iter().chain(remarks).collect::<Value>())
        .with("review_items", items.into_iter().chain(raised).collect::<Value>())
        .with("residuals", residuals.collect::<Value>())
        .with("review", summary(review, head))
        .into()
}

/// Returns the members of a list of the trace with their status in the review.
fn written(
    review: &Review,
    list: &str,
    key: &str,
    restate: impl Fn(&Object, &str) -> Option<Object>,
) -> Vec<Value> {
    // An id that is written twice names the first; the second stays as it is.
    let mut seen: BTreeMap<&str, ()> = BTreeMap::new();
    let mut moved = Vec::new();
    for value in review.trace.entry().items(list) {
        let named = value.as_object().and_then(|object| Some((object, object.get(key)?.as_str()?)));
        let restated = named.filter(|(_, id)| seen.insert(id, ()).is_none());
        let restated = restated.and_then(|(object, id)| restate(object, id));
        moved.push(restated.map_or_else(|| value.clone(), Value::from));
    }
    moved
}

fn summary(review: &Review, head: ReviewHead) -> Object {
    let decision = review.decision();
    let checks: Value = review
        .checks
        .iter()
        .map(|(id, outcome)| {
            Object::from_iter([("artifact_id", Value::from(id.as_str())), ("outcome", (*outcome).into())])
        })
        .collect();
    Object::from_iter([
        ("review_id", Value::from(review.header.review_id.clone())),
        ("content_hash", review.header.content_hash.into()),
        ("records", head.records.into()),
        ("head", head.hash.into()),
        ("stage", review.stage().into()),
        ("decision", decision.map(|decision| decision.kind).into()),
        ("decided_by", decision.map(|decision| decision.stamp.author.clone()).into()),
        ("decided_at", decision.map(|decision| decision.stamp.at.clone()).into()),
        ("note", decision.and_then(|decision| decision.note.as_deref()).into()),
        ("checks", checks),
    ])
}

fn added(review: &Review) -> impl Iterator<Item = Value> {
    review.added.iter().map(|(event, stamp)| {
        let status = review.gap(event.residual_id.as_str()).map_or(ResidualStatus::Open, |gap| gap.status);
        let event: Value = Value::from(&ReviewEvent::Gap(event.clone()));
        let members = event.as_object().cloned().unwrap_or_default().without("event");
        let members = members.with("source", ResidualSource::ReviewerAdded).with("status", status);
        Value::from(members.with("added_by", stamp.author.clone()))
    })
}

/// Returns a derived or undeclared gap that a reviewer has decided about.
fn surfaced(gap: &Gap) -> Value {
    // Stale evidence is a computed kind; written down it is unverified.
    let kind = ResidualKind::from_word(&gap.kind).unwrap_or(ResidualKind::Unverified);
    let mut members = Object::from_iter([
        ("residual_id", Value::from(gap.id.as_str())),
        ("kind", kind.into()),
        ("statement", gap.statement.as_str().into()),
        ("source", gap.source.into()),
        ("status", gap.status.into()),
    ]);
    if let Some(severity) = gap.severity {
        members = members.with("severity", severity);
    }
    if let Some(part) = &gap.part {
        members = members.with("target", Value::from(&Target::from(part.clone())));
    }
    if let Some(check) = &gap.suggested_check {
        members = members.with("suggested_check", check.as_str());
    }
    members.into()
}

fn comment(remark: &Remark) -> Value {
    let mut members = Object::from_iter([
        ("comment_id", Value::from(remark.event.comment_id.as_str())),
        ("author", remark.stamp.author.clone().into()),
        ("created_at", remark.stamp.at.clone().into()),
        ("body", remark.event.body.clone().into()),
        ("target", (&remark.event.target).into()),
        ("status", if remark.resolved.is_some() { "resolved" } else { "open" }.into()),
    ]);
    if let Some(parent) = &remark.event.thread_parent_id {
        members = members.with("thread_parent_id", parent.as_str());
    }
    if let Some(stamp) = &remark.resolved {
        members = members.with("resolved_at", stamp.at.clone());
    }
    members.into()
}

fn item(found: &Item) -> Value {
    let mut members = Object::from_iter([
        ("review_item_id", Value::from(found.event.review_item_id.as_str())),
        ("author", found.stamp.author.clone().into()),
        ("created_at", found.stamp.at.clone().into()),
        ("title", found.event.title.clone().into()),
        ("target", (&found.event.target).into()),
        ("status", found.status.into()),
        ("blocking", found.event.blocking.into()),
    ]);
    let texts = [("body", &found.event.body), ("assignee", &found.event.assignee)];
    for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text.clone()?))) {
        members = members.with(key, text);
    }
    settled(members, found).into()
}

/// Adds the author and time of an item's acknowledgement and closing.
fn settled(mut members: Object, found: &Item) -> Object {
    if let Some(stamp) = &found.acknowledged {
        members =
            members.with("acknowledged_at", stamp.at.clone()).with("acknowledged_by", stamp.author.clone());
    }
    if let Some((stamp, note)) = &found.closed {
        members = members.with("resolved_at", stamp.at.clone()).with("resolved_by", stamp.author.clone());
        if let Some(note) = note {
            members = members.with("resolution_note", note.as_str());
        }
    }
    members
}
