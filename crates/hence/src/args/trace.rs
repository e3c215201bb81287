//! The arguments of `hence trace`.

mod author;
mod edit;
mod outside;

use clap::{Args as ClapArgs, ValueEnum};

use super::{Output, TraceRef};

pub(crate) use author::{AuthoredRef, NewGoal, NewOutput};
pub(crate) use author::{
    TraceActArgs, TraceArtifactArgs, TraceCompleteArgs, TraceInitArgs, TraceLinkArgs, TraceObserveArgs,
    TraceReferenceArgs, TraceResidualArgs,
};
pub(crate) use edit::{
    EditArgs, MetaBasis, MetaDeriveArgs, MetaDropArgs, MetaMergeArgs, MetaSetArgs, MetaSplitArgs,
    ResidualsAddArgs, ResidualsChange, ResidualsDeriveArgs, TraceMetaCommand, TraceResidualsArgs,
};
pub(crate) use outside::{TraceBindArgs, TraceReproduceArgs};

/// The format of findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for continuous integration
    Junit,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace validate trace.json older.yaml --format sarif")]
pub(crate) struct TraceValidateArgs {
    /// Traces as JSON or YAML, - for standard input, or runs
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Require the canonical model: words outside the specification are errors
    #[arg(long)]
    pub(crate) canonical: bool,
    /// The format of the findings [default: text, or json with --json]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FindingsFormat>,
}

#[derive(ClapArgs)]
pub(crate) struct TraceFileArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace lineage trace.json a5 --up --mermaid")]
pub(crate) struct TraceLineageArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// The id or the name of an artifact, or the step that made it [default: the place that is given with the run]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) artifact: String,
    /// Show only what it was made from
    #[arg(long, conflicts_with = "down")]
    pub(crate) up: bool,
    /// Show only what was made from it
    #[arg(long)]
    pub(crate) down: bool,
    /// Write a graph for Graphviz
    #[arg(long, conflicts_with_all = ["mermaid", "json"])]
    pub(crate) dot: bool,
    /// Write a Mermaid flowchart
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
}

#[derive(ClapArgs)]
pub(crate) struct TraceGoalsArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// Accept only verified properties as hard evidence
    #[arg(long)]
    pub(crate) high_stakes: bool,
    /// Fail when a goal is weakly specified or leaves a clause of its intent uncovered
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace chain first.json second.json third.json")]
pub(crate) struct TraceChainArgs {
    /// The traces of the chain, in any order
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

#[derive(ClapArgs)]
pub(crate) struct TraceDiffArgs {
    /// A trace as JSON or YAML, - for standard input, or a run
    pub(crate) left: String,
    /// The trace to compare it with
    pub(crate) right: String,
}

/// The format a trace is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TraceForm {
    /// The trace itself
    Trace,
    /// OpenTelemetry spans with the attributes of GenAI, as OTLP JSON
    Otlp,
    /// W3C PROV-JSON
    Prov,
    /// An in-toto statement, unsigned
    InToto,
}

impl TraceForm {
    /// Returns the word used on the command line.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Otlp => "otlp",
            Self::Prov => "prov",
            Self::InToto => "in-toto",
        }
    }
}

#[derive(ClapArgs)]
#[command(after_help = "\
Examples:
  hence trace export vendor-choice --out trace.json
  hence trace export imported.json --format otlp")]
pub(crate) struct TraceExportArgs {
    /// A run, a prefix of its id, the file of a journal, or a trace to convert
    pub(crate) run: String,
    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "trace")]
    pub(crate) format: TraceForm,
    #[command(flatten)]
    pub(crate) output: Output,
}
