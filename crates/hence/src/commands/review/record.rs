//! The commands that add an entry to a review.

use std::sync::Arc;

use hence_canon::Object;
use hence_review::model::{
    ArtifactId, CheckEvent, CheckOutcome, CommentEvent, CommentId, DecisionEvent, GapEvent, ItemEvent,
    ResidualId, ReviewEvent, ReviewItemId, SubjectEvent, Target,
};
use hence_review::review_log::{Review, Stamp};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};

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

/// Adds the event that `make` returns to a review, if the rules allow it.
///
/// # Errors
/// [`CliError`] when the review does not hold or a rule refuses the event. Nothing is recorded then.
pub(crate) fn add_entry(
    context: &Context,
    review: &str,
    stamp: Stamp,
    make: impl FnOnce(&Review) -> Result<ReviewEvent, CliError>,
) -> Result<EntryReport, CliError> {
    let Recorded { id, head, event, judgement } =
        ReviewStore::open(context)?.record(context, review, stamp, make)?;
    Ok(EntryReport {
        review: id.as_str().to_owned(),
        event: event.word(),
        id: subject(&event),
        records: head.records,
        head: head.hash.to_string(),
        disposition: judgement.disposition.as_str(),
        obstacles: judgement.obstacles.len(),
    })
}

fn record(
    context: &Context,
    review: &str,
    by: &StampArgs,
    make: impl FnOnce(&Review) -> Result<ReviewEvent, CliError>,
) -> Result<Exit, CliError> {
    context.print(&add_entry(context, review, stamp(by)?, make)?)?;
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

/// Returns a new comment.
pub(crate) fn comment_event(review: &Review, on: Target, body: &str, reply_to: Option<&str>) -> ReviewEvent {
    ReviewEvent::Comment(CommentEvent {
        comment_id: CommentId::new(review.free_id('c')),
        target: on,
        body: body.into(),
        thread_parent_id: reply_to.map(CommentId::new),
        extra: Object::new(),
    })
}

/// The words of a new item.
pub(crate) struct NewItem<'a> {
    pub(crate) title: &'a str,
    pub(crate) body: Option<Arc<str>>,
    pub(crate) assignee: Option<Arc<str>>,
    pub(crate) blocking: bool,
}

/// Returns a new item.
pub(crate) fn item_event(review: &Review, on: Target, item: NewItem<'_>) -> ReviewEvent {
    ReviewEvent::Item(ItemEvent {
        review_item_id: ReviewItemId::new(review.free_id('i')),
        target: on,
        title: item.title.into(),
        body: item.body,
        assignee: item.assignee,
        blocking: item.blocking,
        extra: Object::new(),
    })
}

/// The words of a new gap.
pub(crate) struct NewGap<'a> {
    pub(crate) kind: ResidualKind,
    pub(crate) severity: ResidualSeverity,
    pub(crate) statement: &'a str,
    pub(crate) suggested_check: Option<Arc<str>>,
}

/// Returns a new gap.
pub(crate) fn gap_event(review: &Review, on: Target, gap: NewGap<'_>) -> ReviewEvent {
    ReviewEvent::Gap(GapEvent {
        residual_id: ResidualId::new(review.free_id('g')),
        kind: gap.kind,
        severity: gap.severity,
        statement: gap.statement.into(),
        target: on,
        suggested_check: gap.suggested_check,
        extra: Object::new(),
    })
}

/// Returns what happens to the item, gap or comment that an id names.
///
/// # Errors
/// [`CliError`] when nothing has the id.
pub(crate) fn subject_event(
    review: &Review,
    name: &str,
    id: &str,
    note: Option<Arc<str>>,
    event: fn(SubjectEvent) -> ReviewEvent,
) -> Result<ReviewEvent, CliError> {
    let subject_type = review.subject(id).ok_or_else(|| {
        let message = format!("no item, gap or comment has the id {id:?}");
        CliError::new(Code::NoSuchPlace, message).with_hint(hint::review_parts(name))
    })?;
    Ok(event(SubjectEvent { subject_type, subject_id: id.into(), note, extra: Object::new() }))
}

/// Returns a decision about the whole trace.
pub(crate) fn decision_event(note: Option<Arc<str>>, event: fn(DecisionEvent) -> ReviewEvent) -> ReviewEvent {
    event(DecisionEvent { note, extra: Object::new() })
}

/// Returns an approval, if the policies about gaps allow it.
///
/// # Errors
/// [`CliError`] with the policies that do not.
pub(crate) fn approval_event(review: &Review, note: Option<Arc<str>>) -> Result<ReviewEvent, CliError> {
    crate::commands::approval_allowed(review)?;
    Ok(decision_event(note, ReviewEvent::Approve))
}

pub(super) fn comment(context: &Context, args: &ReviewCommentArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        Ok(comment_event(review, args.on.0.clone(), &args.body, args.reply_to.as_deref()))
    })
}

pub(super) fn item(context: &Context, args: &ReviewItemArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        let (body, assignee) = (text(&args.body), text(&args.assignee));
        let item = NewItem { title: &args.title, body, assignee, blocking: args.blocking };
        Ok(item_event(review, args.on.0.clone(), item))
    })
}

pub(super) fn gap(context: &Context, args: &ReviewGapArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        let (kind, severity, suggested_check) = (args.kind, args.severity, text(&args.check));
        let gap = NewGap { kind, severity, statement: &args.statement, suggested_check };
        Ok(gap_event(review, args.on.0.clone(), gap))
    })
}

/// Returns the result of checking an artifact again, if it can be confirmed that way.
///
/// # Errors
/// [`CliError`] when the way it was checked does not confirm it.
pub(crate) fn check_event(
    review: &Review,
    artifact: &str,
    outcome: CheckOutcome,
    note: Option<Arc<str>>,
) -> Result<ReviewEvent, CliError> {
    let event = CheckEvent { artifact_id: ArtifactId::new(artifact), outcome, note, extra: Object::new() };
    review.may_confirm(&event).map_err(|refusal| {
        CliError::from_error(Code::ReviewRefused, refusal).with_hint(hint::HOW_IT_WAS_CHECKED)
    })?;
    Ok(ReviewEvent::Check(event))
}

pub(super) fn check(context: &Context, args: &ReviewCheckArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        check_event(review, &args.artifact, args.outcome, text(&args.note))
    })
}

/// Acknowledges, resolves or waives the thing an id names.
fn on_subject(
    context: &Context,
    args: &ReviewSubjectArgs,
    event: fn(SubjectEvent) -> ReviewEvent,
) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| {
        subject_event(review, &args.review, &args.id, text(&args.note), event)
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
    record(context, &args.review, &args.stamp, |_| Ok(decision_event(text(&args.note), event)))
}

pub(super) fn approve(context: &Context, args: &ReviewDecisionArgs) -> Result<Exit, CliError> {
    record(context, &args.review, &args.stamp, |review| approval_event(review, text(&args.note)))
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
