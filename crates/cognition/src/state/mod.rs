//! The execution state: what steps see, what they did, and what the run is.

mod decode;
mod frame;
mod memory;
mod output;
mod table;
mod timestamp;
mod working;

pub use decode::DecodeError;
pub use frame::Frame;
pub use memory::Memory;
pub use output::{OutputBlock, OutputField, OutputText, UnknownOutputField};
pub use table::Table;
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use working::{ListSlot, Slot, UnknownSlot, Working};
