//! Notices that the queue changed, so that workers need not ask again and again.
//!
//! A notice is sent after the commit of a change, in a transaction of its own: inside the change it would hold a lock of the whole
//! server until the change is durable. Changes that are committed while a notice is under way are covered by the next one. A notice
//! that is lost loses nothing but time: workers also look at least every second.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;

use crate::engine::{Engine, EngineHandle};
use crate::failure::Failure;
use crate::session::Session;
use crate::target::Notices;

/// The channel of all queues of a database. The payload is the schema of the queue.
const CHANNEL: &str = "hence_queue";

/// The pause before somebody listens again after the connection was lost; it doubles.
const PAUSE_MS_MIN: u64 = 50;

/// The longest such pause.
const PAUSE_MS_MAX: u64 = 10_000;

/// The longest time that the end of a queue waits for a notice to be sent.
const LAST_NOTICE_MS_MAX: u64 = 1_000;

/// The time between two looks whether the last notice was sent.
const LOOK_MS: u64 = 1;

/// The notices that are to be sent.
#[derive(Default)]
pub(crate) struct Outgoing {
    is_wanted: Cell<bool>,
    is_sending: Cell<bool>,
}

impl Engine {
    /// Sends a notice soon. Only one is under way at any time.
    pub(crate) fn notify_workers(self: &Rc<Self>) {
        if self.target.notices == Notices::Off {
            return;
        }
        self.outgoing.is_wanted.set(true);
        if self.outgoing.is_sending.replace(true) {
            return;
        }
        let engine = self.clone();
        tokio::task::spawn_local(async move {
            while engine.outgoing.is_wanted.take() {
                // A notice that cannot be sent is not sent again: workers look by themselves.
                let _ = engine.send_notice().await;
            }
            engine.outgoing.is_sending.set(false);
        });
    }

    async fn send_notice(&self) -> Result<(), Failure> {
        // Nothing is lost with a notice, so its commit does not wait for the disk.
        let schema = &self.target.schema;
        let statements = format!(
            "begin; set local synchronous_commit = off; select pg_notify('{CHANNEL}', '{schema}'); commit"
        );
        self.reserved_session().await?.batch(&statements).await
    }
}

/// Waits until the notices of a queue that ends are sent, for a short time.
pub(crate) fn wait_until_sent(engine: &EngineHandle) {
    engine.call_within(Duration::from_millis(LAST_NOTICE_MS_MAX), |engine| async move {
        while engine.outgoing.is_sending.get() {
            tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
        }
        Ok(())
    });
}

/// The notices that were heard.
#[derive(Default)]
pub(crate) struct Heard {
    count: AtomicU64,
    is_listening: AtomicBool,
}

impl Heard {
    /// Returns a number that changes with each notice, while somebody listens.
    pub(crate) fn count(&self) -> Option<u64> {
        self.is_listening.load(Ordering::SeqCst).then(|| self.count.load(Ordering::SeqCst))
    }

    fn ring(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

/// Somebody who listens until this is dropped.
pub(crate) struct Listener {
    pub(crate) heard: Arc<Heard>,
    _end: oneshot::Sender<()>,
}

impl Listener {
    /// Starts to listen; `None` where the address says that there are no notices.
    pub(crate) fn start(engine: &EngineHandle) -> Self {
        let heard = Arc::new(Heard::default());
        let (end, is_over) = oneshot::channel();
        let ears = heard.clone();
        // An engine that has stopped is reported by the next operation.
        let _ = engine.send(move |engine| async move {
            if engine.target.notices == Notices::Sent {
                let listening = tokio::task::spawn_local(listen_forever(engine, ears));
                let _ = is_over.await;
                listening.abort();
            }
            Ok(())
        });
        Self { heard, _end: end }
    }
}

async fn listen_forever(engine: Rc<Engine>, heard: Arc<Heard>) {
    let mut pause = PAUSE_MS_MIN;
    loop {
        if listen(&engine, &heard).await {
            pause = PAUSE_MS_MIN;
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
        pause = (pause * 2).min(PAUSE_MS_MAX);
    }
}

/// Listens until the connection is lost; returns whether it listened at all.
async fn listen(engine: &Engine, heard: &Heard) -> bool {
    let (sender, mut payloads) = unbounded_channel();
    let Ok(session) = Session::connect_hearing(&engine.target, &engine.tls, Some(sender)).await else {
        return false;
    };
    if session.batch(&format!("listen {CHANNEL}")).await.is_err() {
        return false;
    }
    heard.is_listening.store(true, Ordering::SeqCst);
    // Notices that were sent while nobody listened are missed: this one stands for all of them.
    heard.ring();
    while let Some(payload) = payloads.recv().await {
        if payload == engine.target.schema {
            heard.ring();
        }
    }
    heard.is_listening.store(false, Ordering::SeqCst);
    true
}
