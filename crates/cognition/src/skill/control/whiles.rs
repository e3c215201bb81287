//! While: calling again as long as a condition holds.

use hence_canon::{JsonPointer, Value};

use super::{Reader, alone};
use crate::skill::{Formula, Problem, Problems};

/// More iterations than this in one step cannot be what was meant.
pub const ITERATIONS_MAX: u64 = 1_000_000;

pub(crate) const KEYS: [&str; 2] = ["condition", "max_iterations"];
const ITERATIONS_DEFAULT: u64 = 10;

/// The first call is unconditional; each further one needs the condition, read after the writes of the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct While {
    condition: Formula,
    /// How often the step calls at most.
    pub max_iterations: u64,
}

impl While {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<Problem>) {
        alone(Self::read, config)
    }

    /// Returns the condition for another call.
    pub fn condition(&self) -> &Formula {
        &self.condition
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, problems: &mut Problems) -> Option<Self> {
        let mut block = Reader::open("while", &KEYS, config, pointer, problems)?;
        let condition = block.formula("condition")?;
        let max_iterations = block.at_least_one("max_iterations", ITERATIONS_DEFAULT, ITERATIONS_MAX);
        Some(Self { condition, max_iterations })
    }
}
