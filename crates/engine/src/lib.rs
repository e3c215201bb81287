//! Runs problems on a journal: plan, execute, resume, replay, verify.
//!
//! - [`Engine::plan`] checks everything about a [`Request`] before anything runs and reports every finding.
//! - [`Program`] is the trait of the things that can run. [`Reason`] is the built-in pipeline. [`Variables`] has no plan:
//!   each operation on variables is one step. The program of skills is in the crate `hence-skills`.
//! - [`Run`] is a run of any program: it starts, resumes, takes checkpoints, rolls back and installs policies. A [`Sink`]
//!   stores each record before the next one is made.
//! - [`replay`](fn@replay) executes a run again and compares every byte; [`Evidence::verify`] checks a journal level by
//!   level.
//! - [`Gate`] is asked about every result before it is appended, where a problem pins policies; a blocked result is
//!   recorded, and its step can be tried again.
//! - [`Step`] is one step of a routing policy. The built-in steps are those of the program `reason`; embed the engine and
//!   register your own (`examples/own_steps.rs`). A problem's settings can bind built-in steps to capabilities, which
//!   they call through [`Callees`].
//!
//! The engine touches no disk, no network and no clock: sink, model and times come from the caller.
//!
//! ```
//! use hence_canon::parse;
//! use hence_engine::{Engine, MemorySink, Reason, Request, Run, Sink};
//! use hence_state::{Profile, Status};
//!
//! let problem = parse(br#"{"version":"1.0.0","id":"req-1","created_at":"2026-02-02T00:00:00Z",
//!                          "inputs":{"prompt":"Hello world"}}"#)?;
//! let engine = Engine::new();
//! let plan = engine.plan(&Request::of_value(problem, Profile::STRICT))?;
//! let (run, header) = Run::start(Reason::new(plan))?;
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
mod measured;
mod metrics;
mod model;
mod outcome_key;
mod plan;
mod policies;
mod program;
mod reason;
mod recorded_state;
mod replay;
mod request;
mod run;
mod sink;
mod step;
mod steps;
mod variables;
mod verify;
mod work;

pub use blob::{
    BlobError, Blobs, INLINE_VALUE_BYTES_MAX, NoBlobs, is_reference, reference, referenced, resolve,
};
pub use book::{Book, BookError, BookStart, Mark, Marked};
pub use bound::{BoundCall, BoundReply, CALL_FAILED, Callees, NoReply};
pub use diff::{Change, changes};
pub use engine::Engine;
pub use gate::{
    BLOCKED_MEMBER, Blocked, BlockedAt, FinalVerdict, Gate, GateError, Judgement, OUTPUTS_STEP,
    POLICIES_STEP, POLICY_MEMBER, PolicyOrderError, PolicyState, ProposedCall, Role, VERDICTS_STEP, attempt,
    first_installed, is_observed, is_program_step, observe_journal, was_started,
};
pub use measured::{
    CallTimes, Measured, MeasuredTimes, Meter, Moment, NoMeter, RecordTimes, Span, TIME_LINE_BYTES_MAX,
    TimedRecord, WaitTimes, Watched,
};
pub use metrics::Metrics;
pub use model::Model;
pub use outcome_key::{outcome_key, recorded_outcome_key};
pub use plan::Plan;
pub use policies::{DEFAULT_POLICY, RegisterError};
pub use program::{
    Program, RecordMismatch, RecordedStep, RunKind, SOLVE_SKILL, SOLVE_SKILL_VERSION, SOLVE_STEP_PREFIX,
    TRACE_ARTIFACT, TRACE_SKILL, TRACE_SKILL_VERSION, TRACE_STEP_PREFIX,
};
pub use reason::{Event, Reason, ReasonSnapshot, RecordedResult};
pub use recorded_state::{Folded, StepOutline};
pub use replay::{Difference, RecordedSteps, Replay, replay};
pub use request::{ENGINE_VERSION, Request};
pub use run::{Driven, Finished, Pause, ResumeError, Run, RunError, Waiting};
pub use sink::{MemorySink, ReplaySink, Sink, SinkError};
pub use step::{Attempt, CALL_MEMBER, Deed, Determinism, InputUnavailable, Step, Stopped, View};
pub use variables::{
    VARIABLES_END_STEP, VARIABLES_SKILL, VARIABLES_SKILL_VERSION, VariableFiles, Variables, VariablesRun,
    VariablesSnapshot, events, variables_problem,
};
pub use verify::{Evidence, Judge, OpenGate, ProgramFollower, without_defects};
