//! The execution state: what steps see, what they did, and what the run is.

mod decode;
mod event;
mod execution;
mod frame;
mod memory;
mod names;
mod output;
mod status;
mod step_result;
mod table;
mod trace;
mod working;

pub use event::RuntimeEvent;
pub use execution::{ExecutionState, STATE_VERSION};
pub use frame::Frame;
pub use memory::Memory;
pub use names::Names;
pub use output::{OutputBlock, OutputField, OutputText, UnknownOutputField};
pub use status::{RunStatus, StepStatus, UnknownStatus};
pub use step_result::StepResult;
pub use table::Table;
pub use trace::{Trace, TraceMetrics, TraceStep};
pub use working::{ListSlot, Slot, UnknownSlot, Working};
