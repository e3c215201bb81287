//! The arguments of commands on skills.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use hence_cognition::run::SKILL_DEPTH_MAX;

use super::limits::LimitArgs;
use super::{PlaceRef, RunRef};
use crate::kind::Imported;

/// Files that declare capabilities.
#[derive(ClapArgs, Clone)]
pub(crate) struct CapabilitiesArgs {
    /// A file that declares capabilities, YAML or JSON; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) capabilities: Vec<String>,
}

/// The word of a user for a run that was made elsewhere.
#[derive(ClapArgs, Clone)]
pub(crate) struct ImportedArgs {
    /// Let an imported run call the commands, services and models that its record declares
    #[arg(long)]
    trust_imported: bool,
}

impl ImportedArgs {
    /// Returns whether an imported run may call anything.
    pub(crate) fn imported(&self) -> Imported {
        if self.trust_imported { Imported::Trusted } else { Imported::Refused }
    }
}

/// Files of nested skills.
#[derive(ClapArgs, Clone)]
pub(crate) struct NestedArgs {
    /// A file with a skill that may be nested as skill:ID, in addition to those named under `skills`; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: Vec<String>,
}

/// The time after which a run stops.
#[derive(ClapArgs, Clone)]
pub(crate) struct DeadlineArgs {
    /// Stop after this many seconds: running calls finish, no new ones start, `hence resume` continues
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<std::time::Duration>,
}

pub(super) fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    std::time::Duration::try_from_secs_f64(seconds)
        .map_err(|_| "expected a number of seconds from 0 on".to_owned())
}

/// Options for running a skill; a problem accepts none of them.
#[derive(ClapArgs, Clone)]
#[command(next_help_heading = "Options for skills")]
pub(crate) struct SkillRunArgs {
    /// An input of the skill: NAME=VALUE, or NAME=@FILE for the contents of a file; @@ begins a value with @
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// A file with inputs, YAML or JSON; --input takes precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<String>,
    /// A file with the frame: goal, context, constraints, success_criteria, assumptions, priority
    #[arg(long, value_name = "FILE")]
    pub(crate) frame: Option<String>,
    /// The effect of a failed step on the others [default: fail_fast]
    #[arg(long, value_name = "fail_fast|continue", value_parser = ["fail_fast", "continue"])]
    pub(crate) on_failure: Option<String>,
    /// The trust level of the caller [default: standard]
    #[arg(long, value_name = "LEVEL", value_parser = ["sandbox", "standard", "elevated", "privileged"])]
    pub(crate) trust: Option<String>,
    /// The session whose variables the run shares with others [default: one of its own]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
    #[command(flatten)]
    pub(crate) nested: NestedArgs,
    #[command(flatten)]
    pub(crate) deadline: DeadlineArgs,
    /// The number of levels of skills below the first, 0 to 32 [default: 10]
    #[arg(long, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(0..=i64::from(SKILL_DEPTH_MAX)))]
    pub(crate) max_depth: Option<u32>,
    /// Accepted for scripts of earlier versions; the calls inside nested skills are judged like all others
    #[arg(long, hide = true)]
    pub(crate) allow_unjudged_nested: bool,
}

impl SkillRunArgs {
    /// Returns whether no option for skills was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_empty()
            && self.inputs.is_none()
            && self.frame.is_none()
            && self.on_failure.is_none()
            && self.trust.is_none()
            && self.session.is_none()
            && self.nested.skill.is_empty()
            && self.deadline.deadline.is_none()
            && self.max_depth.is_none()
            && !self.allow_unjudged_nested
    }
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence check examples/skills/incident-triage/skill.yaml")]
pub(crate) struct CheckArgs {
    /// The file of a skill, a problem, capabilities or policies, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) document: String,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
    #[command(flatten)]
    pub(crate) nested: NestedArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence capabilities text.join",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct ListCapabilitiesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CapabilitiesCommand>,
    /// The capability to show [default: list all]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
}

/// Commands on capabilities other than the list.
#[derive(clap::Subcommand)]
pub(crate) enum CapabilitiesCommand {
    /// Write a capabilities file from the contracts and bindings of ORCA registries
    Import(ImportCapabilitiesArgs),
    /// Show one capability, as `hence capabilities ID` does
    #[command(hide = true, after_help = "Example: hence capabilities show text.join")]
    Show(ShowCapabilityArgs),
    /// List the capabilities, as `hence capabilities` does
    #[command(hide = true, after_help = "Example: hence capabilities list")]
    List(NamedCapabilitiesArgs),
}

