//! Leases: the right to write a run.

use std::time::Duration;

use super::checked_disk::{CheckedDisk, OpenFile};
use super::disk::{Access, LockOutcome};
use super::layout::RunFolder;
use crate::{DiskError, DiskErrorKind, Holder, Lease};

/// The attempts to take a lock. A check whether a lease is held takes the lock for a moment, and such a moment
/// must not refuse a writer.
const ATTEMPTS_MAX: u32 = 10;

/// The pause between two attempts.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(1);

/// The longest holder name that is read.
const HOLDER_BYTES_MAX: u64 = 256;

/// A lock that is held until this is dropped. The system releases it when the process dies.
#[derive(Debug)]
pub(crate) struct HeldLock(OpenFile);

impl HeldLock {
    /// Wraps a lock file that is locked, and writes this process's name into it.
    pub(crate) fn new(lock: OpenFile, disk: &CheckedDisk) -> Self {
        // The name only informs people, so a failure to write it is ignored.
        let name = disk.holder_name();
        let _ = lock.truncate(0).and_then(|()| lock.write_at(0, name.as_bytes()));
        Self(lock)
    }

    /// Returns the lock with its new path after its folder was renamed.
    #[must_use]
    pub(crate) fn moved_to(mut self, folder: &RunFolder) -> Self {
        self.0 = self.0.moved_to(folder.lock());
        self
    }
}

/// Tries to take the lock of a run.
pub(crate) fn take(disk: &CheckedDisk, folder: &RunFolder) -> Result<Result<HeldLock, Holder>, DiskError> {
    let lock = disk.open(&folder.lock(), Access::WriteOrCreate)?;
    for _ in 1..ATTEMPTS_MAX {
        if lock.try_lock()? == LockOutcome::Taken {
            return Ok(Ok(HeldLock::new(lock, disk)));
        }
        std::thread::sleep(ATTEMPT_PAUSE);
    }
    match lock.try_lock()? {
        LockOutcome::Taken => Ok(Ok(HeldLock::new(lock, disk))),
        LockOutcome::HeldElsewhere => Ok(Err(holder_of(&lock))),
    }
}

/// Returns whether the lock of a run is held.
pub(crate) fn probe(disk: &CheckedDisk, folder: &RunFolder) -> Result<Lease, DiskError> {
    let lock = match disk.open(&folder.lock(), Access::Read) {
        Err(error) if error.kind == DiskErrorKind::Missing => return Ok(Lease::Free),
        outcome => outcome?,
    };
    match lock.try_lock()? {
        LockOutcome::Taken => Ok(Lease::Free),
        LockOutcome::HeldElsewhere => Ok(Lease::Held(holder_of(&lock))),
    }
}

fn holder_of(lock: &OpenFile) -> Holder {
    let name = lock.read_range(0, HOLDER_BYTES_MAX).unwrap_or_default();
    match str::from_utf8(&name) {
        Ok(name) if !name.is_empty() => Holder::Named(name.to_owned()),
        _ => Holder::Unknown,
    }
}
