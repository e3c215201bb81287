//! Items and comments: those the trace came with, and those of the reviewers.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};

use crate::model::{CommentEvent, CommentId, ItemEvent, ReviewItemId, Target, TargetPart, decode_field};
use crate::vocabulary::ReviewItemStatus;
use crate::wire::{Entry, Trace};

use super::entry::{Stamp, TimeSource};
use super::gap::Origin;

/// An item and what happened to it.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is wanted.
    pub event: ItemEvent,
    /// Whether the trace came with it or a reviewer raised it.
    pub origin: Origin,
    /// Who wants it.
    pub stamp: Stamp,
    /// Where it stands.
    pub status: ReviewItemStatus,
    /// Who acknowledged it.
    pub acknowledged: Option<Stamp>,
    /// Who resolved or waived it, and what they said.
    pub closed: Option<(Stamp, Option<String>)>,
}

impl Item {
    /// Returns whether somebody still has to do something about it.
    pub fn is_open(&self) -> bool {
        matches!(self.status, ReviewItemStatus::Open | ReviewItemStatus::Acknowledged)
    }
}

/// A comment and what happened to it.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub(super) event: CommentEvent,
    pub(super) origin: Origin,
    pub(super) stamp: Stamp,
    pub(super) resolved: Option<Stamp>,
}

/// Things in the order they came, found by their ids. Of two with one id the first is found.
#[derive(Clone, Debug)]
pub(super) struct Shelf<T> {
    things: Vec<T>,
    places: BTreeMap<String, usize>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { things: Vec::new(), places: BTreeMap::new() }
    }
}

impl<T> Shelf<T> {
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

/// Returns the items a trace came with.
pub(super) fn declared_items(trace: &Trace) -> Shelf<Item> {
    let mut items = Shelf::default();
    for item in trace.review_items() {
        let id = item.id().map_or_else(|| format!("item-#{}", item.index()), str::to_owned);
        // A foreign word is no status: the item counts as open until somebody says otherwise.
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

/// Returns the comments a trace came with.
pub(super) fn declared_comments(trace: &Trace) -> Shelf<Remark> {
    let mut comments = Shelf::default();
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

/// Reads a target; what names no part is about the trace as a whole.
fn target(entry: &Entry) -> Target {
    let written = entry.member("target").cloned().unwrap_or(Value::Null);
    decode_field(&written).unwrap_or_else(|_| TargetPart::Trace.into())
}
