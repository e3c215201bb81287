//! The temporal operators over all positions at once, each in one pass.

use super::bits::Bits;
use super::past::{Cell, SinceReading};
use crate::formula::Binary;

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
        Binary::Since => forwards(Cell::since(reading), left, right),
        Binary::SinceLast => forwards(Cell::since_last(), left, right),
    }
}

/// Runs a past operator along the trace.
pub(super) fn forwards(mut cell: Cell, left: &Bits, right: &Bits) -> Bits {
    Bits::from_fn(left.len(), |at| cell.step(left.get(at), right.get(at)))
}

/// Runs from the last position to the first; `step` sees the answer one later.
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
