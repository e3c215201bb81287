//! What a person can type after `hence trace`.

mod edit;
mod outside;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

pub(crate) use edit::{
    EditArgs, MetaBasis, MetaDeriveArgs, MetaDropArgs, MetaMergeArgs, MetaSetArgs, MetaSplitArgs,
    ResidualsAddArgs, ResidualsChange, ResidualsDeriveArgs, TraceMetaCommand, TraceResidualsArgs,
};
pub(crate) use outside::{TraceBindArgs, TraceReproduceArgs};

#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    /// Say which rules a trace breaks, and where
    Validate(TraceValidateArgs),
    /// Show what a trace holds
    Show(TraceFileArgs),
    /// Print the content hash that reviews and successors are bound to
    Hash(TraceFileArgs),
    /// Show what an artifact was made from and what was made from it
    Lineage(TraceLineageArgs),
    /// Grade a trace: how far a reviewer can rely on it, and what would raise it
    Grade(TraceFileArgs),
    /// Write a report of a trace in Markdown, for a pull request
    Report(TraceFileArgs),
    /// Say which goals are met, by which evidence, and whether their criteria can be trusted
    Goals(TraceGoalsArgs),
    /// List the gaps of a trace, declared and undeclared, worst first; or declare some
    Residuals(TraceResidualsArgs),
    /// Follow each gap through a chain of successor traces
    Chain(TraceChainArgs),
    /// Curate the units of intent: list, set, merge, split, drop, derive
    #[command(subcommand)]
    Meta(TraceMetaCommand),
    /// Say what can be run again, and with --run do it and compare
    Reproduce(TraceReproduceArgs),
    /// Bind a trace to its content and to a commit
    Bind(TraceBindArgs),
    /// Compare two traces by meaning
    Diff(TraceDiffArgs),
    /// Write a run of the store as a trace, or a trace as spans, provenance or a statement
    Export(TraceExportArgs),
}

/// How findings are written.
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
    /// Traces as JSON or YAML, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Demand the canonical model: words the specification does not know are errors
    #[arg(long)]
    pub(crate) canonical: bool,
    /// How to write what was found [default: text, or json with --json]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FindingsFormat>,
}

#[derive(ClapArgs)]
pub(crate) struct TraceFileArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace lineage trace.json a5 --up --mermaid")]
pub(crate) struct TraceLineageArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// The id of an artifact
    pub(crate) artifact: String,
    /// Only what it was made from
    #[arg(long, conflicts_with = "down")]
    pub(crate) up: bool,
    /// Only what was made from it
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
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// Count only verified properties as hard evidence
    #[arg(long)]
    pub(crate) high_stakes: bool,
    /// Fail when a goal is weakly specified or leaves a clause of its intent uncovered
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace chain first.json second.json third.json")]
pub(crate) struct TraceChainArgs {
    /// The traces of the chain; their links give the order
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

#[derive(ClapArgs)]
pub(crate) struct TraceDiffArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) left: String,
    /// The trace to compare it with
    pub(crate) right: String,
}

/// The form a trace is written in.
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
    /// Returns the word a person types.
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
    /// The run, or a prefix of its id, or a journal's file, or a trace to write in another form
    pub(crate) run: String,
    /// How to write it
    #[arg(long, value_name = "FORMAT", default_value = "trace")]
    pub(crate) format: TraceForm,
    /// Write the trace there [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<std::path::PathBuf>,
}
