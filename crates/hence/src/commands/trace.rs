//! `hence trace`: review traces, read from files and runs, or reported by an agent operation by operation.

mod author;
mod bind;
mod chain;
mod declare;
mod diff;
pub(crate) mod document;
mod edit;
pub(crate) mod export;
mod findings;
mod goals;
mod grade;
mod hash;
mod lineage;
mod meta;
mod report;
mod reproduce;
mod residuals;
mod show;
mod validate;

use super::commands;
use crate::args;

pub(crate) use author::append_missing_end;

commands! { TraceCommand {
    /// List the rules a trace breaks, and where
    Validate(args::TraceValidateArgs) => validate::run, "trace-validate": validate::ValidateReport;
    /// Show the contents of a trace
    #[command(after_help = "Example: hence trace show vendor-choice")]
    Show(args::TraceFileArgs) => show::run, "trace-show": show::ShowReport;
    /// Print the content hash that reviews and successors are bound to
    #[command(after_help = "Example: hence trace hash trace.json")]
    Hash(args::TraceFileArgs) => hash::run, "trace-hash": hash::HashReport;
    /// Show which artifacts an artifact was made from, and which were made from it
    Lineage(args::TraceLineageArgs) => lineage::run, "trace-lineage": lineage::LineageReport;
    /// Grade a trace: how far a reviewer can rely on it, and what would raise the grade
    #[command(after_help = "Example: hence trace grade vendor-choice")]
    Grade(args::TraceFileArgs) => grade::run, "trace-grade": grade::GradeReport;
    /// Write a report of a trace in Markdown, for a pull request
    #[command(after_help = "Example: hence trace report trace.json > report.md")]
    Report(args::TraceFileArgs) => report::run, "trace-report": report::MarkdownReport;
    /// Show which goals are met, by which evidence, and whether their criteria can be trusted
    #[command(after_help = "Example: hence trace goals trace.json")]
    Goals(args::TraceGoalsArgs) => goals::run, "trace-goals": goals::GoalsReport;
    /// List the gaps of a trace, declared and undeclared, worst first; or declare gaps
    #[command(after_help = "Example: hence trace residuals vendor-choice")]
    Residuals(args::TraceResidualsArgs) => residuals::run,
        "trace-gaps": residuals::ResidualsReport, "trace-edit": edit::EditReport;
    /// Follow each gap through a chain of successor traces
    Chain(args::TraceChainArgs) => chain::run, "trace-chain": chain::ChainReport;
    /// Edit the units of intent: list, set, merge, split, drop, derive
    #[command(subcommand, after_help = "Example: hence trace meta list trace.json")]
    Meta(args::TraceMetaCommand) => meta::run, "trace-meta": meta::MetaReport;
    /// List the commands that can be run again; with --run, run them and compare
    Reproduce(args::TraceReproduceArgs) => reproduce::run, "trace-reproduce": reproduce::ReproduceReport;
    /// Bind a trace to its content and to a commit
    Bind(args::TraceBindArgs) => bind::run, "trace-bound": bind::BindReport;
    /// Compare two traces by meaning
    #[command(after_help = "Example: hence trace diff before.json after.json")]
    Diff(args::TraceDiffArgs) => diff::run, "trace-diff": diff::DiffReport;
    /// Begin the trace of an agent of your own, in a run
    Init(args::TraceInitArgs) => author::init, "trace-author": author::AuthoredReport;
    /// Record an action of the agent, with the artifacts it made
    Act(Box<args::TraceActArgs>) => author::act;
    /// Record an artifact that an action made: a file, a document, the result of a formal tool
    Artifact(args::TraceArtifactArgs) => author::artifact;
    /// Record an approved artifact that work is compared with
    Reference(args::TraceReferenceArgs) => author::reference;
    /// Record an observation about an action
    Observe(args::TraceObserveArgs) => author::observe;
    /// Link the trace to another one
    Link(args::TraceLinkArgs) => author::link;
    /// Declare a gap of the work, or change the status of one
    Residual(args::TraceResidualArgs) => author::residual;
    /// End the trace
    Complete(args::TraceCompleteArgs) => author::complete;
    /// Write a run of the store as a trace, or a trace as spans, provenance or a statement
    Export(args::TraceExportArgs) => export::run, "trace-file": export::ExportReport;
} }
