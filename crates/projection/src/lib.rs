//! A run as a review trace: what was done, why, from what, what was established and what was not.
//!
//! The projection is a pure function of a run: its journal, its problem, its program and its large values. The same
//! run gives the same bytes, and the trace names the head of the journal it was derived from. It does not judge and
//! adds nothing a record does not say: what no step checked becomes a declared gap, not a claim.
//!
//! [`trace_of_run`] shows a whole run. A [`Projection`] grows record by record: what record n adds is computed from
//! records up to n alone, and can be looked at before it is taken — so a rule over actions can judge a step before it
//! is recorded:
//!
//! ```text
//! Projection::begin(header, problem, program, blobs)
//!    loop:  piece = look_at_step(index, result)      changes nothing; judge piece.actions, piece.artifacts
//!           take(piece)                              once the record is kept, or never
//!    trace(head, links)                              the trace as it is now
//! ```
//!
//! Every kind of run becomes actions of the right family. A capability declares what calling it is; a skill can say it
//! of its steps in `metadata.actions`, and group them in `metadata.groups`. Conditions, routers, loops, scatters and
//! answers of people are gateways with what was chosen and why not the rest.
//!
//! It is not a second reading of the flow of a run, it opens no files, and it does not run anything.
//!
//! ```
//! use hence_canon::parse;
//! use hence_engine::{Engine, MemorySink, Request, Run, Sink, without_defects};
//! use hence_projection::{Program, RecordedRun, trace_of_run};
//! use hence_review::{model, validate};
//! use hence_state::Profile;
//!
//! let problem = parse(br#"{"version":"1.0.0","id":"req-1","created_at":"2026-02-02T00:00:00Z",
//!                          "inputs":{"prompt":"Hello world"}}"#)?;
//! let engine = Engine::new();
//! let (run, header) = Run::start(engine.plan(&Request::of_value(problem.clone(), Profile::STRICT))?)?;
//! let mut sink = MemorySink::default();
//! sink.append(&header)?;
//! run.finish(&mut sink, |_| {})?;
//!
//! let problem = without_defects(problem);
//! let run = RecordedRun { journal: &sink.journal, problem: &problem, blobs: &sink.blobs, links: &[], calls: None };
//! let trace = model::encode(&trace_of_run(Program::Reason(&engine), &run)?);
//! assert!(validate::validate_canonical(&trace).findings().is_empty());
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod base;
mod ending;
mod error;
mod gap;
mod link;
mod piece;
mod program;
mod projection;
mod reason;
mod recorded;
mod shelf;
mod skill;
mod trace;
mod unit;
mod variables;
mod view;
mod word;

pub use error::ProjectError;
pub use link::{RunLink, RunRelation};
pub use piece::Piece;
pub use program::Program;
pub use projection::Projection;
pub use recorded::{RecordedRun, trace_of_run};
pub use trace::JOURNAL_MEMBER;
