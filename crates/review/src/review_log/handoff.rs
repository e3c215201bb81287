//! The reviewer's packet as a document and as Markdown: orient, re-check, work through gaps, decide. Text of the trace is
//! escaped.

use std::fmt::Write as _;

use hence_canon::{Object, Value};

use crate::grade::grade;
use crate::model::CheckOutcome;
use crate::reproduce::CommandClass;
use crate::residuals::{chain_gaps, predecessors};
use crate::show::markdown_text as text;
use crate::validate::validate_read;
use crate::vocabulary::{ResidualSeverity, ResidualStatus};
use crate::wire::{Event, Trace};

use super::gap::{Basis, Checkable, Gap, Origin};
use super::review::Review;

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect::<Object>().into()
}

/// A gap of an earlier trace that this trace does not close.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inherited {
    /// The id of the trace that declared it first.
    trace_id: String,
    residual_id: String,
    statement: String,
}

/// Returns the open gaps of the given earlier traces.
fn inherited(review: &Review, earlier: &[Trace]) -> Vec<Inherited> {
    let own = review.trace().trace_id().unwrap_or("");
    let chain: Vec<Trace> = earlier.iter().chain([review.trace()]).cloned().collect();
    let open = chain_gaps(&chain).into_iter().filter(|gap| gap.is_open());
    open.filter_map(|gap| {
        let first = gap.links.first().map(|link| link.trace_id.clone()).filter(|id| id != own)?;
        Some(Inherited { trace_id: first, residual_id: gap.residual_id, statement: gap.statement })
    })
    .collect()
}

/// Returns the packet as a document; [`handoff_markdown`] writes the same for people.
///
/// `earlier` are the traces this one follows, as far as they are available: their open gaps are part of the packet.
pub fn handoff(review: &Review, earlier: &[Trace]) -> Value {
    let judgement = review.judgement();
    let obstacles = judgement.obstacles.iter().map(|found| {
        object([("subject", found.subject.as_str().into()), ("reason", found.reason.as_str().into())])
    });
    let disposition =
        object([("disposition", judgement.disposition.as_str().into()), ("obstacles", obstacles.collect())]);
    object([
        ("format", "hence-handoff/1".into()),
        ("orient", orient(review, earlier)),
        ("evidence", review.claims().map(|(claim, outcome)| evidence(claim, outcome)).collect()),
        ("work", work(review).into_iter().map(task).collect()),
        ("items", review.items().iter().map(item).collect()),
        ("undeclared", undeclared(review).into_iter().map(task).collect()),
        ("verdict", disposition),
    ])
}

fn orient(review: &Review, earlier: &[Trace]) -> Value {
    let trace = review.trace();
    let event = |event: Option<Event>| {
        event.map(|event| {
            let text = |key: &str| Value::from(event.text(key));
            object([("type", text("type")), ("summary", text("summary")), ("reason", text("reason"))])
        })
    };
    let lineage = trace.entry().member("trace_lineage").cloned().unwrap_or_default();
    let links: Value = trace.trace_links().map(|link| Value::from(link.source().clone())).collect();
    let left_open = inherited(review, earlier).into_iter().map(|gap| {
        object([
            ("trace_id", gap.trace_id.into()),
            ("residual_id", gap.residual_id.into()),
            ("statement", gap.statement.into()),
        ])
    });
    let grade = grade(trace, &review.lineage, &validate_read(trace, &review.lineage));
    object([
        ("review_id", review.header.review_id.clone().into()),
        ("trace_id", review.header.trace_id.clone().into()),
        ("content_hash", review.header.content_hash.into()),
        ("trigger", event(trace.trigger()).into()),
        ("outcome", event(trace.outcome()).into()),
        ("actions", trace.actions().len().into()),
        ("artifacts", trace.artifacts().len().into()),
        ("files_modified", trace.files_modified().collect()),
        ("trace_lineage", lineage),
        ("trace_links", links),
        ("predecessors", predecessors(trace).iter().map(String::as_str).collect()),
        ("left_open_before", left_open.collect()),
        ("grade", format!("{} ({}/100)", grade.letter.as_str(), grade.overall).into()),
        ("validation_errors", review.errors.into()),
    ])
}

