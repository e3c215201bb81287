//! The state of a run.

mod apply;
mod layout;
mod reasoning;
mod status;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;

use hence_canon::{Canonical, Digest};

pub use apply::{Applied, ApplyError, Refused};
use layout::Layout;
pub use reasoning::ReasoningState;
pub use status::{Completed, Failed, Pending, Phase, Running, Status};

use crate::{Artifacts, Metadata, ProblemSpec, Profile, StepError, Timestamp};

/// The version of the state's form.
pub const STATE_VERSION: &str = "1.0.0";

/// How many results a state has taken in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct StepIndex(u64);

impl StepIndex {
    /// Wraps an index.
    pub const fn new(index: u64) -> Self {
        Self(index)
    }

    /// Returns the index as a number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl std::fmt::Display for StepIndex {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, out)
    }
}

/// A state whose status is part of its type.
///
/// There are no setters. A state changes by being consumed: [`start`](State::start), [`apply`](State::apply),
/// [`complete`](State::complete), [`fail`](State::fail) — and each exists only where the documents allow it.
#[derive(Clone, Debug)]
pub struct State<P: Phase> {
    /// Boxed, so that moving a state from step to step moves a pointer.
    core: Box<Core>,
    phase: PhantomData<P>,
}

/// The fields every status shares.
#[derive(Clone, Debug)]
struct Core {
    problem: Arc<ProblemSpec>,
    profile: Profile,
    step_index: StepIndex,
    status: Status,
    artifacts: Artifacts,
    assumptions: Vec<Arc<str>>,
    constraints: Vec<Arc<str>>,
    errors: Vec<StepError>,
    metadata: Metadata,
    layout: Layout,
}

impl State<Pending> {
    /// Makes the state of a run that has not begun.
    pub fn new(
        problem: Arc<ProblemSpec>,
        trace_id: impl Into<Arc<str>>,
        created: Timestamp,
        profile: Profile,
    ) -> Self {
        let settings = problem.settings();
        let metadata = Metadata {
            trace_id: trace_id.into(),
            policy_profile: settings.policy_profile.clone(),
            model_profile: settings.model_profile.clone(),
            created_at: problem.created_at().clone(),
            updated_at: created,
        };
        let mut core = Box::new(Core {
            constraints: problem.constraints().to_vec(),
            problem,
            profile,
            step_index: StepIndex::default(),
            status: Status::Pending,
            artifacts: Artifacts::default(),
            assumptions: Vec::new(),
            errors: Vec::new(),
            metadata,
            layout: Layout::default(),
        });
        core.relay();
        Self::wrap(core)
    }

    /// Begins the run. Not a mutation of its own: it becomes visible with the first result.
    pub fn start(self) -> State<Running> {
        self.into_phase()
    }
}

impl<P: Phase> State<P> {
    fn wrap(core: Box<Core>) -> Self {
        debug_assert_eq!(core.status, P::STATUS, "the type says what the status is");
        Self { core, phase: PhantomData }
    }

    fn into_phase<Q: Phase>(self) -> State<Q> {
        let mut core = self.core;
        core.status = Q::STATUS;
        core.relay_end();
        State::wrap(core)
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        &self.core.problem
    }

    /// Returns the profile the run follows.
    pub fn profile(&self) -> &Profile {
        &self.core.profile
    }

    /// Returns how many results were taken in.
    pub fn step_index(&self) -> StepIndex {
        self.core.step_index
    }

    /// Returns what steps have produced.
    pub fn artifacts(&self) -> &Artifacts {
        &self.core.artifacts
    }

    /// Returns the errors so far.
    pub fn errors(&self) -> &[StepError] {
        &self.core.errors
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.core.metadata
    }

    /// Returns the status as a word.
    pub fn status(&self) -> Status {
        P::STATUS
    }

    /// Returns the digest of the canonical form. Costs what has changed since it was last asked.
    pub fn digest(&mut self) -> Digest {
        self.core.digest()
    }

    /// Returns the canonical form.
    pub fn canonical(&self) -> Canonical {
        self.core.canonical()
    }
}
