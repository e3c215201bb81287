//! The commands that add an entry to a review.

use std::sync::Arc;

use hence_canon::Object;
use hence_review::model::{
    ArtifactId, CheckEvent, CommentEvent, CommentId, DecisionEvent, GapEvent, ItemEvent, ResidualId,
    ReviewEvent, ReviewItemId, SubjectEvent,
};
use hence_review::review_log::Review;

use super::stamp::stamp;
use super::store::{Recorded, ReviewStore};
use crate::args::{
    ReviewCheckArgs, ReviewCommentArgs, ReviewDecisionArgs, ReviewGapArgs, ReviewItemArgs, ReviewSubjectArgs,
    StampArgs,
};
use crate::prelude::*;

/// An entry that was recorded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntryReport {
    /// The review's id.
    review: String,
    /// The event.
    event: &'static str,
    /// The id of its subject.
    id: Option<String>,
    /// The number of records in the review log.
    records: u64,
    /// The hash of the last record.
    head: String,
    /// The disposition of the review now: `approve`, `request-changes` or `escalate-to-human`.
    disposition: &'static str,
    /// The number of obstacles to an approval.
    obstacles: usize,
}

impl Text for EntryReport {
    fn text(&self) -> String {
        let what = match &self.id {
            Some(id) => format!("{} {}", self.event, escape(id)),
            None => self.event.to_owned(),
        };
        pairs(&[
            ("review", escape(&self.review)),
            ("recorded", what),
            ("head", format!("{}:{}", self.head, self.records)),
            ("verdict", self.disposition.to_owned()),
            ("obstacles", self.obstacles.to_string()),
        ])
    }
}

fn record(
    context: &Context,
    review: &str,
    by: &StampArgs,
    make: impl FnOnce(&Review) -> Result<ReviewEvent, CliError>,
) -> Result<Exit, CliError> {
    let stamp = stamp(by)?;
    let Recorded { id, head, event, judgement } =
        ReviewStore::open(context)?.record(context, review, stamp, make)?;
    context.print(&EntryReport {
        review: id.as_str().to_owned(),
        event: event.word(),
        id: subject(&event),
        records: head.records,
        head: head.hash.to_string(),
        disposition: judgement.disposition.as_str(),
        obstacles: judgement.obstacles.len(),
    })?;
    Ok(Exit::Yes)
}

fn subject(event: &ReviewEvent) -> Option<String> {
    match event {
        ReviewEvent::Comment(event) => Some(event.comment_id.to_string()),
        ReviewEvent::Item(event) => Some(event.review_item_id.to_string()),
        ReviewEvent::Gap(event) => Some(event.residual_id.to_string()),
        ReviewEvent::Check(event) => Some(event.artifact_id.to_string()),
        ReviewEvent::Acknowledge(event) | ReviewEvent::Resolve(event) | ReviewEvent::Waive(event) => {
            Some(event.subject_id.to_string())
        }
        ReviewEvent::Approve(_)
        | ReviewEvent::Reject(_)
        | ReviewEvent::RequestChanges(_)
        | ReviewEvent::Escalate(_)
        | ReviewEvent::Rescind(_) => None,
    }
}

fn text(words: &Option<String>) -> Option<Arc<str>> {
    words.as_deref().map(Into::into)
}

pub(super) fn comment(context: &Context, args: &ReviewCommentArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        Ok(ReviewEvent::Comment(CommentEvent {
            comment_id: CommentId::new(review.free_id('c')),
            target: args.on.0.clone(),
            body: args.body.as_str().into(),
            thread_parent_id: args.reply_to.as_deref().map(CommentId::new),
            extra: Object::new(),
        }))
    })
}

pub(super) fn item(context: &Context, args: &ReviewItemArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        Ok(ReviewEvent::Item(ItemEvent {
            review_item_id: ReviewItemId::new(review.free_id('i')),
            target: args.on.0.clone(),
            title: args.title.as_str().into(),
            body: text(&args.body),
            assignee: text(&args.assignee),
            blocking: args.blocking,
            extra: Object::new(),
        }))
    })
}

pub(super) fn gap(context: &Context, args: &ReviewGapArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        Ok(ReviewEvent::Gap(GapEvent {
            residual_id: ResidualId::new(review.free_id('g')),
            kind: args.kind,
            severity: args.severity,
            statement: args.statement.as_str().into(),
            target: args.on.0.clone(),
            suggested_check: text(&args.check),
            extra: Object::new(),
        }))
    })
}

pub(super) fn check(context: &Context, args: &ReviewCheckArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        let event = CheckEvent {
            artifact_id: ArtifactId::new(args.artifact.as_str()),
            outcome: args.outcome,
            note: text(&args.note),
            extra: Object::new(),
        };
        review.may_confirm(&event).map_err(|refusal| {
            CliError::from_error(Code::ReviewRefused, refusal).with_hint(hint::HOW_IT_WAS_CHECKED)
        })?;
        Ok(ReviewEvent::Check(event))
    })
}

/// Acknowledges, resolves or waives the thing an id names.
fn on_subject(
    context: &Context,
    args: &ReviewSubjectArgs,
    event: fn(SubjectEvent) -> ReviewEvent,
) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        let subject_type = review.subject(&args.id).ok_or_else(|| {
            let message = format!("no item, gap or comment has the id {:?}", args.id);
            CliError::new(Code::NoSuchPlace, message).with_hint(hint::review_parts(&args.review))
        })?;
        let subject_id = args.id.as_str().into();
        Ok(event(SubjectEvent { subject_type, subject_id, note: text(&args.note), extra: Object::new() }))
    })
}

pub(super) fn acknowledge(context: &Context, args: &ReviewSubjectArgs) -> Result<Exit, CliError> {
    on_subject(context, args, ReviewEvent::Acknowledge)
}

pub(super) fn resolve(context: &Context, args: &ReviewSubjectArgs) -> Result<Exit, CliError> {
    on_subject(context, args, ReviewEvent::Resolve)
}

pub(super) fn waive(context: &Context, args: &ReviewSubjectArgs) -> Result<Exit, CliError> {
    on_subject(context, args, ReviewEvent::Waive)
}

/// Records a decision about the whole trace.
fn on_trace(
    context: &Context,
    args: &ReviewDecisionArgs,
    event: fn(DecisionEvent) -> ReviewEvent,
) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |_| {
        Ok(event(DecisionEvent { note: text(&args.note), extra: Object::new() }))
    })
}

pub(super) fn approve(context: &Context, args: &ReviewDecisionArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        crate::commands::approval_allowed(review)?;
        Ok(ReviewEvent::Approve(DecisionEvent { note: text(&args.note), extra: Object::new() }))
    })
}

pub(super) fn reject(context: &Context, args: &ReviewDecisionArgs) -> Result<Exit, CliError> {
    on_trace(context, args, ReviewEvent::Reject)
}

pub(super) fn request_changes(context: &Context, args: &ReviewDecisionArgs) -> Result<Exit, CliError> {
    on_trace(context, args, ReviewEvent::RequestChanges)
}

pub(super) fn escalate(context: &Context, args: &ReviewDecisionArgs) -> Result<Exit, CliError> {
    on_trace(context, args, ReviewEvent::Escalate)
}

pub(super) fn rescind(context: &Context, args: &ReviewDecisionArgs) -> Result<Exit, CliError> {
    on_trace(context, args, ReviewEvent::Rescind)
}
