//! What a person can type about variables.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use hence_variables::StateId;

const EXAMPLES: &str = "\
Examples:
  hence vars init audit 'count the errors' --now 2026-02-09T10:00:00Z
  hence vars set audit error_count 3 --type number
  hence vars checkpoint audit before-retrieval
  hence vars rollback audit before-retrieval
  hence vars final audit 'three errors'

A value is the argument as text, @FILE for a file's content, - for standard input; @@x is the text @x.
The clock of a run ticks by one second with every change; --now at init says where it begins.";

#[derive(ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VarsArgs {
    /// The folder that file references and views lie under, as .aiwg/rlm/…
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    #[command(subcommand)]
    pub(crate) command: VarsCommand,
}

#[derive(Subcommand)]
pub(crate) enum VarsCommand {
    /// Bring a state into being, in a run of its own
    Init(InitArgs),
    /// Spawn a child task in a run of its own, linked to its parent
    Spawn(SpawnArgs),
    /// Write a variable
    Set(SetArgs),
    /// Read a variable; a read counts and is recorded
    Get(GetArgs),
    /// List the variables a state sees
    List(ListArgs),
    /// Give a variable another name
    Rename(RenameArgs),
    /// Delete a variable
    Rm(RmArgs),
    /// Name the present position
    Checkpoint(CheckpointArgs),
    /// List the checkpoints
    #[command(after_help = "Example: hence vars checkpoints audit")]
    Checkpoints(TargetArgs),
    /// Return to a checkpoint; the return is recorded and erases nothing
    Rollback(RollbackArgs),
    /// Set `Final`, which completes the task
    Final(FinalArgs),
    /// End a task as failed
    Fail(EndArgs),
    /// Call a task off
    Cancel(EndArgs),
    /// Fetch the `Final` of a child
    Result(ResultArgs),
    /// Say how far a state is
    #[command(after_help = "Example: hence vars status audit")]
    Status(TargetArgs),
    /// List every change ever made
    History(HistoryArgs),
    /// Compare two positions or two states
    Diff(DiffArgs),
    /// Draw the task tree
    #[command(after_help = "Example: hence vars tree audit")]
    Tree(TargetArgs),
    /// Print changes as they are recorded, until the state is over
    Watch(WatchArgs),
    /// Take in a state document (JSON or YAML) as a new run
    Import(ImportArgs),
    /// Write the documents of all states below a folder
    Export(ExportArgs),
}

#[derive(ClapArgs, Clone)]
pub(crate) struct TargetArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// Which state of the run [default: the first]
    #[arg(long, value_name = "ID")]
    pub(crate) state: Option<StateId>,
}

