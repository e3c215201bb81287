//! `hence trace show`: a summary of a trace.

use hence_review::ContentHash;
use hence_review::validate::{readiness, validate};
use hence_review::wire::{Action, Artifact, Event, Link, Residual, Trace};

use super::document::Document;
use crate::args::TraceFileArgs;
use crate::prelude::*;

/// The longest summary in a line of text, in characters.
const SUMMARY_CHARACTERS_MAX: usize = 100;

/// A summary of a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShowReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// The version it declares.
    spec_version: Option<String>,
    /// Its content hash.
    content_hash: String,
    /// The trigger.
    trigger: Option<EventRow>,
    /// The outcome.
    outcome: Option<EventRow>,
    /// The actions, in order.
    actions: Vec<ActionRow>,
    /// The artifacts.
    artifacts: Vec<ArtifactRow>,
    /// What was observed about the actions.
    observations: Vec<ObservationRow>,
    /// The links to other traces.
    links: Vec<LinkRow>,
    /// The number of declared gaps.
    residuals: usize,
    /// The declared gaps.
    gaps: Vec<GapRow>,
    /// The numbers of errors and warnings of validation.
    findings: [usize; 2],
    /// Whether a reviewer can start: structure, outcome, a reason for each action, at least one declared gap.
    review_ready: bool,
}

/// The beginning or the end.
#[derive(Serialize, JsonSchema)]
struct EventRow {
    /// Its type.
    #[serde(rename = "type")]
    kind: String,
    /// Its text.
    text: String,
}

/// One action.
#[derive(Serialize, JsonSchema)]
struct ActionRow {
    /// Its id.
    id: Option<i64>,
    /// Its type as written.
    #[serde(rename = "type")]
    kind: String,
    /// Its label.
    label: String,
    /// Its inputs.
    inputs: Vec<String>,
    /// Its outputs.
    outputs: Vec<String>,
}

/// One artifact.
#[derive(Serialize, JsonSchema)]
struct ArtifactRow {
    /// Its id.
    id: Option<String>,
    /// Its type as written.
    #[serde(rename = "type")]
    kind: String,
    /// Its summary, or its name.
    about: String,
}

/// One observation about an action.
#[derive(Serialize, JsonSchema)]
struct ObservationRow {
    /// The id of the action.
    action: Option<i64>,
    /// What was observed, in plain language.
    statement: String,
    /// The artifacts and files that it follows from.
    derived_from: Vec<String>,
}

/// One link to another trace.
#[derive(Serialize, JsonSchema)]
struct LinkRow {
    /// Its id.
    id: Option<String>,
    /// The relationship as written.
    relationship: String,
    /// The id of the other trace.
    to_trace_id: Option<String>,
}

/// One declared gap.
#[derive(Serialize, JsonSchema)]
struct GapRow {
    /// Its id.
    id: Option<String>,
    /// Its kind as written.
    kind: String,
    /// Its status as written: open when there is none.
    status: String,
    /// The gap in plain language.
    statement: String,
}

impl ObservationRow {
    fn all(trace: &Trace) -> Vec<Self> {
        let of_action = |action: &Action| {
            let rows = action.entries("observations").map(|entry| Self {
                action: action.id(),
                statement: entry.text("statement").unwrap_or_default().to_owned(),
                derived_from: entry.texts("derived_from").map(str::to_owned).collect(),
            });
            rows.collect::<Vec<_>>()
        };
        trace.actions().iter().flat_map(of_action).collect()
    }

    fn row(&self) -> [String; 3] {
        let action = self.action.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let from = match self.derived_from.is_empty() {
            true => String::new(),
            false => format!("from {}", self.derived_from.join(", ")),
        };
        [format!("  {action}"), escape(&from), escape(&self.statement)]
    }
}

impl LinkRow {
    fn of(link: &Link) -> Self {
        Self {
            id: link.id().map(str::to_owned),
            relationship: link.text("relationship").unwrap_or_default().to_owned(),
            to_trace_id: link.text("to_trace_id").map(str::to_owned),
        }
    }

    fn row(&self) -> [String; 3] {
        let or_unknown = |text: &Option<String>| escape(text.as_deref().unwrap_or("?"));
        [format!("  {}", or_unknown(&self.id)), escape(&self.relationship), or_unknown(&self.to_trace_id)]
    }
}

impl GapRow {
    fn of(residual: &Residual) -> Self {
        Self {
            id: residual.id().map(str::to_owned),
            kind: residual.text("kind").unwrap_or_default().to_owned(),
            status: residual.text("status").unwrap_or("open").to_owned(),
            statement: residual.statement().to_owned(),
        }
    }

