//! `hence state`: the state after any record, as the fold of the journal.

mod artifact;
mod cognition;
mod earlier;

use std::sync::Arc;

use hence_canon::{Canonical, JsonPointer, Object, Value};
use hence_cognition::checkpoint;
use hence_cognition::reference::Namespace;
use hence_engine::{Blobs, Engine, RunKind};

pub(crate) use self::cognition::CognitionParts;
use super::show::find_record;
use crate::address::{self, Address};
use crate::args::StateArgs;
use crate::chain;
use crate::interactive::stored_run;
use crate::kind::with_blobs;
use crate::measured::{self, RunTimes};
use crate::prelude::*;
use crate::run_view::is_long;
use crate::sink::StoreBlobs;
use crate::standing_view::StandingView;
use crate::target::{self, Journal};

/// A state, or part of it. Its JSON form is the value itself.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct StateReport(Data);

impl Text for StateReport {
    fn text(&self) -> String {
        escape_json(&hence_canon::pretty(&self.0.0))
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &StateArgs) -> Result<Exit, CliError> {
    let pointer = address::path(args.pointer.as_deref().unwrap_or_default())?;
    let address = Address::find(context, &args.run)?;
    let at = address.at_or(args.at.as_deref())?.map(str::to_owned);
    let args = &StateArgs { run: address.run.as_str().into(), at, ..args.clone() };
    let args =
        &StateArgs { cognition: args.cognition || is_memory(context, args, &pointer)?, ..args.clone() };
    if let Some(exit) = part_outside_artifacts(context, args, &pointer)? {
        return Ok(exit);
    }
    if let Some(exit) = one_artifact(context, args, &pointer)? {
        return Ok(exit);
    }
    if let Some(exit) = part_of_cognition(context, args, &pointer)? {
        return Ok(exit);
    }
    let earlier = earlier::Start::find(context, args)?;
    let is_earlier = earlier.is_some();
    let (journal, at) = match earlier {
        Some(start) => (start.journal, Some(start.last)),
        None => {
            let journal = Journal::of_run(context, &args.run)?;
            let at = args.at.as_deref().map(|name| find_record(&journal, name)).transpose()?;
            (journal, at)
        }
    };
    if args.cognition {
        let times = match at.filter(|_| is_earlier) {
            Some(last) => earlier::times(&journal, last),
            None => RunTimes::of(&journal),
        };
        times.say(context, &journal.name);
        let state = cognition::state_at(&journal, at, &times)?;
        let exit = print_part(context, &journal, &checkpoint::save(&state), &pointer)?;
        return Ok(exit.max(chain::report_break(context, &journal)));
    }
    let problem = journal.required_problem()?;
    let state = Engine::new()
        .state_at(&journal.bytes, problem, at)
        .map_err(|error| CliError::resume(&journal.name, error))?;
    let mut value = state.canonical().value().clone();
    if !args.raw {
        value = with_blobs(&journal, |blobs| give_back(&value, blobs))
            .map_err(|error| error.with_hint(hint::raw_state(&journal.name)))?;
    }
    let exit = print_part(context, &journal, &value, &pointer)?;
    Ok(exit.max(chain::report_break(context, &journal)))
}

/// Returns whether a path begins with a namespace of a skill's memory, as `hence blame` accepts it. The state of its run
/// has no member of such a name.
fn is_memory(context: &Context, args: &StateArgs, pointer: &JsonPointer) -> Result<bool, CliError> {
    let is_namespace = pointer.tokens().next().is_some_and(|name| name.parse::<Namespace>().is_ok());
    if args.raw || !is_namespace {
        return Ok(false);
    }
    let store = context.store()?;
    let id = target::find_run(&store, &args.run)?;
    Ok(Journal::start_of_run(&store, &id)?.kind == RunKind::Skill)
}

/// Prints a part of the state that is not one of its outputs, of a run of variables or of a long one. Its outputs, which may
/// be many, are not read then.
fn part_outside_artifacts(
    context: &Context,
    args: &StateArgs,
    pointer: &JsonPointer,
) -> Result<Option<Exit>, CliError> {
    if args.cognition || pointer.tokens().next().is_none_or(|first| first == "artifacts") {
        return Ok(None);
    }
    let store = context.store()?;
    let id = target::find_run(&store, &args.run)?;
    let journal = Journal::start_of_run(&store, &id)?;
    if let Some(at) = args.at.as_deref() {
        let Some((state, broken)) = earlier::outside_artifacts(&store, &id, &journal, at)? else {
            return Ok(None);
        };
        let exit = print_part(context, &journal, &state, pointer)?;
        return Ok(Some(exit.max(report_line(context, &journal, broken))));
    }
    if journal.kind != RunKind::Variables {
        let summary = store.summary(&id)?;
        let state = match is_long(&summary) {
            true => store.view_of::<StandingView>(&summary).state,
            false => None,
        };
        return state.map(|state| print_part(context, &journal, &state, pointer)).transpose();
    }
    let (run, _) = stored_run::load(&store, &id, journal.required_problem()?)?;
    let state = run.state().canonical();
    print_part(context, &journal, state.value(), pointer).map(Some)
}

/// Prints a short part of the present cognitive state of a long run from the cached view, which has it from the second time on.
fn part_of_cognition(
    context: &Context,
    args: &StateArgs,
    pointer: &JsonPointer,
) -> Result<Option<Exit>, CliError> {
    if !args.cognition || args.at.is_some() || pointer.tokens().next().is_none() {
        return Ok(None);
    }
    let store = context.store()?;
    let id = target::find_run(&store, &args.run)?;
    let (summary, start) = (store.summary(&id)?, Journal::start_of_run(&store, &id)?);
    if start.kind != RunKind::Skill || !is_long(&summary) {
        return Ok(None);
    }
    let mut view = store.view_of::<StandingView>(&summary);
    // A view without a state is that of a damaged run, which is read and reported as a whole.
    if view.state.is_none() {
        return Ok(None);
    }
    if view.cognition.is_none() {
        let parts = || CognitionParts::of_journal(&Journal::of_stored(store.clone(), &id).ok()?);
        let extend = |cached| StandingView { cognition: parts(), ..cached };
        let Some(extended) = store.extend_view(&summary, extend) else { return Ok(None) };
        view = extended;
    }
    let Some(part) = view.cognition.as_ref().and_then(|parts| parts.find(pointer)) else { return Ok(None) };
    measured::say(context, &id.to_string(), &view.remarks);
    context.print(&StateReport(Data(part.clone())))?;
    Ok(Some(Exit::Yes))
}

/// Prints one artifact of the state of a long run, without the others.
fn one_artifact(
    context: &Context,
    args: &StateArgs,
    pointer: &JsonPointer,
) -> Result<Option<Exit>, CliError> {
    let at = args.at.as_deref().map(str::parse::<u64>);
    if args.cognition || matches!(at, Some(Err(_))) {
        return Ok(None);
    }
    let at = at.and_then(Result::ok);
    let store = context.store()?;
    let Some(artifact::Found { state, journal, broken }) = artifact::find(&store, &args.run, pointer, at)?
    else {
        return Ok(None);
    };
    let value = match args.raw {
        true => state,
        false => give_back(&state, &StoreBlobs(&store))
            .map_err(|error| error.with_hint(hint::raw_state(&journal.name)))?,
    };
    let exit = print_part(context, &journal, &value, pointer)?;
    Ok(Some(exit.max(report_line(context, &journal, broken))))
}

/// Reports a record that is not the one its hash, or the hash before it, names.
fn report_line(context: &Context, journal: &Journal, broken: Option<(u64, String)>) -> Exit {
    let found = broken.map(|(index, reason)| format!("its chain is broken at record {index}: {reason}"));
    found.map_or(Exit::Yes, |found| chain::report_broken(context, &journal.name, &found))
}

fn print_part(
    context: &Context,
    journal: &Journal,
    value: &Value,
    pointer: &JsonPointer,
) -> Result<Exit, CliError> {
    let part = value.pointer(pointer).or_else(|| value.pointer(&by_step(value, pointer)?)).cloned();
    let Some(part) = part else {
        let message = format!("run {}: nothing is at {pointer} in the state", journal.name);
        return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::places(&journal.name)));
    };
    context.print(&StateReport(Data(part)))?;
    Ok(Exit::Yes)
}

