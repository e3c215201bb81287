//! What a run is about and where it stands: the problem, the state, the result of a step — and [`State::apply`], the
//! one function that turns a state and a result into the next state.
//!
//! - [`ProblemSpec`] is decoded once, with every rule checked and every finding reported; what is hashed is the
//!   document as it was given.
//! - [`State`] moves through its four statuses by methods that consume it, so that a forbidden transition does not
//!   compile; [`ReasoningState`] is the same thing where the status is only known at run time.
//! - [`StepResult`] says what a step did: success with an output, failure with errors, or a skip.
//! - [`Profile`] names the few rules in which the public Python engine differs from the documents.
//!
//! It does no I/O and reads no clock: time enters through a [`Clock`] that the caller supplies.
//!
//! ```
//! use hence_canon::{Value, parse};
//! use hence_state::{Clock, Outcome, Profile, ProblemSpec, State, StepResult, Timestamp};
//!
//! let spec = parse(br#"{"version":"1.0.0","id":"req-1","created_at":"2026-02-02T00:00:00Z",
//!                       "inputs":{"prompt":"Hello world"}}"#)?;
//! let problem = ProblemSpec::decode(&spec, &Profile::STRICT)?;
//! let clock = Clock::ticking(problem.created_at().clone());
//! let pending = State::new(problem.into(), "req-1", clock.at(0)?, Profile::STRICT);
//!
//! let output = parse(br#"{"normalized_prompt":"Hello world"}"#)?;
//! let result = StepResult::new("Normalize", &Value::Null, clock.at(0)?, clock.at(1)?,
//!                              Outcome::Success(output.into()));
//! let running = pending.start().apply("normalized", &result)?.running().expect("the step succeeded");
//! assert_eq!(running.step_index().get(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artifacts;
mod blank;
mod clock;
mod digits;
mod document;
mod error;
mod finding;
mod metadata;
mod problem;
mod profile;
mod result;
mod state;
mod timestamp;
mod version;
mod walk;

pub use artifacts::{Artifacts, ITERATIONS_KEY, Placement, Produced};
pub use blank::{collapse_blank, is_blank};
pub use clock::{Clock, ClockError, TICK_SECONDS};
pub use document::check_state;
pub use error::{POLICY_VIOLATION, StepError};
pub use finding::{Category, FieldPath, Finding, Findings, Stage};
pub use metadata::Metadata;
pub use problem::{
    Binding, BindingInput, BindingMember, LoopSettings, MaxSteps, ModelRequest, NESTING_MAX, Operator,
    ProblemSpec, Settings, StopCondition, VerificationPath,
};
pub use profile::{
    ArtifactRule, ClockRule, CompletionRule, EvidenceRule, HeaderRule, LargeValueRule, LoopFailureRule,
    LoopLimitRule, Profile, ProfileName, StepIndexRule, Typing, UnknownProfile,
};
pub use result::{Outcome, RESULT_VERSION, StepResult, StepStatus};
pub use state::{
    Applied, ApplyError, Completed, Failed, Pending, Phase, ReasoningState, Refused, Running, STATE_VERSION,
    State, Status, StepIndex,
};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use version::{InvalidVersion, Version};
