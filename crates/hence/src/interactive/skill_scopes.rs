//! The scopes that a skill's run shares with others: what it reads when it is made, and what its steps write.
//!
//! A step's record is the intent: it is durable before its writes are published. The run of a scope records which record
//! it took them from, so that publishing again, after a process died in between, changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_cognition::skill::Skill;
use hence_journal::RecordIndex;
use hence_skills::{SharedInput, SharedInputs, SkillVariables};
use hence_store::{Durability, StoreHandle};
use hence_variables::{
    Change, Event, Files as _, Home, Name, PublishedRecord, Scope, Shared, State, Stored, Variable,
};

use super::shared_scopes::{lease_scope, read_scope};
use super::{CallerTime, SCOPES, StoreVariableFiles};
use crate::prelude::*;

/// The last value of each variable that a record wrote to a scope; `None` for one it removed.
type Writes = BTreeMap<(RecordIndex, Scope), BTreeMap<Name, Option<Variable>>>;

/// Reads the variables that skills declare in shared scopes, as they are now: those of the whole store, and those of a session
/// if one is given. The run pins them, so that a replay reads the same.
pub(crate) fn read_shared(
    context: &Context,
    skills: &[Arc<Skill>],
    session: Option<&str>,
) -> Result<SharedInputs, CliError> {
    let mut shared = SharedInputs { session: session.map(Into::into), variables: Vec::new() };
    let store = context.store()?;
    let Some(scopes) = store.within(SCOPES)? else { return Ok(shared) };
    let files = StoreVariableFiles { store: &store, root: std::path::Path::new("."), shared_scopes: None };
    for (name, scope) in skills.iter().flat_map(|skill| skill.shared_variables()) {
        let id = match (&**scope, session) {
            ("global", _) => "global".to_owned(),
            ("session", Some(session)) => format!("session-{session}"),
            // A session of its own, and the tree of a new run, hold nothing yet.
            _ => continue,
        };
        if shared.variables.iter().any(|known| known.name == *name && known.scope == *scope) {
            continue;
        }
        let Some(keeper) = read_scope(&scopes, &id)? else { continue };
        let Some(variable) = keeper.layer().and_then(|layer| layer.get(name)).cloned() else { continue };
        let loaded = variable.stored.load(&files);
        let (value, value_type) = loaded.map_err(|fault| {
            CliError::new(Code::Variables, format!("variable {name} of scope {scope}: {fault}"))
        })?;
        shared.variables.push(SharedInput {
            name: name.clone(),
            scope: scope.clone(),
            value_type: value_type.as_str().into(),
            read_only: variable.read_only,
            value,
        });
    }
    Ok(shared)
}

/// Publishes what the steps of a run wrote to shared scopes, each record once.
pub(crate) fn publish_skill(
    context: &Context,
    store: &StoreHandle,
    run: &str,
    variables: &SkillVariables,
) -> Result<(), CliError> {
    let Some(view) = variables.workspace().state_view(variables.state()) else { return Ok(()) };
    let writes = shared_writes(variables.events(), |scope| view.is_shared(scope));
    if writes.is_empty() {
        return Ok(());
    }
    for variable in writes.values().flat_map(|names| names.values().flatten()) {
        if let Stored::Spilled(spill) = &variable.stored
            && let Ok(bytes) = variables.read(&spill.path)
        {
            store.put_blob(&bytes, Durability::Synced)?;
        }
    }
    let scopes = store.within_or_new(SCOPES)?;
    for ((record, scope), names) in &writes {
        let by = PublishedRecord { run: run.into(), record: record.get() };
        publish(context, &scopes, view.state(), *scope, names, &by)?;
    }
    Ok(())
}

fn shared_writes(events: &[(RecordIndex, Event)], is_shared: impl Fn(Scope) -> bool) -> Writes {
    let mut writes = Writes::new();
    // The header's are what was read from the scopes, not what the run wrote to them.
    for (record, event) in events.iter().filter(|(record, _)| *record != RecordIndex::HEADER) {
        for change in &event.changes {
            let Some(Home::Scope(scope)) = change.place().map(|place| place.home()) else { continue };
            if !is_shared(scope) {
                continue;
            }
            let (name, value) = match change {
                Change::Write { variable, .. } => (&variable.name, Some(variable.clone())),
                Change::Delete { name, .. } => (name, None),
                _ => continue,
            };
            writes.entry((*record, scope)).or_default().insert(name.clone(), value);
        }
    }
    writes
}

/// Records the writes of one record in the run of a scope, unless that run has them.
fn publish(
    context: &Context,
    scopes: &StoreHandle,
    state: &State,
    scope: Scope,
    names: &BTreeMap<Name, Option<Variable>>,
    by: &PublishedRecord,
) -> Result<(), CliError> {
    let Some(mut keeper) = lease_scope(context, scopes, state, scope, CallerTime::default())? else {
        return Ok(());
    };
    if keeper.layer().is_some_and(|layer| layer.has_published(by)) {
        return Ok(());
    }
    let now = CallerTime::default().not_before(context, keeper.last_moment())?;
    let known = |name: &Name| keeper.layer().and_then(|layer| layer.get(name.as_str())).cloned();
    let (mut variables, mut gone) = (Vec::new(), Vec::new());
    for (name, value) in names {
        let before = known(name);
        if before.as_ref().is_some_and(|before| before.read_only) {
            let run = escape(&by.run);
            context
                .say(format_args!("run {run}: `{name}` is read-only in scope {scope} and was not published"));
            continue;
        }
        match value {
            Some(variable) => variables.push(Variable {
                // Others see the time at which the value came to them; it does not go back.
                created_at: before.map_or(Some(now), |before| before.created_at),
                updated_at: Some(now),
                access_count: 0,
                ..variable.clone()
            }),
            None => gone.extend(before.map(|_| name.clone())),
        }
    }
    let seen = keeper.layer().map_or(0, hence_variables::Layer::revision);
    let by = Some(by.clone());
    let shared = Shared { scope: Scope::Session, seen, revision: seen + 1, variables, gone, by };
    keeper.record(scopes, shared, now).map_err(|error| CliError::from_error(Code::Disk, error))
}
