//! The commands, one module each. A command is registered by its line in a `commands!` table.

mod capabilities;
mod check;
mod completions;
pub(crate) mod diff;
mod doctor;
mod explain;
mod export;
mod fork;
mod hash;
mod import;
mod lineage;
pub(crate) mod log;
mod man;
mod new;
pub(crate) mod policy;
mod position;
pub(crate) mod remove;
mod repl;
mod replay;
mod resume;
mod retry;
pub(crate) mod review;
mod run;
pub(crate) mod runs;
pub(crate) mod schema;
mod serve;
pub(crate) mod show;
pub(crate) mod state;
mod stats;
mod store;
mod task;
pub(crate) mod trace;
pub(crate) mod vars;
pub(crate) mod verify;
mod view;
pub(crate) mod why;

use crate::args::{self, position as positions, skill};
use crate::context::ErrorReport;
use crate::fleet::{self, QueueCommand};
use crate::{kind, skills};

pub(crate) use lineage::{artifact_named, blame_skill, blame_trace, impact_skill, impact_trace};
pub(crate) use policy::{PolicyCommand, all_policies_named, approval_allowed, policies_named};
pub(crate) use position::{PositionReport, checkpoint_run, roll_back_run};
pub(crate) use repl::words as split_words;
pub(crate) use review::ReviewCommand;
pub(crate) use run::start as start_run;
pub(crate) use runs::RUN_STATUSES;
pub(crate) use show::{find_record, step_at};
pub(crate) use store::StoreCommand;
pub(crate) use trace::{TraceCommand, append_missing_end};

