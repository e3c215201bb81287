//! Bounds on what rides along with a change: texts of people, and the depth of values.

use std::sync::Arc;

use hence_canon::Value;

use crate::limits::{REMARK_BYTES_MAX, VALUE_DEPTH_MAX};
use crate::{Op, Origin, Refusal};

/// Refuses an operation whose remarks are too long to be recorded.
pub(super) fn check(op: &Op) -> Result<(), Refusal> {
    match op {
        Op::Set(set) => {
            origin(&set.origin)?;
            remark("description", set.description.as_ref())
        }
        Op::Delete(delete) => origin(&delete.origin),
        Op::Rename(rename) => origin(&rename.origin),
        Op::Checkpoint(take) => {
            remark("checkpoint name", Some(&take.name))?;
            remark("description", take.description.as_ref())
        }
        Op::Fail { reason } | Op::Cancel { reason } => remark("reason", reason.as_ref()),
        _ => Ok(()),
    }
}

fn origin(origin: &Origin) -> Result<(), Refusal> {
    remark("source", origin.source.as_ref())?;
    remark("reason", origin.reason.as_ref())?;
    remark("task_node_id", origin.task_node_id.as_ref())
}

fn remark(what: &'static str, text: Option<&Arc<str>>) -> Result<(), Refusal> {
    match text.map(|text| text.len()) {
        Some(length) if length > REMARK_BYTES_MAX => {
            let found = format!("{length} bytes");
            Err(Refusal::InvalidArgument { what, expected: "at most 10240 bytes", found })
        }
        _ => Ok(()),
    }
}

/// Refuses a value that could be written and not read back.
pub(super) fn check_depth(what: &'static str, value: &Value) -> Result<(), Refusal> {
    let depth = value.depth();
    if depth <= VALUE_DEPTH_MAX {
        return Ok(());
    }
    let found = format!("{depth} levels");
    Err(Refusal::InvalidArgument { what, expected: "nesting of at most 96 levels", found })
}
