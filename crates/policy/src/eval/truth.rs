//! Where a formula holds.

use super::bits::Bits;

/// Where a formula holds: the same everywhere, or by position.
///
/// Statements about the trace as a whole, or about one residual, do not depend on the position; keeping that in
/// the type makes a rule over a thousand residuals cost a thousand answers, not a thousand bitsets.
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
