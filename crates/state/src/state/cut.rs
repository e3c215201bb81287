//! A state that continues a run without the outputs before, which only its hash depends on.

use std::sync::Arc;

use hence_canon::{Canonical, Midstate};

use super::{Pending, ReasoningState, Running, State, StepIndex};
use crate::{Artifacts, Timestamp};

/// The parts of a state that are needed to continue: everything but the outputs of repeated steps, of which it has the hash.
///
/// A run whose steps all write one artifact grows by one output per step. Its next step reads none of them.
#[derive(Clone, Debug)]
pub struct CutState {
    /// The artifact of every step.
    pub key: Arc<str>,
    /// The first output.
    pub first: Canonical,
    /// The number of later outputs.
    pub later: u64,
    /// The hasher after the last of them.
    pub midstate: Midstate,
    /// The number of results applied.
    pub step_index: StepIndex,
    /// The time of the last mutation.
    pub updated_at: Timestamp,
}

impl ReasoningState {
    /// Returns what a running state needs to continue; `None` for one with several artifacts, errors or no repeated step.
    pub fn cut(&mut self) -> Option<CutState> {
        let Self::Running(state) = self else { return None };
        let core = &mut state.core;
        let later = u64::try_from(core.artifacts.later_count()).ok()?;
        let midstate = core.midstate_after_later()?;
        let mut outputs = core.artifacts.iter();
        let (Some((key, first)), None) = (outputs.next(), outputs.next()) else { return None };
        if !core.errors.is_empty() || core.artifacts.iterations_position() != 0 {
            return None;
        }
        Some(CutState {
            key: key.clone(),
            first: first.clone(),
            later,
            midstate,
            step_index: core.step_index,
            updated_at: core.metadata.updated_at.clone(),
        })
    }
}

impl State<Pending> {
    /// Continues a run from a cut state. Its hash is that of the whole state; its canonical form is not available.
    pub fn continued(mut self, cut: CutState) -> State<Running> {
        let core = &mut self.core;
        core.artifacts =
            Artifacts::without_later(cut.key, cut.first, usize::try_from(cut.later).unwrap_or(0));
        core.step_index = cut.step_index;
        core.metadata.updated_at = cut.updated_at;
        let mut state: State<Running> = self.into_phase();
        state.core.continue_after_later(cut.midstate);
        state
    }

    /// Continues a run after so many results, without the outputs of its steps. Everything outside of its artifacts is then what
    /// the results give; the artifacts, and so the hash, are not.
    #[must_use]
    pub fn continued_without_artifacts(
        mut self,
        step_index: StepIndex,
        updated_at: Timestamp,
    ) -> State<Running> {
        self.core.step_index = step_index;
        self.core.metadata.updated_at = updated_at;
        self.into_phase()
    }
}
