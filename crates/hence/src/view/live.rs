//! Live events: new records of a run, its status, and changes of the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_server::{ApiError, Batch, Call, Event, Feed, Reply, Window};
use hence_store::RunId;

use super::Views;
use super::cards::LISTED_RUNS_MAX;
use super::error::{api_error, bad_request};
use super::opened::{Opened, Stamp};
use super::records::RecordRow;
use super::shown::List;
use crate::commands::runs;
use crate::prelude::*;

/// The most records in one batch of events.
const BATCH_RECORDS: u64 = 100;

/// The most changed runs that one event names.
const CHANGED_MAX: usize = 100;

/// The topic of the whole store.
const STORE: &str = "store";

/// The topic of a run begins with this.
const RUN: &str = "run:";

/// The status of a run, as an event.
#[derive(Serialize, PartialEq, Eq, Clone)]
struct StatusEvent {
    run: String,
    status: String,
    records: Option<u64>,
    head: Option<String>,
    waiting: usize,
}

/// A change of the store, as an event.
#[derive(Serialize)]
struct RunsEvent {
    /// The number of runs, as far as a list looks at them.
    runs: usize,
    /// The runs that changed, the first of them.
    changed: Vec<String>,
}

struct RunFeed {
    views: Arc<Views>,
    run: String,
    /// The first record that was not sent.
    next: Option<u64>,
    said: Option<StatusEvent>,
}

struct StoreFeed {
    views: Arc<Views>,
    known: Option<BTreeMap<RunId, Stamp>>,
}

fn data(event: &impl Serialize) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

impl RunFeed {
    fn read(&mut self) -> Result<Batch, CliError> {
        let run = Opened::find(&self.views, &self.run)?;
        let mut events = Vec::new();
        let row = runs::fresh_row(&self.views.context, &run.store, &run.summary);
        let status = StatusEvent {
            run: row.run,
            status: row.status,
            records: row.records,
            head: row.head,
            waiting: row.waiting.len(),
        };
        if self.said.as_ref() != Some(&status) {
            events.push(Event { name: "status", id: None, data: data(&status) });
            self.said = Some(status.clone());
        }
        // Only finished records are sent: a torn end may still be cut.
        let total = status.records.unwrap_or(0);
        let from = *self.next.get_or_insert(total);
        if from < total {
            let limit = BATCH_RECORDS.min(total - from);
            let List { items, .. } = self.views.records(&run, Window { from, limit }, false)?;
            for row in &items {
                let RecordRow { row: record, .. } = row;
                events.push(Event { name: "record", id: Some(record.index), data: data(row) });
                self.next = Some(record.index + 1);
            }
        }
        Ok(Batch { events })
    }
}

impl Feed for RunFeed {
    fn next(&mut self) -> Result<Batch, ApiError> {
        self.read().map_err(|error| api_error(&error))
    }
}

impl StoreFeed {
    fn read(&mut self) -> Result<Batch, CliError> {
        let store = self.views.context.store()?;
        let (now, _) = Stamp::of_newest(&store, LISTED_RUNS_MAX)?;
        let Some(known) = self.known.replace(now.clone()) else {
            let event = RunsEvent { runs: now.len(), changed: Vec::new() };
            return Ok(Batch { events: vec![Event { name: "runs", id: None, data: data(&event) }] });
        };
        let is_new = |(run, stamp): &(&RunId, &Stamp)| known.get(*run) != Some(*stamp);
        let changed: Vec<String> =
            now.iter().filter(is_new).map(|(run, _)| run.as_str().to_owned()).collect();
        if changed.is_empty() && now.len() == known.len() {
            return Ok(Batch::default());
        }
        let changed = changed.into_iter().take(CHANGED_MAX).collect();
        let event = RunsEvent { runs: now.len(), changed };
        Ok(Batch { events: vec![Event { name: "runs", id: None, data: data(&event) }] })
    }
}

impl Feed for StoreFeed {
    fn next(&mut self) -> Result<Batch, ApiError> {
        self.read().map_err(|error| api_error(&error))
    }
}

impl Views {
    /// Begins the events of a run, after the record that the watcher has seen.
    pub(super) fn run_events(self: &Arc<Self>, call: &Call) -> Result<Reply, CliError> {
        let run = Opened::find(self, call.segment("run"))?;
        let seen = match call.last_event() {
            None => call.count("after"),
            Some(id) => {
                let number = id.parse::<u64>().ok();
                let wrong =
                    || bad_request(format!("Last-Event-ID: expected the index of a record, found {id:?}"));
                Some(number.ok_or_else(wrong)?)
            }
        };
        let feed = RunFeed {
            views: self.clone(),
            run: run.name().to_owned(),
            next: seen.map(|seen| seen.saturating_add(1)),
            said: None,
        };
        Ok(Reply::Events { topic: format!("{RUN}{}", run.name()), feed: Box::new(feed) })
    }

    /// Begins the events of the store.
    pub(super) fn store_events(self: &Arc<Self>) -> Result<Reply, CliError> {
        self.context.store()?;
        let feed = StoreFeed { views: self.clone(), known: None };
        Ok(Reply::Events { topic: STORE.to_owned(), feed: Box::new(feed) })
    }

    /// Returns a number that changes when a topic does.
    pub(super) fn topic_stamp(&self, topic: &str) -> Result<u64, CliError> {
        let store = self.context.store()?;
        match topic.strip_prefix(RUN) {
            Some(run) => {
                let id = RunId::new(run).map_err(|error| bad_request(error.to_string()))?;
                // A process that takes or leaves the lease changes the status, and no file.
                let lease = matches!(store.lease(&id)?, hence_store::Lease::Held(_));
                Ok(Stamp::of(&store, &id).number() ^ u64::from(lease))
            }
            None => {
                let (stamps, _) = Stamp::of_newest(&store, LISTED_RUNS_MAX)?;
                let stamps = stamps.into_values().map(Stamp::number);
                Ok(stamps.fold(1_u64, |sum, stamp| sum.rotate_left(5) ^ stamp) >> 1)
            }
        }
    }
}
