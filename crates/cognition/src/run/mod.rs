//! Runs: a deterministic interpreter of skills.
//!
//! Executing a step gives a [`StepOutcome`] and touches no state. Settling it writes its output, all or nothing.
//! Folding settled outcomes over the state of a new run gives the [`ExecutionState`](crate::state::ExecutionState):
//! a driver that records outcomes in a journal can restore the state from them alone.
//!
//! A [`Progress`] knows the steps that may start and the outcome that is due, also for a run resumed from its outcomes.
//! [`run`] drives one with one worker. Time, calls and waits go through [`Capabilities`], so a run here is a
//! function of the skill, the request and the replies.

mod capabilities;
mod driver;
mod failed_part;
mod flow;
mod fold;
mod gate;
mod invoke;
mod made;
mod outcome;
mod prepared;
mod preview;
mod progress;
mod shared;
mod step;

pub use capabilities::{
    Call, CallError, CallPlace, CallPurpose, Capabilities, EXCHANGE_KEY, Effect, Invocation, NestedCall,
    NestedReply, NestedRun, PlannedCall, Reply, Task, UndecidedCall, VariableRules, Waiting, call_position,
    idempotency_key_of, key_part, key_text, one_by_one,
};
pub use driver::{
    Context, Intervention, InvalidIntervention, RunOptions, RunReport, RunRequest, SKILL_DEPTH_DEFAULT,
    SKILL_DEPTH_MAX, TIMEOUT_SECONDS_DEFAULT, run,
};
pub use failed_part::{FailedPart, NESTED_ERRORS_KEY, Part, describe_failures};
pub use fold::{FoldError, Settled, settle};
pub use invoke::named_exchange;
pub use made::{BEGUN_KEY, CallOutcome, DECIDED_KEY, LATENCY_KEY, MadeCall, MadePlace, PATH_PARTS};
pub use outcome::{Note, OutcomeError, StepOutcome};
pub use prepared::Prepared;
pub use preview::{
    CallMade, CallStage, PossibleCall, calls_made, is_proposed, item_count, one_call, possible_calls,
};
pub use progress::{Progress, RunFailure};
pub use shared::{SharedValue, SharedValues};
pub use step::{EXCHANGES_KEY, NESTED_RUNS_KEY, blank, execute};

#[cfg(test)]
mod tests;
