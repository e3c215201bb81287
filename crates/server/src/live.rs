//! Live streams: one look at a topic serves everybody who watches it.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::limits::{KEEP_ALIVE, LOOK_PAUSE, WATCHERS_MAX};
use crate::operation::{ApiError, Refusal, Service};
use crate::router::Readers;

/// One event of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// The id with which a watcher resumes after it.
    pub id: Option<u64>,
    /// JSON text without line feeds.
    pub data: String,
}

impl Event {
    fn text(&self) -> String {
        let id = self.id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        // A line feed would end the data early; JSON has none outside of its layout.
        let data = self.data.replace(['\n', '\r'], " ");
        format!("event: {}\n{id}data: {data}\n\n", self.name)
    }
}

/// Some events, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    /// The events. Without any the server asks again when the topic changes.
    pub events: Vec<Event>,
}

/// A source of events for one watcher. It reads when the watcher is ready for more, so a slow watcher costs no memory.
pub trait Feed: Send {
    /// Returns the next events, a bounded number of them.
    ///
    /// # Errors
    /// [`ApiError`], which ends the stream.
    fn next(&mut self) -> Result<Batch, ApiError>;
}

impl std::fmt::Debug for dyn Feed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Feed")
    }
}

/// The topics that somebody watches.
pub(crate) struct Topics {
    service: Arc<dyn Service>,
    known: Mutex<HashMap<String, watch::Sender<u64>>>,
    watchers: Arc<AtomicUsize>,
}

/// One watcher; dropping it gives its place back.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Watcher {
    feed: Option<Box<dyn Feed>>,
    changes: watch::Receiver<u64>,
    ready: VecDeque<Event>,
    readers: Readers,
    _place: Place,
}

impl Topics {
    pub(crate) fn new(service: Arc<dyn Service>) -> Arc<Self> {
        Arc::new(Self { service, known: Mutex::default(), watchers: Arc::default() })
    }

    /// Takes the lock. No code panics while holding it, so the data of a poisoned lock is sound.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<u64>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the changes of a topic, which is looked at as long as somebody watches it.
    fn changes(self: &Arc<Self>, topic: &str) -> watch::Receiver<u64> {
        let mut known = self.lock();
        if let Some(sender) = known.get(topic) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(0);
        known.insert(topic.to_owned(), sender.clone());
        tokio::spawn(look(self.clone(), topic.to_owned(), sender));
        receiver
    }

    /// Answers with the events of a feed.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when there are too many watchers.
    pub(crate) fn stream(
        self: &Arc<Self>,
        topic: &str,
        feed: Box<dyn Feed>,
        readers: Readers,
    ) -> Result<Response, Refusal> {
        let place = Place(self.watchers.clone());
        if self.watchers.fetch_add(1, Ordering::SeqCst) >= WATCHERS_MAX {
            return Err(Refusal::Busy("too many watchers"));
        }
        let ready = VecDeque::new();
        let watcher =
            Watcher { feed: Some(feed), changes: self.changes(topic), ready, readers, _place: place };
        let events = stream::unfold(watcher, |watcher| async {
            let (text, watcher) = next_text(watcher).await?;
            Some((Ok::<Bytes, Infallible>(text.into()), watcher))
        });
        let mut response = Response::new(Body::from_stream(events));
        *response.status_mut() = StatusCode::OK;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

/// Looks at a topic until nobody watches it or it is gone.
async fn look(topics: Arc<Topics>, topic: String, sender: watch::Sender<u64>) {
    loop {
        tokio::time::sleep(LOOK_PAUSE).await;
        {
            let mut known = topics.lock();
            // Watchers subscribe under the same lock, so none can come between this look and the removal.
            if sender.receiver_count() == 0 {
                known.remove(&topic);
                return;
            }
        }
        let (service, name) = (topics.service.clone(), topic.clone());
        let stamp = tokio::task::spawn_blocking(move || service.stamp(&name)).await;
        // A topic that cannot be looked at has changed: its feeds say what is wrong with it.
        let stamp = match stamp {
            Ok(Ok(stamp)) => stamp,
            _ => u64::MAX,
        };
        sender.send_if_modified(|known| std::mem::replace(known, stamp) != stamp);
    }
}

/// Returns the next text of a stream; `None` when it has ended.
async fn next_text(mut watcher: Watcher) -> Option<(String, Watcher)> {
    loop {
        if let Some(event) = watcher.ready.pop_front() {
            return Some((event.text(), watcher));
        }
        // The value is marked as seen before the feed reads, so a change during the reading is not missed.
        watcher.changes.borrow_and_update();
        let mut feed = watcher.feed.take()?;
        let read = watcher.readers.clone().read_for_stream(move || {
            let batch = feed.next();
            (batch, feed)
        });
        match read.await {
            Some((Ok(batch), feed)) => {
                watcher.feed = Some(feed);
                watcher.ready.extend(batch.events);
            }
            Some((Err(error), _)) => {
                let data = error.text.replace(['\n', '\r'], " ");
                watcher.ready.push_back(Event { name: "gone", id: None, data });
                continue;
            }
            None => return None,
        }
        if watcher.ready.is_empty() {
            match timeout(KEEP_ALIVE, watcher.changes.changed()).await {
                Err(_) => return Some((": still here\n\n".to_owned(), watcher)),
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
            }
        }
    }
}
