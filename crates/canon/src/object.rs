//! Objects: members in the order they were written, found by key in logarithmic time at most.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::Value;

/// The members of a JSON object. Cloning shares.
///
/// Iteration follows insertion order, because mappings in skills mean something by it; equality does not,
/// because the canonical form sorts.
#[derive(Clone)]
pub struct Object(Arc<Members>);

struct Members {
    entries: Box<[(Arc<str>, Value)]>,
    /// Positions in `entries`, ordered by key bytes: the canonical order and the lookup index in one. Empty when the
    /// entries are in that order already, as in every canonical document.
    by_key: Box<[u32]>,
}

/// Up to so many members are looked through one by one: keys of another length are passed over without being read.
const SCANNED_MAX: usize = 16;

/// A key that occurs twice in one object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("key {key:?} occurs twice")]
pub struct DuplicateKey {
    /// The key.
    pub key: Arc<str>,
    /// Position of the later member among all members.
    pub position: usize,
}

impl Object {
    /// Returns the object without members.
    pub fn new() -> Self {
        static EMPTY: LazyLock<Object> =
            LazyLock::new(|| Object(Arc::new(Members { entries: Box::default(), by_key: Box::default() })));
        EMPTY.clone()
    }

    /// Builds an object from members in order.
    ///
    /// # Errors
    /// [`DuplicateKey`] when a key occurs twice.
    pub fn from_members(entries: impl Into<Box<[(Arc<str>, Value)]>>) -> Result<Self, DuplicateKey> {
        let members = Members::of(entries.into());
        // The earliest repetition in document order is the one a reader meets first.
        if let Some((position, key)) = members.repeated().min_by_key(|(position, _)| *position) {
            return Err(DuplicateKey { key: key.clone(), position });
        }
        Ok(Self(Arc::new(members)))
    }

    /// Returns the value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let members = &*self.0;
        if members.entries.len() <= SCANNED_MAX {
            return members.entries.iter().find(|(present, _)| **present == *key).map(|(_, value)| value);
        }
        let place = if members.by_key.is_empty() {
            members.entries.binary_search_by(|(present, _)| (**present).cmp(key)).ok()?
        } else {
            let found = members.by_key.binary_search_by(|position| members.key(*position).cmp(key)).ok()?;
            members.position(found)
        };
        members.entries.get(place).map(|(_, value)| value)
    }

    /// Returns whether `key` is a member.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// Iterates over the members in insertion order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Value)> + Clone {
        self.0.entries.iter().map(|(key, value)| (key, value))
    }

    /// Iterates over the members in canonical order: by key bytes.
    pub fn iter_sorted(&self) -> impl Iterator<Item = (&Arc<str>, &Value)> + Clone {
        self.0.in_order().map(|(_, (key, value))| (key, value))
    }

    /// Iterates over the keys in insertion order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Arc<str>> + Clone {
        self.0.entries.iter().map(|(key, _)| key)
    }

    /// Returns this object with `key` set: in its place when present, else as the last member.
    #[must_use]
    pub fn with(&self, key: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        let (key, value) = (key.into(), value.into());
        let mut entries = Vec::with_capacity(self.len() + 1);
        entries.extend_from_slice(&self.0.entries);
        match entries.iter_mut().find(|(present, _)| *present == key) {
            Some((_, slot)) => *slot = value,
            None => entries.push((key, value)),
        }
        Self(Arc::new(Members::of(entries.into_boxed_slice())))
    }

    /// Returns this object without `key`.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        self.iter()
            .filter(|(present, _)| &***present != key)
            .map(|(present, value)| (present.clone(), value.clone()))
            .collect()
    }

    /// Returns whether both are the same allocation, a cheap sufficient test for equality.
    pub fn shares_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Members {
    fn of(entries: Box<[(Arc<str>, Value)]>) -> Self {
        let by_key = if entries.is_sorted_by(|(left, _), (right, _)| left < right) {
            Box::default()
        } else {
            order_by_key(&entries)
        };
        Self { entries, by_key }
    }

    /// Returns the position in `entries` of the member at a place in canonical order.
    fn position(&self, place: usize) -> usize {
        self.by_key.get(place).map_or(place, |position| *position as usize)
    }

    /// Iterates over positions and members in canonical order.
    fn in_order(&self) -> impl Iterator<Item = (usize, &(Arc<str>, Value))> + Clone {
        let positions = (0..self.entries.len()).map(|place| self.position(place));
        positions.filter_map(|position| self.entries.get(position).map(|entry| (position, entry)))
    }

    /// Iterates over the keys that repeat an earlier one, and their positions.
    fn repeated(&self) -> impl Iterator<Item = (usize, &Arc<str>)> {
        // Members in strict order differ.
        let places = 1..if self.by_key.is_empty() { 1 } else { self.entries.len() };
        places.filter_map(|place| {
            let (before, position) = (self.position(place - 1), self.position(place));
            let (key, _) = self.entries.get(position)?;
            (self.entries.get(before)?.0 == *key).then_some((position, key))
        })
    }

    fn key(&self, position: u32) -> &str {
        self.entries.get(position as usize).map_or("", |(key, _)| key)
    }
}

