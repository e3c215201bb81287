//! Monitoring: policies evaluated while a run happens.
//!
//! The past fragment of the language needs no lookahead: whether an action violates a rule is known when the
//! action is proposed, before it is admitted. A [`Monitor`] holds the state of many policies, evaluates a proposal
//! in time that does not grow with the run, and changes only when the proposal is admitted.
//!
//! Operators over time run the same state machines as the evaluation of whole traces, and everything about the
//! present action is evaluated by the same code on a trace of that one action, so both give the same verdicts.
//! An artifact may become known later than the action that made it, or than the artifacts derived from it. It counts
//! from then on, and earlier decisions stay.

mod foresee;
mod ledger;
mod program;
mod proposal;
mod scope;
mod watch;

pub use ledger::ProposalError;
pub use program::NotMonitorable;
pub(crate) use program::{check_present, is_timeless};
pub(crate) use proposal::explain;
pub use proposal::{Proposal, Violation};

use hence_canon::Object;
use hence_review::vocabulary::EvaluationStatus;

use crate::check::Options;
use crate::policy::{Policy, PolicyId};
use ledger::Ledger;
use program::Program;
use watch::WatchedPolicy;

/// The state of many policies on a trace that is still growing.
#[derive(Clone, Debug)]
pub struct Monitor {
    ledger: Ledger,
    program: Program,
    watches: Vec<WatchedPolicy>,
    deferred: Vec<(PolicyId, NotMonitorable)>,
}

impl Monitor {
    /// Starts monitoring a trace. `header` has the members known before the first action: its trigger, its
    /// high-stakes paths, its policies.
    ///
    /// A policy that needs the future or the whole trace is not watched. [`Self::deferred`] lists it, to be checked
    /// when the trace is complete.
    pub fn start<'p>(
        header: &Object,
        policies: impl IntoIterator<Item = &'p Policy>,
        options: Options,
    ) -> Self {
        let mut program = Program::new(options.since);
        let mut watches = Vec::new();
        let mut deferred = Vec::new();
        for policy in policies {
            match WatchedPolicy::of(policy, &mut program) {
                Ok(watch) => watches.push(watch),
                Err(reason) => deferred.push((policy.id().clone(), reason)),
            }
        }
        Self { ledger: Ledger::new(header), program, watches, deferred }
    }

    /// Returns the policies that are not watched, each with the reason.
    pub fn deferred(&self) -> &[(PolicyId, NotMonitorable)] {
        &self.deferred
    }

    /// Returns the number of admitted actions.
    pub fn len(&self) -> usize {
        self.ledger.len()
    }

    /// Returns whether no action was admitted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Proposes an action with the artifacts that become known with it. Nothing changes until
    /// [`Proposal::admit`].
    ///
    /// # Errors
    /// [`ProposalError`] when the action or an artifact is not an object, or has an id that is taken.
    pub fn propose(&mut self, action: &Object, artifacts: &[Object]) -> Result<Proposal<'_>, ProposalError> {
        Proposal::new(self, action, artifacts)
    }

    /// Returns the watched policies that an action violates whatever its result will be. Nothing changes.
    ///
    /// # Errors
    /// As for [`Self::propose`].
    pub fn foresee(
        &mut self,
        action: &Object,
        artifacts: &[Object],
    ) -> Result<Vec<Violation>, ProposalError> {
        foresee::violations(self, action, artifacts)
    }

    /// Returns the verdict of every watched policy on the trace so far, in the order they were given.
    pub fn verdicts(&self) -> impl Iterator<Item = (&PolicyId, EvaluationStatus, &[i64])> {
        self.watches.iter().map(|watch| (watch.id(), watch.status(), watch.violating()))
    }
}

#[cfg(test)]
mod tests;
