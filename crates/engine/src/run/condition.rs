//! What a stop condition's path means in a state.

use hence_canon::Value;
use hence_state::Artifacts;

use crate::blob::{self, BlobError, Blobs};

/// Returns what a dotted path such as `artifacts.verification.status` names, newest values first.
///
/// Only objects are walked: a list, a scalar or a missing member on the way names nothing.
pub(super) fn resolve(
    path: &str,
    artifacts: &Artifacts,
    blobs: &dyn Blobs,
) -> Result<Option<Value>, BlobError> {
    let mut tokens = path.split('.');
    if tokens.next() != Some("artifacts") {
        return Ok(None);
    }
    let Some(newest) = tokens.next().and_then(|key| artifacts.newest(key)) else { return Ok(None) };
    let value = blob::resolve(newest, blobs)?;
    Ok(tokens.try_fold(value, |value, token| value.get(token).cloned()))
}
