//! The arguments of every command. `commands.rs` and its modules list the commands themselves.

pub(crate) mod fleet;
mod import;
mod limits;
pub(crate) mod new;
mod policy;
pub(crate) mod position;
pub(crate) mod remove;
pub(crate) mod repl;
mod review;
pub(crate) mod skill;
pub(crate) mod solve;
pub(crate) mod store;
mod trace;
pub(crate) mod vars;
pub(crate) mod view;

use crate::store_place::StorePlace;
use crate::store_place::{DEFAULT_STORE, STORE_VARIABLE};
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, Parser};
use hence_canon::Value;
use hence_journal::Head;
use hence_journal::verify::Level;
use hence_state::ProfileName;

use crate::commands::Command;
use crate::context::Context;
use crate::error::CliError;
use crate::escape::escape_json;
use crate::new_file::{self, Existing, Mode};
use crate::terminal::Color;

pub(crate) use import::ImportArgs;
pub(crate) use policy::*;
pub(crate) use review::*;
pub(crate) use trace::*;

const EXAMPLES: &str = "\
Examples:
  hence run examples/vendor-choice.json     run a problem and store its journal
  hence verify vendor-choice                check the journal, and name what it cannot show
  hence replay vendor-choice                execute the run again and compare every byte
  hence state vendor-choice /artifacts      print part of the state

Exit codes: 0 yes, 1 no or a finding, 2 usage, 3 waiting, 4 store, 5 partial";

/// The heading of the options that every command takes.
const GLOBAL: &str = "Options of every command";

