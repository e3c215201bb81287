//! `hence review open`: bind a review to the content of a trace.

use std::path::Path;

use hence_canon::{Canonical, Value};
use hence_review::ContentHash;
use hence_review::review_log::{ReviewHeader, Stamp, seal_header};
use hence_review::wire::Trace;
use hence_store::{NewRun, RunId, StoreError};

use super::stamp::stamp;
use super::store::{ReviewStore, trace_name};
use crate::args::ReviewOpenArgs;
use crate::commands::trace::document::Document;
use crate::commands::trace::export::exported;
use crate::prelude::*;

/// A review that was opened.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenReport {
    /// The review's id.
    review: String,
    /// The trace's id.
    trace_id: String,
    /// The content it is bound to.
    content_hash: String,
    /// The hash of its first record.
    head: String,
}

impl Text for OpenReport {
    fn text(&self) -> String {
        pairs(&[
            ("review", escape(&self.review)),
            ("trace", escape(&self.trace_id)),
            ("content", self.content_hash.clone()),
            ("head", self.head.clone()),
        ])
    }
}

pub(super) fn run(context: &Context, args: &ReviewOpenArgs) -> Result<Exit, CliError> {
    let trace = read_trace(context, &args.trace)?;
    let report = open_review(context, &trace, args.id.as_deref(), stamp(&args.stamp)?)?;
    context.print(&report)?;
    Ok(Exit::Yes)
}

/// Opens a review of a trace.
///
/// # Errors
/// [`CliError`] when there is a review of that id already, or the trace has no id that could name it.
pub(crate) fn open_review(
    context: &Context,
    trace: &Value,
    id: Option<&str>,
    stamp: Stamp,
) -> Result<OpenReport, CliError> {
    let trace_id = Trace::read(trace).trace_id().unwrap_or("").to_owned();
    let review_id = id.map_or_else(|| trace_id.clone(), str::to_owned);
    let id = RunId::new(&review_id).map_err(|_| {
        CliError::new(Code::ReviewRefused, "the trace has no id that could name the review")
            .with_hint(hint::CHOOSE_REVIEW_ID)
    })?;
    let content_hash = ContentHash::of(trace);
    let header = ReviewHeader {
        review_id: review_id.as_str().into(),
        trace_id: trace_id.as_str().into(),
        content_hash,
        stamp,
    };
    let sealed = seal_header(&header);
    let reviews = ReviewStore::open_or_new(context)?;
    let mut bytes = Canonical::of(trace).bytes().to_vec();
    bytes.push(b'\n');
    let new = NewRun { id, attachments: vec![(trace_name(), bytes)], lines: sealed.line };
    reviews.store.create(new).map_err(|error| match error {
        StoreError::AlreadyCreated { run, .. } | StoreError::RunConflict { run, .. } => {
            CliError::new(Code::ReviewRefused, format!("a review {run} is open already"))
                .with_hint(hint::OTHER_REVIEW_ID)
        }
        other => other.into(),
    })?;
    Ok(OpenReport {
        review: review_id,
        trace_id,
        content_hash: content_hash.to_string(),
        head: sealed.head.hash.to_string(),
    })
}

/// Reads a trace's file, or shows a run of the store as a trace.
fn read_trace(context: &Context, name: &str) -> Result<Value, CliError> {
    if name == "-" || Path::new(name).is_file() {
        return Ok(Document::required(name)?.value);
    }
    exported(context, name).map(|(_, trace)| trace)
}