fn evidence(claim: &Checkable, outcome: Option<CheckOutcome>) -> Value {
    let class = claim.judgement.as_ref().map(|judgement| judgement.class.as_str());
    object([
        ("artifact_id", claim.artifact_id.as_str().into()),
        ("type", claim.kind.as_str().into()),
        ("about", claim.about.as_str().into()),
        ("action_id", claim.action_id.into()),
        ("command", claim.command.as_deref().into()),
        ("command_class", class.into()),
        ("tool", claim.tool.as_deref().into()),
        ("expected", claim.expected.as_deref().into()),
        ("recorded", (claim.basis == Basis::Recorded).into()),
        ("again", claim.again.iter().map(String::as_str).collect()),
        ("checked", outcome.map(CheckOutcome::as_str).into()),
    ])
}

/// Returns the gaps to work through, the most severe open ones first, without undeclared ones.
fn work(review: &Review) -> Vec<&Gap> {
    let mut gaps: Vec<&Gap> = review.gaps().iter().filter(|gap| gap.origin != Origin::Undeclared).collect();
    gaps.sort_by_key(|gap| (gap.status != ResidualStatus::Open, std::cmp::Reverse(gap.severity)));
    gaps
}

/// Returns the undeclared gaps.
fn undeclared(review: &Review) -> Vec<&Gap> {
    review.gaps().iter().filter(|gap| gap.origin == Origin::Undeclared).collect()
}

fn task(gap: &Gap) -> Value {
    object([
        ("residual_id", gap.id.as_str().into()),
        ("origin", gap.origin.as_str().into()),
        ("kind", gap.kind.as_str().into()),
        ("severity", gap.severity.map(ResidualSeverity::as_str).into()),
        ("status", gap.status.as_str().into()),
        ("statement", gap.statement.as_str().into()),
        ("target", gap.target.as_str().into()),
        ("suggested_check", gap.suggested_check.as_deref().into()),
        ("on_high_stakes", gap.on_high_stakes.into()),
        ("urgency", gap.urgency().as_str().into()),
        ("triage", triage(gap).into()),
    ])
}

/// Returns the reviewer's task for a gap.
fn triage(gap: &Gap) -> &'static str {
    match gap.kind.as_str() {
        "assumption" if gap.on_high_stakes => "check the premise",
        "assumption" => "raise an item on the premise",
        "unverified" | "stale_evidence" if gap.on_high_stakes => "run the check; it blocks until then",
        "unverified" | "stale_evidence" => "run the check or raise an item",
        "out_of_scope" => "confirm the exclusion; escalate if the work depends on it",
        "limitation" => "carry the bound on; block if the result is used outside it",
        "open_question" => "a person decides",
        _ => "decide what kind of gap it is",
    }
}

fn item(found: &super::Item) -> Value {
    object([
        ("review_item_id", found.event.review_item_id.as_str().into()),
        ("title", found.event.title.clone().into()),
        ("origin", found.origin.as_str().into()),
        ("blocking", found.event.blocking.into()),
        ("status", found.status.into()),
        ("author", found.stamp.author.clone().into()),
        ("assignee", found.event.assignee.clone().into()),
    ])
}

/// Writes the packet for people; `earlier` as in [`handoff`].
pub fn handoff_markdown(review: &Review, earlier: &[Trace]) -> String {
    let mut out = String::new();
    write_orientation(&mut out, review, earlier);
    write_evidence(&mut out, review);
    let open: Vec<&Gap> = work(review);
    write_gaps(
        &mut out,
        "3. Work through the gaps",
        &open,
        "The trace declares no gaps, which is not the same as having none.",
    );
    write_items(&mut out, review);
    let hidden = undeclared(review);
    write_gaps(
        &mut out,
        "4. Gaps nobody declared",
        &hidden,
        "Everything changed was verified or is mentioned by a gap.",
    );
    write_verdict(&mut out, review);
    out
}

fn write_orientation(out: &mut String, review: &Review, earlier: &[Trace]) {
    let trace = review.trace();
    let _ = writeln!(out, "# Review {}\n\n## 1. Orient\n", text(&review.header.review_id));
    let event = |event: Option<Event>| {
        event.map_or_else(
            || "not recorded".to_owned(),
            |event| {
                let summary = ["summary", "description", "reason"].iter().find_map(|key| event.text(key));
                format!("{} {}", text(event.text("type").unwrap_or("")), text(summary.unwrap_or("")))
            },
        )
    };
    let _ = writeln!(out, "- trace {}, {}", text(&review.header.trace_id), review.header.content_hash);
    let _ = writeln!(out, "- began: {}", event(trace.trigger()));
    let _ = writeln!(out, "- ended: {}", event(trace.outcome()));
    let _ = writeln!(out, "- {} actions, {} artifacts", trace.actions().len(), trace.artifacts().len());
    for path in trace.files_modified() {
        let _ = writeln!(out, "- changed: {}", text(path));
    }
    for link in trace.trace_links() {
        let (kind, other) = (link.text("relationship").unwrap_or(""), link.text("to_trace_id").unwrap_or(""));
        let _ = writeln!(out, "- {} {}", text(kind), text(other));
    }
    for gap in inherited(review, earlier) {
        let (id, from) = (text(&gap.residual_id), text(&gap.trace_id));
        let _ = writeln!(out, "- still open from {from}: {id}: {}", text(&gap.statement));
    }
    if review.errors > 0 {
        let _ = writeln!(out, "- **{} validation errors**", review.errors);
    }
}