/// Run reasoning as a verifiable journal
#[derive(Parser)]
#[command(name = "hence", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    /// The store: a folder, or the address of a PostgreSQL database (postgres://…)
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "STORE",
        default_value = DEFAULT_STORE,
        env = STORE_VARIABLE,
        hide_env_values = true
    )]
    pub(crate) store: StorePlace,
    /// Print JSON; `hence schema COMMAND` describes it
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print results and errors only, no hints and no progress
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Colour the output: auto is on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "auto|always|never",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: Color,
    /// Do not show long output page by page
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_pager: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Declares a positional argument that many commands share and that is read as a text.
macro_rules! shared_argument {
    ($(#[$doc:meta])* $name:ident { $(#[$help:meta])* $field:ident }) => {
        $(#[$doc])*
        #[derive(ClapArgs, Clone)]
        pub(crate) struct $name {
            $(#[$help])*
            $field: String,
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self { $field: text.to_owned() }
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.$field
            }
        }
    };
}

shared_argument! {
    /// The run a command is about.
    RunRef {
        /// The run, or a prefix of its id
        run
    }
}

shared_argument! {
    /// The run a command is about, and perhaps a place in it.
    PlaceRef {
        /// The run, or a prefix of its id; RUN@INDEX is a record of it and RUN:STEP a step
        run
    }
}

shared_argument! {
    /// The review a command is about.
    ReviewRef {
        /// The review, or a prefix of its id
        review
    }
}

shared_argument! {
    /// The trace a command reads.
    TraceRef {
        /// A trace as JSON or YAML, - for standard input, or a run
        file
    }
}

/// The file a command writes its result to.
#[derive(ClapArgs)]
pub(crate) struct Output {
    /// Write the result to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: Replace,
}

/// Whether a command may replace a file that exists.
#[derive(ClapArgs, Clone, Copy)]
pub(crate) struct Replace {
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
}

impl Replace {
    /// Returns the treatment of an existing file.
    pub(crate) const fn existing(self) -> Existing {
        Existing::forced(self.force)
    }
}

impl Output {
    /// Writes a document to the file and returns its path, or to standard output if no file is named.
    pub(crate) fn write(&self, context: &Context, document: &Value) -> Result<Option<&Path>, CliError> {
        let text = format!("{}\n", escape_json(&hence_canon::pretty(document)));
        match &self.out {
            None => context.write(text.as_bytes())?,
            Some(path) => new_file::write(path, text.as_bytes(), Mode::Plain, self.replace.existing())?,
        }
        Ok(self.out.as_deref())
    }
}

#[derive(ClapArgs, Clone)]
#[command(after_help = "Example: hence run examples/vendor-choice.json --run-id first-look\n         \
    hence run examples/vendor-choice.json --policy records\n\n\
    Exit codes: 0 completed and verified, 1 failed, not verified or blocked by a policy (E0603), 2 usage, 3 waiting,\n\
    4 store, 5 partial or not judged")]
pub(crate) struct RunArgs {
    /// The file of a problem or a skill, or - for standard input
    pub(crate) problem: String,
    /// The run's id. A run that has it already is resumed, or shown when it has ended [default: a new run, named after the problem or the skill]
    #[arg(long, alias = "trace-id", value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) run_id: Option<String>,
    /// Start a new run even if --run-id names one that exists: its id gets the next free number
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The time the run is created, as 2026-02-02T00:00:00Z [default: the problem's created_at; for a skill, now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// The engine version to record [default: this engine's]
    #[arg(long, value_name = "VERSION")]
    pub(crate) engine_version: Option<String>,
    /// The rules to follow: the documents (strict) or the public Python engine (compat)
    #[arg(long, default_value = "strict", value_name = "strict|compat")]
    pub(crate) profile: ProfileName,
    /// Also write the journal to this file, or to standard output for -
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<String>,
    /// Policies that every step must satisfy: a file (JSON, YAML or TOML) or a built-in pack; may be repeated
    #[arg(long = "policy", value_name = "FILE|PACK")]
    pub(crate) policies: Vec<String>,
    /// Let a language model work a problem out: openai:NAME, anthropic:NAME, or an address and a name as http://127.0.0.1:11434/v1#NAME
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Use the prompts in this folder in place of the shipped ones of the same file names
    #[arg(long, value_name = "DIR")]
    pub(crate) prompts: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: limits::LimitArgs,
    #[command(flatten)]
    pub(crate) skill: skill::SkillRunArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence runs --status failed --status partial --since 7d\n         \
    hence runs --skill incident-triage --limit 20\n         hence runs --graph")]
pub(crate) struct RunsArgs {
    /// List at most this many runs; 0 lists all
    #[arg(long, default_value_t = 200)]
    pub(crate) limit: usize,
    /// List only runs that wait for an answer, with their questions
    #[arg(long)]
    pub(crate) waiting: bool,
    /// List only runs with this status; may be repeated
    #[arg(long, value_name = "STATUS", value_parser = crate::commands::RUN_STATUSES)]
    pub(crate) status: Vec<String>,
    /// List only runs of this skill
    #[arg(long, value_name = "ID")]
    pub(crate) skill: Option<String>,
    /// List only runs created since a time, as 2026-02-09T10:00:00Z or 2026-02-09, or within 90s, 30m, 12h, 7d or 4w
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// List only runs whose id or skill contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Show forks, retries and nested runs below the run they come from
    #[arg(long)]
    pub(crate) graph: bool,
}

#[derive(ClapArgs, Clone)]
#[command(after_help = "Example: hence log vendor-choice --from 3 --limit 10")]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// Start at this record
    #[arg(long, default_value_t = 0, value_name = "INDEX")]
    pub(crate) from: u64,
    /// List at most this many records; 0 lists all
    #[arg(long, default_value_t = 200)]
    pub(crate) limit: usize,
    /// Continue to list records as they are appended, until nobody writes the run any more
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) follow: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence watch vendor-choice")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence show vendor-choice:Verify\n         hence show vendor-choice@3\n         hence show vendor-choice Verify"
)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// The index of a record, or the name of a step for its last execution (default: the place after RUN, as RUN:STEP or RUN@INDEX)
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) step: String,
}

