//! The positions where a formula holds, as bitsets, and the temporal operators over them.

use crate::formula::Binary;

/// The positions where a formula holds: all or none, or a set of them.
///
/// A statement about the whole trace, or about one residual, does not depend on the position. With a variant of its
/// own, a rule over a thousand residuals costs a thousand booleans, not a thousand bitsets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Truth {
    Constant(bool),
    Varying(Bits),
}

impl Truth {
    /// Returns whether the formula holds at a position.
    pub(crate) fn at(&self, position: usize) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Varying(bits) => bits.get(position),
        }
    }

    /// Returns the positions, of a trace of `len`, where the formula holds.
    pub(crate) fn bits(&self, len: usize) -> Bits {
        match self {
            Self::Constant(value) => Bits::filled(len, *value),
            Self::Varying(bits) => bits.clone(),
        }
    }

    pub(crate) fn not(&self) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(!value),
            Self::Varying(bits) => Self::Varying(bits.not()),
        }
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Constant(false), _) | (_, Self::Constant(false)) => Self::Constant(false),
            (Self::Constant(true), rest) | (rest, Self::Constant(true)) => rest.clone(),
            (Self::Varying(left), Self::Varying(right)) => Self::Varying(left.and(right)),
        }
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Constant(true), _) | (_, Self::Constant(true)) => Self::Constant(true),
            (Self::Constant(false), rest) | (rest, Self::Constant(false)) => rest.clone(),
            (Self::Varying(left), Self::Varying(right)) => Self::Varying(left.or(right)),
        }
    }

    /// Returns where both agree.
    pub(crate) fn iff(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Constant(true), rest) | (rest, Self::Constant(true)) => rest.clone(),
            (Self::Constant(false), rest) | (rest, Self::Constant(false)) => rest.not(),
            (Self::Varying(left), Self::Varying(right)) => Self::Varying(left.xor(right).not()),
        }
    }
}

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

    /// Makes the set of the positions where `holds` is true, asked in order.
    pub(crate) fn from_fn(len: usize, mut holds: impl FnMut(usize) -> bool) -> Self {
        let words = (0..len).step_by(64).map(|base| {
            (base..len.min(base + 64)).fold(0, |word, at| word | (u64::from(holds(at)) << (at - base)))
        });
        Self { words: words.collect(), len }
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

    /// Clears the bits beyond the last position, so that counting and comparing can ignore them.
    fn trim(&mut self) {
        let used = self.len % 64;
        if let (true, Some(last)) = (used > 0, self.words.last_mut()) {
            *last &= (1 << used) - 1;
        }
    }
}

/// The two readings of `S`.
///
/// The definition of the language makes both ends strict; older engines do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SinceReading {
    /// ψ strictly before, φ strictly between.
    #[default]
    Strict,
    /// ψ here or before, φ after it up to and including here.
    NonStrict,
}

/// The state of one unscoped past operator between two positions.
///
/// Evaluation of a whole trace and monitoring of a growing one run the same machines, so they cannot disagree.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PastState {
    /// `P`: did one hold?
    Previously(bool),
    /// `H`: did every one hold?
    Historically(bool),
    /// `S`, both ends strict: its value at the next position.
    Since(bool),
    /// `S`, not strict: its value at the last position.
    SinceNonStrict(bool),
    /// `S_last`: has φ held since the last ψ?
    SinceLast(bool),
}

impl PastState {
    pub(crate) fn since(reading: SinceReading) -> Self {
        match reading {
            SinceReading::Strict => Self::Since(false),
            SinceReading::NonStrict => Self::SinceNonStrict(false),
        }
    }

    pub(crate) fn since_last() -> Self {
        Self::SinceLast(false)
    }

    /// Returns the value at a position with these operands, and moves past it. `P` and `H` use `left` only.
    pub(crate) fn step(&mut self, left: bool, right: bool) -> bool {
        let value = self.peek(left, right);
        self.advance(left, right);
        value
    }

    /// Returns the value at the next position, if these are the operands there.
    pub(crate) fn peek(self, left: bool, right: bool) -> bool {
        match self {
            Self::Previously(value)
            | Self::Historically(value)
            | Self::Since(value)
            | Self::SinceLast(value) => value,
            Self::SinceNonStrict(last) => right || (left && last),
        }
    }

    /// Moves past a position with these operands.
    pub(crate) fn advance(&mut self, left: bool, right: bool) {
        match self {
            Self::Previously(seen) => *seen |= left,
            Self::Historically(all) => *all &= left,
            Self::Since(state) | Self::SinceNonStrict(state) => *state = right || (left && *state),
            Self::SinceLast(seen) => *seen = !right && (*seen || left),
        }
    }
}

/// `G φ`: φ here and at every later position.
pub(super) fn globally(body: &Bits) -> Bits {
    backwards(body.len(), true, |at, later| later && body.get(at))
}

/// `F φ`: φ here or at some later position.
pub(super) fn finally(body: &Bits) -> Bits {
    backwards(body.len(), false, |at, later| later || body.get(at))
}

/// `X φ`: there is a next position, and φ there.
pub(super) fn next(body: &Bits) -> Bits {
    Bits::from_fn(body.len(), |at| body.get(at + 1))
}

/// Evaluates a binary operator.
pub(super) fn binary(operator: Binary, left: &Bits, right: &Bits, reading: SinceReading) -> Bits {
    match operator {
        Binary::Until => backwards(left.len(), false, |at, later| right.get(at) || (left.get(at) && later)),
        Binary::Since => forwards(PastState::since(reading), left, right),
        Binary::SinceLast => forwards(PastState::since_last(), left, right),
    }
}

/// Evaluates a past operator from the first position to the last.
pub(super) fn forwards(mut cell: PastState, left: &Bits, right: &Bits) -> Bits {
    Bits::from_fn(left.len(), |at| cell.step(left.get(at), right.get(at)))
}

/// Evaluates from the last position to the first; `step` is given the value one position later.
fn backwards(len: usize, beyond: bool, step: impl Fn(usize, bool) -> bool) -> Bits {
    let mut bits = Bits::filled(len, false);
    let mut later = beyond;
    for at in (0..len).rev() {
        later = step(at, later);
        if later {
            bits.set(at);
        }
    }
    bits
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
                thirds.or(&evens).ones().count(),
                (0..len).filter(|at| at % 3 == 0 || at % 2 == 0).count()
            );
            assert_eq!(thirds.not().not(), thirds);
            assert!(thirds.xor(&thirds).is_empty());
            assert_eq!(Bits::filled(len, true).ones().count(), len);
            assert_eq!(thirds.to_bools().len(), len);
        }
    }
}
