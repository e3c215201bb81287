//! Skills as runs: a declarative workflow whose every step becomes a record.
//!
//! - [`NewSkillRun`] makes the problem that pins a skill by its digest and says what it is given; the header binds it.
//! - [`SkillRun`] drives the interpreter of `hence-cognition` on any number of threads and records outcomes in plan
//!   order, so that timing never shows. [`SkillRun::resume`] takes a run up where its journal ends.
//! - [`replay`] executes deterministic steps again, reads the others, and compares every byte; [`SkillProgram`] lets
//!   the verifier of `hence-journal` follow a skill's journal.
//! - [`Host`] carries out what steps ask for. This crate calls nothing itself: no files, no network, no clock.

mod follow;
mod host;
mod kept;
mod pinned;
mod replay;
mod run;
mod variables;

pub use follow::SkillProgram;
pub use host::Host;
pub use kept::KeptError;
pub use pinned::{InvalidFrame, NewSkillRun, Pinned};
pub use replay::{SkillReplay, replay};
pub use run::{FinishedSkill, OUTPUTS_STEP, ResumeSkillError, SkillRun, SkillRunError};
pub use variables::SkillVariables;
