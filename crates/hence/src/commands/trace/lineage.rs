//! `hence trace lineage`: the artifacts an artifact was made from, and those made from it.

use std::path::Path;

use hence_review::lineage::{Direction, Lineage, Picture};
use hence_review::wire::Trace;

use super::document::Document;
use super::export::projected;
use crate::address::Address;
use crate::args::TraceLineageArgs;
use crate::commands::{artifact_named, find_record};
use crate::prelude::*;
use crate::target::Journal;

/// The lineage of one artifact.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LineageReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// The artifact.
    artifact: NodeRow,
    /// Its sources, direct and indirect; nothing with `--down` alone.
    ancestors: Option<Vec<NodeRow>>,
    /// Its descendants, direct and indirect; nothing with `--up` alone.
    descendants: Option<Vec<NodeRow>>,
    /// Immediate derivations among all of these, from the source to the derived artifact.
    edges: Vec<Edge>,
}

/// One artifact.
#[derive(Serialize, JsonSchema)]
struct NodeRow {
    /// Its id.
    id: String,
    /// Whether the trace has an artifact of that id; a mere reference otherwise.
    known: bool,
    /// Its type as written.
    #[serde(rename = "type")]
    kind: String,
    /// Its name.
    name: Option<String>,
    /// The id of the action that made it.
    producer_action_id: Option<i64>,
    /// That action's type and label.
    producer: Option<String>,
}

/// An immediate derivation.
#[derive(Serialize, JsonSchema)]
struct Edge {
    /// The source.
    from: String,
    /// The derived artifact.
    to: String,
}

impl NodeRow {
    fn of(trace: &Trace, lineage: &Lineage, id: &str) -> Self {
        let artifact = trace.artifact_by_id(id);
        let producer = lineage.producer(id).and_then(|position| trace.action(position));
        Self {
            id: id.to_owned(),
            known: artifact.is_some(),
            kind: artifact.map(|artifact| artifact.type_word().to_owned()).unwrap_or_default(),
            name: artifact.and_then(|artifact| artifact.name()).map(str::to_owned),
            producer_action_id: producer.and_then(hence_review::wire::Action::id),
            producer: producer
                .map(|action| format!("{} {}", action.type_word(), action.label()).trim().to_owned()),
        }
    }

    fn row(&self) -> [String; 4] {
        let maker = match (&self.producer, self.producer_action_id) {
            (Some(producer), Some(id)) => format!("by action {id}: {producer}"),
            (Some(producer), None) => format!("by {producer}"),
            (None, _) if self.known => "by no action".to_owned(),
            (None, _) => "not in this trace".to_owned(),
        };
        [
            format!("  {}", escape(&self.id)),
            escape(&self.kind),
            escape(self.name.as_deref().unwrap_or("")),
            escape(&maker),
        ]
    }
}

impl Text for LineageReport {
    fn text(&self) -> String {
        let mut text = columns(&[self.artifact.row()]);
        let mut section = |title: &str, none: &str, rows: &Option<Vec<NodeRow>>| {
            let Some(rows) = rows else { return };
            if rows.is_empty() {
                text.push_str(&format!("{none}\n"));
                return;
            }
            text.push_str(&format!("{title}\n"));
            let rows: Vec<[String; 4]> = rows.iter().map(NodeRow::row).collect();
            text.push_str(&columns(&rows));
        };
        section("made from", "made from nothing the trace names", &self.ancestors);
        section("from it were made", "nothing was made from it", &self.descendants);
        text
    }
}

/// Reads the trace, and the artifact or the step that is named with its run or by itself.
fn located(context: &Context, args: &TraceLineageArgs) -> Result<(Document, String), CliError> {
    if !args.artifact.is_empty() || Path::new(&*args.file).exists() {
        return Ok((Document::of_file_or_run(context, &args.file)?, args.artifact.clone()));
    }
    let address = Address::find(context, &args.file)?;
    let place = address.required("")?;
    let document = Document::of_file_or_run(context, &address.run)?;
    let Ok(index) = place.parse::<u64>() else { return Ok((document, place)) };
    // The artifact of exactly this record: the step may have been executed more than once.
    let journal = Journal::of_run(context, &address.run)?;
    find_record(&journal, &place)?;
    let (_, records) = projected(context, &journal)?;
    let trace = document.trace();
    let made = records.iter().position(|record| record.get() == index);
    let made = made.and_then(|at| trace.actions().get(at)).and_then(|action| action.outputs().next());
    match made {
        Some(artifact) => Ok((document, artifact.to_owned())),
        None => {
            let message = format!("run {}: record {index} made no artifact", address.run);
            Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_ARTIFACTS))
        }
    }
}

pub(super) fn run(context: &Context, args: &TraceLineageArgs) -> Result<Exit, CliError> {
    let (document, place) = located(context, args)?;
    let trace = document.trace();
    let lineage = Lineage::of(&trace);
    let known = trace.artifact_by_id(&place).is_some();
    let named = artifact_named(&document.value, &place).filter(|_| !known);
    let artifact = named.as_deref().unwrap_or(&place);
    let (above, below) = (lineage.ancestors(artifact), lineage.descendants(artifact));
    if trace.artifact_by_id(artifact).is_none() && above.is_empty() && below.is_empty() {
        let message = format!("{}: no artifact has the id {artifact:?}", &*args.file);
        return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_ARTIFACTS));
    }
    let direction = match (args.up, args.down) {
        (true, _) => Direction::Up,
        (_, true) => Direction::Down,
        _ => Direction::Around,
    };
    let picture = Picture::of(&trace, &lineage, artifact, direction);
    if let Some(picture) = picture.as_ref().filter(|_| args.dot || args.mermaid) {
        context.write_document(&if args.dot { picture.dot() } else { picture.mermaid() })?;
        return Ok(Exit::Yes);
    }
    let rows = |ids: &[&str]| ids.iter().map(|id| NodeRow::of(&trace, &lineage, id)).collect::<Vec<_>>();
    let edges = picture.iter().flat_map(Picture::derivations);
    context.print(&LineageReport {
        trace_id: trace.trace_id().map(str::to_owned),
        artifact: NodeRow::of(&trace, &lineage, artifact),
        ancestors: direction.looks_up().then(|| rows(&above)),
        descendants: direction.looks_down().then(|| rows(&below)),
        edges: edges.map(|(from, to)| Edge { from: from.to_owned(), to: to.to_owned() }).collect(),
    })?;
    Ok(Exit::Yes)
}
