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
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hence_canon::Digest;
use hence_fleet::{Host, HostedQueue, Key, Millis, Promise, QueueError, QueueState, Refusal, Row, Time};
use hence_store::{DatabaseErrorKind, StoreError};
use tokio::sync::oneshot;

use crate::PostgresStore;
use crate::engine::{Engine, EngineHandle};
use crate::failure::{Effect, Failure};
use crate::notices::{Listener, wait_until_sent};
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
    /// Notices of changes, from the first time that somebody asks for changes.
    listener: OnceLock<Listener>,
    /// Whether this queue has sent a notice, which is waited for at its end.
    has_notified: AtomicBool,
    /// Milliseconds that are added to the time of the database, for tests.
    ahead: Arc<AtomicU64>,
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.has_notified.load(Ordering::SeqCst) {
            wait_until_sent(&self.engine);
        }
    }
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

/// The rows to read.
#[derive(Clone)]
enum Wanted {
    /// Those that changed since a change; all of them if nothing is known, or too little.
    Since(Option<i64>),
    /// Those with these digests of keys.
    Keys(Vec<Vec<u8>>),
}

/// Rows that were read.
struct News {
    version: i64,
    /// Whether the rows are all there are, and not only those that changed.
    is_everything: bool,
    /// The contents, each with the digest of its key.
    rows: Vec<(String, String)>,
    now_ms: i64,
}

/// Rows to write.
struct Written {
    /// The digest of the key, the content, and whether the row is gone.
    rows: Vec<(Vec<u8>, String, bool)>,
    /// Whether workers are to hear of it.
    is_news: bool,
}

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
            listener: OnceLock::new(),
            has_notified: AtomicBool::new(false),
            ahead,
        })
    }
}

const LOCK: &str = "select version, forgotten, (extract(epoch from clock_timestamp()) * 1000)::bigint \
    from {schema}.queue for update";

const LOOK: &str =
    "select version, forgotten, (extract(epoch from clock_timestamp()) * 1000)::bigint from {schema}.queue";

const VERSION: &str = "select version from {schema}.queue";

const CHANGED: &str =
    "select content, encode(key, 'hex') from {schema}.queue_row where version > $1 order by version";

const BY_KEY: &str =
    "select content, encode(key, 'hex') from {schema}.queue_row where key = any($1) and not is_gone";

const ESTIMATE: &str = "select reltuples::bigint from pg_class where oid = '{schema}.queue_row'::regclass";

const EVERYTHING: &str = "select content, encode(key, 'hex') from {schema}.queue_row where not is_gone";

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
        put_rows(&mut known.state, &news.rows)?;
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
        let news = self.look(Wanted::Since(known.version))?;
        self.note_version(news.version);
        self.learn(known, news)
    }

    fn look(&self, wanted: Wanted) -> Result<News, QueueError> {
        let news = self.engine.call(move |engine| async move {
            Ok(engine
                .attempt(async |session| {
                    session.begin_snapshot().await?;
                    let news = read_news(&engine, session, LOOK, &wanted).await?;
                    session.commit().await?;
                    Ok(news)
                })
                .await?)
        });
        news.map_err(unavailable)
    }

    /// Lets the thread of the store hold a transaction while this one decides. Returns the value of the decision, the number
    /// of the change, and whether anything was written.
    fn decide<T>(
        &self,
        promise: Promise,
        wanted: Wanted,
        edit: impl FnOnce(News) -> Result<(T, Written), QueueError>,
    ) -> Result<(T, i64), Undecided> {
        let (news_sender, news) = sync_channel(1);
        let (decide, decision) = oneshot::channel::<Written>();
        let done = self.engine.send(move |engine| async move {
            transact(&engine, wanted, promise, news_sender, decision).await.map_err(StoreError::from)
        });
        let done = done.map_err(|error| Undecided::Before(unavailable(error)))?;
        let Ok(found) = news.recv() else {
            return Err(Undecided::Before(match done.recv() {
                Ok(Err(error)) => unavailable(error),
                _ => QueueError::Unavailable("the transaction ended before it began".to_owned()),
            }));
        };
        let version = found.version;
        // Dropping `decide` rolls the transaction back.
        let (value, written) = edit(found).map_err(Undecided::Before)?;
        let is_changed = !written.rows.is_empty();
        if written.is_news {
            self.has_notified.store(true, Ordering::SeqCst);
        }
        let sent = decide.send(written).is_ok();
        match done.recv() {
            Ok(Ok(())) if sent => Ok((value, if is_changed { version + 1 } else { version })),
            Ok(Err(error)) => Err(Undecided::Unknown(unavailable(error))),
            _ => Err(Undecided::Unknown(QueueError::Unavailable(
                "the transaction ended before it was decided".to_owned(),
            ))),
        }
    }
}

