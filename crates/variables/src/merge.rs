//! Several journals, one order.
//!
//! Each state may have a journal of its own. What states share ties their journals together: an event says at
//! which revision of a shared layer it read, and which revision it made, so an order in which all of them apply
//! can be found again from the journals alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::event::Place;
use crate::{Change, Event, Scope, SessionId, StateId, Timestamp, TreeId};

/// Journals that contradict each other: no order lets all of their events apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "journals contradict each other: {waiting} events wait for each other, the first is of {state} at {at}"
)]
pub struct Tangled {
    /// How many events are left over.
    pub waiting: usize,
    /// The state of the first of them.
    pub state: StateId,
    /// When it happened.
    pub at: Timestamp,
}

/// Returns the events of all journals in one order in which they can be folded: each journal keeps its own order,
/// and what touches a shared layer comes in the order of that layer's revisions. Ties go to the earlier event, then
/// to the lower state id, so the same journals always give the same order.
///
/// # Errors
/// [`Tangled`] when there is no such order. Gaps are not looked for here: [`apply`](crate::apply) finds them.
pub fn merge(journals: Vec<Vec<Event>>) -> Result<Vec<Event>, Tangled> {
    let mut order = Order::default();
    let mut events: Vec<Event> = Vec::new();
    for journal in journals {
        let first = events.len();
        events.extend(journal);
        (first + 1..events.len()).for_each(|index| order.edge(index - 1, index));
    }
    order.by_birth(&events);
    order.by_revision(&events);
    let sorted = order.sort(&events)?;
    let mut slots: Vec<Option<Event>> = events.into_iter().map(Some).collect();
    Ok(sorted.into_iter().filter_map(|index| slots.get_mut(index)?.take()).collect())
}

/// A layer that more than one state can see.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SharedLayer {
    Global,
    Session(SessionId),
    Tree(TreeId),
}

/// What an event does with a shared layer: it sees `first`, and leaves it at `last`.
#[derive(Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

/// Which events come after which.
#[derive(Default)]
struct Order {
    after: BTreeMap<usize, Vec<usize>>,
    waits: BTreeMap<usize, usize>,
}

impl Order {
    fn edge(&mut self, before: usize, after: usize) {
        if before != after {
            self.after.entry(before).or_default().push(after);
            *self.waits.entry(after).or_default() += 1;
        }
    }

    /// A child comes after its parent.
    fn by_birth(&mut self, events: &[Event]) {
        let births = events.iter().enumerate().filter_map(|(index, event)| match event.changes.first() {
            Some(Change::Born(birth)) => Some((event.state, index, birth.parent)),
            Some(Change::Adopted(_)) => Some((event.state, index, None)),
            _ => None,
        });
        let births: Vec<_> = births.collect();
        let places: BTreeMap<StateId, usize> =
            births.iter().map(|(state, index, _)| (*state, *index)).collect();
        for (_, index, parent) in births {
            if let Some(parent) = parent.and_then(|parent| places.get(&parent)) {
                self.edge(*parent, index);
            }
        }
    }

    /// Who makes a revision comes before all who see it, and they before whoever makes the next.
    fn by_revision(&mut self, events: &[Event]) {
        for spans in spans(events).into_values() {
            let made: BTreeMap<u64, usize> = spans
                .iter()
                .filter(|(_, span)| span.first < span.last)
                .map(|(at, span)| (span.last, *at))
                .collect();
            let next: BTreeMap<u64, usize> = spans
                .iter()
                .filter(|(_, span)| span.first < span.last)
                .map(|(at, span)| (span.first, *at))
                .collect();
            for (index, span) in spans {
                if let Some(maker) = made.get(&span.first) {
                    self.edge(*maker, index);
                }
                if let Some(successor) = next.get(&span.first).filter(|_| span.first == span.last) {
                    self.edge(index, *successor);
                }
            }
        }
    }

    fn sort(mut self, events: &[Event]) -> Result<Vec<usize>, Tangled> {
        let key = |index: usize| events.get(index).map(|event| Reverse((event.at, event.state, index)));
        let free = (0..events.len()).filter(|index| !self.waits.contains_key(index));
        let mut ready: BinaryHeap<_> = free.filter_map(key).collect();
        let mut sorted = Vec::with_capacity(events.len());
        while let Some(Reverse((_, _, index))) = ready.pop() {
            sorted.push(index);
            for next in self.after.remove(&index).unwrap_or_default() {
                let Some(waits) = self.waits.get_mut(&next) else { continue };
                *waits -= 1;
                if *waits == 0 {
                    self.waits.remove(&next);
                    ready.extend(key(next));
                }
            }
        }
        match self.waits.keys().next().and_then(|index| events.get(*index)) {
            None => Ok(sorted),
            Some(event) => Err(Tangled { waiting: self.waits.len(), state: event.state, at: event.at }),
        }
    }
}

/// Returns, for every shared layer, which events see or change it and from which revision to which.
fn spans(events: &[Event]) -> BTreeMap<SharedLayer, Vec<(usize, Span)>> {
    let mut homes: BTreeMap<StateId, (Option<SessionId>, Option<TreeId>)> = BTreeMap::new();
    for event in events {
        match event.changes.first() {
            Some(Change::Born(birth)) => homes.insert(event.state, (birth.session.clone(), birth.tree)),
            Some(Change::Adopted(adoption)) => {
                let document = &adoption.import.document;
                let session = document.session_id.as_ref().and_then(|text| text.parse().ok());
                homes.insert(event.state, (session, document.tree_id))
            }
            _ => None,
        };
    }
    let mut spans: BTreeMap<SharedLayer, Vec<(usize, Span)>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let Some((session, tree)) = homes.get(&event.state) else { continue };
        for (scope, span) in touched(event) {
            let layer = match (scope, session, tree) {
                (Scope::Global, _, _) => SharedLayer::Global,
                (Scope::Session, Some(session), _) => SharedLayer::Session(session.clone()),
                (Scope::Tree, _, Some(tree)) => SharedLayer::Tree(*tree),
                _ => continue,
            };
            spans.entry(layer).or_default().push((index, span));
        }
    }
    spans
}

/// Returns the revisions one event sees and makes, by scope.
fn touched(event: &Event) -> BTreeMap<Scope, Span> {
    let mut spans: BTreeMap<Scope, Span> = BTreeMap::new();
    let mut see = |scope: Scope, first: u64, last: u64| {
        let span = spans.entry(scope).or_insert(Span { first, last });
        span.first = span.first.min(first);
        span.last = span.last.max(last);
    };
    for change in &event.changes {
        match change {
            Change::Write { place: Place::Layer { scope, revision }, .. }
            | Change::Delete { place: Place::Layer { scope, revision }, .. }
            | Change::Rename { place: Place::Layer { scope, revision }, .. } => {
                see(*scope, revision.saturating_sub(1), *revision);
            }
            Change::Read { place: Place::Layer { scope, revision }, .. } => see(*scope, *revision, *revision),
            Change::Shared(shared) => see(shared.scope, shared.seen, shared.revision),
            Change::Checkpoint { seen, .. } => {
                seen.iter().for_each(|(scope, revision)| see(*scope, *revision, *revision));
            }
            Change::Adopted(adoption) => {
                let both = adoption.seen.iter().chain(&adoption.made);
                both.for_each(|(scope, revision)| see(*scope, *revision, *revision));
            }
            _ => {}
        }
    }
    spans
}
