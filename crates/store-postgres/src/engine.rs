//! The thread that talks to the server. Callers wait for it like for a disk; no caller needs an asynchronous runtime.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use hence_store::{DatabaseError, DatabaseErrorKind, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::bucket::Bucket;
use crate::commit::Queue;
use crate::failure::{Effect, Failure};
use crate::journal_append::JournalAppend;
use crate::session::Session;
use crate::side_append::SideAppend;
use crate::target::Target;
use crate::tls::MakeTls;
use crate::{Settings, lease, notices};

/// The most connections for reading, opening runs and storing documents. Appends and the renewal of leases have others, up to
/// five, so that no amount of reading keeps them waiting.
const SESSIONS_MAX: usize = 4;

/// Commits something: everything that was committed before is then durable, also on a standby that the server waits for.
const SETTLE: &str = "select pg_logical_emit_message(true, 'hence', '')";

/// The longest pause between two attempts to reach the server.
const PAUSE_MS_MAX: u64 = 1_000;

/// The pause before the second attempt; the first follows at once.
const PAUSE_MS_MIN: u64 = 20;

type LocalFuture = Pin<Box<dyn Future<Output = ()>>>;
type Job = Box<dyn FnOnce(Rc<Engine>) -> LocalFuture + Send>;

/// A request to the thread.
enum Request {
    Job(Job),
    Journal(JournalAppend),
    Side(SideAppend),
}

/// Access to the thread. The thread ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct EngineHandle {
    requests: UnboundedSender<Request>,
    location: std::sync::Arc<str>,
}

impl EngineHandle {
    /// Starts the thread. It connects only when it is asked to do something.
    pub(crate) fn start(target: Target, settings: Settings) -> Result<Self, DatabaseError> {
        let refuse = |kind, reason| DatabaseError { location: target.location.clone(), kind, reason };
        let tls =
            MakeTls::new(&target).map_err(|reason| refuse(DatabaseErrorKind::InvalidAddress, reason))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| refuse(DatabaseErrorKind::Other, format!("cannot start a runtime: {error}")))?;
        let (sender, receiver) = unbounded_channel();
        let handle = Self { requests: sender, location: target.location.as_str().into() };
        let location = target.location.clone();
        let serve = move || {
            let local = LocalSet::new();
            local.block_on(&runtime, async move {
                Engine::new(target, tls, settings).serve(receiver).await;
            });
        };
        let started = std::thread::Builder::new().name("hence-postgres".to_owned()).spawn(serve);
        started.map_err(|error| DatabaseError {
            location,
            kind: DatabaseErrorKind::Other,
            reason: format!("cannot start a thread: {error}"),
        })?;
        Ok(handle)
    }

    /// Lets the thread do something and waits for it.
    pub(crate) fn call<T, F>(
        &self,
        job: impl FnOnce(Rc<Engine>) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let answer = self.send(job)?;
        answer.recv().unwrap_or_else(|_| Err(self.stopped().into()))
    }

    /// Lets the thread do something and waits for it, but not longer than `limit`.
    pub(crate) fn call_within<F>(&self, limit: Duration, job: impl FnOnce(Rc<Engine>) -> F + Send + 'static)
    where
        F: Future<Output = Result<(), StoreError>> + 'static,
    {
        if let Ok(answer) = self.send(job) {
            let _ = answer.recv_timeout(limit);
        }
    }

    /// Lets the thread do something without waiting for it; the answer comes through the channel.
    pub(crate) fn send<T, F>(
        &self,
        job: impl FnOnce(Rc<Engine>) -> F + Send + 'static,
    ) -> Result<std::sync::mpsc::Receiver<Result<T, StoreError>>, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let (reply, answer) = sync_channel(1);
        let job: Job = Box::new(move |engine| {
            Box::pin(async move {
                // Nobody waits any more if this fails.
                let _ = reply.send(job(engine).await);
            })
        });
        self.requests.send(Request::Job(job)).map_err(|_| self.stopped())?;
        Ok(answer)
    }

    /// Appends to a journal together with what others append at the same time, and waits for it.
    pub(crate) fn append<T>(
        &self,
        append: impl FnOnce(SyncSender<T>) -> JournalAppend,
    ) -> Result<T, DatabaseError> {
        let (reply, answer) = sync_channel(1);
        self.requests.send(Request::Journal(append(reply))).map_err(|_| self.stopped())?;
        answer.recv().map_err(|_| self.stopped())
    }

    /// Appends to a side log together with what others append at the same time, and waits for it.
    pub(crate) fn append_side<T>(
        &self,
        append: impl FnOnce(SyncSender<T>) -> SideAppend,
    ) -> Result<T, DatabaseError> {
        let (reply, answer) = sync_channel(1);
        self.requests.send(Request::Side(append(reply))).map_err(|_| self.stopped())?;
        answer.recv().map_err(|_| self.stopped())
    }

    fn stopped(&self) -> DatabaseError {
        DatabaseError {
            location: self.location.to_string(),
            kind: DatabaseErrorKind::Other,
            reason: "the thread that talks to the server has ended".to_owned(),
        }
    }
}

