//! The limits of a state, each with its reason.

/// The largest number of variables a state may see, `Final` and `prompt` included.
///
/// A state is read whole by people and models; past this it is a database, and should be one.
pub const VARIABLES_MAX: usize = 1000;

/// The longest name of a variable. Names are ASCII, so characters are bytes.
pub const NAME_BYTES_MAX: usize = 128;

/// The largest value stored inside the state; anything above goes to a file named by its digest.
///
/// 10 KiB keeps a state document and a journal record readable and cheap to rewrite.
pub const INLINE_VALUE_BYTES_MAX: u64 = 10 * 1024;

/// The largest number of log entries in a state document. Older ones stay in the journal.
pub const HISTORY_ENTRIES_MAX: usize = 10_000;

/// The largest number of checkpoints of a state, `initial_state` included.
///
/// The next one is refused rather than the oldest dropped: dropping would break a promised way back.
pub const CHECKPOINTS_MAX: usize = 100;

/// The largest depth of a task tree; the root is at depth 0.
pub const TREE_DEPTH_MAX: u8 = 5;

/// The largest number of children of one task.
pub const CHILDREN_MAX: usize = 10;

/// The largest number of tasks in one tree, the root included.
pub const TREE_NODES_MAX: usize = 100;

/// The longest session id: it becomes the name of a folder.
pub const SESSION_ID_BYTES_MAX: usize = 128;

/// The largest number of mutations a state can ever have: their ids are eight hex digits.
pub const MUTATIONS_MAX: u64 = u32::MAX as u64;

/// The deepest nesting of a value.
///
/// A value is recorded inside an event, inside a record, and listed inside a document; each must still be readable
/// under the parser's own limit.
pub const VALUE_DEPTH_MAX: usize = 96;

/// The longest description, source, reason or name of a checkpoint.
///
/// Such texts are recorded with every change they belong to and never move to a file.
pub const REMARK_BYTES_MAX: usize = 10 * 1024;

/// The levels a document adds around a value, and an event around a document.
pub(crate) const WRAPPING_DEPTH: usize = 16;

const _: () = assert!(VALUE_DEPTH_MAX + WRAPPING_DEPTH < hence_canon::DEPTH_MAX);
const _: () = assert!(HISTORY_ENTRIES_MAX as u64 <= MUTATIONS_MAX);
const _: () = assert!(CHILDREN_MAX < TREE_NODES_MAX);
