//! `hence policy actions`: the vocabulary of action types.

use hence_review::vocabulary::ActionType;

use crate::args::PolicyActionsArgs;
use crate::prelude::*;

/// The action types that skills, capabilities, importers, exporters and policies share.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionsReport {
    /// The types, family by family.
    types: Vec<TypeRow>,
}

/// One action type.
#[derive(Serialize, JsonSchema)]
struct TypeRow {
    /// The word.
    action_type: String,
    /// Its family: activity, gateway, reasoning or governance.
    category: &'static str,
    /// `specification`: the trace document lists it; `packs`: the policy packs add it, and validation warns about it.
    source: &'static str,
}

impl Text for ActionsReport {
    fn text(&self) -> String {
        let row = |row: &TypeRow| [row.action_type.clone(), row.category.to_owned(), row.source.to_owned()];
        columns(&self.types.iter().map(row).collect::<Vec<_>>())
    }
}

pub(super) fn run(context: &Context, _: &PolicyActionsArgs) -> Result<Exit, CliError> {
    let row = |known: ActionType| TypeRow {
        action_type: known.to_string(),
        category: known.category().as_str(),
        source: if known.is_specified() { "specification" } else { "packs" },
    };
    context.print(&ActionsReport { types: ActionType::all().map(row).collect() })?;
    context.say("a skill declares types of its own under metadata.custom_actions, a capabilities file under custom_actions");
    Ok(Exit::Yes)
}