/// Declares a family of commands: for each its help, its arguments, the function that runs it, and the names and
/// types of the JSON it prints.
macro_rules! commands {
    ($family:ident { $($entries:tt)* }) => {
        $crate::commands::commands! { @enum $family { $($entries)* } }
        $crate::commands::commands! { @run $family { $($entries)* } }
    };
    // Commands on an open session; every one of them names its run in `target`.
    ($family:ident on $session:ident: $kind:ty { $($entries:tt)* }) => {
        $crate::commands::commands! { @enum $family { $($entries)* } }
        $crate::commands::commands! { @run $family on $session: $kind { $($entries)* } }
    };
    (@enum $family:ident { $($(#[$help:meta])* $command:ident($args:ty) => $run:path
        $(, $schema:literal: $report:ty)*;)* }) => {
        #[derive(clap::Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "one command is parsed for each start of the program")]
        pub(crate) enum $family {
            $($(#[$help])* $command($args),)*
        }

        impl $family {
            /// The name and the schema of everything these commands print as JSON.
            pub(crate) const SCHEMAS: &'static [$crate::commands::schema::Named] =
                &[$($(($schema, $crate::commands::schema::schema_of::<$report>),)*)*];
        }
    };
    (@run $family:ident { $($(#[$help:meta])* $command:ident($args:ty) => $run:path
        $(, $schema:literal: $report:ty)*;)* }) => {
        impl $family {
            pub(crate) fn run(
                context: &$crate::context::Context,
                command: &Self,
            ) -> Result<$crate::exit::Exit, $crate::error::CliError> {
                match command {
                    $(Self::$command(args) => $run(context, args),)*
                }
            }
        }
    };
    (@run $family:ident on $session:ident: $kind:ty { $($(#[$help:meta])* $command:ident($args:ty) => $run:path
        $(, $schema:literal: $report:ty)*;)* }) => {
        impl $family {
            pub(crate) fn run(
                context: &$crate::context::Context,
                $session: $kind,
                command: &Self,
            ) -> Result<$crate::exit::Exit, $crate::error::CliError> {
                match command {
                    $(Self::$command(args) => $run(context, $session, args),)*
                }
            }

            /// Returns the name of the run a command is about.
            fn run_name(&self) -> &str {
                match self {
                    $(Self::$command(args) => &args.target.run,)*
                }
            }
        }
    };
}
pub(crate) use commands;

commands! { Command {
    /// Run a problem or a skill and store its journal
    Run(args::RunArgs) => run::run, "run-problem": kind::RunReport, "run-skill": kind::SkillRunReport;
    /// Answer a question over inputs that no model window holds
    Solve(args::solve::SolveArgs) => kind::start_solve, "solve": kind::SolveReport;
    /// Print the task tree, the trajectory or the cost of a run of `hence solve`
    Task(args::solve::TaskArgs) => task::run;
    /// Create an empty store
    Init(args::new::InitArgs) => new::init, "init": new::InitReport;
    /// Write a first problem, skill, capabilities file or policy, to change and run
    New(args::new::NewArgs) => new::run, "new": new::NewReport;
    /// List everything that is wrong with a skill, a problem, a capabilities file or policies, without running anything
    Check(skill::CheckArgs) => check::run, "check": check::CheckReport;
    /// List the capabilities that skills can call, or show one with an example
    Capabilities(skill::ListCapabilitiesArgs) => capabilities::run, "capabilities-list": capabilities::CapabilitiesReport,
        "capabilities-import": capabilities::CapabilitiesImportReport;
    /// List the runs of the store
    Runs(args::RunsArgs) => runs::run, "runs": runs::RunsReport;
    /// List the records of a run
    Log(args::LogArgs) => log::run, "log": log::LogReport;
    /// Show the records of a run as they are appended, and how it stands in the end
    Watch(args::WatchArgs) => log::watch, "watch": why::WhyReport;
    /// Show one record of a run
    Show(args::ShowArgs) => show::run, "show": show::ShowReport;
    /// Show the state of a run, or part of it
    State(args::StateArgs) => state::run, "state": state::StateReport;
    /// Check a journal: what holds, where it first breaks, and what it cannot show
    Verify(args::VerifyArgs) => verify::run, "verify-run": verify::VerifyReport;
    /// Execute a recorded run again and compare every byte
    Replay(args::ReplayArgs) => replay::run, "replay": replay::ReplayReport;
    /// Show which steps of a run wrote a value, and from which values
    Blame(skill::BlameArgs) => lineage::blame, "lineage": lineage::LineageReport;
    /// Show which steps of a run depend on a value or a step
    Impact(skill::ImpactArgs) => lineage::impact;
    /// Compare two runs: the first divergence, then each step and path
    Diff(args::DiffArgs) => diff::run, "diff": diff::DiffReport;
    /// Continue an interrupted run
    Resume(args::ResumeArgs) => resume::run;
    /// Show what a run waits for or where it stopped, since when, and how to continue it
    Why(args::WhyArgs) => why::run, "why": why::WhyReport;
    /// Answer a question a run waits for
    Answer(skill::AnswerArgs) => skills::answer, "answer-given": skills::AnswerReport;
    /// Start a run that shares the steps of another run before a given step
    Fork(skill::ForkArgs) => fork::run;
    /// Continue a failed run without repeating what succeeded
    Retry(skill::RetryArgs) => retry::run;
    /// Name a position of a run
    Checkpoint(positions::CheckpointArgs) => position::checkpoint, "position": position::PositionReport;
    /// Return a run to a checkpoint; `hence resume` continues from there
    Rollback(positions::RollbackArgs) => position::rollback;
    /// Write a run as a portable bundle
    Export(args::ExportArgs) => export::run, "export": export::ExportReport;
    /// Turn another agent's log or telemetry into a trace, or import a bundle into the store
    Import(args::ImportArgs) => import::run, "import-bundle": import::ImportReport, "import-log": import::LogReport;
    /// Read, grade and compare review traces; write a run as a trace
    #[command(subcommand, after_help = "Example: hence trace validate trace.json")]
    Trace(TraceCommand) => TraceCommand::run;
    /// Review a trace: comments, items, waivers and approval in a journal of their own
    #[command(subcommand, after_help = "Example: hence review open trace.json --author ada")]
    Review(ReviewCommand) => ReviewCommand::run;
    /// Remove runs; their tombstones keep the hashes
    Rm(args::remove::RmArgs) => remove::rm, "rm": remove::RemoveReport;
    /// Remove old runs and large values that nothing refers to
    Gc(args::remove::GcArgs) => remove::gc, "gc": remove::RemoveReport;
    /// Look at runs in the browser, or write one as a page that needs no server
    View(args::view::ViewArgs) => view::run, "view-page": view::ViewReport;
    /// Serve the runs of the store over HTTP: an API and the viewer's page
    Serve(args::view::ServeArgs) => serve::run, "serve": serve::ServeReport;
    /// Print the digest of a JSON document's canonical form
    Hash(args::HashArgs) => hash::run, "hash-digest": hash::HashReport;
    /// Create a run and leave it to a worker
    Submit(args::fleet::SubmitArgs) => fleet::submit, "submit": fleet::SubmitReport;
    /// Drive the runs that were submitted
    Worker(args::fleet::WorkerArgs) => fleet::worker, "worker": fleet::WorkerReport;
    /// Take a run out of its queue; it keeps its records
    Cancel(args::fleet::CancelArgs) => fleet::cancel, "cancel": fleet::CancelReport;
    /// Look at queues, pause and limit them
    #[command(subcommand, after_help = "Example: hence queue limit default --concurrency 20")]
    Queue(QueueCommand) => QueueCommand::run;
    /// Show queues, workers, leases, and runs that need somebody
    Fleet(args::fleet::FleetArgs) => fleet::fleet, "fleet": fleet::FleetReport;
    /// Count what the store holds, or what a run did
    Stats(args::StatsArgs) => stats::run, "stats-store": stats::StoreStats, "stats-run": stats::RunStats;
    /// Check the store and everything in it
    Doctor(args::DoctorArgs) => doctor::run, "doctor": doctor::DoctorReport;
    /// Copy a store, create the tables of a database, or verify everything
    #[command(subcommand, after_help = "Example: hence store copy .hence backup")]
    Store(StoreCommand) => StoreCommand::run;
    /// Manage named variables on a journal: set, read, checkpoint, roll back, finish
    Vars(args::vars::VarsArgs) => vars::run;
    /// Type commands of `hence vars` at a prompt, or pipe them in
    Repl(args::repl::ReplArgs) => repl::run;
    /// Check traces against policies, and inspect policies
    #[command(subcommand, after_help = "Example: hence policy check trace.json --policy engineering")]
    Policy(PolicyCommand) => PolicyCommand::run;
    /// Explain an error code
    Explain(args::ExplainArgs) => explain::run, "explain": explain::ExplainReport, "error": ErrorReport<'_>;
    /// Print the JSON Schema of a command's --json output
    Schema(args::SchemaArgs) => schema::run;
    /// Print a completion script for a shell
    Completions(args::CompletionsArgs) => completions::run, "completions": completions::CompletionsReport;
    /// Write manual pages, one for each command
    Man(args::ManArgs) => man::run, "man": man::ManReport;
} }
