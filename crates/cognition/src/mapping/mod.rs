//! Mappings: how a step's input is read from memory and its output written back.

mod input;
mod merge;
mod output;
mod target;

pub use input::{InputMapping, InputMappingError, InvalidInputMapping, KnownInput, LITERAL_KEY};
pub use merge::{MergeError, MergeStrategy, UnknownStrategy};
pub(crate) use output::set;
pub use output::{InvalidOutputMapping, OutputMapping, OutputMappingError, ProducedField, VALUE_DEPTH_MAX};
pub use target::{InvalidTarget, Target, TargetPath};

#[cfg(test)]
mod tests;
