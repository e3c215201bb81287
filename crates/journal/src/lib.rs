//! The journal of a run: typed records, the hash chain that binds them, and its verification.
//!
//! A journal is a sequence of lines. Each is the canonical form of one record and a line feed; each record but
//! the first names the hash of the one before. `docs/format.md` is the page of this format, byte by byte.
//!
//! - [`Record::seal`] gives a record its index and its hash; nothing else makes lines.
//! - [`Reader`] reads lines back into typed records; [`Fold`] turns them into the state.
//! - [`verify`] reports which levels hold, where a journal first breaks, and what no hash chain can show.
//!
//! This crate does no I/O: files, locks and syncs belong to the store.
//!
//! ```
//! use hence_canon::Digest;
//! use hence_journal::{Header, Record, verify};
//! use hence_state::{ProfileName, Timestamp};
//!
//! let header = Record::Header(Header {
//!     version: "1.0.0".into(),
//!     trace_id: "req-1".into(),
//!     created_at: Timestamp::parse("2026-02-02T00:00:00Z")?,
//!     engine_version: "0.1.0".into(),
//!     problem_spec_hash: Digest::of(b"{}"),
//!     initial_state_hash: Digest::of(b"{}"),
//!     profile: ProfileName::Compat,
//!     clock: None,
//! });
//! let sealed = header.seal(None);
//! let chain = verify::check_chain(sealed.line(), std::num::NonZeroUsize::MIN);
//! assert_eq!(chain.head, Some(sealed.head()));
//! # Ok::<(), hence_state::InvalidTimestamp>(())
//! ```

mod active_path;
mod checkpoints;
mod durability;
mod fold;
mod head;
mod reader;
mod record;
mod tail;
pub mod verify;

pub use active_path::ActivePath;
pub use checkpoints::{
    CHECKPOINT_NAME_BYTES_MAX, CHECKPOINTS_MAX, CheckpointError, Checkpoints, INITIAL_STATE, positions,
};
pub use durability::Durability;
pub use fold::{Fold, FoldError};
pub use head::{Head, InvalidAnchor, RecordCount, RecordIndex};
pub use reader::{Lines, ReadError, Reader};
pub use record::{
    CANONICALIZATION, Chained, CheckpointControl, ClockSource, Control, DecodeError, HASH_ALGORITHM, Header,
    JOURNAL_VERSION, LINE_BYTES_MAX, Line, LineError, LoopAction, LoopControl, Record, RollbackControl,
    Sealed, StepRecord,
};
pub use tail::{Tail, TailError, read_tail};
