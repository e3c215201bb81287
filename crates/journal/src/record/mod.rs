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

/// The version of the journal format.
pub const JOURNAL_VERSION: &str = "1.0.0";
/// The first number of every version this crate can read.
pub(crate) const JOURNAL_MAJOR_VERSION: u64 = 1;
/// The only hash algorithm.
pub const HASH_ALGORITHM: &str = "sha256";
/// The only canonical form.
pub const CANONICALIZATION: &str = "json-c14n-v1";

/// A record without its place in the chain.
#[derive(Clone, Debug)]
pub enum Record {
    /// The first record.
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

/// The first record: it binds the problem and names the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the journal format.
    pub version: Arc<str>,
    /// The id of the run.
    pub trace_id: Arc<str>,
    /// The creation time of the run.
    pub created_at: Timestamp,
    /// The version of the engine that wrote it.
    pub engine_version: Arc<str>,
    /// The digest of the problem.
    pub problem_spec_hash: Digest,
    /// The digest of the state before the first step.
    pub initial_state_hash: Digest,
    /// The rules the run follows.
    pub profile: ProfileName,
    /// The source of times; absent in the compat profile.
    pub clock: Option<ClockSource>,
}

/// The source of the times of a run.
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
    /// The result of the step.
    pub result: StepResult,
    /// The digest of the state before.
    pub state_before_hash: Digest,
    /// The digest of the state after.
    pub state_after_hash: Digest,
}

/// A decision between steps.
#[derive(Clone, Debug)]
pub enum Control {
    /// The decision of a loop.
    Loop(LoopControl),
    /// The completion of the run. Strict profile only.
    Complete {
        /// The digest of the completed state.
        state_hash: Digest,
        /// The time of completion.
        at: Timestamp,
    },
    /// A checkpoint, which changes nothing. Strict profile only.
    Checkpoint(CheckpointControl),
    /// A rollback: the run continues from an earlier position. Strict profile only.
    Rollback(RollbackControl),
}

/// A checkpoint: a name for a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointControl {
    /// The name.
    pub name: Arc<str>,
    /// The record that the named state follows.
    pub position: RecordIndex,
    /// The digest of the present state, which this record does not change.
    pub state_hash: Digest,
}

/// A rollback: a return to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollbackControl {
    /// The checkpoint.
    pub name: Arc<str>,
    /// The record that its state follows.
    pub to: RecordIndex,
    /// The digest of that state with this record's time.
    pub state_hash: Digest,
    /// The time of the rollback.
    pub at: Timestamp,
}

/// The decision of a loop after its last step.
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
    /// The time at which the decision changed the state, if it did. Strict profile only.
    pub at: Option<Timestamp>,
}

/// A loop's decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopAction {
    /// Another iteration follows.
    Repeat,
    /// The condition is met.
    Stop,
    /// The condition is not met and the limit is reached.
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
    /// Returns the digest of the state after the record.
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
