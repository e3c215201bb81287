//! The review of a run: threads, items, decisions, and new entries by the rules of `hence review`.

use std::str::FromStr as _;
use std::sync::Arc;

use hence_canon::Value;
use hence_review::ContentHash;
use hence_review::model::{CheckOutcome, ReviewEvent};
use hence_review::review_log::{ReadReview, Review, handoff, handoff_markdown, merged};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};
use hence_review::wire::Trace;
use serde::Deserialize;

use super::Views;
use super::error::bad_request;
use super::opened::Opened;
use super::projected::Projected;
use crate::args::Part;
use crate::commands::review::open::{OpenReport, open_review};
use crate::commands::review::record::{
    EntryReport, NewGap, NewItem, add_entry, approval_event, check_event, comment_event, decision_event,
    gap_event, item_event, subject_event,
};
use crate::commands::review::stamp::stamp_now;
use crate::commands::review::status::{ObstacleRow, describe};
use crate::commands::review::store::ReviewStore;
use crate::prelude::*;

/// The most records of a review that are listed.
const ENTRIES_MAX: usize = 500;

/// The most threads and items that are listed.
const THREADS_MAX: usize = 500;

/// The events that a person can add.
const EVENTS: [&str; 12] = [
    "comment",
    "item",
    "gap",
    "check",
    "acknowledge",
    "resolve",
    "waive",
    "approve",
    "reject",
    "request-changes",
    "escalate",
    "rescind",
];

/// A part of a trace.
#[derive(Serialize, JsonSchema)]
pub(super) struct TargetRow {
    /// `trace`, `action`, `artifact`, `policy`…
    #[serde(rename = "type")]
    target_type: String,
    /// Its id; null for the whole trace.
    id: Option<String>,
}

/// A comment with its replies.
#[derive(Serialize, JsonSchema)]
struct ThreadRow {
    id: String,
    target: TargetRow,
    author: Option<String>,
    at: Option<String>,
    body: String,
    /// `open` or `resolved`.
    status: String,
    replies: Vec<ReplyRow>,
}

/// A reply to a comment.
#[derive(Serialize, JsonSchema)]
struct ReplyRow {
    id: String,
    author: Option<String>,
    at: Option<String>,
    body: String,
    status: String,
}

/// An item.
#[derive(Serialize, JsonSchema)]
struct ItemRow {
    id: String,
    target: TargetRow,
    title: String,
    body: Option<String>,
    assignee: Option<String>,
    /// Whether it prevents an approval.
    blocking: bool,
    /// `open`, `acknowledged`, `resolved` or `waived`.
    status: String,
    author: Option<String>,
    at: Option<String>,
}

/// A record of the review.
#[derive(Serialize, JsonSchema)]
struct HistoryRow {
    /// Its place in the review's journal.
    index: u64,
    event: String,
    author: Option<String>,
    at: Option<String>,
    /// The id of the comment, item or gap.
    subject: Option<String>,
    /// The words.
    text: Option<String>,
}

/// The review of a run.
#[derive(Serialize, JsonSchema, Default)]
pub(super) struct ReviewReport {
    /// The review's id.
    review: String,
    /// Whether there is one.
    exists: bool,
    /// Whether it is about the run as it is now.
    bound: bool,
    /// Whether its journal holds.
    holds: bool,
    /// The first thing that does not hold.
    broken: Option<String>,
    /// The number of its records that hold.
    records: u64,
    /// The hash of the last of them.
    head: Option<String>,
    /// `approved`, `rejected`, `changes_requested`, `escalated` or `undecided`.
    decision: Option<&'static str>,
    /// `under_review`, `ready_for_approval`, `changes_required`, `approved` or `rejected`.
    stage: Option<&'static str>,
    /// The author of the decision.
    decided_by: Option<String>,
    /// The disposition of the review now.
    disposition: Option<&'static str>,
    /// The obstacles to an approval.
    obstacles: Vec<ObstacleRow>,
    threads: Vec<ThreadRow>,
    items: Vec<ItemRow>,
    /// The last records of the review, oldest first.
    entries: Vec<HistoryRow>,
    /// The events that can be added.
    may: Vec<&'static str>,
}

