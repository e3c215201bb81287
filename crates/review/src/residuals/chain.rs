//! The history of gaps across a chain of successor traces (§13.3).

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::{Relationship, ResidualStatus};
use crate::wire::Trace;

/// A gap in one trace of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// The id of the trace.
    pub trace_id: String,
    /// The status of the gap; nothing when the trace no longer mentions it.
    pub status: Option<ResidualStatus>,
}

/// The life of one gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapHistory {
    /// The id of the residual.
    pub residual_id: String,
    /// The gap in plain language, as it was last stated.
    pub statement: String,
    /// From the trace that introduced it to the end of the chain.
    pub links: Vec<ChainLink>,
    /// The id of the trace that closed it: the first where it is addressed, waived, or no longer mentioned,
    /// unless a later trace has it open again. Only a successor closes a gap by not mentioning it: a trace that names
    /// none of the others as its predecessor does not know their gaps.
    pub closed_in: Option<String>,
}

impl GapHistory {
    /// Returns whether the gap is still there at the end of the chain.
    pub fn is_open(&self) -> bool {
        self.closed_in.is_none()
    }
}

/// Follows every residual through a chain of traces.
///
/// The chain is ordered by the links between the traces (`supersedes`, `reruns`, `derived_from`, `forked_from`, and the
/// parent in their lineage). Traces without links, and circles of links, keep the given order.
pub fn chain_gaps(traces: &[Trace]) -> Vec<GapHistory> {
    let chain: Vec<&Trace> = order(traces).into_iter().filter_map(|place| traces.get(place)).collect();
    let mut introduced: Vec<(String, usize)> = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (place, trace) in chain.iter().enumerate() {
        for residual in trace.residuals() {
            if let Some(id) = residual.id()
                && known.insert(id.to_owned())
            {
                introduced.push((id.to_owned(), place));
            }
        }
    }
    let follows = strangers(&chain).into_iter().map(|stranger| !stranger).collect::<Vec<bool>>();
    introduced.into_iter().map(|(id, since)| history(&chain, &follows, id, since)).collect()
}

/// Returns the ids of the traces that name no predecessor among the others. In a chain, that is the first trace only.
pub fn unlinked(traces: &[Trace]) -> Vec<String> {
    let all: Vec<&Trace> = traces.iter().collect();
    let apart = all.iter().zip(strangers(&all)).filter(|(_, stranger)| *stranger);
    apart.map(|(trace, _)| trace.trace_id().unwrap_or("").to_owned()).collect()
}

/// Returns for each trace whether it names no predecessor among the others.
fn strangers(traces: &[&Trace]) -> Vec<bool> {
    let ids: BTreeSet<&str> = traces.iter().filter_map(|trace| trace.trace_id()).collect();
    let names_one = |trace: &&Trace| {
        predecessors(trace).iter().any(|id| trace.trace_id() != Some(id) && ids.contains(id.as_str()))
    };
    traces.iter().map(|trace| !names_one(trace)).collect()
}

fn history(chain: &[&Trace], follows: &[bool], residual_id: String, since: usize) -> GapHistory {
    let mut statement = String::new();
    let mut closed_in: Option<String> = None;
    let mut links = Vec::new();
    for (trace, follows) in chain.iter().zip(follows).skip(since) {
        let trace_id = trace.trace_id().unwrap_or("").to_owned();
        let residual = trace.residuals().find(|found| found.id() == Some(&residual_id));
        let status = residual.as_ref().map(|found| found.status().unwrap_or(ResidualStatus::Open));
        if let Some(residual) = &residual {
            residual.statement().clone_into(&mut statement);
        }
        match status {
            Some(ResidualStatus::Open | ResidualStatus::Acknowledged) => closed_in = None,
            None if !follows => {}
            Some(ResidualStatus::Addressed | ResidualStatus::Waived) | None => {
                closed_in.get_or_insert_with(|| trace_id.clone());
            }
        }
        links.push(ChainLink { trace_id, status });
    }
    GapHistory { residual_id, statement, links, closed_in }
}

