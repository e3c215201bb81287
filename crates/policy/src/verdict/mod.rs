//! Verdicts: what a policy says about a trace, and why.

mod explain;
mod judge;
mod record;
mod witness;

pub use explain::{ActionRef, Explanation, Step};
pub(crate) use judge::judge;
pub use witness::Witnesses;

use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};

use crate::policy::PolicyId;

/// What a policy says about a trace.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The policy.
    pub policy_id: PolicyId,
    /// How much a failure matters.
    pub severity: PolicySeverity,
    /// The verdict itself.
    pub status: EvaluationStatus,
    /// The highest action id of the trace.
    pub checked_at_action_id: Option<i64>,
    /// What satisfied the policy where it applied.
    pub evidence: Witnesses,
    /// What violated it.
    pub violating: Witnesses,
    /// Words that were looked for in texts: the verdict rests on a guess about them.
    pub heuristic_words: Vec<String>,
    /// Why the policy failed: where it was triggered, what was looked for, where.
    pub explanation: Option<Explanation>,
    /// Why the verdict is `unknown` or `not_applicable`.
    pub reason: Option<String>,
}

impl Verdict {
    /// Returns one sentence about the verdict, if there is something to say.
    pub fn note(&self) -> Option<String> {
        self.explanation.as_ref().map(ToString::to_string).or_else(|| self.reason.clone())
    }
}
