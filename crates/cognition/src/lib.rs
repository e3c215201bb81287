//! Skills: documents of steps, the memory that steps read and write, and the interpreter that runs them.
//!
//! - [`state`]: the execution state of a run and the [`Memory`](state::Memory) its steps see, with typed slots.
//! - [`mod@reference`]: names such as `working.entities.0.name`, with one meaning everywhere.
//! - [`mapping`]: step inputs made from memory, step outputs written to it, all or nothing.
//! - [`expression`]: the language of conditions, loops and routers, read once, bounded in every direction.
//! - [`skill`]: programs of steps, read from documents with every finding reported at its place.
//! - [`plan`]: the order in which steps take effect, their dependencies, and checks before a run.
//! - [`schedule`]: the steps that may start, the result that is due, and the steps that a failure blocks.
//! - [`run`]: a deterministic interpreter of skills whose outcomes fold into states.
//! - [`lineage`]: the step that wrote a value, its sources, and everything that depends on it.
//! - [`approval`]: the answers of a question that mean yes, and those that mean no.
//! - [`capability`]: contracts, hints and safety rules of the capabilities that steps call.
//! - [`secret`]: references that replace secret values.
//! - [`budget`]: what calls use, in exact numbers, and the limits on it.
//! - [`failure`]: classes of failure with their chain of causes, and the codes callers act on.
//! - [`checkpoint`]: an execution state as one document, for exchange with other implementations.
//!
//! The crate does no I/O, reads no clock, draws no randomness and knows nothing of records or files: the caller
//! calls capabilities and writes journals.
//!
//! ```
//! use hence_canon::parse;
//! use hence_cognition::expression::Expression;
//! use hence_cognition::mapping::{InputMapping, MergeStrategy, OutputMapping};
//! use hence_cognition::reference::MissingName;
//! use hence_cognition::state::Memory;
//!
//! let memory = Memory::from_blocks(&parse(br#"{"inputs": {"text": "two risks"}}"#)?)?;
//!
//! let input = InputMapping::parse(&parse(br#"{"document": "inputs.text"}"#)?)?.resolve(&memory)?;
//! assert_eq!(input.to_string(), r#"{"document":"two risks"}"#);
//!
//! let output = OutputMapping::parse(&parse(br#"{"risks": "working.risks"}"#)?)?;
//! let after = output.apply(&memory, &parse(br#"{"risks": [{"id": 1}]}"#)?, MergeStrategy::Append)?;
//!
//! let worth_a_look: Expression = "working.risks.0.id == 1 and not (vars.done ?? false)".parse()?;
//! assert!(worth_a_look.is_true(&after, MissingName::Error)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod approval;
pub mod budget;
pub mod capability;
pub mod checkpoint;
pub mod expression;
pub mod failure;
pub mod lineage;
pub mod mapping;
pub mod plan;
pub mod reference;
pub mod run;
pub mod schedule;
pub mod secret;
pub mod skill;
pub mod state;
#[cfg(test)]
mod testing;
