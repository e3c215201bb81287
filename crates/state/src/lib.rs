//! The problem of a run, its state and the results of its steps — and [`State::apply`], the one function that turns a
//! state and a result into the next state.
//!
//! - [`ProblemSpec`] is decoded once, with every rule checked and every finding reported; the hash covers the
//!   original document.
//! - [`State`] moves through its four statuses by methods that consume it, so that a forbidden transition does not
//!   compile; [`ReasoningState`] is the same thing where the status is only known at run time.
//! - [`StepResult`] is the outcome of a step: success with an output, failure with errors, or a skip.
//! - [`Profile`] lists the rules in which the public Python engine differs from the documents.
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
mod clock;
mod finding;
mod problem;
mod profile;
mod result;
mod schema;
mod state;
mod text;
mod timestamp;
mod version;

pub use artifacts::{Artifacts, ITERATIONS_KEY, Placement, Produced};
pub use clock::{Clock, ClockError, TICK_SECONDS};
pub use finding::{Category, Finding, Findings, Rule, Stage, dotted, finding};
pub use problem::{
    Binding, BindingInput, BindingMember, ConstraintCheck, LoopSettings, MaxSteps, MethodSpec, ModelRequest,
    NESTING_MAX, Operator, ProblemSpec, Settings, StopCondition, TaskSpec, VerificationPath,
};
pub use profile::{
    ArtifactRule, ClockRule, CompletionRule, EvidenceRule, HeaderRule, LargeValueRule, LoopFailureRule,
    LoopLimitRule, Profile, ProfileName, StepIndexRule, StepsRule, Typing, UnknownProfile,
};
pub use result::{Outcome, POLICY_VIOLATION, RESULT_VERSION, StepError, StepResult, StepStatus};
pub use state::{
    Applied, ApplyError, Completed, CutState, Failed, Metadata, Pending, Phase, ReasoningState, Refused,
    Running, STATE_VERSION, State, Status, StepIndex,
};
pub use text::{collapse_blank, is_blank};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use version::{InvalidVersion, Version};
