//! `hence policy list`: policies by pack.

use hence_policy::policy::{Policy, PolicySet};
use schemars::JsonSchema;
use serde::Serialize;

use super::source;
use crate::args::PolicyListArgs;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::{Text, columns, one_line};

/// How much of a policy's sentence is shown in a row.
const SENTENCE_CHARACTERS_MAX: usize = 100;

/// Policies.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// The policies, in the order they were read.
    policies: Vec<PolicyRow>,
}

/// One policy.
#[derive(Serialize, JsonSchema)]
struct PolicyRow {
    /// Its id.
    policy_id: String,
    /// The pack it belongs to.
    pack: Option<String>,
    /// How much a failure matters.
    severity: &'static str,
    /// What it says, in plain language.
    statement: Option<String>,
}

impl PolicyRow {
    fn of(policy: &Policy, set: &PolicySet) -> Self {
        let pack = set.packs().iter().find(|pack| pack.members().contains(policy.id()));
        Self {
            policy_id: policy.id().to_string(),
            pack: pack.map(|pack| pack.id().to_owned()),
            severity: policy.severity().as_str(),
            statement: policy.description().map(str::to_owned),
        }
    }
}

impl Text for ListReport {
    fn text(&self) -> String {
        let row = |policy: &PolicyRow| {
            let cell = |text: &Option<String>| {
                text.as_deref().map_or_else(|| "-".to_owned(), |text| one_line(text, SENTENCE_CHARACTERS_MAX))
            };
            let id = one_line(&policy.policy_id, SENTENCE_CHARACTERS_MAX);
            [cell(&policy.pack), id, policy.severity.to_owned(), cell(&policy.statement)]
        };
        columns(&self.policies.iter().map(row).collect::<Vec<_>>())
    }
}

pub(super) fn run(context: &Context, args: &PolicyListArgs) -> Result<Exit, CliError> {
    let set = source::load_or_built_in(&args.sources)?;
    let policies = set.policies().iter().map(|policy| PolicyRow::of(policy, &set)).collect();
    context.print(&ListReport { policies })?;
    Ok(Exit::Yes)
}
