//! Texts as small numbers, each kept once and found again by its text.
//!
//! A trace names every artifact several times, so looking ids up is much of the work on it. Texts are hashed into a
//! table of their numbers. The numbers follow the order in which texts came and never the hashes, so nothing depends
//! on these. Ids are chosen by whoever wrote the trace: texts that crowd one place of the table go to an ordered map,
//! so that looking one up never costs more than there.

use std::collections::BTreeMap;
use std::sync::Arc;

/// How many places are looked at before a text counts as crowded out. Without ill will a handful is enough.
const PLACES_LOOKED_AT: usize = 32;

/// A place of the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u32,
    /// The number of the text, or [`Place::EMPTY`].
    number: u32,
}

impl Place {
    const EMPTY: u32 = u32::MAX;
}

/// Texts with their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    texts: Vec<Arc<str>>,
    /// Empty, or a power of two that is at least twice the number of texts.
    places: Vec<Place>,
    crowded_out: BTreeMap<Arc<str>, u32>,
}

impl Words {
    /// Makes room for so many texts at once.
    pub(crate) fn with_room_for(count: usize) -> Self {
        let places = vec![Place { hash: 0, number: Place::EMPTY }; room_for(count)];
        Self { texts: Vec::with_capacity(count), places, crowded_out: BTreeMap::new() }
    }

    /// Returns the number of a text, given to it when it is new.
    pub(crate) fn number(&mut self, text: &Arc<str>) -> usize {
        let hash = hash(text);
        if let Some(number) = self.look_up(text, hash) {
            return number;
        }
        let number = self.texts.len();
        self.texts.push(text.clone());
        if self.texts.len() * 2 > self.places.len() {
            self.grow();
        } else {
            self.place(hash, number);
        }
        number
    }

    /// Returns the number of a text that is known.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        self.look_up(text, hash(text))
    }

    /// Returns the text of a number.
    pub(crate) fn text(&self, number: usize) -> Option<&str> {
        self.texts.get(number).map(|text| &**text)
    }

    /// Returns how many texts there are.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    fn look_up(&self, text: &str, hash: u32) -> Option<usize> {
        for place in self.looked_at(hash) {
            let place = self.places.get(place)?;
            if place.number == Place::EMPTY {
                break;
            }
            if place.hash == hash && self.text(place.number as usize) == Some(text) {
                return Some(place.number as usize);
            }
        }
        if self.crowded_out.is_empty() {
            return None;
        }
        self.crowded_out.get(text).map(|number| *number as usize)
    }

    /// Returns the places a text of this hash can be at, in order.
    fn looked_at(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len().wrapping_sub(1);
        let count = PLACES_LOOKED_AT.min(self.places.len());
        (0..count).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    fn place(&mut self, hash: u32, number: usize) {
        let number = u32::try_from(number).expect("a document in memory has fewer than 2^32 ids");
        for place in self.looked_at(hash) {
            if let Some(free) = self.places.get_mut(place).filter(|place| place.number == Place::EMPTY) {
                *free = Place { hash, number };
                return;
            }
        }
        if let Some(text) = self.texts.get(number as usize) {
            self.crowded_out.insert(text.clone(), number);
        }
    }

    fn grow(&mut self) {
        self.places = vec![Place { hash: 0, number: Place::EMPTY }; room_for(self.texts.len() * 2)];
        self.crowded_out.clear();
        for number in 0..self.texts.len() {
            if let Some(text) = self.text(number) {
                self.place(hash(text), number);
            }
        }
    }
}

/// Returns how many places so many texts need not to be in each other's way.
fn room_for(count: usize) -> usize {
    (count * 2).next_power_of_two().max(16)
}

/// Hashes eight bytes at a time. Only speed depends on it.
fn hash(text: &str) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (whole, rest) = text.as_bytes().as_chunks::<8>();
    let mut state = text.len() as u64;
    for chunk in whole {
        state = mixed(state ^ u64::from_le_bytes(*chunk), ODD);
    }
    let last = rest.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte));
    state = mixed(state ^ last, ODD);
    u32::try_from(state >> 32).unwrap_or(0)
}

const fn mixed(state: u64, factor: u64) -> u64 {
    let product = state.wrapping_mul(factor);
    (product ^ product >> 32).wrapping_mul(factor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_numbered_in_the_order_they_come() {
        let mut words = Words::default();
        assert_eq!((words.find(""), words.find("a"), words.text(0)), (None, None, None));
        let numbers: Vec<usize> = ["b", "a", "b", "", "a"].map(|text| words.number(&text.into())).to_vec();
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(
            (words.find("a"), words.find("c"), words.text(2), words.len()),
            (Some(1), None, Some(""), 3)
        );
    }

    #[test]
    fn texts_of_one_hash_are_still_told_apart() {
        // All texts of one hash come to the same places, so most of them are crowded out.
        let mut words = Words::default();
        for number in 0..1000_usize {
            let text: Arc<str> = format!("id-{number}").into();
            words.texts.push(text);
        }
        words.places = vec![Place { hash: 0, number: Place::EMPTY }; 4096];
        for number in 0..1000 {
            words.place(7, number);
        }
        assert_eq!(words.crowded_out.len(), 1000 - PLACES_LOOKED_AT);
        for number in 0..1000 {
            assert_eq!(words.look_up(&format!("id-{number}"), 7), Some(number));
        }
        assert_eq!(words.look_up("id-1000", 7), None);
    }

    proptest! {
        #[test]
        fn every_text_is_found_and_no_other(texts in prop::collection::vec("[ab]{0,20}", 0..300), other in "[ab]{0,20}") {
            let mut words = Words::default();
            let mut known: BTreeMap<String, usize> = BTreeMap::new();
            for text in &texts {
                let next = known.len();
                let expected = *known.entry(text.clone()).or_insert(next);
                prop_assert_eq!(words.number(&text.as_str().into()), expected);
            }
            for (text, number) in &known {
                prop_assert_eq!(words.find(text), Some(*number));
            }
            prop_assert_eq!(words.find(&other), known.get(&other).copied());
        }
    }
}
