//! The writer of one run.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use hence_journal::Head;
use hence_store::implementation::{check_lines, whole_lines};
use hence_store::{
    AppendError, AttachmentName, DatabaseError, DatabaseErrorKind, Durability, RunId, RunWriter, SideLog,
    StoreError,
};

use crate::attachments;
use crate::commit::Ended;
use crate::failure::damaged;
use crate::journal_append::{JournalAppend, JournalRefusal};
use crate::lease::{Fence, HeldLease};
use crate::rows::to_u64_length;
use crate::runs::{Granted, RunKey};
use crate::side_append::{SideAppend, SideRefusal};

/// Writes the row of a run without changing it: the commit makes everything before it durable.
const TOUCH: &str = "update {schema}.run set updated_at = clock_timestamp() \
     where key = $1 and epoch = $2 and lease_token = $3 returning key";

/// The writer of a run, which holds its lease.
pub(crate) struct PostgresWriter {
    lease: Arc<HeldLease>,
    location: Arc<str>,
    head: Head,
    journal_bytes: u64,
    /// The first failure, after which nothing is known about the end of the journal.
    failed: Option<Arc<AppendError>>,
}

impl PostgresWriter {
    pub(crate) fn new(lease: Arc<HeldLease>, location: &str, granted: &Granted) -> Self {
        let (head, journal_bytes) = (granted.head, granted.journal_bytes);
        Self { lease, location: location.into(), head, journal_bytes, failed: None }
    }

    fn check_poison(&self) -> Result<(), AppendError> {
        match &self.failed {
            Some(cause) => Err(AppendError::Poisoned { run: self.lease.run.clone(), cause: cause.clone() }),
            None => Ok(()),
        }
    }

    fn fail(&mut self, error: AppendError) -> AppendError {
        self.failed = Some(Arc::new(error.clone()));
        error
    }

    fn unconfirmed(&mut self, source: DatabaseError) -> AppendError {
        self.fail(AppendError::Unconfirmed { run: self.lease.run.clone(), source })
    }

    fn refused(&mut self, refusal: JournalRefusal) -> AppendError {
        let run = self.lease.run.clone();
        match refusal {
            JournalRefusal::Fenced(holder) => self.fail(AppendError::Fenced { run, holder }),
            JournalRefusal::Removed => {
                let source = damaged(&self.location, format!("run {run} was removed while it was written"));
                self.unconfirmed(source)
            }
            JournalRefusal::Moved { found, bytes } if bytes < self.journal_bytes => {
                let source = damaged(
                    &self.location,
                    format!(
                        "the server lost records that were appended without waiting for its disk: \
                         it has {found}, this writer left {}",
                        self.head
                    ),
                );
                self.unconfirmed(source)
            }
            JournalRefusal::Moved { bytes, .. } => {
                let expected = self.journal_bytes;
                self.fail(AppendError::ModifiedExternally { run, expected, found: bytes })
            }
        }
    }
}

impl RunWriter for PostgresWriter {
    fn run(&self) -> &RunId {
        &self.lease.run
    }

    fn head(&self) -> Head {
        self.head
    }

    fn append(&mut self, expected: Head, lines: &[u8], durability: Durability) -> Result<Head, AppendError> {
        self.check_poison()?;
        if expected != self.head {
            return Err(AppendError::HeadMoved { expected, found: self.head });
        }
        let checked = check_lines(lines, self.head.records)?;
        let outcome = self.lease.engine.append(|reply| JournalAppend {
            location: self.location.clone(),
            fence: self.lease.fence,
            expected,
            at: self.journal_bytes,
            lines: lines.to_vec(),
            head: checked.head,
            durability,
            reply,
        });
        match outcome {
            Ok(Ok(())) => {
                self.head = checked.head;
                self.journal_bytes += to_u64_length(lines.len());
                Ok(self.head)
            }
            Ok(Err(Ended::Refused(refusal))) => Err(self.refused(refusal)),
            Ok(Err(Ended::Failed(source))) | Err(source) => Err(self.unconfirmed(source)),
        }
    }

    fn sync(&mut self) -> Result<(), AppendError> {
        self.check_poison()?;
        let (run, fence) = (self.lease.run.clone(), self.lease.fence);
        let outcome = self.lease.engine.call(move |engine| async move {
            let Fence { run: key, epoch, token } = fence;
            let settled = engine
                .attempt_write(async |session| session.query_opt(TOUCH, &[&key, &epoch, &&token[..]]).await)
                .await?;
            match settled {
                Some(_) => Ok(()),
                None => Err(attachments::fenced(&engine, &run, fence).await?),
            }
        });
        outcome.map_err(|error| match error {
            StoreError::Fenced { run, holder } => self.fail(AppendError::Fenced { run, holder }),
            StoreError::Database(source) => self.unconfirmed(source),
            other => {
                let source = damaged(&self.location, other.to_string());
                self.unconfirmed(source)
            }
        })
    }

