//! An open namespace: members by key, cheap to change and cheap to share.

use std::fmt;
use std::sync::Arc;

use hence_canon::{Object, Value};
use rpds::RedBlackTreeMapSync;

/// The members of `vars`, `outputs`, `extensions` or `working.artifacts`.
///
/// A run of n steps writes n members and takes n snapshots; a persistent tree makes both logarithmic, where a
/// plain object would make the whole run quadratic.
#[derive(Clone, PartialEq, Eq)]
pub struct Table(RedBlackTreeMapSync<Arc<str>, Value>);

impl Table {
    /// Returns the table without members.
    pub fn new() -> Self {
        Self(RedBlackTreeMapSync::new_sync())
    }

    /// Returns the member `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.size()
    }

    /// Iterates over the members in byte order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        self.0.iter()
    }

    /// Sets the member `key`.
    pub(crate) fn insert(&mut self, key: Arc<str>, value: Value) {
        self.0.insert_mut(key, value);
    }

    /// Takes the member `key` away.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.remove_mut(key);
    }

    /// Returns the members as an object.
    pub fn to_object(&self) -> Object {
        self.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&Object> for Table {
    fn from(object: &Object) -> Self {
        object.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl FromIterator<(Arc<str>, Value)> for Table {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Value)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}
