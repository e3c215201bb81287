//! Policies while the run happens.
//!
//! The past fragment of the language needs no look ahead: whether an action violates a rule is known when the
//! action is proposed, before it is admitted. A [`Monitor`] holds the state of many policies, answers a proposal
//! in time that does not grow with the run, and moves only when the proposal is admitted.
//!
//! Operators over time run the same state machines as the evaluation of whole traces, and everything about the
//! present action is evaluated by the same code on a trace of that one action, so both give the same verdicts.
//! An artifact may be made known later than the action that made it, or than what was derived from it: it counts from
//! then on, and what was decided before stays decided.

mod chain;
mod compile;
mod growth;
mod ledger;
mod offer;
mod target;
mod watch;

pub use compile::NotMonitorable;
pub(crate) use compile::{check_present, is_timeless};
pub use growth::OfferFault;
pub use offer::{Offer, Violation};

use hence_canon::Object;
use hence_review::vocabulary::EvaluationStatus;

use crate::check::Options;
use crate::policy::{Policy, PolicyId};
use compile::Program;
use ledger::Ledger;
use watch::Watch;

/// The state of many policies on a trace that is still growing.
#[derive(Debug)]
pub struct Monitor {
    ledger: Ledger,
    program: Program,
    watches: Vec<Watch>,
    deferred: Vec<(PolicyId, NotMonitorable)>,
}

impl Monitor {
    /// Starts a trace. `header` is what is known of it before the first action: how it was triggered, its
    /// high-stakes paths, its policies.
    ///
    /// A policy that needs the future or the whole trace is not watched but listed by [`Self::deferred`]: it is
    /// to be checked when the trace is complete.
    pub fn start<'p>(
        header: &Object,
        policies: impl IntoIterator<Item = &'p Policy>,
        options: Options,
    ) -> Self {
        let mut program = Program::new(options.since);
        let mut watches = Vec::new();
        let mut deferred = Vec::new();
        for policy in policies {
            match Watch::of(policy, &mut program) {
                Ok(watch) => watches.push(watch),
                Err(reason) => deferred.push((policy.id().clone(), reason)),
            }
        }
        Self { ledger: Ledger::new(header), program, watches, deferred }
    }

    /// Returns the policies that are not watched, and why.
    pub fn deferred(&self) -> &[(PolicyId, NotMonitorable)] {
        &self.deferred
    }

    /// Returns how many actions were admitted.
    pub fn len(&self) -> usize {
        self.ledger.len()
    }

    /// Returns whether no action was admitted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Proposes an action, together with the artifacts it makes known. Nothing changes until
    /// [`Offer::admit`].
    ///
    /// # Errors
    /// [`OfferFault`] when the action or an artifact is not an object, or has an id that is taken.
    pub fn offer(&mut self, action: &Object, artifacts: &[Object]) -> Result<Offer<'_>, OfferFault> {
        Offer::new(self, action, artifacts)
    }

    /// Returns the verdict of every watched policy on the trace so far, in the order they were given.
    pub fn verdicts(&self) -> impl Iterator<Item = (&PolicyId, EvaluationStatus, &[i64])> {
        self.watches.iter().map(|watch| (watch.id(), watch.status(), watch.violating()))
    }
}

#[cfg(test)]
mod tests;
