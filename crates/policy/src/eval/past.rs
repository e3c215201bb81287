//! The unscoped past operators as state machines: one step per position, no look back.
//!
//! Evaluation of a whole trace and monitoring of a growing one run the same machines, so they cannot disagree.

/// Which reading of `S` to use.
///
/// The language text makes both ends strict; every engine that existed before this one does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SinceReading {
    /// ψ strictly before, φ strictly between.
    #[default]
    Strict,
    /// ψ here or before, φ after it up to and including here.
    NonStrict,
}

/// The state of one past operator between two positions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    /// `P`: was there one?
    Previously(bool),
    /// `H`: was every one?
    Historically(bool),
    /// `S`, both ends strict: what it is at the next position.
    Since(bool),
    /// `S`, not strict: what it was at the last position.
    SinceNonStrict(bool),
    /// `S_last`: has φ held since the last ψ?
    SinceLast(bool),
}

impl Cell {
    pub(crate) fn since(reading: SinceReading) -> Self {
        match reading {
            SinceReading::Strict => Self::Since(false),
            SinceReading::NonStrict => Self::SinceNonStrict(false),
        }
    }

    pub(crate) fn since_last() -> Self {
        Self::SinceLast(false)
    }

    /// Takes the operands at a position and returns the operator there. `P` and `H` look at `left` only.
    pub(crate) fn step(&mut self, left: bool, right: bool) -> bool {
        let value = self.peek(left, right);
        self.advance(left, right);
        value
    }

    /// Returns the operator at the next position, were these the operands there.
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
