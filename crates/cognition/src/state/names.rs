//! Names that many records list.

use std::sync::Arc;

/// References a step reads or targets it writes. They are found once, when a skill is read; every record of the step
/// shares them.
pub type Names = Arc<[Arc<str>]>;
