//! Keys that were read before, so that objects of one shape share them.
//!
//! A list of a hundred thousand objects has the same dozen keys in each. Sharing them spares an allocation a member and
//! the memory of all but the first. Large documents share the short texts among their values in the same way.

use std::sync::Arc;

/// How many keys are remembered. A document has few shapes; a key that lost its place is read anew.
const PLACES: usize = 64;

/// Keys by a number computed from their text. What stands at a place is compared before it is used.
pub(super) struct Keys(Vec<Option<Arc<str>>>);

impl Keys {
    pub(super) fn new() -> Self {
        Self(vec![None; PLACES])
    }

    /// Returns a key, shared if it was read lately.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        let Some(slot) = self.0.get_mut(place(text)) else { return text.into() };
        match slot {
            Some(known) if **known == *text => known.clone(),
            _ => slot.insert(text.into()).clone(),
        }
    }
}

fn place(text: &str) -> usize {
    // Length, ends and middle tell the keys of one document apart well enough; only speed depends on it.
    let bytes = text.as_bytes();
    let at = |place: usize| bytes.get(place).copied().map_or(0, usize::from);
    let last = bytes.len().saturating_sub(1);
    (bytes.len() * 31 + at(0) * 7 + at(last / 2) * 3 + at(last)) % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_are_one_and_others_are_themselves() {
        let mut keys = Keys::new();
        let first = keys.share("artifact_id");
        assert!(Arc::ptr_eq(&first, &keys.share("artifact_id")));
        for number in 0..1000 {
            let text = number.to_string();
            assert_eq!(&*keys.share(&text), text);
        }
        assert_eq!(&*keys.share(""), "");
        assert_eq!(&*keys.share("é"), "é");
    }
}