/// A change that was not made.
enum Undecided {
    /// Nothing was written.
    Before(QueueError),
    /// Whether it was stored is not known.
    Unknown(QueueError),
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
        let listener = self.listener.get_or_init(|| Listener::start(&self.engine));
        if let Some(count) = listener.heard.count() {
            return count;
        }
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
        if known.version.is_none() {
            // Reading everything takes long; nobody is kept waiting meanwhile.
            self.refresh(&mut known)?;
        }
        let decided = self.decide(promise, Wanted::Since(known.version), |found| {
            let now = self.learn(&mut known, found)?;
            let edited = edit(&mut known.state, now).map_err(QueueError::from);
            let decided = edited.and_then(|value| Ok((value, written_rows(&known.state)?)));
            if decided.is_err() {
                known.state.undo();
            }
            decided
        });
        match decided {
            Ok((value, version)) => {
                known.state.commit();
                known.version = Some(version);
                self.note_version(version);
                Ok(value)
            }
            Err(Undecided::Before(error)) => Err(error),
            Err(Undecided::Unknown(error)) => {
                // The next operation reads what is stored.
                *known = Known { clock: known.clock, ..Known::default() };
                Err(error)
            }
        }
    }

    fn read_rows<T>(&self, keys: &[Key], look: impl FnOnce(&QueueState) -> T) -> Result<T, QueueError> {
        if self.known().version.is_some() {
            return self.read(look);
        }
        let news = self.look(Wanted::Keys(digests(keys)?))?;
        let mut state = QueueState::new();
        put_rows(&mut state, &news.rows)?;
        Ok(look(&state))
    }

    fn change_rows<T>(
        &self,
        promise: Promise,
        keys: &[Key],
        edit: impl Fn(&mut QueueState, Time) -> Result<T, Refusal>,
    ) -> Result<T, QueueError> {
        // A process that knows the queue reads what changed since, which is less than looking for rows.
        if self.known().version.is_some() {
            return self.change(promise, edit);
        }
        let decided = self.decide(promise, Wanted::Keys(digests(keys)?), |found| {
            let mut state = QueueState::new();
            put_rows(&mut state, &found.rows)?;
            let value = edit(&mut state, self.shifted(found.now_ms))?;
            Ok((value, written_rows(&state)?))
        });
        match decided {
            Ok((value, version)) => {
                self.note_version(version);
                Ok(value)
            }
            // A refusal names what there is instead, which few rows do not tell.
            Err(Undecided::Before(QueueError::Refused(_))) => self.change(promise, edit),
            Err(Undecided::Before(error) | Undecided::Unknown(error)) => Err(error),
        }
    }
}

fn unreadable(error: serde_json::Error) -> QueueError {
    QueueError::Unavailable(format!("a row of the queue cannot be read or written: {error}"))
}

fn put_rows(state: &mut QueueState, rows: &[(String, String)]) -> Result<(), QueueError> {
    for (content, key) in rows {
        let row = serde_json::from_str(content).map_err(|error| QueueError::DamagedRow {
            row: row_name(key, content),
            reason: error.to_string(),
        })?;
        state.put(row);
    }
    Ok(())
}

/// Names a row for people: the digest of its key, and the run it is about, as far as its content tells.
fn row_name(key: &str, content: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(content).unwrap_or_default();
    let members = value.as_object().and_then(|row| row.values().next());
    match members.and_then(|row| row.get("run")).and_then(serde_json::Value::as_str) {
        Some(run) => format!("row {key} of queue_row, of run {run}"),
        None => format!("row {key} of queue_row"),
    }
}

const ROWS: &str = "select content, encode(key, 'hex') from {schema}.queue_row order by key";

/// Finds rows of the queue that cannot be read, or are stored under the key of another one.
pub(crate) async fn check_rows(engine: &Engine) -> Result<Vec<(String, String)>, StoreError> {
    let location = &engine.target.location;
    let rows = engine.attempt(async |session| {
        let rows = session.query(ROWS, &[]).await?;
        let read = |row| Ok((column::<String>(location, row, 0)?, column::<String>(location, row, 1)?));
        rows.iter().map(read).collect::<Result<Vec<_>, Failure>>()
    });
    let defect = |content: &str, key: &str| match serde_json::from_str::<Row>(content) {
        Err(error) => Some(error.to_string()),
        Ok(row) => match key_digest(&row.key()).map(|digest| digest.to_string()) {
            Ok(expected) if expected == key => None,
            Ok(expected) => Some(format!("its content belongs to the key {expected}")),
            Err(error) => Some(error.to_string()),
        },
    };
    let found = rows.await?.into_iter().filter_map(|(content, key)| {
        let reason = defect(&content, &key)?;
        Some((row_name(&key, &content), reason))
    });
    Ok(found.collect())
}

fn key_digest(key: &Key) -> Result<Digest, QueueError> {
    let key = serde_json::to_string(key).map_err(unreadable)?;
    Ok(Digest::of(key.as_bytes()))
}

fn digest_of(key: &Key) -> Result<Vec<u8>, QueueError> {
    key_digest(key).map(|digest| digest.as_bytes().to_vec())
}

fn digests(keys: &[Key]) -> Result<Vec<Vec<u8>>, QueueError> {
    keys.iter().map(digest_of).collect()
}

