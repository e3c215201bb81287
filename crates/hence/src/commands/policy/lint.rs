//! `hence policy lint` and `hence policy test`: checks of policies without a trace.

use hence_policy::policy::{ByConstruction, Policy};

use super::check::FindingReport;
use super::source;
use crate::args::PolicySourcesArgs;
use crate::prelude::*;

/// The findings about policies.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LintReport {
    /// The number of policies.
    policies: usize,
    /// The number of findings that mean that a policy cannot be evaluated.
    errors: usize,
    /// The number of findings that mean that a policy may not mean what its author meant.
    warnings: usize,
    /// The findings, in the order of the policies.
    findings: Vec<FindingReport>,
    /// The policies that runs of skills or imported logs cannot violate, each with the reason.
    by_construction: Vec<ConstructionReport>,
}

/// A policy that runs of skills or imported logs cannot violate.
#[derive(Serialize, JsonSchema)]
struct ConstructionReport {
    /// The policy.
    policy_id: String,
    /// The reason, as a sentence.
    text: String,
}

impl Text for LintReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for FindingReport { policy_id, weight, text: found } in &self.findings {
            text.push_str(&format!("{weight} {}: {}\n", escape(policy_id), escape(found)));
        }
        for ConstructionReport { policy_id, text: reason } in &self.by_construction {
            text.push_str(&format!("note {}: {}\n", escape(policy_id), escape(reason)));
        }
        let noun = if self.policies == 1 { "policy" } else { "policies" };
        let [errors, warnings] = [(self.errors, "error"), (self.warnings, "warning")]
            .map(|(count, noun)| counted(count as u64, noun));
        text.push_str(&format!("{} {noun}: {errors}, {warnings}\n", self.policies));
        text
    }
}

pub(super) fn lint(context: &Context, args: &PolicySourcesArgs) -> Result<Exit, CliError> {
    let set = source::load(&args.sources)?;
    let mut findings = Vec::new();
    for policy in set.policies() {
        let found = policy.lint();
        findings.extend(found.iter().map(|finding| FindingReport::of(policy.id().as_str(), finding)));
    }
    let errors = findings.iter().filter(|finding| finding.weight == "error").count();
    let warnings = findings.len() - errors;
    let construction = |policy: &Policy| {
        let id = policy.id().to_string();
        let sentences = ByConstruction::of(policy).sentences().into_iter();
        sentences.map(move |text| ConstructionReport { policy_id: id.clone(), text })
    };
    let by_construction = set.policies().iter().flat_map(construction).collect();
    context.print(&LintReport {
        policies: set.policies().len(),
        errors,
        warnings,
        findings,
        by_construction,
    })?;
    Ok(if errors == 0 { Exit::Yes } else { Exit::No })
}

/// The results of policies on their own examples.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TestReport {
    /// Whether at least one example was run and all got the expected verdicts.
    passes: bool,
    /// The number of examples that got the expected verdict.
    passed: usize,
    /// The number of examples that did not, or cannot be read.
    failed: usize,
    /// Policies without examples.
    untested: Vec<String>,
    /// The examples.
    examples: Vec<ExampleReport>,
}

/// The result of an example.
#[derive(Serialize, JsonSchema)]
struct ExampleReport {
    /// The policy.
    policy_id: String,
    /// The description of the example.
    about: String,
    /// The difference from the expected verdict; null if there is none.
    difference: Option<String>,
}

impl TestReport {
    fn of(policies: &[Policy]) -> Self {
        let (mut examples, mut untested) = (Vec::new(), Vec::new());
        for policy in policies {
            let policy_id = policy.id().to_string();
            match policy.test() {
                Ok(outcomes) if outcomes.is_empty() => untested.push(policy_id),
                Ok(outcomes) => examples.extend(outcomes.into_iter().map(|outcome| ExampleReport {
                    policy_id: policy_id.clone(),
                    about: outcome.about,
                    difference: outcome.difference,
                })),
                Err(fault) => {
                    let (about, difference) = (String::new(), Some(fault.to_string()));
                    examples.push(ExampleReport { policy_id, about, difference });
                }
            }
        }
        let failed = examples.iter().filter(|example| example.difference.is_some()).count();
        let passed = examples.len() - failed;
        Self { passes: failed == 0 && passed > 0, passed, failed, untested, examples }
    }
}

impl Text for TestReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for ExampleReport { policy_id, about, difference } in &self.examples {
            if let Some(difference) = difference {
                let about = if about.is_empty() { String::new() } else { format!(", {}", escape(about)) };
                text.push_str(&format!("FAIL {}{about}: {}\n", escape(policy_id), escape(difference)));
            }
        }
        for policy in &self.untested {
            text.push_str(&format!("none {}: it brings no examples\n", escape(policy)));
        }
        let (passed, failed, untested) = (self.passed, self.failed, self.untested.len());
        let without = if untested == 1 { "policy has" } else { "policies have" };
        text.push_str(&format!("{passed} examples pass, {failed} fail, {untested} {without} none\n"));
        text
    }
}

pub(super) fn test(context: &Context, args: &PolicySourcesArgs) -> Result<Exit, CliError> {
    let report = TestReport::of(source::load(&args.sources)?.policies());
    context.print(&report)?;
    Ok(if report.passes { Exit::Yes } else { Exit::No })
}