#[derive(ClapArgs)]
pub(crate) struct ShowCapabilityArgs {
    /// The capability to show
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) named: NamedCapabilitiesArgs,
}

#[derive(ClapArgs)]
pub(crate) struct NamedCapabilitiesArgs {
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence capabilities import agent-skill-registry agent-skills --out capabilities.json\n\n\
    Nothing in the folders is executed. A binding becomes a provider only if --allow-python or --allow-host allows its\n\
    calls; any other capability has its contract and no provider, so that skills can be checked and not called."
)]
pub(crate) struct ImportCapabilitiesArgs {
    /// Folders with contracts, bindings and services as YAML or JSON; searched with everything in them
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "capabilities.json")]
    pub(crate) out: PathBuf,
    /// Let bindings of the protocol `pythoncall` call the Python modules below this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_python: Option<PathBuf>,
    /// Let bindings of the protocol `openapi` send requests, and the keys they name, to this host; may be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence answer refund-42 approve --value yes --by ada --resume")]
#[command(group = clap::ArgGroup::new("what").required(true).args(["value", "done", "retry", "fail"]))]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// The step that waits, or the key of one of its calls [default: the place after RUN, as RUN:STEP, or the only one that waits]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) step: String,
    /// The answer as the question asks for it: a text without quotes, yes or no, a number, JSON, or @FILE for the contents of a file (@@ begins a text with @)
    #[arg(long, value_name = "VALUE|@FILE", allow_hyphen_values = true)]
    pub(crate) value: Option<String>,
    /// An undecided call happened, with this result: JSON, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) done: Option<String>,
    /// Retry an undecided call, with the same idempotency key
    #[arg(long)]
    pub(crate) retry: bool,
    /// Treat an undecided call as failed
    #[arg(long)]
    pub(crate) fail: bool,
    /// The name of the person who answers
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Continue the run at once
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) imported: ImportedArgs,
}

#[derive(ClapArgs, Clone)]
#[command(after_help = "Example: hence fork triage --from rank --set vars.limit=3")]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// The first step that is not shared, or the index of its record [default: the place after RUN]
    #[arg(long, value_name = "STEP", default_value = "", hide_default_value = true)]
    pub(crate) from: String,
    /// Set a value before that step: vars.limit=3 or /inputs/log=@FILE for a skill, settings.NAME=VALUE or inputs.NAME=VALUE for a problem, NAME=VALUE for variables; may be repeated
    #[arg(long, value_name = "PLACE=VALUE")]
    pub(crate) set: Vec<String>,
    /// Continue with this skill, which must be the same before the step; only for a run of a skill
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Option<String>,
    /// Use these policies instead of those the run pins: a file or a built-in pack; only for a run of a skill; may be repeated
    #[arg(long = "policy", value_name = "FILE|PACK")]
    pub(crate) policies: Vec<String>,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
    /// Continue with this model; only for a run of `hence solve`, whose --from is the number of a turn, or `end` to continue where a limit ended it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The id of the new run [default: the run's id, `-fork-` and a digest of the changes]
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
    /// Make calls that act again without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) budget: super::solve::RaisedArgs,
    #[command(flatten)]
    pub(crate) imported: ImportedArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence retry incident-triage-1")]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The id of the new run [default: the run's id, `-retry-` and a number]
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
    /// Continue without asking where an earlier version recorded a failed step without its calls
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) imported: ImportedArgs,
}

#[derive(ClapArgs, Clone)]
#[command(
    after_help = "Example: hence blame incident-triage-1 outputs.report\n         hence blame incident-triage-1:rank"
)]
pub(crate) struct BlameArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// The path of a value, as outputs.report or /outputs/report, or the id of a step; for a problem also artifacts.verification, for variables vars.NAME [default: the step after RUN, as RUN:STEP]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) place: String,
}

#[derive(ClapArgs, Clone)]
#[command(
    after_help = "Example: hence impact incident-triage-1 inputs.log\n         hence impact incident-triage-1:read"
)]
pub(crate) struct ImpactArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// The path of a value, as inputs.log or /inputs/log, or the id of a step; for a problem also artifacts.verification, for variables vars.NAME [default: the step after RUN, as RUN:STEP]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) place: String,
}