fn unavailable(error: StoreError) -> QueueError {
    match &error {
        StoreError::Database(refused)
            if matches!(
                refused.kind,
                DatabaseErrorKind::ReadOnly
                    | DatabaseErrorKind::AccessDenied
                    | DatabaseErrorKind::NotMigrated
            ) =>
        {
            QueueError::Forbidden(error.to_string())
        }
        _ => QueueError::Unavailable(error.to_string()),
    }
}

fn written_rows(state: &QueueState) -> Result<Written, QueueError> {
    let rows = state.changes().into_iter().map(|row| {
        let content = serde_json::to_string(&row).map_err(unreadable)?;
        Ok((digest_of(&row.key())?, content, matches!(row, Row::Gone(_))))
    });
    Ok(Written { rows: rows.collect::<Result<_, QueueError>>()?, is_news: state.may_be_news() })
}

/// Returns whether the queue may hold nearly as many jobs as it can, by the server's estimate.
async fn is_nearly_full(engine: &Engine, session: &Session) -> Result<bool, Failure> {
    let row = session.query_opt(ESTIMATE, &[]).await?;
    let count: i64 = row.map_or(Ok(0), |row| column(&engine.target.location, &row, 0))?;
    Ok(usize::try_from(count).unwrap_or_default() > hence_fleet::JOBS_MAX / 2)
}

/// Reads rows.
async fn read_news(
    engine: &Engine,
    session: &Session,
    look: &'static str,
    wanted: &Wanted,
) -> Result<News, Failure> {
    let location = &engine.target.location;
    let row = session.query_opt(look, &[]).await?;
    let row = row.ok_or_else(|| Failure::damaged(location, "the table of the queue has no row"))?;
    let (version, forgotten): (i64, i64) = (column(location, &row, 0)?, column(location, &row, 1)?);
    let now_ms = column(location, &row, 2)?;
    let (rows, is_everything) = match wanted {
        // Near its limit all jobs are counted.
        Wanted::Keys(_) if is_nearly_full(engine, session).await? => {
            (session.query(EVERYTHING, &[]).await?, true)
        }
        Wanted::Keys(keys) => (session.query(BY_KEY, &[keys]).await?, false),
        Wanted::Since(Some(since)) if *since == version => (Vec::new(), false),
        // A restored database may be behind what this process knows.
        Wanted::Since(Some(since)) if *since >= forgotten && *since < version => {
            (session.query(CHANGED, &[since]).await?, false)
        }
        Wanted::Since(_) => (session.query(EVERYTHING, &[]).await?, true),
    };
    let read = |row| Ok((column(location, row, 0)?, column(location, row, 1)?));
    let rows = rows.iter().map(read).collect::<Result<_, Failure>>()?;
    Ok(News { version, is_everything, rows, now_ms })
}

/// Reads what changed, waits for the decision, and writes it, in one transaction.
async fn transact(
    engine: &Rc<Engine>,
    wanted: Wanted,
    promise: Promise,
    news: std::sync::mpsc::SyncSender<News>,
    decision: oneshot::Receiver<Written>,
) -> Result<(), hence_store::DatabaseError> {
    let mut patience = engine.patience();
    let (session, found) = loop {
        let failure = match begin(engine, &wanted, promise).await {
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
            Some(written) if !written.rows.is_empty() => {
                write(&session, version + 1, &written).await?;
                session.commit().await?;
                if written.is_news {
                    engine.notify_workers();
                }
                Ok(())
            }
            _ => session.roll_back().await,
        }
    };
    finish.await.map_err(|failure| failure.error)
}

async fn begin<'a>(
    engine: &'a Engine,
    wanted: &Wanted,
    promise: Promise,
) -> Result<(crate::engine::Pooled<'a>, News), Failure> {
    let session = engine.session().await?;
    session.begin().await?;
    session.batch(&format!("set local idle_in_transaction_session_timeout = {IDLE_MS_MAX}")).await?;
    if promise == Promise::Buffered {
        session.batch("set local synchronous_commit = off").await?;
    }
    match read_news(engine, &session, LOCK, wanted).await {
        Ok(found) => Ok((session, found)),
        // Nothing was changed yet, so it can be tried again.
        Err(failure) if failure.effect == Effect::Unknown => {
            Err(Failure { effect: Effect::NothingYet, ..failure })
        }
        Err(failure) => Err(failure),
    }
}

async fn write(session: &Session, version: i64, written: &Written) -> Result<(), Failure> {
    let keys: Vec<&[u8]> = written.rows.iter().map(|(key, ..)| &**key).collect();
    let contents: Vec<&str> = written.rows.iter().map(|(_, content, _)| &**content).collect();
    let gone: Vec<bool> = written.rows.iter().map(|(.., is_gone)| *is_gone).collect();
    session.query(WRITE, &[&keys, &contents, &gone, &version]).await?;
    session.query(COUNT, &[&version]).await?;
    let limit = version - GONE_CHANGES_MAX;
    if limit > 0 && version % FORGET_EVERY == 0 {
        session.query(FORGET, &[&limit]).await?;
    }
    Ok(())
}
