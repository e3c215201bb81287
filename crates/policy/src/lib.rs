//! Policies: rules over traces that are linted, evaluated, explained, and enforced while a run happens.
//!
//! A policy is a formula of linear temporal logic over the actions of a finite trace, with a past, two scopes
//! drawn by lineage (same target, same chain), quantifiers over the lists of the trace, and counts:
//! `G(GitCommit → P(RunTests ∧ completed))`.
//!
//! - [`formula`] turns text into a tree and back; everything the grammar does not allow is a located error.
//! - [`lint`] finds, before any trace is seen, formulas without a meaning, guesses, and vacuous parts.
//! - [`policy`] reads policies, packs and galleries, and runs policies on their own examples.
//! - [`check`](fn@check) evaluates policies on a trace; every verdict names its witnesses and, when it is a
//!   failure, the shortest chain of facts that makes it one. A rule that was never triggered is
//!   `not_applicable`, never compliance; a formula that cannot be decided is `unknown`, never true.
//! - [`monitor`] returns, before an action is admitted, the policies it would violate.
//! - [`foresight`] returns the policies that an action violates before it is carried out, whatever its result.
//! - [`search`] finds a shortest trace that violates a formula, or one that satisfies several.
//! - [`Report::residuals`] turns failed and undecided policies into declared gaps.
//! - [`show`] writes reports for code scanning, build servers and workflow logs.
//!
//! It does no I/O, reads no clock and prints nothing.
//!
//! ```
//! use hence_canon::parse;
//! use hence_policy::policy::{Policy, PolicyId};
//! use hence_policy::{FailOn, Options, check};
//!
//! let id = PolicyId::new("tests-first").expect("the text is not empty");
//! let policy = Policy::from_formula(&id, "G(GitCommit → P(RunTests ∧ completed))");
//! let trace = parse(br#"{"trace_id": "t", "actions": [
//!     {"id": 1, "type": "RunTests", "result_summary": "2 failed"},
//!     {"id": 2, "type": "GitCommit"}
//! ]}"#)?;
//!
//! let report = check(&trace, [&policy], Options::default());
//! let note = report.verdicts[0].note().expect("a failure is explained");
//! assert_eq!(
//!     note,
//!     "action 2 (GitCommit): `GitCommit` holds; no earlier action satisfies `RunTests ∧ completed` \
//!      (1 looked at); action 1 (RunTests): `RunTests` holds; `completed` does not hold",
//! );
//! assert!(!report.passes(FailOn::Warning));
//! # Ok::<(), hence_canon::ParseError>(())
//! ```

mod check;
pub mod eval;
pub mod foresight;
pub mod formula;
pub mod lint;
pub mod monitor;
pub mod named_check;
pub mod policy;
#[cfg(test)]
mod sample;
pub mod search;
pub mod show;
pub mod verdict;
pub mod vocabulary;

pub use check::{FailOn, Options, Report, Summary, check, check_subject};
