//! Texts numbered in the order in which they were first seen.
//!
//! A trace names every artifact several times, so looking up ids is a large part of the work on a trace. The hasher is
//! seeded at random, because whoever wrote the trace chose the ids; numbers follow the order of insertion, so the seed
//! never shows in a result.

use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

/// A set of texts, each with a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    texts: IndexSet<Arc<str>, RandomState>,
}

impl Interner {
    /// Makes an empty set with room for `count` texts.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self { texts: IndexSet::with_capacity_and_hasher(count, RandomState::default()) }
    }

    /// Returns the number of a text, which is added if it is new.
    pub(crate) fn intern(&mut self, text: &Arc<str>) -> usize {
        // Most texts are known already: looking first saves counting their owners up and down again.
        self.find(text).unwrap_or_else(|| self.texts.insert_full(text.clone()).0)
    }

    /// Returns the number of a text that is in the set.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        self.texts.get_index_of(text)
    }

    /// Returns the text with a number.
    pub(crate) fn text(&self, number: usize) -> Option<&str> {
        self.texts.get_index(number).map(|text| &**text)
    }

    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_numbered_in_the_order_they_come() {
        let mut interner = Interner::default();
        assert_eq!((interner.find(""), interner.find("a"), interner.text(0)), (None, None, None));
        let numbers: Vec<usize> = ["b", "a", "b", "", "a"].map(|text| interner.intern(&text.into())).to_vec();
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(
            (interner.find("a"), interner.find("c"), interner.text(2), interner.len()),
            (Some(1), None, Some(""), 3)
        );
    }

    proptest! {
        #[test]
        fn every_interned_text_is_found_and_no_other(
            texts in prop::collection::vec("[ab]{0,20}", 0..300),
            other in "[ab]{0,20}",
        ) {
            let mut interner = Interner::default();
            let mut known: BTreeMap<String, usize> = BTreeMap::new();
            for text in &texts {
                let next = known.len();
                let expected = *known.entry(text.clone()).or_insert(next);
                prop_assert_eq!(interner.intern(&text.as_str().into()), expected);
            }
            for (text, number) in &known {
                prop_assert_eq!(interner.find(text), Some(*number));
            }
            prop_assert_eq!(interner.find(&other), known.get(&other).copied());
        }
    }
}
