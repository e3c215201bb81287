//! A small cache of texts that were read before, so that objects of one shape share their keys.
//!
//! A list of a hundred thousand objects has the same dozen keys in each. Sharing them saves an allocation per member
//! and the memory of all but the first. Large documents share the short texts among their values in the same way.

use std::sync::Arc;

/// The number of slots. A document has few shapes; a text whose slot was overwritten is allocated again.
const SLOTS: usize = 64;

/// A direct-mapped cache of texts. The text in a slot is compared before it is used.
#[derive(Default)]
pub(super) struct Interner {
    /// The slots; empty until the first text, because most documents are small and many hold no object.
    slots: Vec<Option<Arc<str>>>,
}

impl Interner {
    /// Returns `text` as a shared allocation, reusing an earlier one when it is still cached.
    #[inline]
    pub(super) fn intern(&mut self, text: &str) -> Arc<str> {
        if self.slots.is_empty() {
            self.slots = vec![None; SLOTS];
        }
        match self.slots.get_mut(slot(text)) {
            Some(Some(known)) if **known == *text => known.clone(),
            Some(slot) => slot.insert(text.into()).clone(),
            None => text.into(),
        }
    }
}

/// Returns the slot of a text. Only speed depends on how well texts are spread.
#[inline]
fn slot(text: &str) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let bytes = text.as_bytes();
    let ends = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(23),
        _ => bytes.iter().fold(0, |sum: u64, byte| (sum << 8) | u64::from(*byte)),
    };
    let spread = (ends ^ bytes.len() as u64).wrapping_mul(ODD);
    // The high bits depend on every bit below them.
    (spread >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_an_allocation_and_different_texts_stay_different() {
        let mut interner = Interner::default();
        let first = interner.intern("artifact_id");
        assert!(Arc::ptr_eq(&first, &interner.intern("artifact_id")));
        for number in 0..1000 {
            let text = number.to_string();
            assert_eq!(&*interner.intern(&text), text);
        }
        assert_eq!(&*interner.intern(""), "");
        assert_eq!(&*interner.intern("é"), "é");
    }
}
