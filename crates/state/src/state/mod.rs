//! The state of a run.

mod apply;
mod cut;
mod layout;
mod reasoning;
mod status;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, write_string};

pub use apply::{Applied, ApplyError, Refused};
pub use cut::CutState;
use layout::Layout;
pub use reasoning::ReasoningState;
pub use status::{Completed, Failed, Pending, Phase, Running, Status};

use crate::{Artifacts, ProblemSpec, Profile, StepError, Timestamp};

/// The version of the state document.
pub const STATE_VERSION: &str = "1.0.0";

/// The number of results that a state has applied.
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

/// The metadata of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// The id of the run.
    pub trace_id: Arc<str>,
    /// The routing policy asked for.
    pub policy_profile: Option<Arc<str>>,
    /// The model profile asked for.
    pub model_profile: Option<Arc<str>>,
    /// The creation time of the problem.
    pub created_at: Timestamp,
    /// The time of the last mutation.
    pub updated_at: Timestamp,
}

impl Metadata {
    /// Writes the canonical form directly, because it is hashed again after every step.
    fn write(&self, out: &mut Vec<u8>) {
        let members = [
            ("{\"created_at\":", Some(self.created_at.as_str())),
            (",\"model_profile\":", self.model_profile.as_deref()),
            (",\"policy_profile\":", self.policy_profile.as_deref()),
            (",\"trace_id\":", Some(&*self.trace_id)),
            (",\"updated_at\":", Some(self.updated_at.as_str())),
        ];
        for (opening, text) in members {
            out.extend_from_slice(opening.as_bytes());
            match text {
                Some(text) => write_string(text, out),
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b'}');
    }
}

/// The state of a run, with its status as part of the type.
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
    /// Creates the state of a run that has not begun.
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
            assumptions: problem.assumptions().to_vec(),
            problem,
            profile,
            step_index: StepIndex::default(),
            status: Status::Pending,
            artifacts: Artifacts::default(),
            errors: Vec::new(),
            metadata,
            layout: Layout::default(),
        });
        core.rebuild();
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
        core.invalidate_tail();
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

    /// Returns the number of results applied.
    pub fn step_index(&self) -> StepIndex {
        self.core.step_index
    }

    /// Returns the outputs of the steps.
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

    /// Returns the status.
    pub fn status(&self) -> Status {
        P::STATUS
    }

    /// Returns the digest of the canonical form. The cost depends on what has changed since the last call.
    pub fn digest(&mut self) -> Digest {
        self.core.digest()
    }

    /// Returns the canonical form; of a state that was [continued](State::continued), without the outputs it does not hold.
    pub fn canonical(&self) -> Canonical {
        self.core.canonical()
    }
}
