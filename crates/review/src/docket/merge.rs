//! Trace and review as one document.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use crate::model::{Field as _, ReviewEvent, Target};
use crate::vocabulary::{ResidualSource, ResidualStatus};

use super::gap::Origin;
use super::review::{ItemState, Review};

/// Returns the trace with what the review added: comments, items, gaps, and where each gap stands.
///
/// It is a view. The trace itself is not changed by it, and its content hash is another one.
pub fn merged(review: &Review) -> Value {
    let source = review.trace.source();
    let comments = appended(source.get("comments"), review.comments.iter().map(comment));
    let items = appended(source.get("review_items"), review.items.iter().map(item));
    let added = review.added.iter().map(|(event, stamp)| {
        let status = review.gap(event.residual_id.as_str()).map_or(ResidualStatus::Open, |gap| gap.status);
        let event: Value = Value::from(&ReviewEvent::Gap(event.clone()));
        let members = event.as_object().cloned().unwrap_or_default().without("event");
        let members = members.with("source", ResidualSource::ReviewerAdded).with("status", status);
        Value::from(members.with("added_by", stamp.author.clone()))
    });
    let residuals = appended(Some(&restated(review)), added);
    let members = source.with("comments", comments).with("review_items", items).with("residuals", residuals);
    members.into()
}

/// Returns the declared residuals with the status the review gave them.
fn restated(review: &Review) -> Value {
    let moved: BTreeMap<&str, ResidualStatus> = review
        .gaps
        .iter()
        .filter(|gap| gap.origin == Origin::Declared)
        .map(|gap| (gap.id.as_str(), gap.status))
        .collect();
    let restate = |residual: &Value| {
        let object = residual.as_object()?;
        let id = object.get("residual_id")?.as_str()?;
        Some(Value::from(object.with("status", *moved.get(id)?)))
    };
    let written = review.trace.entry().items("residuals").iter();
    written.map(|residual| restate(residual).unwrap_or_else(|| residual.clone())).collect()
}

fn appended(written: Option<&Value>, more: impl Iterator<Item = Value>) -> Value {
    let written = written.and_then(Value::as_array).unwrap_or_default();
    written.iter().cloned().chain(more).collect()
}

fn target(target: &Target) -> Value {
    target.encode().unwrap_or_default()
}

fn comment(remark: &super::review::Remark) -> Value {
    let mut members = Object::from_iter([
        ("comment_id", Value::from(remark.event.comment_id.as_str())),
        ("author", remark.stamp.author.clone().into()),
        ("created_at", remark.stamp.at.clone().into()),
        ("body", remark.event.body.clone().into()),
        ("target", target(&remark.event.target)),
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

fn item(found: &super::Item) -> Value {
    let status = match found.state {
        ItemState::Open => "open",
        ItemState::Acknowledged => "acknowledged",
        ItemState::Resolved => "resolved",
        ItemState::Waived => "waived",
    };
    let mut members = Object::from_iter([
        ("review_item_id", Value::from(found.event.review_item_id.as_str())),
        ("author", found.stamp.author.clone().into()),
        ("created_at", found.stamp.at.clone().into()),
        ("title", found.event.title.clone().into()),
        ("target", target(&found.event.target)),
        ("status", status.into()),
        ("blocking", found.event.blocking.into()),
    ]);
    let texts = [("body", &found.event.body), ("assignee", &found.event.assignee)];
    for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text.clone()?))) {
        members = members.with(key, text);
    }
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
    members.into()
}
