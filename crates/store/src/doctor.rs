//! Checks and repairs of a store.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use hence_canon::Digest;

use crate::{Cut, Damage, Holder, RunId, StoreError};

/// Checks a store, and repairs what can be repaired without losing anything that was acknowledged.
pub trait Doctor {
    /// Checks everything and changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the store itself cannot be listed. Unreadable runs and blobs are findings.
    fn check(&self) -> Result<Report, StoreError>;

    /// Cuts torn tails of runs that are not being written, removes temporary files of interrupted writers, rebuilds the
    /// index, and reports what was done and what was not.
    ///
    /// Damaged runs and blobs are not changed: their bytes are evidence, and there is nothing to repair them from.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when a repair fails.
    fn repair(&self) -> Result<Repaired, StoreError>;
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The number of runs checked.
    pub runs: u64,
    /// The number of blobs read and hashed.
    pub blobs: u64,
    /// The findings, runs first, in order.
    pub findings: Vec<Finding>,
}

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// The changes, in order.
    pub done: Vec<Repair>,
    /// The findings that were not changed.
    pub left: Vec<Finding>,
}

/// A defect of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// An append was interrupted; opening the run for writing cuts it.
    UnfinishedAppend {
        /// The run.
        run: RunId,
        /// The bytes that will be cut.
        cut: Cut,
    },
    /// A journal cannot be appended to.
    DamagedRun {
        /// The run.
        run: RunId,
        /// The damage.
        reason: Damage,
    },
    /// A run is being written, so its end was not checked.
    RunInUse {
        /// The run.
        run: RunId,
        /// The holder of its lease.
        holder: Holder,
    },
    /// A file or folder could not be read.
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// A temporary file or folder of an interrupted writer.
    OrphanTemporary {
        /// The file or folder.
        path: PathBuf,
    },
    /// A file or folder that the store did not create.
    Stray {
        /// The file or folder.
        path: PathBuf,
    },
    /// A note next to a journal that is none. Nothing depends on it, and whatever it should have allowed is not allowed.
    WrongNote {
        /// The file.
        path: PathBuf,
        /// The defect of the note.
        reason: String,
    },
    /// A blob's bytes do not have the digest in its name. Storing the value again repairs it.
    CorruptBlob {
        /// Its name.
        digest: Digest,
        /// The digest of its bytes.
        found: Digest,
    },
    /// No journal and no attachment references the blob.
    UnreferencedBlob {
        /// Its name.
        digest: Digest,
        /// Its size.
        bytes: u64,
    },
    /// The index is missing, corrupt, or does not match the journals. The next listing rebuilds it.
    StaleIndex {
        /// The defect of the index.
        reason: String,
    },
    /// The index says of journals that have not changed since what they do not say. Listings believe it until it is rebuilt.
    ForgedIndex,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Nothing is lost and nothing needs doing.
    Harmless,
    /// A repair fixes it, and no acknowledged data is lost.
    Repairable,
    /// Stored bytes have changed or cannot be read.
    Damage,
}

impl Finding {
    /// Returns the severity.
    pub fn gravity(&self) -> Gravity {
        match self {
            Self::RunInUse { .. }
            | Self::Stray { .. }
            | Self::WrongNote { .. }
            | Self::UnreferencedBlob { .. }
            | Self::StaleIndex { .. } => Gravity::Harmless,
            Self::UnfinishedAppend { .. } | Self::OrphanTemporary { .. } | Self::ForgedIndex => {
                Gravity::Repairable
            }
            Self::DamagedRun { .. } | Self::Unreadable { .. } | Self::CorruptBlob { .. } => Gravity::Damage,
        }
    }
}

/// A change that a repair made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// An unfinished append was cut off.
    Cut {
        /// The run.
        run: RunId,
        /// The bytes that were cut.
        cut: Cut,
    },
    /// A temporary file or folder was removed.
    Removed {
        /// The path it had.
        path: PathBuf,
    },
    /// The index was rebuilt.
    IndexRebuilt {
        /// The number of runs in it.
        runs: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnfinishedAppend { run, cut } => {
                write!(out, "run {run}: {} bytes of an unfinished append at byte {}", cut.bytes, cut.offset)
            }
            Self::DamagedRun { run, reason } => write!(out, "run {run}: damaged: {reason}"),
            Self::RunInUse { run, holder } => {
                write!(out, "run {run}: being written by {holder}, its end was not judged")
            }
            Self::Unreadable { path, reason } | Self::WrongNote { path, reason } => {
                write!(out, "{}: {reason}", path.display())
            }
            Self::OrphanTemporary { path } => {
                write!(out, "{}: left behind by an interrupted writer", path.display())
            }
            Self::Stray { path } => write!(out, "{}: not put there by the store", path.display()),
            Self::CorruptBlob { digest, found } => {
                write!(out, "blob {digest}: damaged, its bytes have the digest {found}")
            }
            Self::UnreferencedBlob { digest, bytes } => {
                write!(out, "blob {digest}: {bytes} bytes that no run names")
            }
            Self::StaleIndex { reason } => write!(out, "index: {reason}"),
            Self::ForgedIndex => out.write_str("index: it says of journals what they do not say"),
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { run, cut } => write!(out, "run {run}: {cut}"),
            Self::Removed { path } => write!(out, "{}: removed", path.display()),
            Self::IndexRebuilt { runs } => write!(out, "index: rebuilt from {runs} journals"),
        }
    }
}

/// Returns the digests of the blobs that stored bytes name: every run of exactly 64 lower-case hex digits.
pub fn named_blobs(bytes: &[u8]) -> BTreeSet<Digest> {
    let mut references = References::default();
    references.read(bytes);
    references.finish();
    references.found
}

/// Collects the blobs that stored bytes reference, from bytes that arrive piece by piece.
///
/// Records are opaque to a store, so every run of exactly 64 lower-case hex digits counts as a reference. A blob that
/// nothing means may count as referenced; a blob that something means never counts as unreferenced.
#[derive(Debug, Default)]
pub struct References {
    found: BTreeSet<Digest>,
    /// The hex digits since the last other byte, cut after one more digit than a digest has.
    digits: Vec<u8>,
}

impl References {
    /// Searches the next piece.
    pub fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'0'..=b'9' | b'a'..=b'f' => {
                    if self.digits.len() <= Digest::HEX_BYTES {
                        self.digits.push(*byte);
                    }
                }
                _ => self.finish(),
            }
        }
    }

    /// Ends a file, so that its last digits are not joined with the first ones of the next file.
    pub fn finish(&mut self) {
        self.found.extend(Digest::from_hex(&self.digits));
        self.digits.clear();
    }

    /// Returns whether the bytes so far reference the blob.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.found.contains(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_found_across_pieces_and_only_whole() {
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        let text = format!("{{\"sha256\":\"{one}\"}} 0{two} {}", &two.to_string()[1..]);
        for cut in 0..text.len() {
            let mut references = References::default();
            references.read(&text.as_bytes()[..cut]);
            references.read(&text.as_bytes()[cut..]);
            references.finish();
            assert!(references.contains(&one));
            assert!(!references.contains(&two));
        }
        let mut references = References::default();
        references.read(two.to_string().as_bytes());
        references.finish();
        assert!(references.contains(&two));
    }
}
