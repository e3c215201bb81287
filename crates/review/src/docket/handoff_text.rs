//! The reviewer's packet in Markdown. Text of the trace is shown, never obeyed.

use std::fmt::Write as _;

use crate::model::CheckOutcome;
use crate::reproduce::CommandClass;
use crate::show::markdown_text as text;
use crate::vocabulary::ResidualStatus;
use crate::wire::Trace;

use super::gap::Gap;
use super::handoff::{inherited, triage, undeclared, work};
use super::review::Review;

/// Writes the packet for people; `earlier` as in [`super::handoff`].
pub fn handoff_markdown(review: &Review, earlier: &[Trace]) -> String {
    let mut out = String::new();
    orient(&mut out, review, earlier);
    evidence(&mut out, review);
    let open: Vec<&Gap> = work(review);
    section(
        &mut out,
        "3. Work through the gaps",
        &open,
        "The trace declares no gaps, which is not the same as having none.",
    );
    items(&mut out, review);
    let hidden = undeclared(review);
    section(
        &mut out,
        "4. Gaps nobody declared",
        &hidden,
        "Everything changed was verified or is mentioned by a gap.",
    );
    verdict(&mut out, review);
    out
}

fn orient(out: &mut String, review: &Review, earlier: &[Trace]) {
    let trace = review.trace();
    let _ = writeln!(out, "# Review {}\n\n## 1. Orient\n", text(&review.header.review_id));
    let event = |event: Option<crate::wire::Event>| {
        event.map_or_else(
            || "not recorded".to_owned(),
            |event| {
                let says = ["summary", "description", "reason"].iter().find_map(|key| event.text(key));
                format!("{} {}", text(event.text("type").unwrap_or("")), text(says.unwrap_or("")))
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

fn evidence(out: &mut String, review: &Review) {
    out.push_str("\n## 2. Check the evidence again\n\nProse is routing; only these can be checked.\n\n");
    let mut none = true;
    for (claim, outcome) in review.claims() {
        none = false;
        let mark = match outcome {
            Some(CheckOutcome::Confirmed) => "confirmed",
            Some(CheckOutcome::Diverged) => "DIVERGED",
            Some(CheckOutcome::Accepted) => "accepted unchecked",
            None => "not checked",
        };
        let _ = writeln!(
            out,
            "- **{}** {} ({mark}): {}",
            text(&claim.artifact_id),
            text(&claim.kind),
            text(&claim.about)
        );
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

fn section(out: &mut String, title: &str, gaps: &[&Gap], none: &str) {
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

fn items(out: &mut String, review: &Review) {
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

fn verdict(out: &mut String, review: &Review) {
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
