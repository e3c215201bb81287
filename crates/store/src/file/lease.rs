//! Leases: who may write a run.

use std::time::Duration;

use super::checked_disk::{CheckedDisk, OpenFile};
use super::disk::{Access, LockOutcome};
use super::layout::RunFolder;
use crate::{DiskError, DiskErrorKind, Holder, Lease};

/// How often a lock is tried. Asking whether a lease is held takes the lock for a moment, and such a moment
/// must not turn a writer away.
const TRIES_MAX: u32 = 10;

/// How long to wait between two tries.
const TRY_PAUSE: Duration = Duration::from_millis(1);

/// Longest holder name that is read back.
const HOLDER_BYTES_MAX: u64 = 256;

/// A lock that is held until this is dropped. The system gives it back when the process dies.
#[derive(Debug)]
pub(crate) struct HeldLock(OpenFile);

impl HeldLock {
    /// Takes over a lock file that is locked, and leaves this process's name in it.
    pub(crate) fn new(lock: OpenFile, disk: &CheckedDisk) -> Self {
        // The name helps people and decides nothing, so failing to leave it is no failure.
        let name = disk.holder_name();
        let _ = lock.truncate(0).and_then(|()| lock.write_at(0, name.as_bytes()));
        Self(lock)
    }

    /// Remembers where the lock file lies after its folder was renamed.
    #[must_use]
    pub(crate) fn moved_to(mut self, folder: &RunFolder) -> Self {
        self.0 = self.0.moved_to(folder.lock());
        self
    }
}

/// Tries to take the lock of a run.
pub(crate) fn take(disk: &CheckedDisk, folder: &RunFolder) -> Result<Result<HeldLock, Holder>, DiskError> {
    let lock = disk.open(&folder.lock(), Access::WriteOrCreate)?;
    for _ in 1..TRIES_MAX {
        if lock.try_lock()? == LockOutcome::Taken {
            return Ok(Ok(HeldLock::new(lock, disk)));
        }
        std::thread::sleep(TRY_PAUSE);
    }
    match lock.try_lock()? {
        LockOutcome::Taken => Ok(Ok(HeldLock::new(lock, disk))),
        LockOutcome::HeldElsewhere => Ok(Err(holder_of(&lock))),
    }
}

/// Tells whether the lock of a run is held.
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
