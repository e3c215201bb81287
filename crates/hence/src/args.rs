//! What a person can type.

mod import;
mod policy;
pub(crate) mod position;
pub(crate) mod repl;
mod review;
pub(crate) mod skill;
mod trace;
pub(crate) mod vars;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, Parser, Subcommand};
use hence_journal::Head;
use hence_journal::verify::Level;
use hence_state::ProfileName;

pub(crate) use import::ImportArgs;
pub(crate) use policy::{
    FailOnArg, PolicyCheckArgs, PolicyCommand, PolicyExplainArgs, PolicyListArgs, PolicyNewArgs,
    PolicyShowArgs, PolicySourcesArgs, VerdictFormat,
};
pub(crate) use review::{
    ReviewCheckArgs, ReviewCommand, ReviewCommentArgs, ReviewDecisionArgs, ReviewGapArgs, ReviewHandoffArgs,
    ReviewItemArgs, ReviewNameArgs, ReviewOpenArgs, ReviewStatusArgs, ReviewSubjectArgs, StampArgs,
};
pub(crate) use trace::{
    EditArgs, FindingsFormat, MetaBasis, MetaDeriveArgs, MetaDropArgs, MetaMergeArgs, MetaSetArgs,
    MetaSplitArgs, ResidualsAddArgs, ResidualsChange, ResidualsDeriveArgs, TraceBindArgs, TraceChainArgs,
    TraceCommand, TraceDiffArgs, TraceExportArgs, TraceFileArgs, TraceForm, TraceGoalsArgs, TraceLineageArgs,
    TraceMetaCommand, TraceReproduceArgs, TraceResidualsArgs, TraceValidateArgs,
};

const EXAMPLES: &str = "\
Examples:
  hence run examples/vendor-choice.json     run a problem and keep its record
  hence verify vendor-choice                say what holds of the record and what it cannot show
  hence replay vendor-choice                run it again and compare every byte
  hence state vendor-choice /artifacts      look at the state

Exit codes: 0 yes, 1 no or a finding, 2 usage, 3 waiting, 4 store, 5 partial";

/// Run reasoning as a journal that stands up
#[derive(Parser)]
#[command(name = "hence", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    /// The folder runs are kept in
    #[arg(long, global = true, value_name = "DIR", default_value = ".hence")]
    pub(crate) store: PathBuf,
    /// Print JSON; `hence schema COMMAND` describes it
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a problem or a skill and keep its record
    Run(RunArgs),
    /// Say everything that is wrong with a skill, without running it
    Check(skill::CheckArgs),
    /// List the runs of the store
    Runs(RunsArgs),
    /// List the records of a run
    Log(LogArgs),
    /// Show one record of a run
    Show(ShowArgs),
    /// Show the state of a run, or part of it
    State(StateArgs),
    /// Say what holds of a record, where it first breaks, and what it cannot show
    Verify(VerifyArgs),
    /// Run a recorded problem again and compare every byte
    Replay(ReplayArgs),
    /// Say which steps of a skill's run wrote a value, and from what
    Blame(skill::BlameArgs),
    /// Say what in a skill's run depends on a value or a step
    Impact(skill::ImpactArgs),
    /// Compare two runs: the first divergence, then each step and path
    Diff(DiffArgs),
    /// Take a run up where its record ends
    Resume(ResumeArgs),
    /// Say what a run waits for or where it stopped, since when, and what continues it
    Why(WhyArgs),
    /// Answer what a run waits for
    Answer(skill::AnswerArgs),
    /// Start a run that shares everything before a step of another one
    Fork(skill::ForkArgs),
    /// Name a position of a run
    Checkpoint(position::CheckpointArgs),
    /// Return a run to a checkpoint; `hence resume` goes on from there
    Rollback(position::RollbackArgs),
    /// Write a run as a portable bundle
    Export(ExportArgs),
    /// Make a trace of another agent's log or telemetry, or take a bundle into the store
    Import(ImportArgs),
    /// Read, judge and compare review traces; write a run as one
    #[command(subcommand, after_help = "Example: hence trace validate trace.json")]
    Trace(TraceCommand),
    /// Review a trace: comments, items, waivers and approval in a journal of their own
    #[command(subcommand, after_help = "Example: hence review open trace.json --author ada")]
    Review(ReviewCommand),
    /// Print the digest of a JSON document's canonical form
    Hash(HashArgs),
    /// Count what the store holds, or what a run did
    Stats(StatsArgs),
    /// Check the store and what lies in it
    Doctor(DoctorArgs),
    /// Keep named variables on a journal: set, read, checkpoint, roll back, finish
    Vars(vars::VarsArgs),
    /// Type commands of `hence vars` at a prompt, or pipe them in
    Repl(repl::ReplArgs),
    /// Check traces against policies, and look at policies
    #[command(subcommand, after_help = "Example: hence policy check trace.json --policy engineering")]
    Policy(PolicyCommand),
    /// Explain an error code
    Explain(ExplainArgs),
    /// Print the JSON Schema of a command's --json output
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence run examples/vendor-choice.json --trace-id first-look\n         \
    hence run examples/vendor-choice.json --policy records\n\n\
    Exit codes: 0 completed, 1 failed or blocked by a policy (E0603), 2 usage, 3 waiting, 4 store, 5 partial")]
