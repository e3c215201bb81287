//! A report for people, in Markdown, for a pull request.

use std::fmt::Write as _;

use crate::ContentHash;
use crate::grade::{Compliance, Grade, replayable};
use crate::residuals::by_severity;
use crate::show::markdown_text as text;
use crate::vocabulary::ResidualStatus;
use crate::wire::{Residual, Trace};

/// The largest number of residuals in a report, most severe first.
pub const RESIDUALS_LISTED_MAX: usize = 6;

/// Writes the report of a graded trace. Text of the trace is escaped, whatever it contains.
pub fn markdown_report(trace: &Trace, grade: &Grade, compliance: Option<&Compliance>) -> String {
    let mut out = String::new();
    let title = trace.entry().text("title").or_else(|| trace.trace_id()).unwrap_or("trace");
    let _ = writeln!(out, "## {}\n", text(title));
    headline(&mut out, trace, grade, compliance);
    scorecard(&mut out, grade);
    if let Some(compliance) = compliance.filter(|compliance| !compliance.failed.is_empty()) {
        let failed: Vec<String> = compliance.failed.iter().map(|name| text(name)).collect();
        let _ = writeln!(out, "**Policies that failed:** {}\n", failed.join(", "));
    }
    residuals(&mut out, trace);
    let _ = writeln!(out, "\n{}", ContentHash::of(&trace.source().clone().into()));
    out
}

fn headline(out: &mut String, trace: &Trace, grade: &Grade, compliance: Option<&Compliance>) {
    let replayable = replayable(trace);
    let policies = compliance.map_or_else(
        || "no policies evaluated".to_owned(),
        |compliance| format!("policies {}/{}", compliance.passed, compliance.total),
    );
    let _ = writeln!(
        out,
        "**Grade {} ({}/100)** · {policies} · {} actions · {} artifacts · {replayable} replayable\n",
        grade.letter.as_str(),
        grade.overall,
        trace.actions().len(),
        trace.artifacts().len(),
    );
}

fn scorecard(out: &mut String, grade: &Grade) {
    out.push_str("| Dimension | Score | Weight | Seen | What would raise it |\n|---|---|---|---|---|\n");
    for dimension in &grade.dimensions {
        let score =
            dimension.score.map_or_else(|| "n/a".to_owned(), |score| format!("{:.0}%", score * 100.0));
        let _ = writeln!(
            out,
            "| {} | {score} | {} | {} | {} |",
            dimension.kind.name(),
            dimension.weight(),
            text(&dimension.note),
            text(dimension.raise.as_deref().unwrap_or("")),
        );
    }
    out.push('\n');
}

fn residuals(out: &mut String, trace: &Trace) {
    let all = by_severity(trace);
    if all.is_empty() {
        out.push_str("**No gaps are declared.** That is not the same as having none: ask what was assumed, left out or not verified.\n");
        return;
    }
    let open = all.iter().filter(|residual| residual.status() == Some(ResidualStatus::Open)).count();
    let _ = writeln!(out, "**Gaps:** {} declared, {open} open\n", all.len());
    for residual in all.iter().take(RESIDUALS_LISTED_MAX) {
        residual_line(out, residual);
    }
    if let Some(more) = all.len().checked_sub(RESIDUALS_LISTED_MAX).filter(|more| *more > 0) {
        let _ = writeln!(out, "- and {more} more");
    }
}

fn residual_line(out: &mut String, residual: &Residual) {
    let severity = residual.text("severity").unwrap_or("no severity");
    let status = residual.text("status").unwrap_or("open");
    let kind = residual.text("kind").unwrap_or("unknown kind");
    let _ = writeln!(
        out,
        "- **{}** {} ({}): {}",
        text(severity),
        text(kind),
        text(status),
        text(residual.statement())
    );
    if let Some(check) = residual.suggested_check().filter(|check| !check.is_empty()) {
        let _ = writeln!(out, "  - check: {}", text(check));
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::grade::grade;
    use crate::lineage::Lineage;
    use crate::validate::validate;

    fn report(source: &str) -> String {
        let value = parse(source.as_bytes()).unwrap();
        let trace = Trace::read(&value);
        let grade = grade(&trace, &Lineage::of(&trace), &validate(&value));
        markdown_report(&trace, &grade, Compliance::recorded(&trace).as_ref())
    }

    #[test]
    fn the_worst_gaps_come_first_and_the_rest_is_counted() {
        let many: Vec<String> = (0..=RESIDUALS_LISTED_MAX)
            .map(|id| format!(r#"{{"residual_id": "r{id}", "kind": "limitation", "severity": "low", "statement": "low {id}"}}"#))
            .collect();
        let source = format!(
            r#"{{"trace_id": "t", "residuals": [{}, {{"kind": "assumption", "severity": "critical", "statement": "worst",
                "suggested_check": "look"}}]}}"#,
            many.join(",")
        );
        let text = report(&source);
        assert!(
            text.contains("- **critical** assumption (open): worst\n  - check: look\n- **low**"),
            "{text}"
        );
        assert!(text.contains("- and 2 more"), "{text}");
    }

    #[test]
    fn silence_about_gaps_is_remarked_on() {
        assert!(report("{}").contains("No gaps are declared"));
    }

    #[test]
    fn text_of_a_trace_cannot_escape_its_place() {
        let text = report(
            r##"{"title": "<script>x</script>\n# head | [l](javascript:1) \u001b[31m", "residuals": [{"statement": "a | b\n\n- **forged**"}]}"##,
        );
        assert!(
            !text.contains("<script") && !text.contains('\u{1b}') && !text.contains("\n# head"),
            "{text}"
        );
        assert!(!text.contains("\n- **forged**") && !text.contains("[l]("), "{text}");
    }
}
