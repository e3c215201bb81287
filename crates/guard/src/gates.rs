//! Gates for an engine.

use hence_engine::{Engine, Gate, GateError, Gates, Opening};
use hence_projection::Program;

use crate::Guard;

/// Opens gates for runs of problems.
#[derive(Clone)]
pub struct ReasonGates {
    engine: Engine,
}

impl ReasonGates {
    /// Opens gates that know the steps of an engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

impl Gates for ReasonGates {
    fn open<'a>(&'a self, opening: Opening<'a>) -> Result<Box<dyn Gate + 'a>, GateError> {
        let Opening { header, problem, blobs } = opening;
        Ok(Box::new(Guard::begin(header, problem, Program::Reason(&self.engine), blobs)?))
    }
}