/// Orders positions by key; equal keys stay in document order.
fn order_by_key(entries: &[(Arc<str>, Value)]) -> Box<[u32]> {
    let count = u32::try_from(entries.len()).expect("an object of 2^32 members cannot be held in memory");
    let mut by_key: Box<[u32]> = (0..count).collect();
    let key = |position: &u32| entries.get(*position as usize).map(|(key, _)| &**key);
    by_key.sort_by(|left, right| key(left).cmp(&key(right)));
    by_key
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

/// Collects members; a repeated key has its first place and its last value.
impl<K: Into<Arc<str>>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let entries = members.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let members = Members::of(entries);
        if members.entries.is_empty() {
            return Self::new();
        }
        if members.repeated().next().is_none() {
            return Self(Arc::new(members));
        }
        Self(Arc::new(Members::of(keep_last(members.entries.into_vec()))))
    }
}

fn keep_last(entries: Vec<(Arc<str>, Value)>) -> Box<[(Arc<str>, Value)]> {
    let mut place = std::collections::BTreeMap::new();
    let mut kept: Vec<(Arc<str>, Value)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        match place.get(&key).and_then(|at: &usize| kept.get_mut(*at)) {
            Some((_, slot)) => *slot = value,
            None => {
                place.insert(key.clone(), kept.len());
                kept.push((key, value));
            }
        }
    }
    kept.into_boxed_slice()
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.shares_with(other) || (self.len() == other.len() && self.iter_sorted().eq(other.iter_sorted()))
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_for_reading_and_ignored_for_equality() {
        let object: Object = [("b", 1), ("a", 2)].into_iter().collect();
        assert_eq!(object.keys().map(|key| &**key).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(object.iter_sorted().map(|(key, _)| &**key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(object, [("a", 2), ("b", 1)].into_iter().collect());
    }

    #[test]
    fn every_key_is_found_and_no_other_however_many_there_are() {
        for count in [0, 1, SCANNED_MAX, SCANNED_MAX + 1, 100] {
            let members = || (0..count).map(|number| (format!("k{number:03}"), number));
            for object in [members().collect::<Object>(), members().rev().collect()] {
                for number in 0..count {
                    assert_eq!(object.get(&format!("k{number:03}")), Some(&Value::from(number)));
                }
                assert_eq!((object.get(&format!("k{count:03}")), object.get("")), (None, None));
                assert!(
                    object.iter_sorted().map(|(key, _)| key.to_string()).eq(members().map(|(key, _)| key))
                );
            }
        }
    }

    #[test]
    fn a_repeated_key_is_an_error_that_names_the_later_member() {
        let members =
            |keys: &[&str]| keys.iter().map(|key| (Arc::from(*key), Value::Null)).collect::<Vec<_>>();
        let error = Object::from_members(members(&["x", "b", "a", "b", "a"])).unwrap_err();
        assert_eq!((&*error.key, error.position), ("b", 3));
        assert!(Object::from_members(members(&["x", "b"])).is_ok());
    }

    #[test]
    fn with_replaces_in_place_and_appends_at_the_end() {
        let object: Object = [("a", 1), ("b", 2)].into_iter().collect();
        let changed = object.with("a", 3).with("c", 4);
        assert_eq!(changed.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(changed.get("a"), Some(&Value::from(3)));
        assert_eq!(changed.without("b").len(), 2);
    }

    #[test]
    fn collecting_keeps_the_last_of_a_repeated_key() {
        let object: Object = [("a", 1), ("b", 2), ("a", 3)].into_iter().collect();
        assert_eq!(object.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(object.get("a"), Some(&Value::from(3)));
    }
}
