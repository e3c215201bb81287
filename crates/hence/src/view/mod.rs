//! Views of runs for the server and for single files. `docs/api.md` describes the JSON.
//!
//! Each view is a function of a store that was opened for one request; what is remembered between requests is made again
//! when the files of its run change.

mod calls;
mod cards;
mod compare;
mod embed;
mod error;
mod gaps;
mod index;
mod lineage;
mod live;
mod opened;
mod operations;
mod projected;
mod raw;
mod records;
mod review;
mod shown;
mod solved;
mod spans;
mod state;
mod summary;
mod times;
mod verdict;
mod waiting;
mod window;

use crate::store_place::StorePlace;
use std::sync::Arc;

use hence_canon::Value;
use hence_server::{ApiError, Operation, Refusal, Service};
use schemars::{Schema, SchemaGenerator};

use crate::commands::review::store::ReviewStore;
use crate::context::{Context, ErrorReport};
use crate::error::CliError;
use cards::Cards;
use opened::{Memories, Opened};
use projected::{Projected, Subject};
use verdict::VerdictReport;

pub(crate) use embed::{Embedding, segment};
pub(crate) use window::RunWindow;

/// The views of one store, and of a trace that is no run of it.
pub(crate) struct Views {
    context: Context,
    memories: Memories,
    cards: Cards,
    trace: Option<(String, Arc<Projected>)>,
}

impl Views {
    /// Opens the views of a store. A store that does not exist yet is reported by each request.
    pub(crate) fn of_store(place: StorePlace) -> Self {
        let context = Context::of_server(place);
        Self { context, memories: Memories::default(), cards: Cards::default(), trace: None }
    }

    /// Adds a trace, which is shown under its id.
    pub(crate) fn with_trace(self, trace: Value) -> Self {
        let id = trace.get("trace_id").and_then(Value::as_str).unwrap_or("trace").to_owned();
        Self { trace: Some((id, Arc::new(Projected::of_trace(trace)))), ..self }
    }

    /// Returns the id of the trace that was added.
    pub(crate) fn trace_id(&self) -> Option<&str> {
        self.trace.as_ref().map(|(id, _)| id.as_str())
    }

    /// Finds a run of the store.
    fn run(&self, name: &str) -> Result<Opened, CliError> {
        if let Some((id, _)) = &self.trace
            && id == name
        {
            let message = format!("{name} is a review trace, which has no journal, state or review here");
            return Err(CliError::new(crate::code::Code::NoSuchPlace, message));
        }
        Opened::find(self, name)
    }

    /// Counts the lines of a run's journal, so that its windows are found by their numbers. A run that cannot be read is
    /// reported by the requests for it.
    pub(crate) fn count_lines(&self, name: &str) {
        let _ = self.run(name).and_then(|run| run.counted_lines().map(|_| ()));
    }

    /// Returns the id of a run, given a prefix of it.
    pub(crate) fn full_id(&self, name: &str) -> Result<String, CliError> {
        Ok(self.run(name)?.name().to_owned())
    }

    /// Judges a subject; a verification is remembered until the run changes.
    fn remembered_verdict(&self, subject: &Subject, replay: bool) -> Result<Arc<VerdictReport>, CliError> {
        match subject {
            Subject::Trace(_) => self.verdict(subject, replay).map(Arc::new),
            Subject::Run(run) => {
                let memory = if replay { &run.memory.replayed } else { &run.memory.verdict };
                // A review changes the verdict, and a time log does not.
                let reviews = ReviewStore::open(&self.context).ok();
                let review = reviews.and_then(|reviews| reviews.store.stamps(&run.id, &[]).journal);
                memory.get(run.stamp.with_review(review), || self.verdict(subject, replay))
            }
        }
    }
}

/// The views as a service.
pub(crate) struct ViewService(pub(crate) Arc<Views>);

impl Service for ViewService {
    fn operations(&self) -> Vec<Operation> {
        operations::operations(self.0.clone())
    }

    fn refuse(&self, refusal: &Refusal) -> ApiError {
        error::refusal(refusal)
    }

    fn error_schema(&self) -> fn(&mut SchemaGenerator) -> Schema {
        operations::schema::<ErrorReport<'_>>
    }

    fn stamp(&self, topic: &str) -> Result<u64, ApiError> {
        self.0.topic_stamp(topic).map_err(|error| error::api_error(&error))
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn store(&self) -> String {
        self.0.context.place.to_string()
    }
}
