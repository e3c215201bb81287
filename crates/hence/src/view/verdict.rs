//! The verdict bar of a run: integrity, replay, policies, gaps, review.

use hence_journal::verify::Level;

use super::Views;
use super::gaps::{BlockedStep, OpenGaps, PolicyCounts, blocked_steps, policy_counts};
use super::opened::Opened;
use super::projected::{Projected, Subject};
use super::shown::WHOLE_BYTES_MAX;
use crate::commands::verify::{VerifyReport, verify_stored};
use crate::prelude::*;

/// The most entries of a list in the report of a verification.
const ENTRIES_MAX: usize = 100;

/// One part of the bar.
#[derive(Serialize, JsonSchema)]
pub(super) struct Part {
    /// The verdict in a word.
    pub(super) status: &'static str,
    /// The verdict in a sentence.
    pub(super) says: String,
}

impl Part {
    fn new(status: &'static str, says: impl Into<String>) -> Self {
        let says: String = says.into();
        Self { status, says: says.chars().take(WHOLE_BYTES_MAX).collect() }
    }
}

/// Whether the journal holds.
#[derive(Serialize, JsonSchema)]
struct Integrity {
    #[serde(flatten)]
    part: Part,
    /// The report of `hence verify`; null where there is no journal.
    report: Option<VerifyReport>,
}

/// Whether the policies are satisfied.
#[derive(Serialize, JsonSchema)]
struct Policies {
    #[serde(flatten)]
    part: Part,
    #[serde(flatten)]
    counts: PolicyCounts,
    /// The steps that policies blocked while the run was driven, the last of them.
    blocked_steps: Vec<BlockedStep>,
}

/// The claims that are not shown.
#[derive(Serialize, JsonSchema)]
struct Gaps {
    #[serde(flatten)]
    part: Part,
    #[serde(flatten)]
    counts: OpenGaps,
}

/// The judgement of reviewers.
#[derive(Serialize, JsonSchema)]
struct Reviewed {
    #[serde(flatten)]
    part: Part,
    /// The review's id.
    review: Option<String>,
}

/// The verdict bar.
#[derive(Serialize, JsonSchema)]
pub(super) struct VerdictReport {
    integrity: Integrity,
    replay: Part,
    policies: Policies,
    gaps: Gaps,
    review: Reviewed,
}

impl Views {
    /// Judges a run. A verification is remembered until the run changes.
    pub(super) fn verdict(&self, subject: &Subject, replay: bool) -> Result<VerdictReport, CliError> {
        match subject {
            Subject::Trace(trace) => Ok(verdict_of_trace(trace)),
            Subject::Run(run) => self.verdict_of_run(run, replay),
        }
    }

    fn verdict_of_run(&self, run: &Opened, replay: bool) -> Result<VerdictReport, CliError> {
        let level = if replay { Level::Replay } else { Level::Spec };
        let verified = match run.refuse_large() {
            Ok(()) => verify_stored(&run.store, &run.id, level),
            Err(error) => Err(error),
        };
        let (integrity, replay) = integrity(verified, replay);
        let (policies, gaps) = match self.projected(run) {
            Ok(projected) => {
                let stands = match crate::run_view::status_of(&run.store, &run.summary) {
                    "blocked" => Stands::Blocked,
                    _ => Stands::Otherwise,
                };
                judged(run.name(), &projected, stands)
            }
            Err(error) => {
                let says = error.message;
                let policies = Policies::not_checked(&says);
                (policies, Gaps { part: Part::new("not_checked", says), counts: OpenGaps::default() })
            }
        };
        Ok(VerdictReport { integrity, replay, policies, gaps, review: self.review_part(run) })
    }

    fn review_part(&self, run: &Opened) -> Reviewed {
        let found = match self.review_of(run, None) {
            Ok(found) => found,
            Err(error) => return Reviewed { part: Part::new("broken", error.message), review: None },
        };
        let Some((id, read)) = found else {
            return Reviewed { part: Part::new("none", "nobody has reviewed it"), review: None };
        };
        let part = match (&read.broken, &read.review) {
            (None, Some(review)) => {
                let decided = review.decision();
                let status = decided.map_or("undecided", |decision| decision.kind.as_str());
                let by = decided.map(|decision| format!(" by {}", decision.stamp.author)).unwrap_or_default();
                match self.is_bound(run, review) {
                    true => Part::new(status, format!("{status}{by}")),
                    false => Part::new("other_content", format!("{status}{by}, of the run as it was before")),
                }
            }
            (broken, _) => {
                let says = broken.as_ref().map(ToString::to_string).unwrap_or_default();
                Part::new("broken", format!("the review does not hold: {says}"))
            }
        };
        Reviewed { part, review: Some(id) }
    }
}

