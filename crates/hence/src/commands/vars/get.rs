//! `hence vars get`: one value.

use std::io::IsTerminal as _;

use hence_canon::Value;
use hence_variables::{Call, Get, Name, Op, ReadForm, Refusal, Reply, Scope, State, StateId};

use crate::address::Address;
use crate::args::vars::{GetArgs, ResultArgs, TargetArgs};
use crate::interactive::{Position, Session};
use crate::prelude::*;

/// A value that was read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GetReport {
    /// The variable, or the child whose `Final` it is.
    name: String,
    /// The value, or the reference to it with --raw.
    value: Data,
    /// The type.
    #[serde(rename = "type")]
    value_type: String,
}

impl Text for GetReport {
    fn text(&self) -> String {
        match &self.value.0 {
            Value::String(text) => text.to_string(),
            other => other.to_string(),
        }
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

/// Takes the variable that is named with its run, as `RUN:NAME`, where it is not named by itself.
pub(super) fn addressed(context: &Context, args: &GetArgs) -> Result<GetArgs, CliError> {
    if !args.name.is_empty() {
        return Ok(args.clone());
    }
    let Address { run, at } = Address::find(context, &args.target.run)?;
    let target = TargetArgs { run, ..args.target.clone() };
    Ok(GetArgs { target, name: at.unwrap_or_default(), ..args.clone() })
}

/// Returns the name of a variable that is written as a place in a state: `vars.note` or `/vars/note`.
fn name_of(place: &str) -> &str {
    let inner = place.strip_prefix('/').unwrap_or(place);
    inner.strip_prefix("vars.").or_else(|| inner.strip_prefix("vars/")).unwrap_or(inner)
}

pub(super) fn run(context: &Context, session: &mut Session<'_>, args: &GetArgs) -> Result<Exit, CliError> {
    if args.name.is_empty() {
        let message = format!("run {}: expected the name of a variable", session.id);
        return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_VARIABLES));
    }
    let args = &GetArgs { name: name_of(&args.name).to_owned(), ..args.clone() };
    let (value, value_type) = match (&args.at, args.peek) {
        // A skill's run counts no reads: only its steps change it.
        (None, false) if !session.is_driven_by_steps() => read_counted(session, args)?,
        (at, _) => peek(session, args, at.as_deref().unwrap_or("now"))?,
    };
    print_value(context, &args.name, value, value_type)?;
    Ok(Exit::Yes)
}

/// Prints a stored value: a text as it is, with its escape sequences made visible on a terminal.
fn print_value(context: &Context, name: &str, value: Value, value_type: String) -> Result<(), CliError> {
    match &value {
        // What another program wrote must not control the terminal of the reader.
        Value::String(text) if !context.is_json() && std::io::stdout().is_terminal() => {
            let lines: Vec<String> = text.lines().map(escape).collect();
            context.write_document(&lines.join("\n"))
        }
        // A text may be large, so it is written without a copy.
        Value::String(text) if !context.is_json() => context.write_document(text),
        _ => context.print(&GetReport { name: name.to_owned(), value: Data(value), value_type }),
    }
}

/// Reads a value; the read is counted and recorded.
fn read_counted(session: &mut Session<'_>, args: &GetArgs) -> Result<(Value, String), CliError> {
    let state = session.state(args.target.state)?;
    let get = Get {
        name: args.name.as_str().into(),
        scope: args.scope.as_deref().map(Into::into),
        form: if args.raw { ReadForm::Raw } else { ReadForm::Loaded },
    };
    match session.call(&Call::On { state, op: Op::Get(get) })? {
        Reply::Value { value, value_type, .. } => Ok((value, value_type.to_string())),
        _ => Ok((Value::Null, "null".to_owned())),
    }
}

/// Prints the `Final` of a child; this is not a counted read.
pub(super) fn result(
    context: &Context,
    session: &mut Session<'_>,
    args: &ResultArgs,
) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let child = child_of(session, state, &args.child)?;
    let op = Op::ChildResult { child };
    if let Reply::Value { value, value_type, .. } = session.call(&Call::On { state, op })? {
        print_value(context, &args.child, value, value_type.to_string())?;
    }
    Ok(Exit::Yes)
}

/// Finds a child by its state's id, or by the run it lives in.
fn child_of(session: &Session<'_>, parent: StateId, name: &str) -> Result<StateId, CliError> {
    if let Ok(child) = name.parse() {
        return Ok(child);
    }
    let workspace = session.workspace()?;
    let children = workspace.state(parent).map(State::children).unwrap_or_default();
    let lives_there = |child: &&State| child.lives_in().is_some_and(|run| &**run == name);
    let found = children.iter().filter_map(|child| workspace.state(*child)).find(lives_there);
    found.map(State::id).ok_or_else(|| {
        let message = format!("{parent} has no child in a run {name:?}");
        CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_CHILDREN)
    })
}

/// Reads a value at any position without recording the read.
fn peek(session: &Session<'_>, args: &GetArgs, at: &str) -> Result<(Value, String), CliError> {
    let refused = |refusal: Refusal| CliError::variables(&refusal);
    let name: Name = args.name.parse().map_err(|error| refused(Refusal::InvalidName(error)))?;
    let scope = args.scope.as_deref().map(str::parse::<Scope>).transpose();
    let scope = scope.map_err(|error| refused(Refusal::InvalidScope(error)))?;
    let position = Position::find(session, session.state(args.target.state)?, at)?;
    let view = position.view(session)?;
    let found = view.get(&name).filter(|found| scope.is_none() || found.home.scope() == scope);
    let found = found.ok_or_else(|| refused(Refusal::NotFound { name: name.clone() }))?;
    let stored = &found.variable.stored;
    if args.raw {
        return Ok((stored.shown(), stored.shown_type().to_string()));
    }
    let loaded = session.value_of(stored).map_err(|fault| refused(Refusal::Load { name, fault }))?;
    Ok((loaded.0, loaded.1.to_string()))
}