#[derive(ClapArgs, Clone, Default)]
pub(crate) struct OriginArgs {
    /// What causes the change
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Why
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Refuse unless the state has had exactly this many mutations
    #[arg(long, value_name = "N")]
    pub(crate) if_mutation_count: Option<u64>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars init audit 'count the errors' --now 2026-02-09T10:00:00Z")]
pub(crate) struct InitArgs {
    /// The run's id
    pub(crate) run: String,
    /// The task: text, @FILE, or - for standard input
    pub(crate) prompt: String,
    /// Where the run's clock begins
    #[arg(long, value_name = "TIME", default_value = "1970-01-01T00:00:00Z")]
    pub(crate) now: String,
    /// Add the state to a run that is there
    #[arg(long)]
    pub(crate) add: bool,
    /// The state that spawns this one, in a run that is there
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<StateId>,
    /// The state's id [default: the next free one]
    #[arg(long, value_name = "ID")]
    pub(crate) state_id: Option<String>,
    /// The session to join
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The task tree to join
    #[arg(long, value_name = "ID")]
    pub(crate) tree: Option<String>,
    /// How to execute: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) config: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars spawn job part-1 'the first part'")]
pub(crate) struct SpawnArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The id of the child's run
    pub(crate) child: String,
    /// The child's task: text, @FILE, or - for standard input
    pub(crate) prompt: String,
    /// How to execute: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) config: Option<String>,
}

#[derive(ClapArgs, Clone)]
pub(crate) struct ValueArgs {
    /// The value: text, @FILE, or - for standard input; nothing for null
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: Option<String>,
    /// text, number, boolean, json, array, file_content, file_path or null; all but texts and files are read as JSON
    #[arg(long = "type", short = 't', value_name = "TYPE")]
    pub(crate) value_type: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars set audit error_count 3 --type number")]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The variable
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) value: ValueArgs,
    /// temporary, session, tree or global [default: where the name is, else session]
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// How long it lives by the run's clock; temporary variables only
    #[arg(long, value_name = "SECONDS")]
    pub(crate) ttl: Option<u64>,
    /// Refuse further writes
    #[arg(long)]
    pub(crate) read_only: bool,
    /// What the variable is for
    #[arg(long)]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars get audit error_count --at before-retrieval")]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The variable
    pub(crate) name: String,
    /// Look in this scope only
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Give the reference to a value that lives in a file, not the value
    #[arg(long)]
    pub(crate) raw: bool,
    /// As it was at a checkpoint, or after a record; recorded nowhere
    #[arg(long, value_name = "CHECKPOINT|STEP")]
    pub(crate) at: Option<String>,
    /// Look without counting: nothing is recorded
    #[arg(long)]
    pub(crate) peek: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars list audit --at 7")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// As it was at a checkpoint, or after a record
    #[arg(long, value_name = "CHECKPOINT|STEP")]
    pub(crate) at: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars rename audit error_count errors")]
pub(crate) struct RenameArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The present name
    pub(crate) name: String,
    /// The new name
    pub(crate) to: String,
    /// Look in this scope only
    #[arg(long)]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars rm audit error_count --reason outdated")]
pub(crate) struct RmArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The variable
    pub(crate) name: String,
    /// Look in this scope only
    #[arg(long)]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars checkpoint audit before-retrieval")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The checkpoint's name
    pub(crate) name: String,
    /// What happened there
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Refuse unless the state has had exactly this many mutations
    #[arg(long, value_name = "N")]
    pub(crate) if_mutation_count: Option<u64>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars rollback audit before-retrieval --if-mutation-count 5")]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The checkpoint's name
    pub(crate) to: String,
    /// Refuse unless the state has had exactly this many mutations
    #[arg(long, value_name = "N")]
    pub(crate) if_mutation_count: Option<u64>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence vars cancel job --state state-00000002 --reason 'no longer asked for'"
)]
pub(crate) struct EndArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Why
    #[arg(long)]
    pub(crate) reason: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars result job state-00000002")]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The child
    pub(crate) child: StateId,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars final audit 'three errors'")]
pub(crate) struct FinalArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) value: ValueArgs,
    #[command(flatten)]
    pub(crate) origin: OriginArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars history audit --name error_count")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Of this variable only
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Show at most this many, the newest; 0 shows all
    #[arg(long, default_value_t = 200)]
    pub(crate) limit: usize,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars diff audit before-retrieval now")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// A checkpoint, a record, a state's id, or `now`
    pub(crate) left: String,
    /// A checkpoint, a record, a state's id, or `now`
    #[arg(default_value = "now")]
    pub(crate) right: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars watch audit --from 1")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Begin with this record [default: the next]
    #[arg(long, value_name = "INDEX")]
    pub(crate) from: Option<u64>,
    /// End after this many changes [default: when the state is over]
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars import audit state.json")]
pub(crate) struct ImportArgs {
    /// The id of the run to make
    pub(crate) run: String,
    /// The document: a .json, .yaml or .yml file, or - for JSON on standard input
    pub(crate) file: String,
    /// Where the run's clock begins [default: the last moment the document names]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars export audit out")]
pub(crate) struct ExportArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// The folder to write below, as .aiwg/rlm/…
    pub(crate) dir: PathBuf,
}