/// Orders traces so that predecessors come before their successors.
fn order(traces: &[Trace]) -> Vec<usize> {
    let places: BTreeMap<&str, usize> =
        traces.iter().enumerate().filter_map(|(place, trace)| Some((trace.trace_id()?, place))).collect();
    let mut waiting: BTreeMap<usize, BTreeSet<usize>> = traces
        .iter()
        .enumerate()
        .map(|(place, trace)| {
            let before = predecessors(trace).into_iter().filter_map(|id| places.get(id.as_str()).copied());
            (place, before.filter(|before| *before != place).collect())
        })
        .collect();
    let mut ordered = Vec::with_capacity(traces.len());
    while let Some(next) = waiting
        .iter()
        .find(|(_, before)| before.is_empty())
        .or_else(|| waiting.iter().next())
        .map(|(place, _)| *place)
    {
        waiting.remove(&next);
        for before in waiting.values_mut() {
            before.remove(&next);
        }
        ordered.push(next);
    }
    ordered
}

/// Returns the ids of the predecessors that a trace names.
pub(crate) fn predecessors(trace: &Trace) -> Vec<String> {
    let parent =
        trace.entry().object("trace_lineage").and_then(|lineage| lineage.get("parent_trace_id")?.as_str());
    let mut ids: Vec<String> = parent.map(str::to_owned).into_iter().collect();
    for link in trace.trace_links() {
        let follows = matches!(
            link.relationship(),
            Some(
                Relationship::Supersedes
                    | Relationship::Reruns
                    | Relationship::DerivedFrom
                    | Relationship::ForkedFrom
            )
        );
        if follows && link.text("from_trace_id") == trace.trace_id() {
            ids.extend(link.text("to_trace_id").map(str::to_owned));
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn trace(text: &str) -> Trace {
        Trace::read(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_gap_is_closed_by_the_successor_that_addresses_or_drops_it() {
        let first = trace(
            r#"{"trace_id": "t1", "residuals": [{"residual_id": "a"}, {"residual_id": "b"}, {"residual_id": "c"}]}"#,
        );
        let second = trace(
            r#"{"trace_id": "t2", "trace_lineage": {"parent_trace_id": "t1"},
                "residuals": [{"residual_id": "a", "status": "addressed"}, {"residual_id": "c", "status": "acknowledged"}]}"#,
        );
        let third = trace(
            r#"{"trace_id": "t3", "trace_links": [{"from_trace_id": "t3", "to_trace_id": "t2", "relationship": "supersedes"}],
                "residuals": [{"residual_id": "c"}, {"residual_id": "d"}]}"#,
        );
        // Given out of order; the links say what followed what.
        let gaps = chain_gaps(&[third, first, second]);
        let closed: Vec<(&str, Option<&str>)> =
            gaps.iter().map(|gap| (gap.residual_id.as_str(), gap.closed_in.as_deref())).collect();
        assert_eq!(closed, [("a", Some("t2")), ("b", Some("t2")), ("c", None), ("d", None)]);
    }

    #[test]
    fn a_trace_that_follows_none_of_the_others_closes_nothing_by_silence() {
        let first = trace(r#"{"trace_id": "t1", "residuals": [{"residual_id": "a"}, {"residual_id": "b"}]}"#);
        let other = trace(r#"{"trace_id": "u", "residuals": [{"residual_id": "b", "status": "waived"}]}"#);
        let traces = [first, other];
        let closed: Vec<Option<String>> = chain_gaps(&traces).into_iter().map(|gap| gap.closed_in).collect();
        assert_eq!(closed, [None, Some("u".to_owned())]);
        assert_eq!(unlinked(&traces), ["t1", "u"]);
    }

    #[test]
    fn traces_that_claim_to_follow_each_other_are_still_read() {
        let left = trace(
            r#"{"trace_id": "l", "trace_lineage": {"parent_trace_id": "r"}, "residuals": [{"residual_id": "a"}]}"#,
        );
        let right = trace(r#"{"trace_id": "r", "trace_lineage": {"parent_trace_id": "l"}}"#);
        assert_eq!(chain_gaps(&[left, right]).len(), 1);
    }
}
