//! The audit log of the reference implementation: its hashes, its chain, its sanitising, for reading and checking
//! logs that were written elsewhere. Runs of this project are recorded by their journal.

mod chain;
mod hash;
mod sanitize;

pub use chain::{Link, Verification, link, verify};
pub use hash::{ascii_json, hmac_sha256, stable_hash};
pub use sanitize::{ITEMS_MAX, TEXT_CHARACTERS_MAX, sanitize};
