//! `hence policy`: check traces against policies, and inspect policies.

mod actions;
mod approval;
mod check;
mod explain;
mod lint;
mod list;
mod new;
pub(crate) mod source;

use super::commands;
use crate::args;

pub(crate) use approval::approval_allowed;
pub(crate) use check::{VerdictReport, WitnessReport};
pub(crate) use source::{load as policies_named, load_all as all_policies_named};

commands! { PolicyCommand {
    /// Check traces against policies, with an explanation of every violation
    Check(args::PolicyCheckArgs) => check::run, "policy-check": check::CheckReport;
    /// List policies by pack
    List(args::PolicyListArgs) => list::list, "policy-list": list::ListReport;
    /// Show a policy, with its formula in both alphabets
    Show(args::PolicyShowArgs) => list::show, "policy-show": list::ShowReport;
    /// Report errors and doubtful parts of policies
    Lint(args::PolicySourcesArgs) => lint::lint, "policy-lint": lint::LintReport;
    /// Run policies on their own examples
    Test(args::PolicySourcesArgs) => lint::test, "policy-test": lint::TestReport;
    /// Show a shortest trace that violates each policy, and one that satisfies them all
    Explain(args::PolicyExplainArgs) => explain::run, "policy-explain": explain::ExplainReport;
    /// List the action types that skills, capabilities, importers, exporters and policies share
    Actions(args::PolicyActionsArgs) => actions::run, "policy-actions": actions::ActionsReport;
    /// Write a first version of a policy, with examples that show what its formula means
    New(args::PolicyNewArgs) => new::run, "policy-new": new::NewReport;
} }
