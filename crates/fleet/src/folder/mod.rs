//! A queue in a folder, for the processes of one machine.
//!
//! ```text
//! queue/lock      locked for each change
//! queue/log       the rows of the queue
//! queue/log.new   a shorter log that is being made
//! ```
//!
//! The log is a header line and, for each change, one line with the rows that changed (see the `log` module). A change takes the
//! lock, reads the lines that others appended, decides, and appends its own line. When the log is much longer than its rows, it
//! is replaced by one that holds each row once.
//!
//! # What is on disk if the process dies here?
//!
//! | dies | on disk |
//! |---|---|
//! | before the line is written | the old queue |
//! | while it is written | the old queue and a part of a line, which readers ignore and the next change cuts off and reports |
//! | before it is synced | the new queue; power loss may take back the line |
//! | later | the new queue |
//! | while `log.new` is written | the queue, and a `log.new` that the next one overwrites |
//! | after it was renamed | the same queue in a shorter log |
//!
//! What a person was told (submitted, woken, cancelled, paused, limited, scheduled) is synced before it is acknowledged, with
//! every line before it. Claims, heartbeats and reports of workers are not: power loss ends the workers too.

mod inspect;
mod log;
mod log_file;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::{Clock, SystemClock};
use crate::error::{QueueError, Refusal};
use crate::hosted::{Host, HostedQueue, Promise};
use crate::names::Time;
use crate::state::QueueState;
pub use inspect::FolderFinding;
use log_file::{Loaded, LogFile};

/// The longest wait for the lock. A change takes milliseconds; a holder that takes longer is stopped or hangs.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The pause between two tries to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// A queue in a folder.
pub type FolderQueue = HostedQueue<Folder>;

/// The end of a log that was cut off, because a process died while it wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutTail {
    /// The log.
    pub log: PathBuf,
    /// The number of bytes that are left.
    pub kept: u64,
    /// The number of bytes that were cut off.
    pub cut: u64,
}

impl fmt::Display for CutTail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log, kept, cut } = self;
        write!(out, "{}: {cut} bytes of an unfinished change were cut off after byte {kept}", log.display())
    }
}

/// The folder of a [`FolderQueue`].
pub struct Folder {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    lock_wait: Duration,
    loaded: Mutex<Option<Loaded>>,
    cuts: Mutex<Vec<CutTail>>,
}

impl FolderQueue {
    /// Returns the queue in a folder, with the clock of this machine. The folder is made by the first change.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self::with_clock(folder, Arc::new(SystemClock))
    }

    /// Returns the queue in a folder, with a clock of its own.
    pub fn with_clock(folder: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let (loaded, cuts) = (Mutex::default(), Mutex::default());
        Self(Folder { path: folder.into(), clock, lock_wait: LOCK_WAIT, loaded, cuts })
    }

    /// Sets the longest wait for the lock.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.0.lock_wait = wait;
        self
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.0.path
    }

    /// Returns what was cut off since the last call, for somebody to report.
    pub fn take_cuts(&self) -> Vec<CutTail> {
        self.0.take_cuts()
    }

    /// Lists what is wrong in the folder: a log that cannot be read, links, pipes and folders in the place of files, and
    /// names that no queue writes. Nothing is changed.
    pub fn inspect(&self) -> Vec<FolderFinding> {
        inspect::inspect(&self.0.path)
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Folder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Folder {
    fn take_cuts(&self) -> Vec<CutTail> {
        std::mem::take(&mut *self.cuts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn log(&self) -> LogFile<'_> {
        LogFile { folder: &self.path }
    }

    /// Takes the lock that makes changes exclusive; it ends with the file.
    fn lock(&self) -> Result<File, QueueError> {
        log_file::make_folder(&self.path)?;
        let path = self.path.join("lock");
        let file = log_file::open_plain(&path, log_file::Mode::WriteOrCreate)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(std::fs::TryLockError::WouldBlock) if start.elapsed() < self.lock_wait => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(QueueError::Locked { path, seconds: self.lock_wait.as_secs() });
                }
                Err(std::fs::TryLockError::Error(error)) => {
                    return Err(log_file::failed("lock", &path, error));
                }
            }
        }
    }
}

impl Host for Folder {
    fn now(&self) -> Result<Time, QueueError> {
        Ok(self.clock.now())
    }

    fn version(&self) -> u64 {
        self.log().version()
    }

    fn take_remarks(&self) -> Vec<String> {
        self.take_cuts().iter().map(ToString::to_string).collect()
    }

    fn read<T>(&self, look: impl FnOnce(&QueueState) -> T) -> Result<T, QueueError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        *loaded = self.log().refresh(loaded.take())?;
        Ok(match &*loaded {
            Some(loaded) => look(&loaded.state),
            None => look(&QueueState::new()),
        })
    }

    fn change<T>(
        &self,
        promise: Promise,
        edit: impl FnOnce(&mut QueueState, Time) -> Result<T, Refusal>,
    ) -> Result<T, QueueError> {
        let mut slot = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = self.lock()?;
        let log = self.log();
        let mut loaded = match log.refresh(slot.take())? {
            Some(loaded) => loaded,
            None => log.create(&QueueState::new())?,
        };
        if let Some(cut) = log.cut_tail(&mut loaded)? {
            self.cuts.lock().unwrap_or_else(PoisonError::into_inner).push(cut);
        }
        let value = match edit(&mut loaded.state, self.clock.now()) {
            Ok(value) => value,
            Err(refusal) => {
                loaded.state.undo();
                *slot = Some(loaded);
                return Err(refusal.into());
            }
        };
        // After an error the slot stays empty: what is on disk is read again by the next operation.
        log.append(&mut loaded, promise)?;
        loaded.state.commit();
        if loaded.is_worth_shortening() {
            // The change is stored; a log that cannot be shortened is only long.
            loaded = log.create(&loaded.state).unwrap_or(loaded);
        }
        *slot = Some(loaded);
        drop(lock);
        Ok(value)
    }
}
