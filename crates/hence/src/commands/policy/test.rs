//! `hence policy test`: policies on their own examples.

use hence_policy::policy::Policy;
use schemars::JsonSchema;
use serde::Serialize;

use super::source;
use crate::args::PolicySourcesArgs;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::Text;

/// How policies fare on their own examples.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TestReport {
    /// Whether at least one example was run and all got the verdicts they state.
    passes: bool,
    /// How many examples got the verdict they state.
    passed: usize,
    /// How many did not, or cannot be read.
    failed: usize,
    /// Policies that bring no examples: nothing is known about them.
    untested: Vec<String>,
    /// The examples.
    examples: Vec<ExampleReport>,
}

/// How an example went.
#[derive(Serialize, JsonSchema)]
struct ExampleReport {
    /// The policy.
    policy_id: String,
    /// What the example shows.
    about: String,
    /// What differs from what the example states; nothing if it got the verdict.
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
        text.push_str(&format!("{passed} examples pass, {failed} fail, {untested} policies have none\n"));
        text
    }
}

pub(super) fn run(context: &Context, args: &PolicySourcesArgs) -> Result<Exit, CliError> {
    let report = TestReport::of(source::load(&args.sources)?.policies());
    context.print(&report)?;
    Ok(if report.passes { Exit::Yes } else { Exit::No })
}
