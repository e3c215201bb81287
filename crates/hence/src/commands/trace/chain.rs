//! `hence trace chain`: the history of gaps in a chain of traces.

use hence_review::residuals::{GapHistory, chain_gaps, unlinked};
use hence_review::wire::Trace;

use super::document::Document;
use crate::args::TraceChainArgs;
use crate::prelude::*;

/// The gaps of a chain of traces.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChainReport {
    /// The number of gaps that are open at the end of the chain.
    open: usize,
    /// Every gap, in the order they were introduced.
    gaps: Vec<GapRow>,
}

/// The history of one gap.
#[derive(Serialize, JsonSchema)]
struct GapRow {
    /// The residual's id.
    residual_id: String,
    /// The gap as it was last stated.
    statement: String,
    /// The trace that closed it; nothing while it is open.
    closed_in: Option<String>,
    /// Its status in each trace, from the one that introduced it.
    links: Vec<LinkRow>,
}

/// A gap in one trace.
#[derive(Serialize, JsonSchema)]
struct LinkRow {
    /// The trace's id.
    trace_id: String,
    /// Its status there; nothing when the trace no longer mentions it.
    status: Option<&'static str>,
}

impl GapRow {
    fn of(gap: GapHistory) -> Self {
        let link = |link: hence_review::residuals::ChainLink| LinkRow {
            trace_id: link.trace_id,
            status: link.status.map(|status| status.as_str()),
        };
        Self {
            residual_id: gap.residual_id,
            statement: gap.statement,
            closed_in: gap.closed_in,
            links: gap.links.into_iter().map(link).collect(),
        }
    }

    fn text(&self) -> String {
        let state = match &self.closed_in {
            Some(trace) => format!("closed in {}", escape(trace)),
            None => "open".to_owned(),
        };
        let links: Vec<String> = self
            .links
            .iter()
            .map(|link| format!("{} {}", escape(&link.trace_id), link.status.unwrap_or("not mentioned")))
            .collect();
        format!(
            "{}  {state}\n  {}\n  {}\n",
            escape(&self.residual_id),
            escape(&self.statement),
            links.join(" → ")
        )
    }
}

impl Text for ChainReport {
    fn text(&self) -> String {
        let mut text: String = self.gaps.iter().map(GapRow::text).collect();
        text.push_str(&format!(
            "{}, {} open at the end of the chain\n",
            counted(self.gaps.len() as u64, "gap"),
            self.open
        ));
        text
    }
}

pub(super) fn run(context: &Context, args: &TraceChainArgs) -> Result<Exit, CliError> {
    let traces = args
        .files
        .iter()
        .map(|name| Document::of_file_or_run(context, name).map(|document| document.trace()))
        .collect::<Result<Vec<Trace>, _>>()?;
    let gaps = chain_gaps(&traces);
    let open = gaps.iter().filter(|gap| gap.is_open()).count();
    let apart = unlinked(&traces);
    if apart.len() > 1 {
        let names: Vec<String> = apart.iter().map(|id| escape(id)).collect();
        context.say(format_args!(
            "these traces follow none of the others, so what they do not mention stays open: {}",
            names.join(", ")
        ));
    }
    context.print(&ChainReport { open, gaps: gaps.into_iter().map(GapRow::of).collect() })?;
    Ok(Exit::Yes)
}
