//! The queue of work in the database.
//!
//! The rules are those of [`hence_fleet::QueueState`], the same as in a folder: a process knows the rows of the queue up to some
//! change, reads those that changed since, decides, and writes the rows that its decision changed. One row of the database is
//! locked meanwhile, so decisions have one order. A claim of a run among many thousands reads only what changed since the
//! last look, instead of searching a table.
//!
//! | the process dies | stored |
//! |---|---|
//! | before the commit | the old queue; the server ends the transaction and with it the lock |
//! | while it commits | the old queue or the new one; repeating an operation is allowed |
//! | later | the new queue |
//!
//! A process that stops between reading and writing, without dying, would hold the lock: the server ends its transaction after
//! [`IDLE_MS_MAX`].

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hence_canon::Digest;
use hence_fleet::{Host, HostedQueue, Millis, Promise, QueueError, QueueState, Refusal, Row, Time};
use hence_store::StoreError;
use tokio::sync::oneshot;

use crate::PostgresStore;
use crate::engine::{Engine, EngineHandle};
use crate::failure::{Effect, Failure};
use crate::rows::column;
use crate::session::Session;

/// The longest time between reading and writing. Deciding takes microseconds.
const IDLE_MS_MAX: u64 = 5_000;

/// The time for which the number of the last change is not asked for again.
const VERSION_MS: u64 = 50;

/// The number of changes for which rows that are gone are remembered.
const GONE_CHANGES_MAX: i64 = 10_000;

/// The number of changes after which gone rows are forgotten, so that not every change deletes.
const FORGET_EVERY: i64 = 1_000;

/// A queue in a database.
pub type PostgresQueue = HostedQueue<Database>;

/// The database of a [`PostgresQueue`].
pub struct Database {
    engine: EngineHandle,
    known: Mutex<Known>,
    /// The number of the last change, and the time at which it was asked for.
    seen: Mutex<(u64, Option<Instant>)>,
    /// Milliseconds that are added to the time of the database, for tests.
    ahead: Arc<AtomicU64>,
}

/// The state of the queue as this process knows it.
#[derive(Default)]
struct Known {
    state: QueueState,
    /// The number of the last change in it; `None` if nothing is known.
    version: Option<i64>,
    /// The time of the database, in milliseconds, at a moment of this machine.
    clock: Option<(i64, Instant)>,
}

/// Rows that were read.
struct News {
    version: i64,
    /// Whether the rows are all there are, and not only those that changed.
    is_everything: bool,
    rows: Vec<String>,
    now_ms: i64,
}

/// Rows to write: the digest of the key, the content, and whether the row is gone.
type Written = Vec<(Vec<u8>, String, bool)>;

impl fmt::Debug for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Database").finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Returns the queue of work next to the runs.
    pub fn queue(&self) -> PostgresQueue {
        self.queue_with_clock_ahead(Arc::default())
    }

    /// Returns the queue with a clock that is so many milliseconds ahead of the database's, for tests that let time pass.
    pub fn queue_with_clock_ahead(&self, ahead: Arc<AtomicU64>) -> PostgresQueue {
        HostedQueue::at_host(Database {
            engine: self.engine.clone(),
            known: Mutex::default(),
            seen: Mutex::default(),
            ahead,
        })
    }
}

const LOCK: &str = "select version, forgotten, (extract(epoch from clock_timestamp()) * 1000)::bigint \
    from {schema}.queue for update";

const LOOK: &str =
    "select version, forgotten, (extract(epoch from clock_timestamp()) * 1000)::bigint from {schema}.queue";

const VERSION: &str = "select version from {schema}.queue";

const CHANGED: &str = "select content from {schema}.queue_row where version > $1 order by version";

const EVERYTHING: &str = "select content from {schema}.queue_row where not is_gone";

const WRITE: &str = "insert into {schema}.queue_row (key, content, is_gone, version) \
    select key, content, is_gone, $4 from unnest($1::bytea[], $2::text[], $3::boolean[]) as new (key, content, is_gone) \
    on conflict (key) do update set content = excluded.content, is_gone = excluded.is_gone, version = excluded.version";

const COUNT: &str = "update {schema}.queue set version = $1";

const FORGET: &str = "with gone as (delete from {schema}.queue_row where is_gone and version <= $1) \
    update {schema}.queue set forgotten = $1";

