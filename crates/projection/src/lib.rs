//! A run as a review trace: what was done, why, from what, what was established and what was not.
//!
//! The projection is a pure function of a run: its journal, its problem and its large values. The same run gives
//! the same bytes, and the trace names the head of the journal it was derived from. It does not judge and adds
//! nothing a record does not say: what no step checked becomes a declared gap, not a claim.
//!
//! It is not a second reading of the flow of a run, it opens no files, and it does not run anything.
//!
//! ```
//! use hence_canon::parse;
//! use hence_engine::{Engine, MemorySink, Request, Run, Sink, without_defects};
//! use hence_projection::{RecordedRun, trace_of_run};
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
//! let run = RecordedRun { journal: &sink.journal, problem: &problem, blobs: &sink.blobs };
//! let trace = model::encode(&trace_of_run(&engine, &run)?);
//! assert!(validate::validate_canonical(&trace).findings().is_empty());
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod action;
mod artifact;
mod ending;
mod error;
mod gap;
mod kind;
mod source;
mod trace;
mod unit;
mod word;

pub use error::ProjectError;
pub use source::RecordedRun;
pub use trace::{JOURNAL_MEMBER, trace_of_run};
