//! Links between runs as links between traces.

use std::sync::Arc;

use hence_canon::Object;
use hence_review::model::{LinkId, TraceId, TraceLineage, TraceLink};
use hence_review::vocabulary::{ChainStatus, Relationship};

/// How a run came out of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunLink {
    /// The other run.
    pub run: Arc<str>,
    /// How.
    pub relation: RunRelation,
    /// The run at the root of the chain, if it is known.
    pub root: Option<Arc<str>>,
    /// Where in the other run, for people.
    pub note: Option<Arc<str>>,
}

/// How a run came out of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunRelation {
    /// It shares the other's records up to a step and goes on by itself.
    ForkedFrom,
    /// A step of the other started it.
    StartedBy,
    /// It does the same again.
    Reruns,
    /// A step of this one started the other.
    Started,
}

/// Returns the links of a run as the format has them.
pub(crate) fn links(run: &str, links: &[RunLink]) -> (Vec<TraceLink>, Option<TraceLineage>) {
    let link = |(place, link): (usize, &RunLink)| TraceLink {
        link_id: LinkId::new(format!("link-{}", place + 1)),
        from_trace_id: TraceId::new(run),
        to_trace_id: TraceId::new(link.run.clone()),
        relationship: match link.relation {
            RunRelation::ForkedFrom => Relationship::ForkedFrom,
            RunRelation::StartedBy => Relationship::DerivedFrom,
            RunRelation::Reruns => Relationship::Reruns,
            RunRelation::Started => Relationship::RelatedTo,
        },
        created_at: None,
        created_by: None,
        note: link.note.clone(),
        extra: Object::new(),
    };
    // A run linked to itself would be its own ancestor, and no reader could follow that.
    let others = || links.iter().filter(|link| &*link.run != run);
    let lineage = others().find(|link| link.relation != RunRelation::Started).map(|parent| TraceLineage {
        parent_trace_id: Some(TraceId::new(parent.run.clone())),
        root_trace_id: Some(TraceId::new(parent.root.clone().unwrap_or_else(|| parent.run.clone()))),
        chain_position: None,
        chain_status: Some(ChainStatus::Active),
        latest_descendant_trace_id: None,
        extra: Object::new(),
    });
    (others().enumerate().map(link).collect(), lineage)
}