/// The state of the thread.
pub(crate) struct Engine {
    pub(crate) target: Rc<Target>,
    pub(crate) settings: Settings,
    pub(crate) tls: MakeTls,
    idle: RefCell<Vec<Session>>,
    permits: Semaphore,
    /// The leases that are renewed: the fence of each run by its key.
    pub(crate) leases: RefCell<BTreeMap<i64, lease::Fence>>,
    pub(crate) journals: Queue<JournalAppend>,
    pub(crate) side_logs: Queue<SideAppend>,
    /// The clients of buckets, each by its place.
    pub(crate) buckets: RefCell<BTreeMap<String, Rc<Bucket>>>,
    /// The name of the store in buckets, once it is known.
    pub(crate) store_name: RefCell<Option<String>>,
    pub(crate) outgoing: notices::Outgoing,
}

impl Engine {
    fn new(target: Target, tls: MakeTls, settings: Settings) -> Rc<Self> {
        Rc::new(Self {
            target: Rc::new(target),
            settings,
            tls,
            idle: RefCell::default(),
            permits: Semaphore::new(SESSIONS_MAX),
            leases: RefCell::default(),
            journals: Queue::default(),
            side_logs: Queue::default(),
            buckets: RefCell::default(),
            store_name: RefCell::default(),
            outgoing: notices::Outgoing::default(),
        })
    }

    async fn serve(self: Rc<Self>, mut requests: UnboundedReceiver<Request>) {
        tokio::task::spawn_local(lease::renew_forever(Rc::downgrade(&self)));
        while let Some(first) = requests.recv().await {
            self.accept(first);
            // Everything that is waiting is accepted before the next batch is put together.
            while let Ok(next) = requests.try_recv() {
                self.accept(next);
            }
            Queue::start(&self, |engine| &engine.journals);
            Queue::start(&self, |engine| &engine.side_logs);
        }
    }

    fn accept(self: &Rc<Self>, request: Request) {
        match request {
            Request::Job(job) => drop(tokio::task::spawn_local(job(self.clone()))),
            Request::Journal(append) => self.journals.push(append),
            Request::Side(append) => self.side_logs.push(append),
        }
    }

