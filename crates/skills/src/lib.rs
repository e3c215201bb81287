//! Skills as runs: a declarative workflow whose every step becomes a record.
//!
//! - [`NewSkillRun`] makes the problem that pins a skill by its digest and says what it is given; the header binds it.
//! - [`SkillRun`] drives the interpreter of `hence-cognition` on any number of threads and records outcomes in plan
//!   order, so that timing never shows. [`SkillRun::resume`] takes a run up where its journal ends.
//! - [`replay`] executes deterministic steps again, reads the others, and compares every byte; [`SkillProgram`] lets
//!   the verifier of `hence-journal` follow a skill's journal.
//! - [`Ledger`] keeps what is under way beside the journal: intents before calls that may change something, questions to
//!   people and their answers. [`CallHistory`] reads it back.
//! - [`compare_origin`] and [`begins_with`] hold a run against the one it was forked from and the ones it nests.
//! - [`Host`] carries out what steps ask for. This crate calls nothing itself: no files, no network, no clock.

mod calls;
mod child;
mod compare;
mod effective_records;
mod follow;
mod fork;
mod host;
mod kept;
mod links;
mod pinned;
mod reach;
mod replay;
mod run;
mod stop;
mod variables;

pub use calls::{
    Answer, BadCallLog, CallExecutor, CallHistory, CallLog, CallName, CallResult, CallStatus, Entry,
    EntryError, Found, Ledger, Make, NoCallLog, Promise, Question, QuestionKind, RefusedAnswer,
};
pub use child::{ChildRun, ChildRuns, NoChildRuns};
pub use compare::{LinkError, begins_with, compare_origin};
pub use effective_records::{EffectiveRecord, RecordKind, effective_records};
pub use follow::{LinkedRuns, SkillProgram};
pub use fork::{Carried, ForkError, shared_before, shared_records};
pub use host::{Effect, Host};
pub use kept::{RecordedOutcomeError, read as recorded_outcome};
pub use links::{Links, NestedPin, Origin, Parent};
pub use pinned::{InvalidFrame, NewSkillRun, Pinned};
pub use reach::reaches_out;
pub use replay::{Recorded, SkillReplay, asks_the_world, replay};
pub use run::{
    Driven, Driver, FinishedSkill, OUTPUTS_STEP, Pause, ResumeSkillError, SkillRun, SkillRunError,
};
pub use stop::{NeverStop, Stop};
pub use variables::SkillVariables;
