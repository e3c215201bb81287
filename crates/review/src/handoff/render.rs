//! The packet as Markdown and as JSON.

use std::fmt::Write as _;

use hence_canon::{Object, Value};

use crate::markdown::text;

use super::Handoff;

impl Handoff {
    /// Writes the packet for people. Text of the trace is escaped, whatever it contains.
    pub fn markdown(&self) -> String {
        let mut out = String::from("# Review packet\n\n## 1. Orient\n\n");
        let _ = writeln!(out, "- asked: {}", text(&self.task));
        let _ = writeln!(out, "- ended: {}", text(&self.outcome));
        let _ = writeln!(out, "- files: {}", joined(&self.files_modified));
        let _ = writeln!(out, "- follows: {}\n", joined(&self.predecessors));
        out.push_str("## 2. Check again\n\n");
        if self.claims.is_empty() {
            out.push_str("Nothing here can be checked again; every claim counts as unverified.\n");
        }
        for claim in &self.claims {
            let _ = writeln!(
                out,
                "- [ ] {} {}: {}",
                claim.artifact_type,
                text(&claim.artifact_id),
                text(&claim.claim)
            );
            if let Some(command) = &claim.command {
                let _ = writeln!(out, "  - run: {}", text(command));
            } else if let Some(tool) = &claim.tool {
                let _ = writeln!(out, "  - with: {}", text(tool));
            }
        }
        self.write_gaps(&mut out);
        out
    }

    fn write_gaps(&self, out: &mut String) {
        out.push_str("\n## 3. Declared gaps\n\n");
        if self.work.is_empty() {
            out.push_str("None are open. A trace without gaps is not complete by that.\n");
        }
        for item in &self.work {
            let id = item.residual.id().unwrap_or("?");
            let severity = item.residual.text("severity").unwrap_or("no severity");
            let _ = writeln!(
                out,
                "- **{}** {} ({}): {}",
                item.urgency.as_str(),
                text(id),
                text(severity),
                text(item.residual.statement())
            );
            if let Some(check) = item.residual.suggested_check() {
                let _ = writeln!(out, "  - check: {}", text(check));
            }
            let _ = writeln!(out, "  - {}", item.advice);
        }
        out.push_str("\n## 4. Gaps nobody declared\n\n");
        if self.derived.is_empty() && self.undeclared.is_empty() {
            out.push_str("None were found.\n");
        }
        for residual in &self.derived {
            let _ = writeln!(
                out,
                "- {} ({}): {}",
                text(&residual.id),
                residual.severity,
                text(&residual.statement)
            );
        }
        for gap in &self.undeclared {
            let by: Vec<String> = gap.changed_by.iter().map(ToString::to_string).collect();
            let _ = writeln!(
                out,
                "- {} ({}): changed by action {}, then neither verified nor declared",
                text(&gap.path),
                gap.severity,
                by.join(", ")
            );
        }
    }
}

fn joined(items: &[String]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    items.iter().map(|item| text(item)).collect::<Vec<_>>().join(", ")
}

/// The packet for tools.
impl From<&Handoff> for Value {
    fn from(packet: &Handoff) -> Self {
        let claims = packet.claims.iter().map(|claim| {
            Object::from_iter([
                ("artifact_id", Value::from(claim.artifact_id.as_str())),
                ("artifact_type", claim.artifact_type.into()),
                ("claim", claim.claim.as_str().into()),
                ("command", claim.command.as_deref().into()),
                ("tool", claim.tool.as_deref().into()),
            ])
        });
        let work = packet.work.iter().map(|item| {
            Object::from_iter([
                ("residual", Value::from(item.residual.source().clone())),
                ("urgency", item.urgency.as_str().into()),
                ("advice", item.advice.into()),
            ])
        });
        let undeclared = packet.undeclared.iter().map(|gap| {
            Object::from_iter([
                ("path", Value::from(gap.path.as_str())),
                ("changed_by", gap.changed_by.iter().copied().collect()),
                ("severity", gap.severity.into()),
            ])
        });
        Object::from_iter([
            ("task", Value::from(packet.task.as_str())),
            ("outcome", packet.outcome.as_str().into()),
            ("files_modified", packet.files_modified.iter().map(String::as_str).collect()),
            ("predecessors", packet.predecessors.iter().map(String::as_str).collect()),
            ("claims", claims.collect()),
            ("work", work.collect()),
            ("derived", packet.derived.iter().map(Value::from).collect()),
            ("undeclared", undeclared.collect()),
        ])
        .into()
    }
}