/// Returns the path of a skill step's artifact, given the step's name alone: the actual key is numbered.
fn by_step(value: &Value, pointer: &JsonPointer) -> Option<JsonPointer> {
    let mut tokens = pointer.tokens();
    let (artifacts, step) = (tokens.next()?, tokens.next()?);
    let keys = value.get("artifacts").filter(|_| artifacts == "artifacts")?.as_object()?;
    let is_named = |key: &&Arc<str>| {
        key.split_once(':').is_some_and(|(number, name)| {
            name == step && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let key = keys.keys().filter(is_named).last()?;
    Some([artifacts, key].into_iter().chain(tokens).collect())
}

/// Replaces references by the large values they refer to: in the artifacts of the state and in later outputs.
fn give_back(state: &Value, blobs: &dyn Blobs) -> Result<Value, CliError> {
    let (Some(object), Some(artifacts)) =
        (state.as_object(), state.get("artifacts").and_then(Value::as_object))
    else {
        return Ok(state.clone());
    };
    let mut given = Vec::with_capacity(artifacts.len());
    for (key, value) in artifacts.iter() {
        let value = match value.as_array().filter(|_| &**key == hence_state::ITERATIONS_KEY) {
            Some(later) => {
                later.iter().map(|entry| give_back_output(entry, blobs)).collect::<Result<Value, _>>()?
            }
            None => resolve(value, blobs)?,
        };
        given.push((key.clone(), value));
    }
    Ok(object.with("artifacts", given.into_iter().collect::<Object>()).into())
}

fn give_back_output(entry: &Value, blobs: &dyn Blobs) -> Result<Value, CliError> {
    match (entry.as_object(), entry.get("output")) {
        (Some(object), Some(output)) => Ok(object.with("output", resolve(output, blobs)?).into()),
        _ => Ok(entry.clone()),
    }
}

fn resolve(value: &Value, blobs: &dyn Blobs) -> Result<Value, CliError> {
    Ok(hence_engine::resolve(&Canonical::of(value), blobs)?)
}