impl Database {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shifted(&self, now_ms: i64) -> Time {
        let now = u64::try_from(now_ms).unwrap_or_default();
        Time::default().plus(Millis::new(now.saturating_add(self.ahead.load(Ordering::SeqCst))))
    }

    /// Takes over what was read.
    fn learn(&self, known: &mut Known, news: News) -> Result<Time, QueueError> {
        if news.is_everything {
            known.state = QueueState::new();
        }
        for content in &news.rows {
            let row: Row = serde_json::from_str(content).map_err(|error| {
                QueueError::Unavailable(format!("a row of the queue cannot be read: {error}"))
            })?;
            known.state.put(row);
        }
        known.version = Some(news.version);
        known.clock = Some((news.now_ms, Instant::now()));
        Ok(self.shifted(news.now_ms))
    }

    fn note_version(&self, version: i64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = (u64::try_from(version).unwrap_or_default(), Some(Instant::now()));
    }

    /// Reads what changed since the last look, without a lock.
    fn refresh(&self, known: &mut Known) -> Result<Time, QueueError> {
        let since = known.version;
        let news = self.engine.call(move |engine| async move {
            Ok(engine
                .attempt(async |session| {
                    session.begin_snapshot().await?;
                    let news = read_news(&engine, session, LOOK, since).await?;
                    session.commit().await?;
                    Ok(news)
                })
                .await?)
        });
        let news = news.map_err(unavailable)?;
        self.note_version(news.version);
        self.learn(known, news)
    }
}

impl Host for Database {
    fn now(&self) -> Result<Time, QueueError> {
        let mut known = self.known();
        match known.clock {
            Some((then, at)) => Ok(self.shifted(then).plus(Millis::from(at.elapsed()))),
            None => self.refresh(&mut known),
        }
    }

    fn version(&self) -> u64 {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.1.is_none_or(|at| at.elapsed() >= Duration::from_millis(VERSION_MS)) {
            let version = self.engine.call(|engine| async move {
                let found = engine.attempt(async |session| session.query_opt(VERSION, &[]).await).await?;
                found.map_or(Ok(0), |row| {
                    Ok(column::<i64>(&engine.target.location, &row, 0).map_err(|failure| failure.error)?)
                })
            });
            // A database that cannot be reached is reported by the next operation.
            if let Ok(version) = version {
                seen.0 = u64::try_from(version).unwrap_or_default();
            }
            seen.1 = Some(Instant::now());
        }
        seen.0
    }

    fn read<T>(&self, look: impl FnOnce(&QueueState) -> T) -> Result<T, QueueError> {
        let mut known = self.known();
        self.refresh(&mut known)?;
        Ok(look(&known.state))
    }

    fn change<T>(
        &self,
        promise: Promise,
        edit: impl FnOnce(&mut QueueState, Time) -> Result<T, Refusal>,
    ) -> Result<T, QueueError> {
        let mut known = self.known();
        let since = known.version;
        // The thread of the store holds the transaction while this one decides.
        let (news_sender, news) = sync_channel(1);
        let (decide, decision) = oneshot::channel::<Written>();
        let done = self.engine.send(move |engine| async move {
            transact(&engine, since, promise, news_sender, decision).await.map_err(StoreError::from)
        });
        let done = done.map_err(unavailable)?;
        let Ok(found) = news.recv() else {
            return Err(match done.recv() {
                Ok(Err(error)) => unavailable(error),
                _ => QueueError::Unavailable("the transaction ended before it began".to_owned()),
            });
        };
        let version = found.version;
        let now = self.learn(&mut known, found)?;
        let value = match edit(&mut known.state, now) {
            Ok(value) => value,
            Err(refusal) => {
                known.state.undo();
                // Dropping the decision rolls the transaction back.
                drop(decide);
                return Err(refusal.into());
            }
        };
        let written = match written_rows(&known.state) {
            Ok(written) => written,
            Err(error) => {
                known.state.undo();
                return Err(QueueError::Unavailable(format!(
                    "a row of the queue cannot be written: {error}"
                )));
            }
        };
        let is_changed = !written.is_empty();
        let sent = decide.send(written).is_ok();
        match done.recv() {
            Ok(Ok(())) if sent => {
                known.state.commit();
                let version = if is_changed { version + 1 } else { version };
                known.version = Some(version);
                self.note_version(version);
                Ok(value)
            }
            outcome => {
                // Whether it was stored is not known: the next operation reads what is.
                *known = Known { clock: known.clock, ..Known::default() };
                Err(match outcome {
                    Ok(Err(error)) => unavailable(error),
                    _ => QueueError::Unavailable("the transaction ended before it was decided".to_owned()),
                })
            }
        }
    }
}

