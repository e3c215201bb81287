//! What kind of thing stands where in a document. The schema check reads this table; nothing else says it.

use crate::Name;
use crate::words::{ExecutionMode, Operation, Scope, Status, ValueType};
use crate::{CheckpointId, MutationId, StateId, TreeId};

/// What a value must be.
pub(super) enum Shape {
    Any,
    Text,
    Formed(Form),
    NullOrFormed(Form),
    Word(&'static [&'static str]),
    Boolean,
    Integer { minimum: Option<u32> },
    Number { minimum: u32, maximum: u32 },
    List(&'static Shape),
    Object(ObjectShape),
    NullOr(&'static Shape),
}

pub(super) struct ObjectShape {
    pub(super) required: &'static [&'static str],
    pub(super) members: &'static [(&'static str, &'static Shape)],
    /// What members not listed must be.
    pub(super) others: &'static Shape,
}

/// How a text must look.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Version,
    StateId,
    TreeId,
    MutationId,
    CheckpointId,
    Identifier,
    DateTime,
}

impl Form {
    pub(super) fn matches(self, text: &str) -> bool {
        match self {
            Self::Version => is_version(text),
            Self::StateId => text.parse::<StateId>().is_ok(),
            Self::TreeId => text.parse::<TreeId>().is_ok(),
            Self::MutationId => text.parse::<MutationId>().is_ok(),
            Self::CheckpointId => text.parse::<CheckpointId>().is_ok(),
            Self::Identifier => Name::is_identifier(text),
            Self::DateTime => text.parse::<crate::Timestamp>().is_ok(),
        }
    }

    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Version => "a version `1.x.y`",
            Self::StateId => "`state-` and eight lower-case hex digits",
            Self::TreeId => "`tree-` and eight lower-case hex digits",
            Self::MutationId => "`mut-` and eight lower-case hex digits",
            Self::CheckpointId => "`ckpt-` and eight lower-case hex digits",
            Self::Identifier => "an identifier of ASCII letters, digits and underscores",
            Self::DateTime => "an RFC 3339 date and time with offset",
        }
    }
}

fn is_version(text: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split('.');
    parts.next() == Some("1")
        && parts.next().is_some_and(number)
        && parts.next().is_some_and(number)
        && parts.next().is_none()
}

static ANY: Shape = Shape::Any;
static TEXT: Shape = Shape::Text;
static BOOLEAN: Shape = Shape::Boolean;
static COUNT: Shape = Shape::Integer { minimum: Some(0) };
static INTEGER: Shape = Shape::Integer { minimum: None };
static DATE_TIME: Shape = Shape::Formed(Form::DateTime);

pub(super) static DOCUMENT: Shape = Shape::Object(ObjectShape {
    required: &["version", "state_id", "variables"],
    members: &[
        ("version", &Shape::Formed(Form::Version)),
        ("state_id", &Shape::Formed(Form::StateId)),
        ("session_id", &TEXT),
        ("tree_id", &Shape::NullOrFormed(Form::TreeId)),
        ("variables", &VARIABLE_STORE),
        ("history", &HISTORY),
        ("metadata", &METADATA),
    ],
    others: &ANY,
});

static VARIABLE_STORE: Shape = Shape::Object(ObjectShape {
    required: &[],
    members: &[("Final", &Shape::NullOr(&VARIABLE))],
    others: &VARIABLE,
});

static VARIABLE: Shape = Shape::Object(ObjectShape {
    required: &["name", "value", "type"],
    members: &[
        ("name", &Shape::Formed(Form::Identifier)),
        ("value", &ANY),
        ("type", &Shape::Word(ValueType::WORDS)),
        ("description", &TEXT),
        ("source", &TEXT),
        ("created_at", &DATE_TIME),
        ("updated_at", &DATE_TIME),
        ("access_count", &COUNT),
        ("metadata", &VARIABLE_METADATA),
    ],
    others: &ANY,
});

static VARIABLE_METADATA: Shape = Shape::Object(ObjectShape {
    required: &[],
    members: &[("read_only", &BOOLEAN), ("scope", &Shape::Word(Scope::WORDS)), ("ttl_seconds", &COUNT)],
    others: &ANY,
});

static HISTORY: Shape = Shape::Object(ObjectShape {
    required: &[],
    members: &[("mutations", &Shape::List(&MUTATION)), ("checkpoints", &Shape::List(&CHECKPOINT))],
    others: &ANY,
});

static MUTATION: Shape = Shape::Object(ObjectShape {
    required: &["mutation_id", "operation", "variable_name", "timestamp"],
    members: &[
        ("mutation_id", &Shape::Formed(Form::MutationId)),
        ("operation", &Shape::Word(Operation::WORDS)),
        ("variable_name", &TEXT),
        ("source", &TEXT),
        ("timestamp", &DATE_TIME),
        ("metadata", &MUTATION_METADATA),
    ],
    others: &ANY,
});

static MUTATION_METADATA: Shape = Shape::Object(ObjectShape {
    required: &[],
    members: &[("reason", &TEXT), ("task_node_id", &TEXT)],
    others: &ANY,
});

static CHECKPOINT: Shape = Shape::Object(ObjectShape {
    required: &["checkpoint_id", "name", "timestamp"],
    members: &[
        ("checkpoint_id", &Shape::Formed(Form::CheckpointId)),
        ("name", &TEXT),
        ("timestamp", &DATE_TIME),
        ("snapshot_path", &TEXT),
        ("description", &TEXT),
    ],
    others: &ANY,
});

static METADATA: Shape = Shape::Object(ObjectShape {
    required: &[],
    members: &[
        ("created_at", &DATE_TIME),
        ("last_updated_at", &DATE_TIME),
        ("variable_count", &COUNT),
        ("mutation_count", &COUNT),
        ("checkpoint_count", &COUNT),
        ("total_size_bytes", &COUNT),
        ("execution_config", &EXECUTION_CONFIG),
        ("completion_status", &Shape::Word(Status::WORDS)),
    ],
    others: &ANY,
});

pub(super) static EXECUTION_CONFIG: Shape = Shape::Object(ObjectShape {
    required: &[],
    members: &[
        ("model", &TEXT),
        ("temperature", &Shape::Number { minimum: 0, maximum: 2 }),
        ("seed", &INTEGER),
        ("execution_mode", &Shape::Word(ExecutionMode::WORDS)),
        ("context_window_tokens", &Shape::Integer { minimum: Some(1000) }),
    ],
    others: &ANY,
});
