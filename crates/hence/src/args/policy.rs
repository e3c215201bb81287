//! Arguments of `hence policy`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use hence_policy::FailOn;
use hence_review::vocabulary::PolicySeverity;

use super::Replace;

/// The formats of verdicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum VerdictFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for continuous integration
    Junit,
    /// Workflow commands, for GitHub Actions
    Github,
}

/// The verdicts that fail a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FailOnArg {
    /// Failed and undecided policies of severity error
    Error,
    /// Those of severity warning too
    Warning,
    /// Undecided policies of any severity too
    Unknown,
}

impl From<FailOnArg> for FailOn {
    fn from(fail_on: FailOnArg) -> Self {
        match fail_on {
            FailOnArg::Error => Self::Error,
            FailOnArg::Warning => Self::Warning,
            FailOnArg::Unknown => Self::Unknown,
        }
    }
}

impl FailOnArg {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence policy check trace.json --policy engineering --policy rules.toml\n\n\
    A run is checked by its trace: hence policy check vendor-choice --policy records\n\
    A trace can be checked by its own policies: hence policy check trace.json\n\n\
    Exit codes: 0 passes, 1 does not, 2 usage; the same in every format")]
pub(crate) struct PolicyCheckArgs {
    /// Traces as JSON or YAML, - for standard input, or runs
    #[arg(required = true, value_name = "TRACE|RUN")]
    pub(crate) traces: Vec<String>,
    /// A file of policies (JSON, YAML or TOML), a folder of such files, or a built-in pack; may be repeated [default: the policies that each
    /// trace carries]
    #[arg(long = "policy", value_name = "FILE|PACK")]
    pub(crate) policies: Vec<String>,
    /// Use only the policy or pack with this id; may be repeated [default: all loaded policies]
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// The verdicts that fail the check; each value includes the ones before it
    #[arg(long, default_value = "error", value_name = "WHAT")]
    pub(crate) fail_on: FailOnArg,
    /// The format of the verdicts [default: text, or json with --json]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<VerdictFormat>,
    /// Show the gaps of failed and undecided policies: residuals of source policy_derived
    #[arg(long)]
    pub(crate) residuals: bool,
    /// Write the trace to a file, with its verdicts and gaps; for one trace only
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: Replace,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence policy list engineering")]
pub(crate) struct PolicyListArgs {
    /// Files of policies or built-in packs [default: all built-in packs]
    #[arg(value_name = "FILE|PACK")]
    pub(crate) sources: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence policy actions")]
pub(crate) struct PolicyActionsArgs {}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence policy show no-force-push")]
pub(crate) struct PolicyShowArgs {
    /// The policy's id
    pub(crate) id: String,
    /// The file of policies or built-in pack to search; may be repeated [default: all built-in packs]
    #[arg(long = "policy", value_name = "FILE|PACK")]
    pub(crate) sources: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:\n  hence policy lint rules.toml\n  hence policy test rules.toml")]
pub(crate) struct PolicySourcesArgs {
    /// Files of policies (JSON, YAML or TOML) or built-in packs
    #[arg(required = true, value_name = "FILE|PACK")]
    pub(crate) sources: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence policy explain engineering --only no-force-push\n         \
    hence policy explain --formula 'G(GitCommit -> P(RunTests))'")]
pub(crate) struct PolicyExplainArgs {
    /// Files of policies (JSON, YAML or TOML) or built-in packs
    #[arg(required_unless_present = "formula", value_name = "FILE|PACK")]
    pub(crate) sources: Vec<String>,
    /// Use only the policy or pack with this id; may be repeated [default: all loaded policies]
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// A formula to explain as well; may be repeated
    #[arg(long, value_name = "FORMULA")]
    pub(crate) formula: Vec<String>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence policy new tests-first --formula 'G(GitCommit -> P(RunTests))' > rules.toml"
)]
pub(crate) struct PolicyNewArgs {
    /// The policy's id
    pub(crate) id: String,
    /// The formula, in either alphabet
    #[arg(long)]
    pub(crate) formula: String,
    /// The meaning of the policy in plain language
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Option<String>,
    /// The severity of a failure
    #[arg(long, default_value = "warning", value_name = "info|warning|error")]
    pub(crate) severity: PolicySeverity,
}