fn unavailable(error: StoreError) -> QueueError {
    QueueError::Unavailable(error.to_string())
}

fn written_rows(state: &QueueState) -> Result<Written, serde_json::Error> {
    let rows = state.changes().into_iter().map(|row| {
        let key = serde_json::to_string(&row.key())?;
        let is_gone = matches!(row, Row::Gone(_));
        Ok((Digest::of(key.as_bytes()).as_bytes().to_vec(), serde_json::to_string(&row)?, is_gone))
    });
    rows.collect()
}

/// Reads the rows that changed since a change, or all of them.
async fn read_news(
    engine: &Engine,
    session: &Session,
    look: &'static str,
    since: Option<i64>,
) -> Result<News, Failure> {
    let location = &engine.target.location;
    let row = session.query_opt(look, &[]).await?;
    let row = row.ok_or_else(|| Failure::damaged(location, "the table of the queue has no row"))?;
    let (version, forgotten): (i64, i64) = (column(location, &row, 0)?, column(location, &row, 1)?);
    let now_ms = column(location, &row, 2)?;
    // A restored database may be behind what this process knows.
    let since = since.filter(|since| *since >= forgotten && *since <= version);
    let rows = match since {
        Some(since) if since == version => Vec::new(),
        Some(since) => session.query(CHANGED, &[&since]).await?,
        None => session.query(EVERYTHING, &[]).await?,
    };
    let rows = rows.iter().map(|row| column(location, row, 0)).collect::<Result<_, _>>()?;
    Ok(News { version, is_everything: since.is_none(), rows, now_ms })
}

/// Reads what changed, waits for the decision, and writes it, in one transaction.
async fn transact(
    engine: &Engine,
    since: Option<i64>,
    promise: Promise,
    news: std::sync::mpsc::SyncSender<News>,
    decision: oneshot::Receiver<Written>,
) -> Result<(), hence_store::DatabaseError> {
    let mut patience = engine.patience();
    let (session, found) = loop {
        let failure = match begin(engine, since, promise).await {
            Ok(begun) => break begun,
            Err(failure) => failure,
        };
        patience.wait_after(failure).await?;
    };
    let version = found.version;
    // Nobody decides any more if either end is gone: the transaction is rolled back.
    let decided = if news.send(found).is_ok() { decision.await.ok() } else { None };
    let finish = async {
        match decided {
            Some(written) if !written.is_empty() => {
                write(&session, version + 1, &written).await?;
                session.commit().await
            }
            _ => session.roll_back().await,
        }
    };
    finish.await.map_err(|failure| failure.error)
}

async fn begin<'a>(
    engine: &'a Engine,
    since: Option<i64>,
    promise: Promise,
) -> Result<(crate::engine::Pooled<'a>, News), Failure> {
    let session = engine.session().await?;
    session.begin().await?;
    session.batch(&format!("set local idle_in_transaction_session_timeout = {IDLE_MS_MAX}")).await?;
    if promise == Promise::Buffered {
        session.batch("set local synchronous_commit = off").await?;
    }
    match read_news(engine, &session, LOCK, since).await {
        Ok(found) => Ok((session, found)),
        // Nothing was changed yet, so it can be tried again.
        Err(failure) if failure.effect == Effect::Unknown => {
            Err(Failure { effect: Effect::NothingYet, ..failure })
        }
        Err(failure) => Err(failure),
    }
}

async fn write(session: &Session, version: i64, written: &Written) -> Result<(), Failure> {
    let keys: Vec<&[u8]> = written.iter().map(|(key, ..)| &**key).collect();
    let contents: Vec<&str> = written.iter().map(|(_, content, _)| &**content).collect();
    let gone: Vec<bool> = written.iter().map(|(.., is_gone)| *is_gone).collect();
    session.query(WRITE, &[&keys, &contents, &gone, &version]).await?;
    session.query(COUNT, &[&version]).await?;
    let limit = version - GONE_CHANGES_MAX;
    if limit > 0 && version % FORGET_EVERY == 0 {
        session.query(FORGET, &[&limit]).await?;
    }
    Ok(())
}