/// The reviewer's packet.
#[derive(Serialize, JsonSchema)]
pub(super) struct HandoffReport {
    markdown: String,
    packet: Data,
}

/// The opening of a review.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewReview {}

/// A new entry of a review.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NewEntry {
    /// `comment`, `item`, `gap`, `check`, `acknowledge`, `resolve`, `waive`, `approve`, `reject`, `request-changes`, `escalate` or
    /// `rescind`.
    #[schemars(extend("enum" = EVENTS))]
    event: String,
    /// The part that a comment, an item or a gap is about: `trace`, `action:ID`, `artifact:ID`, `policy:ID`…
    on: Option<String>,
    /// The text of a comment, or an item in full.
    body: Option<String>,
    /// The comment to reply to.
    reply_to: Option<String>,
    /// An item in one line.
    title: Option<String>,
    /// The person who should do it.
    assignee: Option<String>,
    /// Whether an item prevents an approval.
    blocking: bool,
    /// A gap in plain language.
    statement: Option<String>,
    /// The kind of a gap.
    kind: Option<String>,
    /// The severity of a gap.
    severity: Option<String>,
    /// A check that would close a gap.
    suggested_check: Option<String>,
    /// The item, gap or comment that is acknowledged, resolved or waived; the artifact that was checked.
    id: Option<String>,
    /// The result of a check: `confirmed`, `diverged`, `accepted` or `reread`.
    outcome: Option<String>,
    /// The reason.
    note: Option<String>,
}

impl NewEntry {
    fn required<'a>(&'a self, name: &str, value: &'a Option<String>) -> Result<&'a str, CliError> {
        let given = value.as_deref().filter(|text| !text.trim().is_empty());
        given.ok_or_else(|| bad_request(format!("the event `{}` needs `{name}`", self.event)))
    }

    fn make(&self, review: &Review, name: &str) -> Result<ReviewEvent, CliError> {
        let on = || {
            let part = Part::from_str(self.on.as_deref().unwrap_or("trace"));
            part.map(|part| part.0).map_err(|error| bad_request(format!("on: {error}")))
        };
        let text = |words: &Option<String>| words.as_deref().map(Arc::<str>::from);
        let note = || text(&self.note);
        let subject = |event| subject_event(review, name, self.required("id", &self.id)?, note(), event);
        let decision = |event| Ok(decision_event(note(), event));
        match self.event.as_str() {
            "comment" => {
                let body = self.required("body", &self.body)?;
                Ok(comment_event(review, on()?, body, self.reply_to.as_deref()))
            }
            "item" => {
                let (title, blocking) = (self.required("title", &self.title)?, self.blocking);
                let item =
                    NewItem { title, body: text(&self.body), assignee: text(&self.assignee), blocking };
                Ok(item_event(review, on()?, item))
            }
            "gap" => Ok(gap_event(review, on()?, self.gap()?)),
            "check" => {
                let outcome = CheckOutcome::from_str(self.required("outcome", &self.outcome)?);
                let outcome = outcome.map_err(|error| bad_request(format!("outcome: {error}")))?;
                check_event(review, self.required("id", &self.id)?, outcome, note())
            }
            "acknowledge" => subject(ReviewEvent::Acknowledge),
            "resolve" => subject(ReviewEvent::Resolve),
            "waive" => subject(ReviewEvent::Waive),
            "approve" => approval_event(review, note()),
            "reject" => decision(ReviewEvent::Reject),
            "request-changes" => decision(ReviewEvent::RequestChanges),
            "escalate" => decision(ReviewEvent::Escalate),
            "rescind" => decision(ReviewEvent::Rescind),
            other => {
                Err(bad_request(format!("event: expected one of {}, found {other:?}", EVENTS.join(", "))))
            }
        }
    }

    fn gap(&self) -> Result<NewGap<'_>, CliError> {
        let (kind, severity) = (self.kind.as_deref(), self.severity.as_deref());
        let kind = ResidualKind::from_str(kind.unwrap_or("unverified"));
        let severity = ResidualSeverity::from_str(severity.unwrap_or("medium"));
        Ok(NewGap {
            kind: kind.map_err(|error| bad_request(format!("kind: {error}")))?,
            severity: severity.map_err(|error| bad_request(format!("severity: {error}")))?,
            statement: self.required("statement", &self.statement)?,
            suggested_check: self.suggested_check.as_deref().map(Into::into),
        })
    }
}

