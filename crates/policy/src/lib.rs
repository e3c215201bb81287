//! Rules over traces.
pub mod formula;
