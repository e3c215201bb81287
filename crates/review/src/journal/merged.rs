//! Trace and review as one document.

use hence_canon::{Object, Value};

use crate::model::Field;
use crate::vocabulary::{CommentStatus, ResidualSource, ReviewItemStatus};

use super::chain::Journal;
use super::state::{CommentState, Disposition, ItemState, Review};

/// Returns the trace with its review: comments and items beside its own, gaps as they stand now, and under
/// `review` what was reviewed, by which journal, with which result.
///
/// The trace itself is not changed by this; its content hash is named in the document.
pub fn merged_document(trace: &Value, journal: &Journal) -> Value {
    let Value::Object(trace) = trace else { return trace.clone() };
    let review = journal.review();
    let own = |key: &str| trace.get(key).and_then(Value::as_array).unwrap_or(&[]).to_vec();
    let joined = |key: &str, more: Vec<Value>| -> Value { own(key).into_iter().chain(more).collect() };
    let comments = joined("comments", review.comments.iter().map(comment).collect());
    let items = joined("review_items", review.items().iter().map(item).collect());
    let residuals = own("residuals").into_iter().map(|residual| restated(&residual, review));
    let added = review.added.iter().map(|residual| {
        let value = residual.encode().unwrap_or_default();
        match restated(&value, review) {
            Value::Object(residual) => residual.with("source", ResidualSource::ReviewerAdded).into(),
            other => other,
        }
    });
    let residuals: Value = residuals.chain(added).collect();
    trace
        .with("comments", comments)
        .with("review_items", items)
        .with("residuals", residuals)
        .with("review", summary(journal))
        .into()
}

fn summary(journal: &Journal) -> Object {
    let disposition = match journal.review().disposition() {
        None => "open",
        Some(Disposition::Approved) => "approved",
        Some(Disposition::ChangesRequested) => "changes_requested",
        Some(Disposition::Escalated) => "escalated",
    };
    Object::from_iter([
        ("content_hash", Value::from(journal.trace())),
        ("records", journal.head().length.into()),
        ("head", journal.head().hash.into()),
        ("disposition", disposition.into()),
    ])
}

fn restated(residual: &Value, review: &Review) -> Value {
    let Value::Object(residual) = residual else { return residual.clone() };
    let id = residual.get("residual_id").and_then(Value::as_str);
    match id.and_then(|id| review.residual_status(id)) {
        Some(status) => residual.with("status", status).into(),
        None => residual.clone().into(),
    }
}

fn comment(state: &CommentState) -> Value {
    let status = if state.resolved_at.is_some() { CommentStatus::Resolved } else { CommentStatus::Open };
    let mut members = Object::from_iter([
        ("comment_id", Value::from(state.comment.comment_id.as_str())),
        ("author", state.author.clone().into()),
        ("created_at", state.created_at.clone().into()),
        ("body", state.comment.body.clone().into()),
        ("target", Review::target_value(&state.comment.target)),
        ("status", status.into()),
    ]);
    let parent = state.comment.thread_parent_id.as_ref().map(|id| id.as_str().into());
    for (key, text) in
        [("thread_parent_id", parent), ("resolved_at", state.resolved_at.clone().map(Value::from))]
    {
        if let Some(text) = text {
            members = members.with(key, text);
        }
    }
    members.into()
}

fn item(state: &ItemState) -> Value {
    let mut members = Object::from_iter([
        ("review_item_id", Value::from(state.item.review_item_id.as_str())),
        ("author", state.author.clone().into()),
        ("created_at", state.created_at.clone().into()),
        ("title", state.item.title.clone().into()),
        ("target", Review::target_value(&state.item.target)),
        ("status", state.status.into()),
        ("blocking", state.item.blocking.into()),
    ]);
    let resolved = state.closed.as_ref().filter(|_| state.status == ReviewItemStatus::Resolved);
    let optional = [
        ("body", state.item.body.clone()),
        ("assignee", state.item.assignee.clone()),
        ("acknowledged_by", state.acknowledged.as_ref().map(|(by, _)| by.clone())),
        ("acknowledged_at", state.acknowledged.as_ref().map(|(_, at)| at.clone())),
        ("resolved_by", resolved.map(|(by, _)| by.clone())),
        ("resolved_at", resolved.map(|(_, at)| at.clone())),
        ("resolution_note", state.note.clone()),
    ];
    for (key, text) in optional {
        if let Some(text) = text {
            members = members.with(key, text);
        }
    }
    members.into()
}