impl Views {
    /// Reads the review of a run, if there is one: that of the run's id, or the one that is named.
    pub(super) fn review_of(
        &self,
        run: &Opened,
        name: Option<&str>,
    ) -> Result<Option<(String, ReadReview)>, CliError> {
        let reviews = match ReviewStore::open(&self.context) {
            Ok(reviews) => reviews,
            Err(error) if error.code == Code::NoSuchRun && name.is_none() => return Ok(None),
            Err(error) => return Err(error),
        };
        match reviews.read(name.unwrap_or(run.name())) {
            // A prefix could be the id of the review of another run.
            Ok(found) if name.is_some() || found.id == run.id => {
                Ok(Some((found.id.as_str().to_owned(), found.read)))
            }
            Ok(_) => Ok(None),
            Err(error) if matches!(error.code, Code::NoSuchRun | Code::Ambiguous) && name.is_none() => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether a review is about a run as it is now.
    pub(super) fn is_bound(&self, run: &Opened, review: &Review) -> bool {
        let hash = self.projected(run).map(|projected| ContentHash::of(&projected.value));
        hash.is_ok_and(|hash| hash == review.header().content_hash)
    }

    /// Returns the trace of a run as its review leaves it, if the review is about the run as it is now.
    pub(super) fn reviewed_trace(
        &self,
        run: &Opened,
        projected: &Projected,
    ) -> Result<Option<Trace>, CliError> {
        let Some((_, ReadReview { broken: None, review: Some(review), head: Some(head), .. })) =
            self.review_of(run, None)?
        else {
            return Ok(None);
        };
        let is_bound = ContentHash::of(&projected.value) == review.header().content_hash;
        Ok(is_bound.then(|| Trace::read(&merged(&review, head))))
    }

    pub(super) fn review(&self, run: &Opened, name: Option<&str>) -> Result<ReviewReport, CliError> {
        let Some((id, read)) = self.review_of(run, name)? else {
            return Ok(ReviewReport { review: run.name().to_owned(), ..ReviewReport::default() });
        };
        let status = describe(&id, &read);
        let mut report = ReviewReport {
            exists: true,
            holds: status.holds,
            broken: status.broken,
            records: status.records,
            head: status.head,
            may: EVENTS.to_vec(),
            ..ReviewReport::default()
        };
        if let Some(standing) = status.standing {
            report.decision = Some(standing.decision);
            report.stage = Some(standing.stage);
            report.decided_by = standing.decided_by;
            report.disposition = Some(standing.disposition);
            report.obstacles = standing.obstacles;
            report.obstacles.truncate(THREADS_MAX);
        }
        if let (Some(review), Some(head)) = (&read.review, read.head) {
            report.bound = self.is_bound(run, review);
            let document = merged(review, head);
            report.threads = threads(&document);
            report.items = items(&document);
        }
        report.entries = self.entries(&id)?;
        report.review = id;
        Ok(report)
    }

    fn entries(&self, id: &str) -> Result<Vec<HistoryRow>, CliError> {
        let reviews = ReviewStore::open(&self.context)?;
        let run = hence_store::RunId::new(id).map_err(|error| bad_request(error.to_string()))?;
        let journal = reviews.store.journal_bytes(&run)?;
        let lines: Vec<&[u8]> =
            journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let skipped = lines.len().saturating_sub(ENTRIES_MAX);
        let rows = lines.iter().enumerate().skip(skipped.max(1));
        Ok(rows.filter_map(|(index, line)| history_row(index as u64, line)).collect())
    }

    pub(super) fn handoff(&self, run: &Opened, name: Option<&str>) -> Result<HandoffReport, CliError> {
        let review = ReviewStore::open(&self.context)?.read_whole(name.unwrap_or(run.name()))?;
        let packet = Data(handoff(&review, &[]));
        Ok(HandoffReport { markdown: handoff_markdown(&review, &[]), packet })
    }

    pub(super) fn open_review(&self, run: &Opened, who: &str) -> Result<OpenReport, CliError> {
        let projected = self.projected(run)?;
        open_review(&self.context, &projected.value, Some(run.name()), stamp_now(who)?)
    }

    pub(super) fn add_entry(
        &self,
        run: &Opened,
        name: Option<&str>,
        entry: &NewEntry,
        who: &str,
    ) -> Result<EntryReport, CliError> {
        let review = match self.review_of(run, name)? {
            Some((id, _)) => id,
            None => {
                let message = format!("run {}: nobody has opened a review of it", run.id);
                return Err(CliError::new(Code::NoSuchRun, message).with_hint(hint::OPEN_REVIEW));
            }
        };
        add_entry(&self.context, &review, stamp_now(who)?, |found| entry.make(found, &review))
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the part of a trace that something is about; the whole trace where it names none.
pub(super) fn target(value: &Value) -> TargetRow {
    let target = value.get("target");
    let member = |key: &str| target.and_then(|target| target.get(key));
    let id = member("target_id").map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
    let target_type = member("target_type").and_then(Value::as_str).unwrap_or("trace").to_owned();
    TargetRow { target_type, id }
}

fn listed<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document.get(key).and_then(Value::as_array).unwrap_or_default()
}

fn threads(document: &Value) -> Vec<ThreadRow> {
    let comments = listed(document, "comments");
    let reply = |comment: &Value| ReplyRow {
        id: text(comment, "comment_id").unwrap_or_default(),
        author: text(comment, "author"),
        at: text(comment, "created_at"),
        body: text(comment, "body").unwrap_or_default(),
        status: text(comment, "status").unwrap_or_else(|| "open".to_owned()),
    };
    let root = |comment: &Value| -> String {
        // A reply to a reply belongs to the thread of the first comment; a circle ends.
        let (mut id, mut parent) =
            (text(comment, "comment_id").unwrap_or_default(), text(comment, "thread_parent_id"));
        for _ in 0..comments.len() {
            let Some(next) = parent else { break };
            let found = comments.iter().find(|other| text(other, "comment_id").as_deref() == Some(&*next));
            parent = found.and_then(|found| text(found, "thread_parent_id"));
            id = next;
        }
        id
    };
    let firsts = comments.iter().filter(|comment| text(comment, "thread_parent_id").is_none());
    let thread = |first: &Value| {
        let ReplyRow { id, author, at, body, status } = reply(first);
        let is_reply = |other: &&Value| text(other, "thread_parent_id").is_some() && root(other) == id;
        let replies = comments.iter().filter(is_reply).map(reply).collect();
        ThreadRow { target: target(first), replies, id, author, at, body, status }
    };
    firsts.take(THREADS_MAX).map(thread).collect()
}

fn items(document: &Value) -> Vec<ItemRow> {
    let row = |item: &Value| ItemRow {
        id: text(item, "review_item_id").unwrap_or_default(),
        target: target(item),
        title: text(item, "title").unwrap_or_default(),
        body: text(item, "body"),
        assignee: text(item, "assignee"),
        blocking: item.get("blocking").and_then(Value::as_bool).unwrap_or_default(),
        status: text(item, "status").unwrap_or_else(|| "open".to_owned()),
        author: text(item, "author"),
        at: text(item, "created_at"),
    };
    listed(document, "review_items").iter().take(THREADS_MAX).map(row).collect()
}

fn history_row(index: u64, line: &[u8]) -> Option<HistoryRow> {
    let record = hence_canon::parse(line).ok()?;
    let event = record.get("event")?;
    let member = |key: &str| text(event, key).or_else(|| text(&record, key));
    let subject = ["comment_id", "review_item_id", "residual_id", "subject_id", "artifact_id"];
    let words = ["body", "title", "statement", "note"];
    Some(HistoryRow {
        index,
        event: text(event, "event").unwrap_or_default(),
        author: member("author"),
        at: member("at"),
        subject: subject.iter().find_map(|key| member(key)),
        text: words.iter().find_map(|key| member(key)),
    })
}
