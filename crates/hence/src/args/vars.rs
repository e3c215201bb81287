//! The arguments of `hence vars`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use hence_variables::StateId;

use crate::commands::vars::VarsCommand;

const EXAMPLES: &str = "\
Examples:
  hence vars init audit 'count the errors' --now 2026-02-09T10:00:00Z
  hence vars set audit error_count 3 --type number
  hence vars checkpoint audit before-retrieval
  hence vars rollback audit before-retrieval
  hence vars final audit 'three errors'

A value is the argument as text, @FILE for a file's content, - for standard input; @@x is the text @x.
Every change is recorded with its time: --now, else the time of this machine. A time before the last recorded one
counts as that one.";

#[derive(ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VarsArgs {
    /// The folder of file references and views, as .aiwg/rlm/…
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// The time of the operation, such as 2026-02-09T10:00:00Z [default: now]
    #[arg(long, global = true, value_name = "TIME")]
    pub(crate) now: Option<String>,
    #[command(subcommand)]
    pub(crate) command: VarsCommand,
}

#[derive(ClapArgs, Clone)]
pub(crate) struct TargetArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// The state of the run [default: the first]
    #[arg(long, value_name = "ID")]
    pub(crate) state: Option<StateId>,
}

/// The run a command without a state is about.
#[derive(ClapArgs)]
pub(crate) struct ExistingRun {
    /// The run, or a prefix of its id
    pub(crate) run: String,
}

/// The run a command creates.
#[derive(ClapArgs)]
pub(crate) struct NewRun {
    /// The id of the run
    pub(crate) run: String,
}

#[derive(ClapArgs)]
pub(crate) struct StateArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

#[derive(ClapArgs, Clone, Default)]
pub(crate) struct OriginArgs {
    /// The source of the change
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// The reason for it
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// The node of the task tree that the change belongs to
    #[arg(long, value_name = "NODE")]
    pub(crate) task: Option<String>,
    /// Refuse unless the state has exactly this many mutations
    #[arg(long, value_name = "N")]
    pub(crate) if_mutation_count: Option<u64>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars init audit 'count the errors' --now 2026-02-09T10:00:00Z")]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) target: NewRun,
    /// The task: text, @FILE, or - for standard input
    pub(crate) prompt: String,
    /// Add the state to an existing run
    #[arg(long)]
    pub(crate) add: bool,
    /// The state that spawns this one, in an existing run
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
    /// The execution settings: JSON, @FILE, or - for standard input
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
    /// The execution settings: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) config: Option<String>,
}

#[derive(ClapArgs, Clone)]
pub(crate) struct ValueArgs {
    /// The value: text, @FILE, or - for standard input; nothing for null
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: Option<String>,
    /// text, number, boolean, json, array, file_content, file_path or null; all but texts and files are read as JSON
    /// [default: the type the variable has; text for a new one or null]
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
    /// temporary, session, tree or global [default: the scope that has the name, else session]
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// The lifetime in seconds; temporary variables only
    #[arg(long, value_name = "SECONDS")]
    pub(crate) ttl: Option<u64>,
    /// Refuse further writes
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The purpose of the variable
    #[arg(long)]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArgs,
}

#[derive(ClapArgs, Clone)]
#[command(
    after_help = "Example: hence vars get audit error_count --at before-retrieval\n         hence vars get audit:error_count"
)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The variable, as note, vars.note or /vars/note [default: the name after RUN, as RUN:NAME]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) name: String,
    /// Look in this scope only
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Print the reference to a value stored in a file, not the value
    #[arg(long)]
    pub(crate) raw: bool,
    /// Read the value at a checkpoint, or after a record; nothing is recorded
    #[arg(long, value_name = "CHECKPOINT|STEP")]
    pub(crate) at: Option<String>,
    /// Read without counting: nothing is recorded
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
    /// A description of the position
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Refuse unless the state has exactly this many mutations
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
    /// Refuse unless the state has exactly this many mutations
    #[arg(long, value_name = "N")]
    pub(crate) if_mutation_count: Option<u64>,
}

#[derive(ClapArgs)]
pub(crate) struct EndArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The reason for it
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// A program to run once when the task has ended, with its arguments, without a shell
    #[arg(long, value_name = "CMD")]
    pub(crate) on_complete: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars result job part-1")]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The child: its run, or its state in this run
    pub(crate) child: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars final audit 'three errors' --on-complete 'notify-send done'")]
pub(crate) struct FinalArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) value: ValueArgs,
    #[command(flatten)]
    pub(crate) origin: OriginArgs,
    /// A program to run once when the task has ended, with its arguments, without a shell
    #[arg(long, value_name = "CMD")]
    pub(crate) on_complete: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars history audit --name error_count")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Show changes of this variable only
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// List at most this many changes, the newest; 0 lists all
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
    /// Start at this record [default: the next]
    #[arg(long, value_name = "INDEX")]
    pub(crate) from: Option<u64>,
    /// Stop after this many changes [default: when the state is finished]
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars import audit state.json")]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) target: NewRun,
    /// The document: a .json, .yaml or .yml file, or - for JSON on standard input
    pub(crate) file: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence vars export audit out")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) target: ExistingRun,
    /// The folder to write to, as .aiwg/rlm/…
    pub(crate) dir: PathBuf,
}
