//! The arguments of commands on skills.

use clap::Args as ClapArgs;
use hence_cognition::run::SKILL_DEPTH_MAX;

use super::RunRef;
use super::limits::LimitArgs;
use crate::kind::Imported;

/// Files that declare capabilities.
#[derive(ClapArgs)]
pub(crate) struct CapabilitiesArgs {
    /// A file that declares capabilities, YAML or JSON; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) capabilities: Vec<String>,
}

/// The word of a user for a run that was made elsewhere.
#[derive(ClapArgs)]
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
#[derive(ClapArgs)]
pub(crate) struct NestedArgs {
    /// A file with a skill that may be nested as skill:ID, in addition to those named under `skills`; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: Vec<String>,
}

/// The time after which a run stops.
#[derive(ClapArgs)]
pub(crate) struct DeadlineArgs {
    /// Stop after this many seconds: running calls finish, no new ones start, `hence resume` continues
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<std::time::Duration>,
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    std::time::Duration::try_from_secs_f64(seconds)
        .map_err(|_| "expected a number of seconds from 0 on".to_owned())
}

/// Options for running a skill; a problem accepts none of them.
#[derive(ClapArgs)]
#[command(next_help_heading = "Options for skills")]
pub(crate) struct SkillRunArgs {
    /// An input of the skill: NAME=VALUE, or NAME=@FILE for the contents of a file
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
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
    #[command(flatten)]
    pub(crate) nested: NestedArgs,
    #[command(flatten)]
    pub(crate) deadline: DeadlineArgs,
    /// The number of levels of skills below the first, 0 to 32 [default: 10]
    #[arg(long, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(0..=i64::from(SKILL_DEPTH_MAX)))]
    pub(crate) max_depth: Option<u32>,
    /// Run nested skills that act although the policies that block cannot judge the calls inside them
    #[arg(long)]
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
            && self.nested.skill.is_empty()
            && self.deadline.deadline.is_none()
            && self.max_depth.is_none()
            && !self.allow_unjudged_nested
    }
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence check examples/skills/incident-triage/skill.yaml")]
pub(crate) struct CheckArgs {
    /// The skill's file, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) document: String,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
    #[command(flatten)]
    pub(crate) nested: NestedArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence capabilities text.join")]
pub(crate) struct ListCapabilitiesArgs {
    /// The capability to show [default: list all]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence answer refund-42 approve --value yes --by ada --resume")]
#[command(group = clap::ArgGroup::new("what").required(true).args(["value", "done", "retry", "fail"]))]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The step that waits, or the key of one of its calls
    pub(crate) step: String,
    /// The answer: JSON, a text without quotes where a text is an answer, or @FILE for the contents of a file
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

#[derive(ClapArgs)]
#[command(after_help = "Example: hence fork triage --from rank --set vars.limit=3")]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The first step that is not shared; for a problem or variables also the index of its record
    #[arg(long, value_name = "STEP")]
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
    /// The id of the new run [default: the run's id, `-fork-` and a digest of the changes]
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
    /// Make calls that act again without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
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

#[derive(ClapArgs)]
#[command(after_help = "Example: hence blame incident-triage-1 outputs.report")]
pub(crate) struct BlameArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The path of a value, as outputs.report or /outputs/report; for a problem as artifacts.verification, for variables as vars.NAME
    pub(crate) place: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence impact incident-triage-1 inputs.log")]
pub(crate) struct ImpactArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The path of a value, as inputs.log or /inputs/log, or the id of a step; for a problem also artifacts.verification, for variables vars.NAME
    pub(crate) place: String,
}