fn integrity(verified: Result<VerifyReport, CliError>, replay: bool) -> (Integrity, Part) {
    let mut report = match verified {
        Ok(report) => report,
        Err(error) => {
            let part = Part::new("not_checked", &error.message);
            return (Integrity { part, report: None }, Part::new("not_checked", error.message));
        }
    };
    let replayed = report.levels.iter().find(|level| level.level == "replay");
    let replay = match replayed {
        Some(level) if level.verdict == "holds" => Part::new("holds", "executed again with equal bytes"),
        Some(level) if level.verdict == "broken" => {
            let line = level.line.map(|line| format!(" at record {line}")).unwrap_or_default();
            Part::new("broken", format!("executed again, it differs{line}"))
        }
        Some(level) => Part::new("not_checked", level.unchecked.join("; ")),
        None if replay => Part::new("not_checked", "it could not be executed again"),
        None => Part::new("not_checked", "nobody has asked for it"),
    };
    // A replay that differs has a verdict of its own; integrity is about everything else.
    let is_replay_alone = replay.status == "broken"
        && report.levels.iter().all(|level| level.verdict != "broken" || level.level == "replay")
        && report.links.iter().all(|link| link.verdict != "broken")
        && report.blobs.is_empty()
        && report.beside.is_empty()
        && report.snapshot.is_none();
    let holds = report.holds || is_replay_alone;
    let status = if holds { "holds" } else { "broken" };
    let says = if holds {
        let levels = report.levels.iter().filter(|level| level.verdict == "holds" && level.level != "replay");
        let levels: Vec<&str> = levels.map(|level| level.level).collect();
        format!("{} hold: {}", counted(report.records, "record"), levels.join(", "))
    } else {
        report.verdict()
    };
    report.links.truncate(ENTRIES_MAX);
    report.blobs.truncate(ENTRIES_MAX);
    report.beside.truncate(ENTRIES_MAX);
    for level in &mut report.levels {
        level.unchecked.truncate(ENTRIES_MAX);
    }
    (Integrity { part: Part::new(status, says), report: Some(report) }, replay)
}

/// Whether a run ends at a step that policies blocked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Blocked,
    Otherwise,
}

impl Policies {
    fn not_checked(says: &str) -> Self {
        let (part, counts) = (Part::new("not_checked", says), PolicyCounts::default());
        Self { part, counts, blocked_steps: Vec::new() }
    }

    fn of(counts: PolicyCounts, mut blocked: Vec<BlockedStep>, stands: Stands) -> Self {
        let status = match &counts {
            counts if counts.all() == 0 => "none",
            // A rule that held a step back was obeyed, so the trace that is left does not violate it.
            counts if stands == Stands::Blocked && counts.blocked > 0 => "blocked",
            counts if counts.failed > 0 => "failed",
            counts if counts.unknown > 0 => "unknown",
            counts if counts.passed > 0 => "passed",
            counts if counts.absent > 0 => "absent",
            _ => "not_applicable",
        };
        let PolicyCounts { passed, absent, failed, unknown, not_applicable, .. } = counts;
        let mut says = match status {
            "none" => "no policy is in force".to_owned(),
            _ => format!(
                "{passed} passed, {absent} absent, {failed} failed, {unknown} unknown, {not_applicable} did not apply"
            ),
        };
        if let Some(BlockedStep { record, step, policy }) = blocked.last() {
            says = format!("{policy} blocked step {step} at record {record}; {says}");
        }
        blocked.drain(..blocked.len().saturating_sub(ENTRIES_MAX));
        Self { part: Part::new(status, says), counts, blocked_steps: blocked }
    }
}

fn judged(name: &str, projected: &Projected, stands: Stands) -> (Policies, Gaps) {
    let policies = match policy_counts(name, &projected.value) {
        Err(error) => Policies::not_checked(&error.message),
        Ok(counts) => Policies::of(counts, blocked_steps(&projected.value), stands),
    };
    let counts = OpenGaps::of(&projected.trace);
    let part = match (counts.open, counts.all) {
        (0, 0) => Part::new("none", "no gap is declared"),
        (0, all) => Part::new("closed", format!("all {all} are closed")),
        (open, _) => {
            let some = counts.by_severity.iter().filter(|(_, count)| **count > 0);
            let some: Vec<String> = some.map(|(word, count)| format!("{count} {word}")).collect();
            Part::new("open", format!("{open} open: {}", some.join(", ")))
        }
    };
    (policies, Gaps { part, counts })
}

fn verdict_of_trace(trace: &Projected) -> VerdictReport {
    let none = "a trace has no journal: its author states it";
    let (policies, gaps) = judged(trace.trace.trace_id().unwrap_or("trace"), trace, Stands::Otherwise);
    VerdictReport {
        integrity: Integrity { part: Part::new("not_checked", none), report: None },
        replay: Part::new("not_checked", none),
        policies,
        gaps,
        review: Reviewed {
            part: Part::new("none", "reviews of traces are read with `hence review`"),
            review: None,
        },
    }
}
