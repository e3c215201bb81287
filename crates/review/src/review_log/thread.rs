//! Items and comments, those of the trace and those of reviewers.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use crate::model::{CommentEvent, CommentId, ItemEvent, ReviewItemId, Target, TargetPart, decode_field};
use crate::vocabulary::ReviewItemStatus;
use crate::wire::{Entry, Trace};

use super::gap::Origin;
use super::record::{Stamp, TimeSource};

/// An item with its history.
#[derive(Clone, Debug)]
pub struct Item {
    /// The request.
    pub event: ItemEvent,
    /// Its origin: the trace or a reviewer.
    pub origin: Origin,
    /// Who raised it, and when.
    pub stamp: Stamp,
    /// Its status.
    pub status: ReviewItemStatus,
    /// Who acknowledged it.
    pub acknowledged: Option<Stamp>,
    /// Who resolved or waived it, with the note.
    pub closed: Option<(Stamp, Option<String>)>,
}

impl Item {
    /// Returns whether it is neither resolved nor waived.
    pub fn is_open(&self) -> bool {
        matches!(self.status, ReviewItemStatus::Open | ReviewItemStatus::Acknowledged)
    }
}

/// A comment with its history.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub(super) event: CommentEvent,
    pub(super) origin: Origin,
    pub(super) stamp: Stamp,
    pub(super) resolved: Option<Stamp>,
}

/// Things in order, found by their ids. Of two with the same id the first is found.
#[derive(Clone, Debug)]
pub(super) struct ById<T> {
    things: Vec<T>,
    places: BTreeMap<String, usize>,
}

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { things: Vec::new(), places: BTreeMap::new() }
    }
}

impl<T> ById<T> {
    pub(super) fn push(&mut self, id: String, thing: T) {
        self.places.entry(id).or_insert(self.things.len());
        self.things.push(thing);
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    pub(super) fn get(&self, id: &str) -> Option<&T> {
        self.places.get(id).and_then(|place| self.things.get(*place))
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.places.get(id).and_then(|place| self.things.get_mut(*place))
    }

    pub(super) fn all(&self) -> &[T] {
        &self.things
    }

    pub(super) fn all_mut(&mut self) -> &mut [T] {
        &mut self.things
    }
}

/// Returns the items of a trace.
pub(super) fn declared_items(trace: &Trace) -> ById<Item> {
    let mut items = ById::default();
    for item in trace.review_items() {
        let id = item.id().map_or_else(|| format!("item-#{}", item.index()), str::to_owned);
        // An item with an unknown status counts as open.
        let status = item.status().unwrap_or(ReviewItemStatus::Open);
        let event = ItemEvent {
            review_item_id: ReviewItemId::new(id.as_str()),
            target: target(&item),
            title: item.text("title").unwrap_or("").into(),
            body: item.text("body").map(Into::into),
            assignee: item.text("assignee").map(Into::into),
            blocking: item.is_blocking(),
            extra: Object::new(),
        };
        let stamp = stamp(&item, "created_at");
        let thing = Item { event, origin: Origin::Declared, stamp, status, acknowledged: None, closed: None };
        items.push(id, thing);
    }
    items
}

/// Returns the comments of a trace.
pub(super) fn declared_comments(trace: &Trace) -> ById<Remark> {
    let mut comments = ById::default();
    for comment in trace.comments() {
        let Some(id) = comment.id() else { continue };
        let event = CommentEvent {
            comment_id: CommentId::new(id),
            target: target(&comment),
            body: comment.text("body").unwrap_or("").into(),
            thread_parent_id: comment.text("thread_parent_id").map(CommentId::new),
            extra: Object::new(),
        };
        let is_resolved = comment.text("status") == Some("resolved");
        let remark = Remark {
            event,
            origin: Origin::Declared,
            stamp: stamp(&comment, "created_at"),
            resolved: is_resolved.then(|| stamp(&comment, "resolved_at")),
        };
        comments.push(id.to_owned(), remark);
    }
    comments
}

fn stamp(entry: &Entry, time: &str) -> Stamp {
    Stamp {
        author: entry.text("author").unwrap_or("").into(),
        at: entry.text(time).unwrap_or("").into(),
        time_source: TimeSource::Given,
    }
}

/// Reads a target; without a valid one the subject is the trace as a whole.
fn target(entry: &Entry) -> Target {
    let written = entry.member("target").cloned().unwrap_or(Value::Null);
    decode_field(&written).unwrap_or_else(|_| TargetPart::Trace.into())
}