    fn row(&self) -> [String; 3] {
        let kind = format!("{}, {}", self.kind, self.status);
        [format!("  {}", escape(self.id.as_deref().unwrap_or("?"))), escape(&kind), escape(&self.statement)]
    }
}

impl EventRow {
    fn of(event: &Event) -> Self {
        let text = ["summary", "description", "reason"].iter().find_map(|key| event.text(key));
        Self { kind: event.text("type").unwrap_or("").to_owned(), text: text.unwrap_or("").to_owned() }
    }
}

impl ActionRow {
    fn of(action: &Action) -> Self {
        Self {
            id: action.id(),
            kind: action.type_word().to_owned(),
            label: action.label().to_owned(),
            inputs: action.inputs().map(str::to_owned).collect(),
            outputs: action.outputs().map(str::to_owned).collect(),
        }
    }

    fn row(&self) -> [String; 4] {
        let flow = match (self.inputs.is_empty(), self.outputs.is_empty()) {
            (true, true) => String::new(),
            _ => format!("{} → {}", self.inputs.join(", "), self.outputs.join(", ")),
        };
        [
            format!("  {}", self.id.map_or_else(|| "?".to_owned(), |id| id.to_string())),
            escape(&self.kind),
            one_line(&self.label, SUMMARY_CHARACTERS_MAX),
            escape(flow.trim()),
        ]
    }
}

impl ArtifactRow {
    fn of(artifact: &Artifact) -> Self {
        Self {
            id: artifact.id().map(str::to_owned),
            kind: artifact.type_word().to_owned(),
            about: artifact.about().to_owned(),
        }
    }

    fn row(&self) -> [String; 3] {
        [
            format!("  {}", escape(self.id.as_deref().unwrap_or("?"))),
            escape(&self.kind),
            one_line(&self.about, SUMMARY_CHARACTERS_MAX),
        ]
    }
}

impl Text for ShowReport {
    fn text(&self) -> String {
        let event = |event: &Option<EventRow>| {
            event.as_ref().map_or_else(
                || "not recorded".to_owned(),
                |event| one_line(&format!("{} {}", event.kind, event.text), SUMMARY_CHARACTERS_MAX),
            )
        };
        let [errors, warnings] = self.findings;
        let mut text = pairs(&[
            ("trace", escape(self.trace_id.as_deref().unwrap_or("without an id"))),
            ("version", escape(self.spec_version.as_deref().unwrap_or("undeclared"))),
            ("content", self.content_hash.clone()),
            ("trigger", event(&self.trigger)),
            ("outcome", event(&self.outcome)),
            ("gaps", format!("{} declared", self.residuals)),
            ("findings", [counted(errors as u64, "error"), counted(warnings as u64, "warning")].join(", ")),
            ("review", if self.review_ready { "ready" } else { "not ready" }.to_owned()),
        ]);
        text.push_str("actions\n");
        let rows: Vec<[String; 4]> = self.actions.iter().map(ActionRow::row).collect();
        text.push_str(&columns(&rows));
        text.push_str("artifacts\n");
        let rows: Vec<[String; 3]> = self.artifacts.iter().map(ArtifactRow::row).collect();
        text.push_str(&columns(&rows));
        let parts: [(&str, Vec<[String; 3]>); 3] = [
            ("observations", self.observations.iter().map(ObservationRow::row).collect()),
            ("links", self.links.iter().map(LinkRow::row).collect()),
            ("gaps", self.gaps.iter().map(GapRow::row).collect()),
        ];
        for (title, rows) in parts.iter().filter(|(_, rows)| !rows.is_empty()) {
            text.push_str(&format!("{title}\n{}", columns(rows)));
        }
        text
    }
}

pub(super) fn run(context: &Context, args: &TraceFileArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let trace = document.trace();
    let found = validate(&document.value);
    context.print(&ShowReport {
        trace_id: trace.trace_id().map(str::to_owned),
        spec_version: trace.entry().text("spec_version").map(str::to_owned),
        content_hash: ContentHash::of(&document.value).to_string(),
        trigger: trace.trigger().as_ref().map(EventRow::of),
        outcome: trace.outcome().as_ref().map(EventRow::of),
        actions: trace.actions().iter().map(ActionRow::of).collect(),
        artifacts: trace.artifacts().iter().map(ArtifactRow::of).collect(),
        observations: ObservationRow::all(&trace),
        links: trace.trace_links().map(|link| LinkRow::of(&link)).collect(),
        residuals: trace.residuals().count(),
        gaps: trace.residuals().map(|residual| GapRow::of(&residual)).collect(),
        findings: [found.errors().count(), found.warnings().count()],
        review_ready: readiness(&trace, &found).is_ready(),
    })?;
    Ok(Exit::Yes)
}
