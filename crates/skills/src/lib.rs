//! Skills as runs: a declarative workflow whose every step becomes a record.
//!
//! - [`NewSkillRun`] makes the problem that pins a skill by its digest and gives it inputs; the header binds it.
//! - [`SkillProgram`] is the program of such a run; `hence-engine` starts, resumes, replays and marks it like any other.
//!   [`Driver`] runs the interpreter of `hence-cognition` on any number of threads and records outcomes in plan order, so
//!   that timing never shows. [`SkillJournal`] lets the verifier of `hence-journal` follow its journal.
//! - [`CallLog`] holds calls under way next to the journal: intents before calls with effects, questions to people and their
//!   answers. [`CallExecutor`] makes every call through it; [`CallHistory`] reads it back.
//! - [`compare_origin`] and [`begins_with`] compare a run with the one it was forked from and the ones it nests.
//! - [`Host`] is the set of capabilities that steps call. This crate calls nothing itself: no files, no network, no clock.

mod again;
mod budget;
mod calls;
mod child;
mod compare;
mod drive;
mod effective_records;
mod fork;
mod host;
mod judge;
mod links;
mod pinned;
mod program;
mod reach;
mod recorded_outcome;
mod retry;
mod shared_child;
mod shared_inputs;
mod stop;
mod variables;

pub use budget::{Budget, USAGE_KEY, logged_usage, recorded_usage};
pub use calls::{
    Answer, BadCallLog, CallExecutor, CallFn, CallHistory, CallLog, CallName, CallResult, CallStatus, Entry,
    EntryError, Intent, OpenTimers, Question, QuestionKind, RefusedAnswer, ReplySource, Spent, WAIT_FOR,
    WAIT_UNTIL, is_timer,
};
pub use child::{ChildRun, ChildRuns, NoChildRuns};
pub use compare::{LinkError, begins_with, compare_origin, is_same_result};
pub use drive::{Driver, NestedDrive, finish};
pub use effective_records::{
    EffectiveRecord, RecordKind, effective_records, kind_of, outcomes_with_failures,
};
pub use fork::{Carried, ForkError, carry_over, shared_before, shared_records};
pub use hence_engine::{Determinism, OUTPUTS_STEP};
pub use host::{Effect, Host};
pub use judge::{LinkedRuns, SkillJournal};
pub use links::{Links, NestedPin, Origin, Parent};
pub use pinned::{InvalidFrame, LIMITS_KEY, NewSkillRun, Pinned};
pub use program::{SkillError, SkillProgram, SkillRun, asks_the_world};
pub use reach::{acting_gates, callees, may_act, reaches_out, with_nested};
pub use recorded_outcome::{RecordedOutcomeError, read as recorded_outcome};
pub use retry::{first_failed, retry_log, usage_before};
pub use shared_child::{EndedChild, is_nested_run};
pub use shared_inputs::{SharedInput, SharedInputs};
pub use stop::{NeverStop, Stop};
pub use variables::SkillVariables;
