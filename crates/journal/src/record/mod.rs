//! Records: the header, one per step, one per control decision.

mod decode;
mod fields;
mod layout;
mod line;
mod seal;
mod shape;

use std::sync::Arc;

use hence_canon::{Digest, Value};
use hence_state::{ProfileName, StepIndex, StepResult, Timestamp};

pub use decode::DecodeError;
pub(crate) use layout::StepLayout;
pub(crate) use line::record_hash;
pub use line::{LINE_BYTES_MAX, Line, LineError};
pub use seal::Sealed;
pub(crate) use shape::{RecordKind, check as check_shape, profile_of};

use crate::RecordIndex;

/// The version of the journal's form.
pub const JOURNAL_VERSION: &str = "1.0.0";
/// The first number of every version this crate can read.
pub(crate) const JOURNAL_MAJOR_VERSION: u64 = 1;
/// The only hash there is.
pub const HASH_ALGORITHM: &str = "sha256";
/// The only canonical form there is.
pub const CANONICALIZATION: &str = "json-c14n-v1";

/// A record without its place in the chain.
#[derive(Clone, Debug)]
pub enum Record {
    /// The first.
    Header(Header),
    /// The result of a step.
    Step(StepRecord),
    /// A decision between steps.
    Control(Control),
}

impl Record {
    /// Computes the hash of a step's output, so that the thread that decodes a record does it and not the one that
    /// applies the result.
    pub(crate) fn hash_output(&self) {
        if let Self::Step(step) = self {
            step.result.outcome().output_hash();
        }
    }
}

/// The first record: what the run is about and by which rules it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the journal's form.
    pub version: Arc<str>,
    /// The run.
    pub trace_id: Arc<str>,
    /// When the run was created.
    pub created_at: Timestamp,
    /// The version of the engine that wrote it.
    pub engine_version: Arc<str>,
    /// The digest of the problem.
    pub problem_spec_hash: Digest,
    /// The digest of the state before the first step.
    pub initial_state_hash: Digest,
    /// The rules the run follows.
    pub profile: ProfileName,
    /// Where times come from; the compat profile does not say.
    pub clock: Option<ClockSource>,
}

/// Where the times of a run come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockSource {
    /// The run's creation plus one tick per mutation: a replay computes them.
    Ticking,
    /// The caller: a replay reads them from the records.
    Given,
}

impl ClockSource {
    /// Returns the word used in headers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ticking => "ticking",
            Self::Given => "given",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Ticking, Self::Given].into_iter().find(|source| source.as_str() == word)
    }
}

/// The result of a step and the states around it.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// The state's step index before the step.
    pub step_index: StepIndex,
    /// What the step did.
    pub result: StepResult,
    /// The digest of the state before.
    pub state_before_hash: Digest,
    /// The digest of the state after.
    pub state_after_hash: Digest,
}

/// A decision between steps.
#[derive(Clone, Debug)]
pub enum Control {
    /// What a loop decided.
    Loop(LoopControl),
    /// That the run is complete. Strict profile only.
    Complete {
        /// The digest of the completed state.
        state_hash: Digest,
        /// When the run completed.
        at: Timestamp,
    },
    /// That a position has a name. Changes nothing. Strict profile only.
    Checkpoint(CheckpointControl),
    /// That the run goes on from an earlier position. Strict profile only.
    Rollback(RollbackControl),
}

/// A position that was given a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointControl {
    /// The name.
    pub name: Arc<str>,
    /// The record after which the named state stands.
    pub position: RecordIndex,
    /// The digest of the present state, which this record leaves as it is.
    pub state_hash: Digest,
}

/// A return to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollbackControl {
    /// The checkpoint.
    pub name: Arc<str>,
    /// The record after which its state stands.
    pub to: RecordIndex,
    /// The digest of that state with this record's time.
    pub state_hash: Digest,
    /// When.
    pub at: Timestamp,
}

/// What a loop decided after its last step.
#[derive(Clone, Debug)]
pub struct LoopControl {
    /// The decision.
    pub action: LoopAction,
    /// The iteration just finished, from 1.
    pub loop_iteration: u64,
    /// The first step of the segment.
    pub start_step: Arc<str>,
    /// The last step of the segment.
    pub end_step: Arc<str>,
    /// The condition: an object of path, operator and value.
    pub stop_condition: Value,
    /// The digest of the state after the decision.
    pub state_hash: Digest,
    /// When the state changed by this decision, if it did. Strict profile only.
    pub at: Option<Timestamp>,
}

/// A loop's decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopAction {
    /// Once more.
    Repeat,
    /// The condition is met.
    Stop,
    /// The condition is not met and the limit is.
    MaxIterationsReached,
}

impl LoopAction {
    /// Returns the word used in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Stop => "stop",
            Self::MaxIterationsReached => "max_iterations_reached",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Repeat, Self::Stop, Self::MaxIterationsReached]
            .into_iter()
            .find(|action| action.as_str() == word)
    }
}

impl Control {
    /// Returns the digest of the state the record stands for.
    pub fn state_hash(&self) -> Digest {
        match self {
            Self::Loop(control) => control.state_hash,
            Self::Complete { state_hash, .. } => *state_hash,
            Self::Checkpoint(control) => control.state_hash,
            Self::Rollback(control) => control.state_hash,
        }
    }
}

/// A record with its place in the chain, as read from a line.
#[derive(Clone, Debug)]
pub struct Chained {
    /// The record.
    pub record: Record,
    /// Its position.
    pub index: RecordIndex,
    /// The hash it claims.
    pub hash: Digest,
    /// The hash of the record before, which only a header lacks.
    pub prev_hash: Option<Digest>,
}