fn write_evidence(out: &mut String, review: &Review) {
    out.push_str("\n## 2. Check the evidence again\n\nProse is routing; only these can be checked.\n\n");
    let mut none = true;
    for (claim, outcome) in review.claims() {
        none = false;
        let mark = match outcome {
            Some(CheckOutcome::Confirmed) => "confirmed",
            Some(CheckOutcome::Diverged) => "DIVERGED",
            Some(CheckOutcome::Accepted) => "accepted unchecked",
            Some(CheckOutcome::Reread) => "read again, not checked",
            None => "not checked",
        };
        let _ = writeln!(
            out,
            "- **{}** {} ({mark}): {}",
            text(&claim.artifact_id),
            text(&claim.kind),
            text(&claim.about)
        );
        if claim.basis == Basis::Recorded {
            out.push_str("  - recorded: reading the record again, as a replay does, confirms nothing\n");
            for step in &claim.again {
                let _ = writeln!(out, "  - to check it: {}", text(step));
            }
            if claim.again.is_empty() {
                out.push_str("  - it cannot be checked from here\n");
            }
        }
        if let Some(command) = &claim.command {
            let class = claim.judgement.as_ref().map(|judgement| judgement.class);
            let safety =
                if class == Some(CommandClass::Safe) { "safe to run" } else { "look before you run it" };
            let _ = writeln!(out, "  - again: {} ({safety})", text(command));
        } else if let Some(tool) = &claim.tool {
            let _ = writeln!(out, "  - made with: {}", text(tool));
        }
        if let Some(expected) = &claim.expected {
            let _ = writeln!(out, "  - expected: {}", text(expected));
        }
    }
    if none {
        out.push_str("Nothing in this trace can be checked: every claim counts as unverified.\n");
    }
}

fn write_gaps(out: &mut String, title: &str, gaps: &[&Gap], none: &str) {
    let _ = writeln!(out, "\n## {title}\n");
    if gaps.is_empty() {
        let _ = writeln!(out, "{none}");
    }
    for gap in gaps {
        let severity = gap.severity.map_or("untriaged", |severity| severity.as_str());
        let box_ = if gap.status == ResidualStatus::Open { " " } else { "x" };
        let _ = writeln!(
            out,
            "- [{box_}] **{severity}** {} {} ({}, {}): {}",
            text(&gap.kind),
            text(&gap.id),
            gap.origin.as_str(),
            gap.status,
            text(&gap.statement)
        );
        let _ = writeln!(out, "  - {}: {}", gap.urgency().as_str(), triage(gap));
        if let Some(check) = &gap.suggested_check {
            let _ = writeln!(out, "  - check: {}", text(check));
        }
    }
}

fn write_items(out: &mut String, review: &Review) {
    if review.items().is_empty() {
        return;
    }
    out.push_str("\n### Items\n\n");
    for item in review.items() {
        let (mark, state) = (if item.is_open() { " " } else { "x" }, item.status);
        let blocking = if item.event.blocking { ", blocking" } else { "" };
        let id = text(item.event.review_item_id.as_str());
        let _ = writeln!(out, "- [{mark}] {id} ({state}{blocking}): {}", text(&item.event.title));
    }
}

fn write_verdict(out: &mut String, review: &Review) {
    let judgement = review.judgement();
    let _ = writeln!(out, "\n## 5. Verdict: {}\n", judgement.disposition.as_str());
    for obstacle in &judgement.obstacles {
        let _ = writeln!(out, "- {}: {}", text(&obstacle.subject), text(&obstacle.reason));
    }
    match review.decision() {
        Some(decision) => {
            let (author, at) = (text(&decision.stamp.author), text(&decision.stamp.at));
            let _ = writeln!(out, "\nDecided: {} by {author} at {at}", text(decision.kind.as_str()));
        }
        None => out.push_str("\nNot decided.\n"),
    }
}
