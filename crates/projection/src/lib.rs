//! The projection of a run into a review trace: actions, artifacts, lineage and gaps of the run, for reviewers.
//!
//! The projection is a pure function of a run: its journal, problem, program and blobs. The same run gives the same
//! bytes, and the trace names the head of its journal. The projection adds no claims: a result that no step checked
//! becomes a declared gap.
//!
//! [`trace_of_run`] projects a recorded run. A [`Projection`] grows record by record: the delta of record n is computed
//! from records up to n alone and can be inspected before it is applied, so a policy can judge a step before the step
//! is recorded:
//!
//! ```text
//! Projection::begin(header, problem, program, blobs)
//!    loop:  delta = preview_step(index, result)      changes nothing; judge delta.actions, delta.artifacts
//!           apply(delta)                             once the record is appended, or never
//! ```
//!
//! [`PolicyGate`] is the gate that does so: it offers the previewed actions to the monitor of `hence-policy`.
//! [`policies_document`] and [`read_policies`] are the form in which policies are pinned and recorded.
//!
//! Every kind of run becomes actions of the right family. A capability declares the action type of its calls; a skill
//! can override it in `metadata.actions` and group its steps in `metadata.groups`. Conditions, routers, loops, scatters
//! and answers of people become gateways with the chosen option and the reasons against the others.
//!
//! The crate opens no files and executes nothing.
//!
//! ```
//! use hence_canon::parse;
//! use hence_engine::{Engine, MemorySink, Reason, Request, Run, Sink, without_defects};
//! use hence_projection::{Program, RecordedRun, trace_of_run};
//! use hence_review::validate;
//! use hence_state::Profile;
//!
//! let problem = parse(br#"{"version":"1.0.0","id":"req-1","created_at":"2026-02-02T00:00:00Z",
//!                          "inputs":{"prompt":"Hello world"}}"#)?;
//! let engine = Engine::new();
//! let (run, header) = Run::start(Reason::new(engine.plan(&Request::of_value(problem.clone(), Profile::STRICT))?))?;
//! let mut sink = MemorySink::default();
//! sink.append(&header)?;
//! run.finish(&mut sink, |_| {})?;
//!
//! let problem = without_defects(problem);
//! let run = RecordedRun { journal: &sink.journal, problem: &problem, blobs: &sink.blobs, links: &[], calls: None };
//! let trace = trace_of_run(Program::Reason(&engine), &run)?;
//! assert!(validate::validate_canonical(&trace).findings().is_empty());
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod artifacts;
mod authored;
mod delta;
mod error;
mod foreseen;
mod gaps;
mod gate;
mod policies;
mod projection;
mod reason;
mod run_info;
mod skill;
mod solve;
mod text;
mod trace;
mod unrecorded;
mod usage;
mod variables;
mod view;

pub use authored::{
    Authored, AuthoredJournal, AuthoredRun, append_end, append_operation, authored_problem, usage_of_action,
};
pub use delta::TraceDelta;
pub use error::ProjectError;
pub use gate::PolicyGate;
pub use policies::{EVENTS_MEMBER, policies_document, policy_specification, read_policies};
pub use projection::{Projection, RecordedRun, trace_of_measured_run, trace_of_run, trace_with_records};
pub use skill::{ACTIONS_MEMBER, CUSTOM_ACTIONS_MEMBER, GAPS_MEMBER, TAGS_MEMBER, action_types_of_skill};
pub use trace::{JOURNAL_MEMBER, RunLink, RunRelation};
pub use view::Program;
