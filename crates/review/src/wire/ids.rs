//! The positions of actions and artifacts by their ids. Of two with the same id the first is found; validation reports
//! the second.

use std::sync::Arc;

use hence_canon::Value;

use crate::interner::Interner;

use super::Artifact;

/// Places of actions by id.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionIds {
    places: Vec<(i64, u32)>,
    sound: bool,
}

impl ActionIds {
    pub(super) fn of(ids: impl ExactSizeIterator<Item = Option<i64>>) -> Self {
        let count = ids.len();
        let numbered = ids.zip(0..).filter_map(|(id, place)| Some((id?, place)));
        let mut places: Vec<(i64, u32)> = Vec::with_capacity(count);
        places.extend(numbered);
        // Ids nearly always count the actions, so that there is nothing to do.
        let rises = places.is_sorted_by(|(left, _), (right, _)| left < right);
        let sound = rises && places.len() == count && places.first().is_none_or(|(first, _)| *first >= 0);
        if !rises {
            places.sort_unstable();
            places.dedup_by_key(|(id, _)| *id);
        }
        Self { places, sound }
    }

    /// Returns whether every action has an id, none is negative, and they rise.
    pub(super) fn are_sound(&self) -> bool {
        self.sound
    }

    pub(super) fn find(&self, id: i64) -> Option<usize> {
        let (first, _) = self.places.first()?;
        let guess = id.checked_sub(*first).and_then(|guess| usize::try_from(guess).ok());
        let place = |found: usize| self.places.get(found).filter(|(known, _)| *known == id);
        let found = guess
            .and_then(place)
            .or_else(|| place(self.places.binary_search_by_key(&id, |(known, _)| *known).ok()?));
        found.map(|(_, place)| *place as usize)
    }
}

/// Artifacts by a text of theirs: their ids or their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArtifactIndex {
    words: Arc<Interner>,
    /// The place of the first artifact with each word.
    places: Vec<u32>,
    /// The number of the word of each artifact.
    numbers: Vec<Option<u32>>,
}

impl ArtifactIndex {
    pub(super) fn of(artifacts: &[Artifact], key: &str) -> Self {
        let mut words = Interner::with_capacity(artifacts.len());
        let (mut places, mut numbers) =
            (Vec::with_capacity(artifacts.len()), Vec::with_capacity(artifacts.len()));
        for (place, artifact) in (0_u32..).zip(artifacts) {
            let number = match artifact.source().get(key) {
                Some(Value::String(word)) => {
                    let number = words.intern(word);
                    if number == places.len() {
                        places.push(place);
                    }
                    u32::try_from(number).ok()
                }
                _ => None,
            };
            numbers.push(number);
        }
        Self { words: Arc::new(words), places, numbers }
    }

    /// Returns the words with their numbers.
    pub(crate) fn words(&self) -> &Arc<Interner> {
        &self.words
    }

    /// Returns the number of the word of the artifact at a place.
    pub(crate) fn number_at(&self, place: usize) -> Option<u32> {
        self.numbers.get(place).copied().flatten()
    }

    /// Returns the place of the first artifact with the word of a number.
    pub(crate) fn first_place(&self, number: u32) -> Option<usize> {
        self.places.get(number as usize).map(|place| *place as usize)
    }

    /// Returns the place of the first artifact with a word.
    pub(super) fn find(&self, word: &str) -> Option<usize> {
        self.places.get(self.words.find(word)?).map(|place| *place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_actions_with_one_id_the_first_is_found() {
        let ids =
            ActionIds::of([Some(5), None, Some(-1), Some(5), Some(i64::MAX), Some(i64::MIN)].into_iter());
        let found = [5, -1, i64::MAX, i64::MIN, 6, 0].map(|id| ids.find(id));
        assert_eq!(found, [Some(0), Some(2), Some(4), Some(5), None, None]);
        let counted = ActionIds::of([3, 4, 5, 6, 7, 8].map(Some).into_iter());
        assert_eq!(
            (counted.find(3), counted.find(8), counted.find(9), counted.find(2)),
            (Some(0), Some(5), None, None)
        );
        assert_eq!(ActionIds::default().find(0), None);
        assert!(counted.are_sound() && !ids.are_sound());
        assert!(!ActionIds::of([Some(1), None].into_iter()).are_sound());
        assert!(!ActionIds::of([Some(-1), Some(0)].into_iter()).are_sound());
    }
}
