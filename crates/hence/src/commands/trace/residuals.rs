//! `hence trace residuals`: the gaps of a trace, worst first.

use hence_canon::Value;
use hence_review::residuals::{DerivedResidual, by_severity, derive_residuals};
use hence_review::vocabulary::ResidualStatus;
use hence_review::wire::Residual;

use super::declare;
use super::document::Document;
use crate::args::{ResidualsChange, TraceResidualsArgs};
use crate::prelude::*;

/// The gaps of a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ResidualsReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// Open ones first, then the most severe.
    residuals: Vec<ResidualRow>,
}

/// One gap.
#[derive(Serialize, JsonSchema)]
struct ResidualRow {
    /// Its id.
    id: String,
    /// Whether it follows from the trace without being declared.
    derived: bool,
    /// Its kind as written.
    kind: String,
    /// Its severity as written; null when it was not triaged.
    severity: Option<String>,
    /// Its status.
    status: String,
    /// The gap in plain language.
    statement: String,
    /// The check that could close it.
    suggested_check: Option<String>,
    /// Its subject.
    target: Option<String>,
    #[serde(skip)]
    #[schemars(skip)]
    rank: (bool, std::cmp::Reverse<Option<hence_review::vocabulary::ResidualSeverity>>),
}

impl ResidualRow {
    fn declared(residual: &Residual) -> Self {
        let target = residual.target().map(|target| {
            let id = target.target_id().unwrap_or("");
            format!("{} {id}", target.text("target_type").unwrap_or("")).trim().to_owned()
        });
        Self {
            id: residual.id().unwrap_or("").to_owned(),
            derived: false,
            kind: residual.text("kind").unwrap_or("unknown kind").to_owned(),
            severity: residual.text("severity").map(str::to_owned),
            status: residual.text("status").unwrap_or("open").to_owned(),
            statement: residual.statement().to_owned(),
            suggested_check: residual.suggested_check().map(str::to_owned),
            target,
            rank: (residual.status() != Some(ResidualStatus::Open), std::cmp::Reverse(residual.severity())),
        }
    }

    fn derived(residual: &DerivedResidual) -> Self {
        let written = Value::from(residual);
        let id = written.get("target").and_then(|target| target.get("target_id")?.as_str()).unwrap_or("");
        Self {
            id: residual.id.clone(),
            derived: true,
            kind: residual.basis.kind().to_owned(),
            severity: Some(residual.severity.as_str().to_owned()),
            status: "open".to_owned(),
            statement: residual.statement.clone(),
            suggested_check: Some(residual.suggested_check.clone()),
            target: Some(format!("{} {id}", residual.target.target_type()).trim().to_owned()),
            rank: (false, std::cmp::Reverse(Some(residual.severity))),
        }
    }

    fn text(&self) -> String {
        let severity = self.severity.as_deref().unwrap_or("no severity");
        let origin = if self.derived { ", not declared" } else { "" };
        let mut text = format!(
            "{:<8}  {:<13}  {}  ({}{origin})\n          {}\n",
            escape(severity),
            escape(&self.kind),
            escape(&self.id),
            escape(&self.status),
            escape(&self.statement)
        );
        if let Some(check) = self.suggested_check.as_deref().filter(|check| !check.is_empty()) {
            text.push_str(&format!("          check: {}\n", escape(check)));
        }
        text
    }
}

impl Text for ResidualsReport {
    fn text(&self) -> String {
        if self.residuals.is_empty() {
            return "no gaps are declared and none follow; that is not the same as having none\n".to_owned();
        }
        self.residuals.iter().map(ResidualRow::text).collect()
    }
}

pub(super) fn run(context: &Context, args: &TraceResidualsArgs) -> Result<Exit, CliError> {
    match &args.change {
        Some(ResidualsChange::Add(args)) => return declare::add(context, args),
        Some(ResidualsChange::Derive(args)) => return declare::derive(context, args),
        None => {}
    }
    // Without a change the file is required; the parser of arguments checks that.
    let document = Document::of_file_or_run(context, args.file.as_deref().unwrap_or("-"))?;
    let trace = document.trace();
    let mut rows: Vec<ResidualRow> = by_severity(&trace).iter().map(ResidualRow::declared).collect();
    if !args.declared {
        rows.extend(derive_residuals(&trace).iter().map(ResidualRow::derived));
    }
    rows.sort_by_key(|row| row.rank);
    if args.open {
        rows.retain(|row| !row.rank.0);
    }
    context.print(&ResidualsReport { trace_id: trace.trace_id().map(str::to_owned), residuals: rows })?;
    Ok(Exit::Yes)
}
