//! `hence review status`: the status of a review, and whether its journal holds.

use hence_review::review_log::{Obstacle, ReadReview, Review};
use hence_review::vocabulary::ResidualStatus;

use super::store::ReviewStore;
use crate::args::ReviewStatusArgs;
use crate::prelude::*;

/// The status of a review.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusReport {
    /// The review's id.
    pub(crate) review: String,
    /// Whether the journal holds and the trace is the one it is bound to.
    pub(crate) holds: bool,
    /// The first thing that does not hold.
    pub(crate) broken: Option<String>,
    /// The number of valid records.
    pub(crate) records: u64,
    /// The number of lines in the review log.
    pub(crate) lines: u64,
    /// The hash of the last record that holds.
    pub(crate) head: Option<String>,
    /// Everything else, as far as the records hold.
    pub(crate) standing: Option<CallStatus>,
}

/// The content of the records.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CallStatus {
    /// The trace's id.
    pub(crate) trace_id: String,
    /// The content the review is bound to.
    pub(crate) content_hash: String,
    /// `approved`, `rejected`, `changes_requested`, `escalated` or `undecided`.
    pub(crate) decision: &'static str,
    /// `under_review`, `ready_for_approval`, `changes_required`, `approved` or `rejected`.
    pub(crate) stage: &'static str,
    /// The author of the decision.
    pub(crate) decided_by: Option<String>,
    /// The disposition of the review now.
    pub(crate) disposition: &'static str,
    /// The obstacles to an approval.
    pub(crate) obstacles: Vec<ObstacleRow>,
    /// The numbers of unresolved items and of all items.
    pub(crate) items_open: [usize; 2],
    /// The numbers of open gaps and of all gaps.
    pub(crate) gaps_open: [usize; 2],
    /// The numbers of open comments and of all comments.
    pub(crate) comments_open: [usize; 2],
}

/// An obstacle to an approval.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ObstacleRow {
    /// Its subject.
    pub(crate) subject: String,
    /// The reason, and the way to clear it.
    pub(crate) reason: String,
}

/// All reviews.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// In the order of their ids.
    reviews: Vec<ListRow>,
}

/// One review.
#[derive(Serialize, JsonSchema)]
struct ListRow {
    /// Its id.
    review: String,
    /// The number of valid records.
    records: u64,
    /// `approved`, `rejected`, `changes_requested`, `escalated`, `undecided`, or `broken`.
    decision: &'static str,
}

impl Text for ListReport {
    fn text(&self) -> String {
        if self.reviews.is_empty() {
            return "no reviews\n".to_owned();
        }
        let row =
            |row: &ListRow| [escape(&row.review), counted(row.records, "record"), row.decision.to_owned()];
        columns(&self.reviews.iter().map(row).collect::<Vec<_>>())
    }
}

impl Text for StatusReport {
    fn text(&self) -> String {
        let of = |[open, all]: [usize; 2]| format!("{open} of {all} open");
        let held = match &self.broken {
            None if self.records == 1 => "1 record holds".to_owned(),
            None if self.records == 1 => "1 record holds".to_owned(),
            None => format!("{} records hold", self.records),
            Some(broken) => {
                format!("{} of {} records hold; {}", self.records, self.lines, escape(broken))
            }
        };
        let mut rows = vec![("review", escape(&self.review)), ("journal", held)];
        if let Some(head) = &self.head {
            rows.push(("head", format!("{head}:{}", self.records)));
        }
        let Some(standing) = &self.standing else { return pairs(&rows) };
        let decision = match &standing.decided_by {
            Some(author) => format!("{} by {}", standing.decision, escape(author)),
            None => standing.decision.to_owned(),
        };
        rows.extend([
            ("trace", escape(&standing.trace_id)),
            ("content", standing.content_hash.clone()),
            ("decision", decision),
            ("stage", standing.stage.to_owned()),
            ("items", of(standing.items_open)),
            ("gaps", of(standing.gaps_open)),
            ("comments", of(standing.comments_open)),
            ("verdict", standing.disposition.to_owned()),
        ]);
        let mut text = pairs(&rows);
        for obstacle in &standing.obstacles {
            text.push_str(&format!("  {}: {}\n", escape(&obstacle.subject), escape(&obstacle.reason)));
        }
        text
    }
}

pub(super) fn run(context: &Context, args: &ReviewStatusArgs) -> Result<Exit, CliError> {
    let reviews = ReviewStore::open(context)?;
    let Some(name) = &args.review else { return list(context, &reviews) };
    let review = reviews.read(name)?;
    let report = describe(review.id.as_str(), &review.read);
    context.print(&report)?;
    Ok(if report.holds { Exit::Yes } else { Exit::No })
}

fn list(context: &Context, stored: &ReviewStore) -> Result<Exit, CliError> {
    let mut reviews = Vec::new();
    for summary in stored.store.list()? {
        let review = stored.read(summary.run.as_str())?;
        let decision = match (&review.read.broken, &review.read.review) {
            (None, Some(review)) => decision(review),
            _ => "broken",
        };
        let records = review.read.head.map_or(0, |head| head.records);
        reviews.push(ListRow { review: review.id.as_str().to_owned(), records, decision });
    }
    context.print(&ListReport { reviews })?;
    Ok(Exit::Yes)
}

fn decision(review: &Review) -> &'static str {
    review.decision().map_or("undecided", |decision| decision.kind.as_str())
}

/// Describes a review as far as it can be read.
pub(crate) fn describe(id: &str, read: &ReadReview) -> StatusReport {
    StatusReport {
        review: id.to_owned(),
        holds: read.broken.is_none(),
        broken: read.broken.as_ref().map(ToString::to_string),
        records: read.head.map_or(0, |head| head.records),
        lines: read.lines,
        head: read.head.map(|head| head.hash.to_string()),
        standing: read.review.as_ref().map(standing),
    }
}

fn standing(review: &Review) -> CallStatus {
    let judgement = review.judgement();
    let items_open = review.items().iter().filter(|item| item.is_open()).count();
    let gaps_open = review.gaps().iter().filter(|gap| gap.status == ResidualStatus::Open).count();
    let (comments, comments_open) = review.comment_counts();
    let obstacle =
        |found: &Obstacle| ObstacleRow { subject: found.subject.clone(), reason: found.reason.clone() };
    CallStatus {
        trace_id: review.header().trace_id.to_string(),
        content_hash: review.header().content_hash.to_string(),
        decision: decision(review),
        stage: review.stage().as_str(),
        decided_by: review.decision().map(|decision| decision.stamp.author.to_string()),
        disposition: judgement.disposition.as_str(),
        obstacles: judgement.obstacles.iter().map(obstacle).collect(),
        items_open: [items_open, review.items().len()],
        gaps_open: [gaps_open, review.gaps().len()],
        comments_open: [comments_open, comments],
    }
}