pub(crate) struct RunArgs {
    /// The file of a problem or a skill, or - for standard input
    pub(crate) problem: String,
    /// The run's id [default: the problem's id, or the skill's with a digest of what it is given]
    #[arg(long, visible_alias = "run-id", value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) trace_id: Option<String>,
    /// When the run is created, as 2026-02-02T00:00:00Z [default: the problem's created_at; for a skill, now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// The engine version to record [default: this engine's]
    #[arg(long, value_name = "VERSION")]
    pub(crate) engine_version: Option<String>,
    /// The rules to follow: the documents (strict) or the public engine (compat)
    #[arg(long, default_value = "strict", value_name = "strict|compat")]
    pub(crate) profile: ProfileName,
    /// Write the journal's bytes there too, or - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<String>,
    /// Policies every step must keep: a file (JSON, YAML or TOML) or a built-in pack; may be repeated
    #[arg(long = "policy", value_name = "FILE|PACK")]
    pub(crate) policies: Vec<String>,
    #[command(flatten)]
    pub(crate) skill: skill::SkillRunArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence runs --store /srv/hence --limit 20")]
pub(crate) struct RunsArgs {
    /// Show at most this many; 0 shows all
    #[arg(long, default_value_t = 200)]
    pub(crate) limit: usize,
    /// Show only runs that wait for someone, and what for
    #[arg(long)]
    pub(crate) waiting: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence log vendor-choice --from 3 --limit 10")]
pub(crate) struct LogArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// Begin with this record
    #[arg(long, default_value_t = 0, value_name = "INDEX")]
    pub(crate) from: u64,
    /// Show at most this many; 0 shows all
    #[arg(long, default_value_t = 200)]
    pub(crate) limit: usize,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence show vendor-choice Verify")]
pub(crate) struct ShowArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// A record's index, or a step's name for its last execution
    pub(crate) step: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence state vendor-choice /artifacts/verification --at Verify")]
pub(crate) struct StateArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// A JSON pointer into the state [default: all of it]
    pub(crate) pointer: Option<String>,
    /// The state after this record: an index, or a step's name for its last execution [default: the last]
    #[arg(long, value_name = "STEP")]
    pub(crate) at: Option<String>,
    /// Leave references to large values as they are hashed
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show the execution state of a skill's run: inputs, vars, outputs, working memory, events, trace
    #[arg(long, conflicts_with_all = ["at", "raw"])]
    pub(crate) cognition: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence verify trace.ndjson --problem problem.json --anchor HASH:COUNT")]
pub(crate) struct VerifyArgs {
    /// A run, a prefix of its id, or a journal's file
    pub(crate) target: String,
    /// The problem the journal should belong to [default: the run's own]
    #[arg(long, value_name = "FILE")]
    pub(crate) problem: Option<PathBuf>,
    /// A head kept elsewhere, as `hence run` printed it
    #[arg(long, value_name = "HASH:COUNT")]
    pub(crate) anchor: Option<Head>,
    /// Stop at this level: bytes, chain, linked, spec, replay or anchored
    #[arg(long, default_value = "anchored", value_name = "LEVEL")]
    pub(crate) level: Level,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence replay vendor-choice")]
pub(crate) struct ReplayArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) capabilities: skill::CapabilitiesArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence diff monday.ndjson vendor-choice")]
pub(crate) struct DiffArgs {
    /// A run, a prefix of its id, or a journal's file
    pub(crate) left: String,
    /// A run, a prefix of its id, or a journal's file
    pub(crate) right: String,
    /// Show at most this many differing places; 0 shows all
    #[arg(long, default_value_t = 100)]
    pub(crate) limit: usize,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence resume vendor-choice\n         hence resume vendor-choice --policy amended.toml"
)]
pub(crate) struct ResumeArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) capabilities: skill::CapabilitiesArgs,
    #[command(flatten)]
    pub(crate) deadline: skill::DeadlineArgs,
    /// Go on by these policies instead, where the run is blocked: a file or a built-in pack; may be repeated
    #[arg(long = "policy", value_name = "FILE|PACK")]
    pub(crate) policies: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence why refund-42")]
pub(crate) struct WhyArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence export vendor-choice /tmp/vendor-choice")]
pub(crate) struct ExportArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// The folder to make; it must not hold anything
    pub(crate) dir: PathBuf,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: echo '{\"b\": 1.0, \"a\": null}' | hence hash - --canonical")]
pub(crate) struct HashArgs {
    /// A JSON file, or - for standard input
    pub(crate) file: String,
    /// Write the canonical bytes instead of their digest
    #[arg(long)]
    pub(crate) canonical: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence stats vendor-choice")]
pub(crate) struct StatsArgs {
    /// A run, or a prefix of its id [default: the whole store]
    pub(crate) run: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence doctor --rebuild")]
pub(crate) struct DoctorArgs {
    /// Cut unfinished appends, remove what interrupted writers left, and rebuild the index
    #[arg(long)]
    pub(crate) rebuild: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence explain E0102")]
pub(crate) struct ExplainArgs {
    /// A code such as E0102 [default: list all]
    pub(crate) code: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence schema verify")]
pub(crate) struct SchemaArgs {
    /// A command's name [default: list them]
    pub(crate) command: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence completions bash > ~/.local/share/bash-completion/completions/hence")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
