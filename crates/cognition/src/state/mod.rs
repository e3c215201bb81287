//! The execution state: what steps see, what they did, and what the run is.

mod blocks;
mod decode;
mod execution;
mod memory;

pub use blocks::{
    ListSlot, OutputBlock, OutputField, OutputText, Slot, UnknownOutputField, UnknownSlot, Working,
};
pub use execution::{
    ExecutionState, RunStatus, RuntimeEvent, STATE_VERSION, StepResult, StepStatus, Trace, TraceMetrics,
    TraceStep,
};
pub use memory::{Frame, Memory, Names, Table};
