//! The limits of a state, each with its reason.

/// How many variables a state may see, `Final` and `prompt` included.
///
/// A state is read whole by people and models; past this it is a database, and should be one.
pub const VARIABLES_MAX: usize = 1000;

/// How long a variable's name may be. Names are ASCII, so characters are bytes.
pub const NAME_BYTES_MAX: usize = 128;

/// The largest value kept inside the state; anything above goes to a file named by its digest.
///
/// 10 KiB keeps a state document and a journal record readable and cheap to rewrite.
pub const INLINE_VALUE_BYTES_MAX: u64 = 10 * 1024;

/// How many log entries a state document lists. Older ones stay in the journal.
pub const HISTORY_ENTRIES_MAX: usize = 10_000;

/// How many checkpoints a state may have, `initial_state` included.
///
/// The next one is refused rather than the oldest dropped: dropping would break a promised way back.
pub const CHECKPOINTS_MAX: usize = 100;

/// How deep a task tree may be; the root is at depth 0.
pub const TREE_DEPTH_MAX: u8 = 5;

/// How many children one task may have.
pub const CHILDREN_MAX: usize = 10;

/// How many tasks one tree may have, the root included.
pub const TREE_NODES_MAX: usize = 100;

/// How long a session id may be: it becomes the name of a folder.
pub const SESSION_ID_BYTES_MAX: usize = 128;

/// How many mutations a state can ever have: their ids are eight hex digits.
pub const MUTATIONS_MAX: u64 = u32::MAX as u64;

/// How deep a value may nest.
///
/// A value is recorded inside an event, inside a record, and listed inside a document; each must still be readable
/// under the parser's own limit.
pub const VALUE_DEPTH_MAX: usize = 96;

/// How long a description, a source, a reason or the name of a checkpoint may be.
///
/// They are recorded with every change they belong to and never move to a file.
pub const REMARK_BYTES_MAX: usize = 10 * 1024;

/// The levels a document adds around a value, and an event around a document.
pub(crate) const WRAPPING_DEPTH: usize = 16;

const _: () = assert!(VALUE_DEPTH_MAX + WRAPPING_DEPTH < hence_canon::DEPTH_MAX);
const _: () = assert!(HISTORY_ENTRIES_MAX as u64 <= MUTATIONS_MAX);
const _: () = assert!(CHILDREN_MAX < TREE_NODES_MAX);
