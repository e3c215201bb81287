//! Variables: named state that outlives a turn, with history, checkpoints, rollback, scopes and task trees.
//!
//! A [`State`] is a set of variables. Two names are special: `prompt`, the task, fixed when the state is created, and
//! `Final`, whose first non-null value completes the task. A [`Workspace`] holds all states and the variables they share.
//!
//! A workspace is the fold of its events. [`decide`] turns an operation into an [`Event`] that lists the changes, the
//! caller records the event, and [`apply`] performs it; nothing else changes a workspace. A refused operation changes
//! nothing and names the rule it broke ([`Refusal::code`], [`Refusal::rule`]).
//!
//! [`document`] checks, reads and writes the document form (`state.json`).
//!
//! The crate does no I/O and reads no clock: times come from the caller, files are read through [`Files`], and
//! large values are handed out as [`SpillFile`]s to be written before the event that refers to them. It is not a
//! database, not a journal, and it runs no completion handlers; [`Event::completes`] tells a caller when to run them.
//!
//! ```
//! use hence_variables::{Call, Decision, Init, NoFiles, Op, Set, StateId, Status, Workspace, apply, decide};
//!
//! let mut workspace = Workspace::new();
//! let now = "2026-02-09T10:00:00Z".parse()?;
//! let state: StateId = "state-00000001".parse()?;
//! let set = |set: Set| Call::On { state, op: Op::Set(set) };
//! let init = Call::Init(Init::with_prompt("count the errors"));
//! for call in [init, set(Set::new("error_count", 3)), set(Set::final_answer("three errors"))] {
//!     if let Decision::Accept(accepted) = decide(&workspace, &call, now, &NoFiles)? {
//!         // A run records the event here; what is recorded is applied.
//!         accepted.event.iter().try_for_each(|event| apply(&mut workspace, event))?;
//!     }
//! }
//! assert_eq!(workspace.state(state).map(|state| state.status()), Some(Status::Complete));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod decide;
pub mod document;
mod encoded;
mod event;
mod files;
mod ids;
mod import;
mod layer;
pub mod limits;
mod members;
mod name;
mod op;
mod refusal;
mod run_origin;
mod state;
mod stored;
mod variable;
mod words;
mod workspace;

pub use hence_canon::time::{Instant as Timestamp, InvalidInstant as InvalidTimestamp};

pub use apply::{ApplyError, apply};
pub use decide::{Accepted, Decision, decide};
pub use event::{Action, Change, Creation, Entry, Event, Place, Spawner};
pub use files::{Files, InvalidPath, NoFiles, ReadFault, SpillContent, SpillFile, StorePath};
pub use ids::{CheckpointId, InvalidId, MutationId, SessionId, StateId, TreeId};
pub use import::{Import, ImportedDocument};
pub use layer::{Author, Layer, PublishedRecord, Shared, Variables, layer_after};
pub use name::{InvalidName, Name, NameWarning};
pub use op::{Call, Delete, Get, Init, Op, ReadForm, Rename, Reply, Rollback, Set, TakeCheckpoint, Written};
pub use refusal::Refusal;
pub use run_origin::RunOrigin;
pub use state::{
    Checkpoint, DocumentExtra, ExecutionConfig, INITIAL_STATE, Mutation, Origin, SeenLayer, Snapshot, State,
};
pub use stored::{LoadFault, Spill, Stored};
pub use variable::Variable;
pub use words::{Operation, Scope, Status, ValueType};
pub use workspace::{Difference, Found, Home, StateView, TaskNode, VisibleVariables, Workspace, diff};
