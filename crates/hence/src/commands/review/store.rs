//! The store of reviews: a store of its own inside the store's folder.
//!
//! A review log has the needs of a journal (one writer, compare-and-append, durability), so the same kind of store holds
//! it, with the trace as an attachment. Reviews are in `reviews/`, not among the runs, because a review may be about a
//! trace of another store, and commands that list or verify runs must not meet it.

use hence_canon::{Value, parse};
use hence_journal::Head;
use hence_review::model::ReviewEvent;
use hence_review::review_log::{
    Broken, Judgement, ReadReview, Refusal, Review, ReviewEntry, ReviewHead, SealedReview, Stamp,
    read_stored_review, seal_entry,
};
use hence_store::{AttachmentName, Durability, RunId, StoreError, StoreHandle};

use crate::kind::whole_records;
use crate::prelude::*;

/// The attachment that holds the trace under review.
pub(crate) const TRACE: &str = "trace.json";

/// The reviews of a store.
pub(crate) struct ReviewStore {
    pub(crate) store: StoreHandle,
}

/// A stored review.
pub(crate) struct StoredReview {
    pub(crate) id: RunId,
    pub(crate) read: ReadReview,
}

/// An entry that was recorded.
pub(crate) struct Recorded {
    pub(crate) id: RunId,
    pub(super) head: ReviewHead,
    pub(super) event: ReviewEvent,
    pub(super) judgement: Judgement,
}

pub(super) fn trace_name() -> AttachmentName {
    AttachmentName::new(TRACE).expect("the name is plain")
}

/// The folder of the reviews in the folder of a store.
pub(in crate::commands) const REVIEWS: &str = "reviews";

/// Lists the reviews that do not hold, with the reason.
pub(in crate::commands) fn broken_reviews(store: &StoreHandle) -> Result<Vec<(RunId, String)>, CliError> {
    let mut found = Vec::new();
    for summary in store.list()? {
        let id = &summary.run;
        let journal = match store.journal_bytes(id) {
            Ok(journal) => journal,
            Err(error) => {
                found.push((id.clone(), error.to_string()));
                continue;
            }
        };
        let trace = store.attachment(id, &trace_name()).map_err(|error| error.to_string());
        let trace = trace.and_then(|bytes| parse(&bytes).map_err(|error| format!("{TRACE}: {error}")));
        match trace {
            Ok(trace) => {
                let read = read_stored_review(id.as_str(), whole_records(&journal), &trace);
                found.extend(read.broken.map(|broken| (id.clone(), broken.to_string())));
            }
            Err(reason) => found.push((id.clone(), reason)),
        }
    }
    Ok(found)
}

impl ReviewStore {
    /// Opens the reviews, which must exist.
    pub(crate) fn open(context: &Context) -> Result<Self, CliError> {
        let reviews = if context.place.is_empty() { None } else { context.store()?.within(REVIEWS)? };
        match reviews {
            Some(store) => Ok(Self { store }),
            None => {
                let message = format!("{} holds no reviews", context.place);
                Err(CliError::new(Code::NoSuchRun, message).with_hint(hint::OPEN_REVIEW))
            }
        }
    }

    /// Opens the reviews and creates their store if there is none.
    pub(super) fn open_or_new(context: &Context) -> Result<Self, CliError> {
        Ok(Self { store: context.store_or_new()?.within_or_new(REVIEWS)? })
    }

    /// Reads a review by its id or a prefix of it.
    pub(crate) fn read(&self, name: &str) -> Result<StoredReview, CliError> {
        let id = self.find(name)?;
        let trace = self.trace(&id)?;
        let read = read_stored_review(id.as_str(), &self.store.journal_bytes(&id)?, &trace);
        Ok(StoredReview { id, read })
    }

    /// Reads a review that must be valid.
    pub(crate) fn read_whole(&self, name: &str) -> Result<Review, CliError> {
        self.read_with_head(name).map(|(review, _)| review)
    }

    /// Reads a review that must be valid, and its head.
    pub(crate) fn read_with_head(&self, name: &str) -> Result<(Review, ReviewHead), CliError> {
        let StoredReview { id, read } = self.read(name)?;
        match (read.broken, read.review, read.head) {
            (None, Some(review), Some(head)) => Ok((review, head)),
            (broken, ..) => Err(broken_error(&id, broken.as_ref())),
        }
    }

    fn find(&self, name: &str) -> Result<RunId, CliError> {
        self.store.find(name).map_err(|error| match error {
            StoreError::PrefixNotFound { prefix } => {
                CliError::new(Code::NoSuchRun, format!("no review's id begins with {prefix:?}"))
                    .with_hint(hint::LIST_REVIEWS)
            }
            other => other.into(),
        })
    }

    fn trace(&self, id: &RunId) -> Result<Value, CliError> {
        let bytes = self.store.attachment(id, &trace_name())?;
        // A trace that is not JSON has another content hash, which reading the review reports.
        Ok(parse(&bytes).unwrap_or_default())
    }

    /// Records the event that `make` returns for the current review, if the rules allow it.
    pub(super) fn record(
        &self,
        context: &Context,
        name: &str,
        stamp: Stamp,
        make: impl FnOnce(&Review) -> Result<ReviewEvent, CliError>,
    ) -> Result<Recorded, CliError> {
        let id = self.find(name)?;
        // The lease is held from reading to writing: no obstacle can be added between the check and the approval.
        let mut opened = self.store.open(&id)?;
        if let Some(cut) = &opened.cut {
            context.say(format!("review {id}: {cut}"));
        }
        let trace = self.trace(&id)?;
        let read = read_stored_review(id.as_str(), &self.store.journal_bytes(&id)?, &trace);
        let (None, Some(mut review), Some(before)) = (&read.broken, read.review, read.head) else {
            return Err(broken_error(&id, read.broken.as_ref()));
        };
        let event = make(&review)?;
        let entry = ReviewEntry { stamp, event: event.clone() };
        let SealedReview { line, head } = seal_entry(&entry, before);
        review.admit(entry).map_err(|refusal| refused(&id, &review, &refusal))?;
        let expected: Head = opened.writer.head();
        opened.writer.append(expected, &line, Durability::Synced)?;
        Ok(Recorded { id, head, event, judgement: review.judgement() })
    }
}

fn refused(id: &RunId, review: &Review, refusal: &Refusal) -> CliError {
    let mut error = CliError::new(Code::ReviewRefused, format!("review {id}: {refusal}"));
    if matches!(refusal, Refusal::NotApprovable { .. }) {
        let obstacles = review.judgement().obstacles;
        error.findings =
            obstacles.iter().map(|found| format!("{}: {}", found.subject, found.reason)).collect();
    }
    error.with_hint(hint::open_items(id.as_str()))
}

fn broken_error(id: &RunId, broken: Option<&Broken>) -> CliError {
    let reason = broken.map_or_else(|| "it cannot be read".to_owned(), ToString::to_string);
    CliError::new(Code::ReviewBroken, format!("review {id} does not hold: {reason}"))
        .with_hint(hint::review_status(id.as_str()))
}
