//! The birth of a state.

use hence_canon::Value;

use crate::checkpoint::INITIAL_STATE;
use crate::decide::draft::Draft;
use crate::decide::remark::check_depth;
use crate::decide::{Accepted, tree};
use crate::event::Birth;
use crate::limits::TREE_DEPTH_MAX;
use crate::{
    Change, CheckpointId, ExecutionConfig, Home, Init, Name, Origin, Refusal, Reply, Status, Stored,
    Timestamp, ValueType, Variable, Workspace,
};

/// The source of a prompt.
const USER_INPUT: &str = "user_input";

pub(super) fn decide(workspace: &Workspace, init: &Init, now: Timestamp) -> Result<Accepted, Refusal> {
    let id = match &init.state_id {
        Some(text) => text.parse()?,
        None => workspace.next_state_id(),
    };
    if workspace.state(id).is_some() {
        return Err(Refusal::StateExists { state: id });
    }
    let prompt = match &init.prompt {
        None | Some(Value::Null) => return Err(Refusal::MissingPrompt),
        Some(text @ Value::String(_)) => text,
        Some(other) => return Err(Refusal::PromptNotText { found: other.kind() }),
    };
    let birth = birth(workspace, init, now)?;
    let (stored, spill) = Stored::keep(id, ValueType::Text, prompt);
    let variable = Variable {
        source: Some(USER_INPUT.into()),
        read_only: true,
        ..Variable::new(Name::prompt(), stored, now)
    };
    let mut draft = Draft::birth(id, now, workspace.revisions_at_birth(birth.session.as_ref(), birth.tree));
    draft.push(Change::Born(birth));
    draft.write(Home::Special, variable, None, &Origin::source(USER_INPUT))?;
    draft.checkpoint(CheckpointId::from_number(1), INITIAL_STATE.into(), None);
    Ok(Accepted {
        event: Some(draft.finish()),
        spills: spill.into_iter().collect(),
        reply: Reply::Born { state: id, status: Status::Incomplete },
    })
}

fn birth(workspace: &Workspace, init: &Init, now: Timestamp) -> Result<Birth, Refusal> {
    let session = init.session_id.as_ref().map(|text| text.parse()).transpose()?;
    let tree = init.tree_id.as_ref().map(|text| text.parse()).transpose()?;
    let config = init.execution_config.as_ref().filter(|config| !config.is_null());
    config.map_or(Ok(()), |config| check_depth("execution_config", config))?;
    let config = config.map(ExecutionConfig::from_value).transpose().map_err(Refusal::InvalidConfig)?;
    let (lives_in, spawned_by) = (init.lives_in.clone(), init.spawned_by.clone());
    let depth = spawned_by.as_ref().map_or(0, |(_, depth)| depth.saturating_add(1));
    if depth > TREE_DEPTH_MAX {
        return Err(Refusal::TooDeep { depth });
    }
    let spawned_by = spawned_by.map(|(spawner, _)| spawner);
    let alone = Birth { session, tree, parent: None, depth, config, lives_in, spawned_by };
    match init.parent {
        None => Ok(alone),
        Some(parent) => tree::spawn(workspace, parent, alone, now),
    }
}
