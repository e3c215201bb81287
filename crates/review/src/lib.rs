//! Ponens review traces: the actions, artifacts, lineage and gaps of an agent's work, for reviewers.
//!
//! The crate has two layers, as the specification asks:
//!
//! - [`model`] is the canonical model: strict types of a well-formed trace. Projections and importers write them;
//!   `decode` checks a document against them.
//! - [`wire`] reads a trace *as written*. Every JSON document can be read; nothing is refused or lost, so lineage and
//!   policies work on traces of every version (1.0 to 1.7), also on damaged ones.
//! - [`vocabulary`] holds the closed word lists of the format, each an enum with its exact wire spelling.
//!
//! On top of them:
//!
//! - [`validate`] reports every broken rule with a pointer.
//! - [`lineage`] is the artifact graph: producers, ancestors, descendants, targets, and the two scopes (same
//!   chain, same target) that policies quantify over, answered for all actions at once in near-linear time.
//! - [`residuals`] are the gaps of a trace, [`goals`] the progress of its intent, [`grade`] the quality of the record;
//!   [`reproduce`] decides which commands can be run again safely, [`ending`] reads how an action ended.
//! - [`review_log`] records a review as a hash chain that is bound to the trace by its [`ContentHash`], and decides whether
//!   the trace may be approved. [`diff`] compares two traces by meaning, [`curate`] regroups
//!   actions, [`succession`] makes the successor that a changed trace is, [`binding`] ties one to a commit.
//! - [`authoring`] writes a trace operation by operation.
//! - [`show`] writes findings for other tools and escapes text of a trace.
//! - [`import`] reads sessions and telemetry of other agents, [`export`] writes for other tools.
//!
//! The crate does no I/O, reads no clock, executes nothing and evaluates no policies.
//!
//! ```
//! use hence_canon::parse;
//! use hence_review::{lineage::Lineage, wire::Trace};
//!
//! let value = parse(br#"{
//!   "trace_id": "t1",
//!   "actions": [
//!     {"id": 1, "type": "ReadFile", "outputs": ["a1"]},
//!     {"id": 2, "type": "EditFile", "inputs": ["a1"], "outputs": ["a2"]}
//!   ],
//!   "artifacts": [
//!     {"artifact_id": "a1", "name": "ledger.py", "producer_action_id": 1},
//!     {"artifact_id": "a2", "name": "fix", "producer_action_id": 2, "derived_from": ["a1"]}
//!   ]
//! }"#)?;
//! let trace = Trace::read(&value);
//! let lineage = Lineage::of(&trace);
//! let edit = trace.action_by_id(2).expect("the trace has an action 2");
//! assert_eq!(lineage.ancestors("a2"), ["a1"]);
//! assert_eq!(lineage.target_lineage(edit.position()), ["fix", "ledger.py"]);
//! # Ok::<(), hence_canon::ParseError>(())
//! ```

pub mod authoring;
pub mod binding;
pub mod command;
pub mod curate;
pub mod diff;
pub mod ending;
pub mod export;
pub mod goals;
pub mod grade;
mod hash;
pub mod import;
mod interner;
pub mod lineage;
pub mod model;
mod report;
pub mod reproduce;
pub mod residuals;
pub mod review_log;
pub mod secret;
mod shell;
pub mod show;
pub mod succession;
pub mod validate;
pub mod version;
pub mod vocabulary;
pub mod wire;

pub use hash::{ContentHash, InvalidContentHash};
pub use report::{RESIDUALS_LISTED_MAX, markdown_report};
