//! Policies at the gate of a run: each step is judged before it is recorded, by the action it would become.
//!
//! - [`Guard`] is a `Gate` of `hence-engine`. It shows the run as a trace that grows with it (`hence-projection`) and
//!   asks the monitor of `hence-policy` about what comes next: a violated policy of severity error blocks the step, one
//!   of severity warning or info is recorded beside it. What needs the future or the whole trace is judged before the
//!   run completes.
//! - [`ReasonGates`] opens such gates for an engine, so that a replay judges again and comes to the same bytes.
//! - [`document`](mod@document) is the form in which policies are pinned and recorded.
//! - [`with_evaluations`] writes into the trace of a run which policies it went by, how they stand, and every step they
//!   blocked or remarked on.
//!
//! It knows no files and asks nobody: policies, journals and large values come from the caller.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hence_canon::{Canonical, parse};
//! use hence_engine::{Engine, Gates, GuardedSink, MemorySink, NoBlobs, Opening, Request, Run, RunError, Sink};
//! use hence_guard::{ReasonGates, document};
//! use hence_policy::policy::{Document, PolicySet};
//! use hence_journal::Reader;
//! use hence_journal::Record;
//! use hence_state::Profile;
//!
//! let rules = parse(br#"{"policies": [{"id": "explained-first", "severity": "error",
//!     "formula": "G(RunTests -> P(Explain))"}]}"#)?;
//! let set = PolicySet::load(&[Document { name: "rules".into(), value: rules }])?;
//! let policies = document::of(set.policies());
//! let problem = parse(format!(r#"{{"version":"1.0.0","id":"req-1","created_at":"2026-02-02T00:00:00Z",
//!     "inputs":{{"prompt":"Hello world"}},"settings":{{"policies":{{"sha256":"{}"}}}}}}"#,
//!     Canonical::of(&policies).digest()).as_bytes())?;
//!
//! let gates = ReasonGates::new(Engine::new());
//! let plan = Engine::new().plan(&Request::of_value(problem, Profile::STRICT))?;
//! let problem = plan.problem().clone();
//! let (mut run, line) = Run::start(plan)?;
//! let Record::Header(header) = Reader::open(line.line())?.0.record else { panic!("it begins so") };
//! let gate = gates.open(Opening { header: &header, problem: &problem, blobs: &NoBlobs })?;
//! let mut sink = GuardedSink { sink: MemorySink::default(), gate };
//! sink.append(&line)?;
//! run.install_policies(&policies, &mut sink)?;
//! let Err(RunError::Blocked(blocked)) = run.finish(&mut sink, |_| {}) else { panic!("nothing was explained") };
//! assert_eq!(&*blocked.step, "Verify");
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

pub mod document;
mod evaluations;
mod gates;
mod guard;
mod judged;

pub use evaluations::{EVENTS_MEMBER, with_evaluations};
pub use gates::ReasonGates;
pub use guard::Guard;
