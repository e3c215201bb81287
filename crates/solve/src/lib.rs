//! The recursive loop: a model writes code over an input that no window holds, within budgets, on a journal.
//!
//! - [`Spec`] is what a problem pins: models, interpreter, contexts, limits.
//! - [`Progress`] is a run at one position: the fold of its records ([`Entry`]), and what comes next ([`Next`]).
//! - [`SolveProgram`] makes it a program of the engine: it is resumed, replayed, verified and rolled back like any other.
//! - [`drive`] runs it: it asks models and child runs through [`Models`], and runs blocks with the interpreter and the
//!   contexts of [`Tools`].
//! - [`task_tree`], [`trajectory`] and [`cost_report`] are documents about a run and its children; [`check_task_tree`],
//!   [`check_trajectory`] and [`check_cost_report`] check them.
//! - [`Text`] reads a context by reference, in chunks that are checked against what the run pinned.
//!
//! The crate does no I/O and reads no clock: everything outside comes through the two traits. `docs/solve.md` describes
//! the records and what is on disk at each instant.
//!
//! ```
//! use std::sync::Arc;
//! use hence_solve::Text;
//!
//! let text = Text::in_memory("notes", &Arc::from("first line\nsecond line\n"));
//! let found = text.find("second", 0, 1)?;
//! assert_eq!(text.slice(found[0].start, found[0].end + 5)?, "second line");
//! # Ok::<(), hence_solve::ContextFault>(())
//! ```

mod block;
mod block_record;
mod calls;
mod context;
mod conversation;
mod document_checks;
mod documents;
mod fences;
mod forms;
mod functions;
mod judge;
mod limits;
mod ports;
mod price;
mod program;
mod progress;
mod record;
mod session;
mod spec;
mod subscripts;
mod tokens;
mod variables;

/// The system prompt that a run uses unless the user gives another.
pub const SYSTEM_PROMPT: &str = include_str!("../prompts/system.md");

pub use block::mentions;
pub use context::{
    CHUNK_BYTES, Content, Context, ContextFault, LOADED_BYTES_MAX, NotText, Span, Text, TextIndex,
    TextIndexer, TextSource,
};
pub use conversation::{Message, Request, Role};
pub use document_checks::{check_cost_report, check_task_tree, check_trajectory};
pub use documents::{Task, cost_report, task_tree, trajectory};
pub use fences::{BLOCKS_MAX, Parts, ReplyEnd, parts};
pub use judge::SolveJournal;
pub use limits::{DEPTH_MAX, Exhausted, SolveLimits, Used};
pub use ports::{ChildEnd, Halt, Models, NewChild, NoReply, Tools};
pub use program::{NotSolvable, SolveProgram, SolveRun, carry, drive};
pub use progress::{Next, Progress, with_named_turns};
pub use record::{
    ANSWERED_BY_KEY, BLOCK_STEP, Block, BlockEnd, CALL_STEP, COMPACT_STEP, ChildLink, CodeError, Compaction,
    END_STEP, End, Entry, FINISH_REASON_KEY, Function, ModelReply, NotAnEntry, Operation, Read, SubCall,
    TURN_STEP, Turn,
};
pub use spec::{
    AnswerForms, ContextKind, ContextPin, InterpreterPin, ModelPin, ParentPin, Recovery, Rules, SOLVE_KEY,
    Spec, WINDOW_TOKENS_DEFAULT,
};
pub use variables::SolveVariables;
