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
        match self {
            Self::Previously(seen) => std::mem::replace(seen, *seen || left),
            Self::Historically(all) => std::mem::replace(all, *all && left),
            Self::Since(next) => std::mem::replace(next, right || (left && *next)),
            Self::SinceNonStrict(last) => {
                *last = right || (left && *last);
                *last
            }
            Self::SinceLast(seen) => std::mem::replace(seen, !right && (*seen || left)),
        }
    }
}