    /// Returns a connection that nobody else uses, and waits for one if there are many.
    pub(crate) async fn session(&self) -> Result<Pooled<'_>, Failure> {
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|_| Failure::lost(&self.target.location, "the store was closed"))?;
        self.take_session(Some(permit)).await
    }

    /// Returns a connection for an append or for leases, which does not wait for others to be given back.
    pub(crate) async fn reserved_session(&self) -> Result<Pooled<'_>, Failure> {
        self.take_session(None).await
    }

    async fn take_session<'a>(&'a self, permit: Option<SemaphorePermit<'a>>) -> Result<Pooled<'a>, Failure> {
        loop {
            let idle = self.idle.borrow_mut().pop();
            match idle {
                Some(session) if session.is_usable() => {
                    return Ok(Pooled { engine: self, session: Some(session), _permit: permit });
                }
                Some(_) => {}
                None => break,
            }
        }
        let session = Session::connect(&self.target, &self.tls).await?;
        Ok(Pooled { engine: self, session: Some(session), _permit: permit })
    }

    /// Does something that may be done again after a lost connection, until it is done or refused.
    pub(crate) async fn attempt<T>(
        &self,
        mut operation: impl AsyncFnMut(&Session) -> Result<T, Failure>,
    ) -> Result<T, DatabaseError> {
        let mut patience = self.patience();
        loop {
            let failure = match self.session().await {
                Ok(session) => match operation(&session).await {
                    Ok(done) => return Ok(done),
                    Err(failure) => failure,
                },
                Err(failure) => failure,
            };
            patience.wait_after(failure).await?;
        }
    }

    /// Does something that writes and may be done again after a lost connection, until it is durable or refused.
    ///
    /// A commit whose answer was lost, or came with a warning, may not be durable yet although it is visible: another commit is
    /// waited for then.
    pub(crate) async fn attempt_write<T>(
        &self,
        mut operation: impl AsyncFnMut(&Session) -> Result<T, Failure>,
    ) -> Result<T, DatabaseError> {
        let mut patience = self.patience();
        let (mut done, mut is_doubtful) = (None, false);
        loop {
            let failure = match self.session().await {
                Ok(session) => {
                    session.take_warning();
                    let outcome = match done.take() {
                        Some(value) => Ok(value),
                        None => operation(&session).await,
                    };
                    match outcome {
                        Ok(value) if !session.take_warning() && !is_doubtful => return Ok(value),
                        Ok(value) => match self.settle(&session).await {
                            Ok(()) => return Ok(value),
                            Err(failure) => {
                                done = Some(value);
                                failure
                            }
                        },
                        Err(failure) => failure,
                    }
                }
                Err(failure) => failure,
            };
            is_doubtful |= failure.effect == Effect::Unknown;
            patience.wait_after(failure).await?;
        }
    }

    /// Makes everything that was committed durable.
    pub(crate) async fn settle(&self, session: &Session) -> Result<(), Failure> {
        session.take_warning();
        session.query(SETTLE, &[]).await?;
        if session.take_warning() {
            return Err(Failure::lost(&self.target.location, "the server confirmed a commit with a warning"));
        }
        Ok(())
    }

    /// Returns the patience for one operation.
    pub(crate) fn patience(&self) -> Patience {
        Patience { until: Instant::now() + self.settings.reconnect, pause: None }
    }
}

/// A connection taken from those of a store, which is given back when dropped.
pub(crate) struct Pooled<'a> {
    engine: &'a Engine,
    session: Option<Session>,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Deref for Pooled<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("the session is taken only when this is dropped")
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        // A connection in the middle of a transaction is closed, which rolls the transaction back.
        let usable = self.session.take().filter(Session::is_usable);
        self.engine.idle.borrow_mut().extend(usable);
    }
}

/// The time for which a server that cannot be reached is tried again, with growing pauses.
pub(crate) struct Patience {
    until: Instant,
    pause: Option<Duration>,
}

impl Patience {
    /// Waits before another attempt; returns the error if there is to be none.
    pub(crate) async fn wait_after(&mut self, failure: Failure) -> Result<(), DatabaseError> {
        let may_succeed = match failure.effect {
            Effect::Nothing => false,
            Effect::NothingYet => true,
            Effect::Unknown => failure.error.kind == DatabaseErrorKind::Unreachable,
        };
        if !may_succeed || Instant::now() >= self.until {
            return Err(failure.error);
        }
        // The first attempt follows at once: a connection that was idle while the server restarted is simply replaced.
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause).await;
        }
        let next = self.pause.map_or(Duration::from_millis(PAUSE_MS_MIN), |pause| pause * 2);
        self.pause = Some(next.min(Duration::from_millis(PAUSE_MS_MAX)));
        Ok(())
    }
}
