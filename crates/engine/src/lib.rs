//! Runs problems on a journal: plan, execute, resume, replay, verify.
//!
//! - [`Engine::plan`] checks everything about a [`Request`] before anything runs and reports every finding.
//! - [`Run`] executes one step or decision at a time; a [`Sink`] keeps each record before the next is thought of.
//! - [`Run::resume`] takes a run up where its journal ends; nothing recorded is executed again.
//! - [`Engine::replay`] runs it again and compares every byte; [`Engine::verify`] judges a journal level by level.
//! - [`Interactive`] is a run without a plan: each operation on variables is one step of its journal.
//! - [`Gate`] is asked about every result before it is kept, where a problem pins policies; what it blocks is recorded
//!   and can be tried again.
//! - [`Step`] is what a policy consists of. The built-in ones make the skill `reason`; embed the engine and
//!   register your own (`examples/own_steps.rs`). A problem's settings can bind built-in steps to capabilities, which
//!   come through [`Callees`].
//!
//! The engine touches no disk, no network and no clock: a sink, a model and times come from the caller.
//!
//! ```
//! use hence_canon::parse;
//! use hence_engine::{Engine, MemorySink, Request, Run, Sink};
//! use hence_state::{Profile, Status};
//!
//! let problem = parse(br#"{"version":"1.0.0","id":"req-1","created_at":"2026-02-02T00:00:00Z",
//!                          "inputs":{"prompt":"Hello world"}}"#)?;
//! let engine = Engine::new();
//! let plan = engine.plan(&Request::of_value(problem, Profile::STRICT))?;
//! let (run, header) = Run::start(plan)?;
//! let mut sink = MemorySink::default();
//! sink.append(&header)?;
//! let finished = run.finish(&mut sink, |_| {})?;
//! assert_eq!(finished.state.status(), Status::Completed);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod blob;
mod book;
mod bound;
mod cursor;
mod diff;
mod engine;
mod gate;
mod history;
mod interactive;
mod mark;
mod metrics;
mod model;
mod outcome_key;
mod outline;
mod plan;
mod policies;
mod replay;
mod request;
mod run;
mod sink;
mod step;
mod steps;
mod taken_up;
mod verify;

pub use blob::{
    BlobError, Blobs, INLINE_VALUE_BYTES_MAX, NoBlobs, is_reference, reference, referenced, resolve,
};
pub use book::{Book, BookError, BookStart};
pub use bound::{BoundCall, BoundReply, Callees, NoReply};
pub use diff::{Change, changes};
pub use engine::Engine;
pub use gate::{
    BLOCKED_MEMBER, Blocked, FinalVerdict, Gate, GateError, Gates, Judgement, Opening, POLICIES_STEP,
    POLICY_MEMBER, PolicyOrderError, PolicyState, Role, VERDICTS_STEP, attempt, catch_up, first_installed,
    is_seen, was_started,
};
pub use interactive::{
    Completed, Interactive, VARIABLES_SKILL, VARIABLES_SKILL_VERSION, VariableFiles, events,
    is_pinned as is_interactive, pins_document, variables_problem,
};
pub use mark::{Mark, Marked};
pub use metrics::Metrics;
pub use model::Model;
pub use outcome_key::{outcome_key, recorded_outcome_key};
pub use outline::StepOutline;
pub use plan::Plan;
pub use policies::{DEFAULT_POLICY, RegisterError};
pub use replay::{Difference, RecordedSteps, Replay, ReplayError};
pub use request::{ENGINE_VERSION, Request};
pub use run::{Advanced, Event, Finished, ResumeError, Resumed, Run, RunError};
pub use sink::{GuardedSink, MemorySink, ReplaySink, Sink, SinkError};
pub use step::{Attempt, Determinism, InputUnavailable, Step, Stopped, View};
pub use taken_up::{NotTakenUp, ReadBack, take_up};
pub use verify::{Evidence, without_defects};