#[derive(ClapArgs, Clone)]
#[command(
    after_help = "Example: hence state vendor-choice:Verify artifacts.verification\n         hence state vendor-choice /artifacts/verification --at Verify"
)]
pub(crate) struct StateArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// A path in the state, as artifacts.verification or /artifacts/verification [default: the whole state]
    pub(crate) pointer: Option<String>,
    /// Print the state after this record: an index, or a step's name for its last execution [default: the last]
    #[arg(long, value_name = "STEP")]
    pub(crate) at: Option<String>,
    /// Print references to large values instead of the values
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print the execution state of a skill's run: inputs, vars, outputs, working memory, events, trace
    #[arg(long, conflicts_with = "raw")]
    pub(crate) cognition: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence verify trace.ndjson --problem problem.json --anchor HASH:COUNT")]
pub(crate) struct VerifyArgs {
    /// A run, a prefix of its id, or the file of a journal
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) target: Option<String>,
    /// Verify every run of the store
    #[arg(long)]
    pub(crate) all: bool,
    /// The problem the journal should belong to [default: the run's own]
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    pub(crate) problem: Option<PathBuf>,
    /// A head stored elsewhere, as `hence run` printed it
    #[arg(long, value_name = "HASH:COUNT", conflicts_with = "all")]
    pub(crate) anchor: Option<Head>,
    /// Stop at this level: bytes, chain, linked, spec, replay or anchored
    #[arg(long, default_value = "anchored", value_name = "LEVEL")]
    pub(crate) level: Level,
    /// Call declared capabilities that are deterministic again, instead of reading their results; only for a run that
    /// was made in this store
    #[arg(long)]
    pub(crate) execute: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence replay vendor-choice")]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// Call declared capabilities that are deterministic again, instead of reading their results; only for a run that
    /// was made in this store
    #[arg(long)]
    pub(crate) execute: bool,
    #[command(flatten)]
    pub(crate) capabilities: skill::CapabilitiesArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence diff monday.ndjson vendor-choice")]
pub(crate) struct DiffArgs {
    /// A run, a prefix of its id, or the file of a journal
    pub(crate) left: String,
    /// A run, a prefix of its id, or the file of a journal
    pub(crate) right: String,
    /// List at most this many differences; 0 lists all
    #[arg(long, default_value_t = 100)]
    pub(crate) limit: usize,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence resume vendor-choice\n         hence resume vendor-choice --policy amended.toml"
)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    #[command(flatten)]
    pub(crate) capabilities: skill::CapabilitiesArgs,
    #[command(flatten)]
    pub(crate) deadline: skill::DeadlineArgs,
    /// Continue a blocked run under these policies: a file or a built-in pack; may be repeated
    #[arg(long = "policy", value_name = "FILE|PACK")]
    pub(crate) policies: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: limits::LimitArgs,
    #[command(flatten)]
    pub(crate) imported: skill::ImportedArgs,
    /// Ask models again whose calls were under way when a run of `hence solve --recovery ask` was killed
    #[arg(long)]
    pub(crate) repeat_undecided: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence why refund-42")]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence export vendor-choice /tmp/vendor-choice")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The folder to create; an existing one must be empty
    pub(crate) dir: PathBuf,
    /// Also write the runs nested in it, each as a bundle in the folder `children`
    #[arg(long)]
    pub(crate) with_children: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: echo '{\"b\": 1.0, \"a\": null}' | hence hash - --canonical")]
pub(crate) struct HashArgs {
    /// A JSON file, or - for standard input
    pub(crate) file: String,
    /// Print the canonical bytes instead of their digest
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
    /// Remove unfinished appends and leftovers of interrupted writers, and rebuild the index
    #[arg(long)]
    pub(crate) rebuild: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence explain E0102")]
pub(crate) struct ExplainArgs {
    /// A code such as E0102, or a rule of variables such as READ-2 [default: list all codes]
    pub(crate) code: Option<String>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Examples:\n  hence schema verify\n  hence schema vars set\n  hence schema skill > skill.schema.json"
)]
pub(crate) struct SchemaArgs {
    /// The words of a command, or a name of the list [default: list all names]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence completions bash > ~/.local/share/bash-completion/completions/hence")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder to write them to
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Replace pages that exist
    #[arg(long)]
    pub(crate) force: bool,
}
