//! `hence policy lint`: what is wrong or odd about policies before any trace is seen.

use schemars::JsonSchema;
use serde::Serialize;

use super::source;
use super::verdict::FindingReport;
use crate::args::PolicySourcesArgs;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::Text;

/// What a reader of policies should know.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LintReport {
    /// How many policies were read.
    policies: usize,
    /// How many findings mean that a policy cannot be evaluated.
    errors: usize,
    /// How many findings mean that a policy may not say what was meant.
    warnings: usize,
    /// The findings, in the order of the policies.
    findings: Vec<FindingReport>,
}

impl Text for LintReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for FindingReport { policy_id, weight, text: found } in &self.findings {
            text.push_str(&format!("{weight} {}: {}\n", escape(policy_id), escape(found)));
        }
        let Self { policies, errors, warnings, .. } = self;
        text.push_str(&format!("{policies} policies: {errors} errors, {warnings} warnings\n"));
        text
    }
}

pub(super) fn run(context: &Context, args: &PolicySourcesArgs) -> Result<Exit, CliError> {
    let set = source::load(&args.sources)?;
    let mut findings = Vec::new();
    for policy in set.policies() {
        let found = policy.lint();
        findings.extend(found.iter().map(|finding| FindingReport::of(policy.id().as_str(), finding)));
    }
    let errors = findings.iter().filter(|finding| finding.weight == "error").count();
    let warnings = findings.len() - errors;
    context.print(&LintReport { policies: set.policies().len(), errors, warnings, findings })?;
    Ok(if errors == 0 { Exit::Yes } else { Exit::No })
}
