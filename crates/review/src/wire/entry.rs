//! One object of a trace, with its place in the list it came from.

use hence_canon::{Object, Value};

/// An object as written, and where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    source: Object,
    index: usize,
}

impl Entry {
    /// Wraps an object found at `index` of its list.
    pub fn new(source: Object, index: usize) -> Self {
        Self { source, index }
    }

    /// Returns the object with all its members.
    pub fn source(&self) -> &Object {
        &self.source
    }

    /// Returns the index in the written list, which a JSON pointer to this entry uses.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns a member that is present and not null.
    pub fn member(&self, key: &str) -> Option<&Value> {
        self.source.get(key).filter(|value| !value.is_null())
    }

    /// Returns a text member.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.source.get(key).and_then(Value::as_str)
    }

    /// Returns an integer member.
    pub fn int(&self, key: &str) -> Option<i64> {
        self.source.get(key).and_then(Value::as_i64)
    }

    /// Returns a boolean member.
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.source.get(key).and_then(Value::as_bool)
    }

    /// Returns an object member.
    pub fn object(&self, key: &str) -> Option<&Object> {
        self.source.get(key).and_then(Value::as_object)
    }

    /// Returns the items of a list member; missing means none.
    pub fn items(&self, key: &str) -> &[Value] {
        self.source.get(key).and_then(Value::as_array).unwrap_or(&[])
    }

    /// Returns the texts in a list member.
    pub fn texts(&self, key: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.items(key).iter().filter_map(Value::as_str)
    }

    /// Returns the integers in a list member.
    pub fn ints(&self, key: &str) -> impl DoubleEndedIterator<Item = i64> + Clone {
        self.items(key).iter().filter_map(Value::as_i64)
    }

    /// Returns the objects in a list member.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = Entry> {
        let objects = self.items(key).iter().enumerate();
        objects.filter_map(|(index, item)| Some(Entry::new(item.as_object()?.clone(), index)))
    }
}

/// Declares a kind of entry: a newtype that lends the accessors of [`Entry`].
macro_rules! entry {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(pub(crate) $crate::wire::Entry);

        impl From<$crate::wire::Entry> for $name {
            fn from(entry: $crate::wire::Entry) -> Self {
                Self(entry)
            }
        }

        impl std::ops::Deref for $name {
            type Target = $crate::wire::Entry;

            fn deref(&self) -> &$crate::wire::Entry {
                &self.0
            }
        }
    };
}

pub(crate) use entry;
