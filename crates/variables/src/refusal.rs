//! The reasons for which an operation is refused. A refused operation changes nothing.

use std::sync::Arc;

use hence_canon::UnknownWord;

use crate::document::SchemaError;
use crate::files::InvalidPath;
use crate::ids::InvalidId;
use crate::limits::{
    CHECKPOINTS_MAX, CHILDREN_MAX, MUTATIONS_MAX, TREE_DEPTH_MAX, TREE_NODES_MAX, VARIABLES_MAX,
};
use crate::name::InvalidName;
use crate::stored::LoadFault;
use crate::{Author, Name, Scope, StateId, Status, Timestamp, ValueType};

/// The reason for which an operation is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each variant means and what its fields hold")]
pub enum Refusal {
    #[error("there is no state {state}")]
    NoState { state: StateId },
    #[error("state {state} already exists")]
    StateExists { state: StateId },
    #[error("a state needs a prompt")]
    MissingPrompt,
    #[error("prompt must be text, found {found}")]
    PromptNotText { found: hence_canon::Kind },
    #[error("{0}")]
    InvalidId(#[from] InvalidId),
    #[error("execution configuration: {}", list(.0))]
    InvalidConfig(Vec<SchemaError>),
    #[error("state has {found} mutations, the caller expected {expected}")]
    Conflict { expected: u64, found: u64 },
    #[error("state {state} is {status} and takes no more writes")]
    Sealed { state: StateId, status: Status },
    #[error("{0}")]
    InvalidName(#[from] InvalidName),
    #[error("`{name}` is read-only")]
    ReadOnly { name: Name },
    #[error("`{name}` is special: {reason}")]
    Special { name: Name, reason: &'static str, rule: &'static str },
    #[error("scope: {0}")]
    InvalidScope(UnknownWord),
    #[error("scope `{scope}` needs a state with a tree_id")]
    ScopeUnavailable { scope: Scope },
    #[error("{what}: expected {expected}, found {found}")]
    InvalidArgument { what: &'static str, expected: &'static str, found: String },
    #[error("ttl_seconds is for temporary variables, `{name}` is in scope {scope}")]
    TtlScope { name: Name, scope: Scope },
    #[error("type: {0}")]
    InvalidType(UnknownWord),
    #[error("value of `{name}` is {found}, which is not {expected}")]
    TypeMismatch { name: Name, expected: ValueType, found: hence_canon::Kind },
    #[error("{0}")]
    InvalidPath(#[from] InvalidPath),
    #[error("child {child} is incomplete")]
    ChildrenIncomplete { child: StateId },
    #[error("state already sees {VARIABLES_MAX} variables")]
    TooManyVariables,
    #[error("state has had {MUTATIONS_MAX} mutations, there are no more ids")]
    TooManyMutations,
    #[error("there is no variable `{name}`")]
    NotFound { name: Name },
    #[error("there is a variable `{name}` already")]
    NameTaken { name: Name },
    #[error("variable `{name}`: {fault}")]
    Load { name: Name, fault: LoadFault },
    #[error("there is a checkpoint {name:?} already")]
    DuplicateCheckpoint { name: Arc<str> },
    #[error("state already has {CHECKPOINTS_MAX} checkpoints")]
    TooManyCheckpoints,
    #[error("there is no checkpoint {name:?}")]
    CheckpointNotFound { name: Arc<str> },
    #[error("the snapshot of checkpoint {name:?} is missing")]
    SnapshotMissing { name: Arc<str> },
    #[error("`{name}` was also changed by {other_writer} since the checkpoint")]
    RollbackConflict { name: Name, other_writer: Author },
    #[error("{child} is not a child of {parent}")]
    NotAChild { parent: StateId, child: StateId },
    #[error("child {child} is {status}")]
    ChildUnfinished { child: StateId, status: Status },
    #[error("task tree may be {TREE_DEPTH_MAX} deep, this child would be at depth {depth}")]
    TooDeep { depth: u8 },
    #[error("{parent} already has {CHILDREN_MAX} children")]
    TooManyChildren { parent: StateId },
    #[error("task tree already has {TREE_NODES_MAX} tasks")]
    TooManyNodes,
    #[error("state {state} lives in run {run}")]
    LivesElsewhere { state: StateId, run: Arc<str> },
    #[error("the run is {status}: its variables can be read, and nothing changes them any more")]
    RunEnded { status: &'static str },
    #[error("clock went back from {last} to {now}")]
    ClockWentBack { last: Timestamp, now: Timestamp },
}

fn list(errors: &[SchemaError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Refusal {
    /// Returns the code other programs test for.
    pub fn code(&self) -> &'static str {
        self.code_and_rule().0
    }

    /// Returns the id of the rule that was broken. `ARG-1` is this crate's own: an argument of the wrong kind or size.
    pub fn rule(&self) -> &'static str {
        self.code_and_rule().1
    }

    fn code_and_rule(&self) -> (&'static str, &'static str) {
        match self {
            Self::NoState { .. } => ("no_state", "INIT-5"),
            Self::StateExists { .. } => ("already_exists", "INIT-4"),
            Self::MissingPrompt => ("missing_prompt", "INIT-1"),
            Self::PromptNotText { .. } => ("type_mismatch", "INIT-1"),
            Self::InvalidId(_) => ("invalid_id", "ID-1"),
            Self::InvalidConfig(_) => ("invalid_config", "CFG-1"),
            Self::Conflict { .. } => ("conflict", "CAS-1"),
            Self::Sealed { .. } => ("state_sealed", "SEAL-1"),
            Self::InvalidName(InvalidName::Malformed { .. }) => ("invalid_name", "NAME-1"),
            Self::InvalidName(InvalidName::TooLong { .. }) => ("name_too_long", "NAME-2"),
            Self::ReadOnly { name } if name.is_prompt() => ("read_only", "PROMPT-1"),
            Self::ReadOnly { .. } => ("read_only", "RO-1"),
            Self::Special { rule, .. } => ("special_variable", rule),
            Self::InvalidScope(_) => ("invalid_scope", "SCOPE-2"),
            Self::ScopeUnavailable { .. } => ("scope_unavailable", "SCOPE-3"),
            Self::InvalidArgument { what: "ttl_seconds", .. } => ("invalid_argument", "TTL-6"),
            Self::InvalidArgument { what: "checkpoint name", .. } => ("invalid_argument", "CK-3"),
            Self::InvalidArgument { what: "tree_id" | "session_id", .. } => ("invalid_argument", "TREE-5"),
            Self::InvalidArgument { .. } => ("invalid_argument", "ARG-1"),
            Self::TtlScope { .. } => ("ttl_scope", "TTL-5"),
            Self::InvalidType(_) => ("invalid_type", "TYPE-2"),
            Self::TypeMismatch { .. } => ("type_mismatch", "TYPE-1"),
            Self::InvalidPath(_) => ("invalid_path", "FILE-2"),
            Self::ChildrenIncomplete { .. } => ("children_incomplete", "TREE-2"),
            Self::TooManyVariables => ("limit_variables", "LIM-1"),
            Self::TooManyMutations => ("limit_history", "LIM-2"),
            Self::NotFound { .. } => ("not_found", "READ-2"),
            Self::NameTaken { .. } => ("already_exists", "RENAME-2"),
            Self::Load { fault, .. } => match fault {
                LoadFault::Missing(_) => ("file_missing", "FILE-4"),
                LoadFault::Corrupt { .. } => ("file_corrupt", "SPILL-7"),
                LoadFault::Escapes(_) => ("invalid_path", "FILE-2"),
                LoadFault::Unreadable { .. } => ("file_unreadable", "FILE-3"),
            },
            Self::DuplicateCheckpoint { .. } => ("duplicate_checkpoint", "CK-2"),
            Self::TooManyCheckpoints => ("limit_checkpoints", "LIM-3"),
            Self::CheckpointNotFound { .. } => ("checkpoint_not_found", "RB-2"),
            Self::SnapshotMissing { .. } => ("file_missing", "CK-1"),
            Self::RollbackConflict { .. } => ("rollback_conflict", "RB-10"),
            Self::NotAChild { .. } => ("not_found", "TREE-1"),
            Self::ChildUnfinished { status: Status::Incomplete, .. } => ("child_incomplete", "TREE-1"),
            Self::ChildUnfinished { .. } => ("child_failed", "TREE-1"),
            Self::TooDeep { .. } => ("limit_depth", "TREE-6"),
            Self::TooManyChildren { .. } => ("limit_children", "TREE-6"),
            Self::TooManyNodes => ("limit_nodes", "TREE-6"),
            Self::LivesElsewhere { .. } => ("state_elsewhere", "TREE-5"),
            Self::RunEnded { .. } => ("run_ended", "STATUS-2"),
            Self::ClockWentBack { .. } => ("invalid_argument", "TTL-8"),
        }
    }
}