    fn attach(
        &mut self,
        name: &AttachmentName,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), StoreError> {
        let (run, fence) = (self.lease.run.clone(), self.lease.fence);
        let (name, bytes) = (name.clone(), bytes.to_vec());
        self.lease.engine.call(move |engine| async move {
            attachments::attach(&engine, &run, fence, &name, &bytes, durability).await.map(|_| ())
        })
    }

    fn detach(&mut self, name: &AttachmentName) -> Result<(), StoreError> {
        let (run, fence, name) = (self.lease.run.clone(), self.lease.fence, name.clone());
        self.lease
            .engine
            .call(move |engine| async move { attachments::detach(&engine, &run, fence, &name).await })
    }

    fn side_log(&mut self, name: &AttachmentName) -> Result<Box<dyn SideLog>, StoreError> {
        let (run, fence, log_name) = (self.lease.run.clone(), self.lease.fence, name.clone());
        let stored = self.lease.engine.call(move |engine| async move {
            let location = &engine.target.location;
            let key = RunKey(fence.run);
            let found = engine
                .attempt(async |session| attachments::find(session, location, key, log_name.as_str()).await)
                .await?;
            let bytes = match found {
                Some(stored) => {
                    let end = stored.bytes;
                    // Lines are short: the last line feed is nearly always in the last bytes.
                    let start = end.saturating_sub(TAIL_BYTES);
                    let tail = attachments::read_range(&engine, key, &log_name, start, end).await?;
                    let tail = tail.map(|(bytes, _)| bytes).unwrap_or_default();
                    if whole_lines(&tail) == tail.len() {
                        return Ok(stored);
                    }
                    let whole = attachments::read_range(&engine, key, &log_name, 0, end).await?;
                    let mut whole = whole.map(|(bytes, _)| bytes).unwrap_or_default();
                    whole.truncate(whole_lines(&whole));
                    whole
                }
                None => Vec::new(),
            };
            let revision =
                attachments::attach(&engine, &run, fence, &log_name, &bytes, Durability::Synced).await?;
            Ok(attachments::Stored { revision, bytes: to_u64_length(bytes.len()) })
        })?;
        Ok(Box::new(PostgresSideLog {
            lease: self.lease.clone(),
            location: self.location.clone(),
            name: name.clone(),
            revision: stored.revision,
            state: Mutex::new(LogState { bytes: stored.bytes, ..LogState::default() }),
            changed: Condvar::new(),
        }))
    }
}

/// The bytes at the end of a side log that are read to learn whether it ends with a whole line.
const TAIL_BYTES: u64 = 4096;

/// A side log. Lines of many threads that wait at the same time are appended together.
struct PostgresSideLog {
    lease: Arc<HeldLease>,
    location: Arc<str>,
    name: AttachmentName,
    revision: i64,
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Default)]
struct LogState {
    /// The length of the log.
    bytes: u64,
    /// The lines that nobody has sent yet.
    waiting: Vec<u8>,
    needs_sync: bool,
    /// The number of the group that collects lines, and of the last one that is stored.
    group: u64,
    stored: u64,
    /// Whether a thread is sending a group.
    is_sending: bool,
    failed: Option<StoreError>,
}

impl SideLog for PostgresSideLog {
    fn append(&self, lines: &[u8], durability: Durability) -> Result<(), StoreError> {
        let mut state = self.lock();
        state.waiting.extend_from_slice(lines);
        state.needs_sync |= durability == Durability::Synced;
        let mine = state.group + 1;
        while state.is_sending && state.stored < mine && state.failed.is_none() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        if state.stored >= mine {
            return Ok(());
        }
        // Nobody is sending: this thread sends everything that is waiting, its own lines among it.
        state.is_sending = true;
        state.group = mine;
        let waiting = std::mem::take(&mut state.waiting);
        let durability =
            if std::mem::take(&mut state.needs_sync) { Durability::Synced } else { Durability::Buffered };
        let at = state.bytes;
        drop(state);
        let length = to_u64_length(waiting.len());
        let outcome = self.send(at, waiting, durability);
        let mut state = self.lock();
        state.is_sending = false;
        match &outcome {
            Ok(()) => {
                state.bytes += length;
                state.stored = mine;
            }
            Err(error) => state.failed = Some(error.clone()),
        }
        self.changed.notify_all();
        outcome
    }
}

impl PostgresSideLog {
    /// Takes the lock. No code panics while holding it, so the data of a poisoned lock is sound.
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, at: u64, lines: Vec<u8>, durability: Durability) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let outcome = self.lease.engine.append_side(|reply| SideAppend {
            location: self.location.clone(),
            fence: self.lease.fence,
            name: self.name.as_str().to_owned(),
            revision: self.revision,
            at,
            lines,
            durability,
            reply,
        })?;
        outcome.map_err(|ended| match ended {
            Ended::Failed(error) => error.into(),
            Ended::Refused(SideRefusal::Fenced(holder)) => {
                StoreError::Fenced { run: self.lease.run.clone(), holder }
            }
            Ended::Refused(SideRefusal::Changed(reason)) => StoreError::Database(DatabaseError {
                location: self.location.to_string(),
                kind: DatabaseErrorKind::Damaged,
                reason: format!("run {}: {reason}", self.lease.run),
            }),
        })
    }
}
