//! One bit per position.

/// A set of positions of one trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// Returns the set of all positions, or of none.
    pub(crate) fn filled(len: usize, value: bool) -> Self {
        let mut bits = Self { words: vec![if value { u64::MAX } else { 0 }; len.div_ceil(64)], len };
        bits.trim();
        bits
    }

    /// Asks `holds` for every position in order.
    pub(crate) fn from_fn(len: usize, mut holds: impl FnMut(usize) -> bool) -> Self {
        let word = |(index, holds): (usize, &mut dyn FnMut(usize) -> bool)| {
            let base = index * 64;
            (base..len.min(base + 64)).fold(0, |word, at| word | (u64::from(holds(at)) << (at - base)))
        };
        Self { words: (0..len.div_ceil(64)).map(|index| word((index, &mut holds))).collect(), len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    pub(crate) fn set(&mut self, at: usize) {
        if let Some(word) = self.words.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    pub(crate) fn not(&self) -> Self {
        let mut bits = Self { words: self.words.iter().map(|word| !word).collect(), len: self.len };
        bits.trim();
        bits
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        self.zip(other, |left, right| left & right)
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        self.zip(other, |left, right| left | right)
    }

    pub(crate) fn xor(&self, other: &Self) -> Self {
        self.zip(other, |left, right| left ^ right)
    }

    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Iterates over the positions in the set, in order.
    pub(crate) fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let at = (rest != 0).then(|| index * 64 + rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(at)
            })
        })
    }

    pub(crate) fn to_bools(&self) -> Vec<bool> {
        (0..self.len).map(|at| self.get(at)).collect()
    }

    fn zip(&self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(left, right)| join(*left, *right)).collect();
        Self { words, len: self.len }
    }

    /// Clears the bits beyond the last position, so that counting and comparing need not care.
    fn trim(&mut self) {
        let used = self.len % 64;
        if let (true, Some(last)) = (used > 0, self.words.last_mut()) {
            *last &= (1 << used) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_behave_like_a_list_of_booleans() {
        for len in [0, 1, 63, 64, 65, 200] {
            let thirds = Bits::from_fn(len, |at| at % 3 == 0);
            let evens = Bits::from_fn(len, |at| at % 2 == 0);
            let both: Vec<usize> = (0..len).filter(|at| at % 6 == 0).collect();
            assert_eq!(thirds.and(&evens).ones().collect::<Vec<_>>(), both);
            assert_eq!(
                thirds.or(&evens).count(),
                (0..len).filter(|at| at % 3 == 0 || at % 2 == 0).count() as u64
            );
            assert_eq!(thirds.not().not(), thirds);
            assert!(thirds.xor(&thirds).is_empty());
            assert_eq!(Bits::filled(len, true).count(), len as u64);
            assert_eq!(thirds.to_bools().len(), len);
        }
    }
}
