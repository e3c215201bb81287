//! What a person can type about skills.

use clap::Args as ClapArgs;

/// Capabilities that a person declared.
#[derive(ClapArgs)]
pub(crate) struct CapabilitiesArgs {
    /// A file that declares capabilities, YAML or JSON; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) capabilities: Vec<String>,
}

/// What a run of a skill is given. A problem takes none of it.
#[derive(ClapArgs)]
#[command(next_help_heading = "Options for skills")]
pub(crate) struct SkillRunArgs {
    /// An input of the skill: NAME=VALUE, or NAME=@FILE for what a file holds
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// A file with inputs, YAML or JSON; --input goes before it
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<String>,
    /// A file with the frame: goal, context, constraints, success_criteria, assumptions, priority
    #[arg(long, value_name = "FILE")]
    pub(crate) frame: Option<String>,
    /// What a failing step means for the others [default: fail_fast]
    #[arg(long, value_name = "fail_fast|continue", value_parser = ["fail_fast", "continue"])]
    pub(crate) on_failure: Option<String>,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
}

impl SkillRunArgs {
    /// Returns whether nothing of it was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_empty()
            && self.inputs.is_none()
            && self.frame.is_none()
            && self.on_failure.is_none()
            && self.capabilities.capabilities.is_empty()
    }
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence check examples/skills/incident-triage/skill.yaml")]
pub(crate) struct CheckArgs {
    /// The skill's file, or - for standard input
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) capabilities: CapabilitiesArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence blame incident-triage-1 outputs.report")]
pub(crate) struct BlameArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// A place in the memory, as outputs.report or /outputs/report
    pub(crate) place: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence impact incident-triage-1 inputs.log")]
pub(crate) struct ImpactArgs {
    /// The run, or a prefix of its id
    pub(crate) run: String,
    /// A place in the memory, as inputs.log or /inputs/log, or a step's id
    pub(crate) place: String,
}
