//! Writing a variable, `Final` included.

use hence_canon::Value;

use crate::decide::draft::Draft;
use crate::decide::remark::check_depth;
use crate::decide::{Accepted, advice, check_open, expire, target, tree};
use crate::limits::VARIABLES_MAX;
use crate::reply::Written;
use crate::{
    Action, Found, Home, Name, Operation, Refusal, Reply, Scope, Set, Sight, SpillFile, Status, StorePath,
    Stored, Timestamp, ValueType, Variable,
};

pub(super) fn decide(sight: Sight<'_>, set: &Set, now: Timestamp) -> Result<Accepted, Refusal> {
    check_open(sight.state, set.if_mutation_count)?;
    let name: Name = set.name.parse()?;
    if name.is_prompt() {
        return Err(Refusal::ReadOnly { name });
    }
    if name.is_final() {
        return final_answer(sight, set, name, now);
    }
    let scope = target::scope(sight, set.scope.as_ref())?;
    let found = target::find(sight, scope, &name);
    let new_home = Home::Scope(scope.unwrap_or(Scope::Session));
    let home = found.as_ref().map_or(new_home, |found| found.home);
    if found.as_ref().is_some_and(|found| found.variable.read_only) {
        return Err(Refusal::ReadOnly { name });
    }
    let ttl_seconds = ttl_seconds(set, &name, home)?;
    let (stored, spill) = stored(sight, set, &name)?;
    if found.is_none() && sight.visible_count() >= VARIABLES_MAX {
        return Err(Refusal::TooManyVariables);
    }
    let mut variable = written(set, name, found.as_ref(), stored, now);
    variable.ttl_seconds = ttl_seconds.or(variable.ttl_seconds);
    accept(sight, set, home, found.as_ref(), variable, spill, now)
}

/// Writes `Final`. Its first non-null value completes the task.
fn final_answer(sight: Sight<'_>, set: &Set, name: Name, now: Timestamp) -> Result<Accepted, Refusal> {
    let plain = set.scope.is_none() && set.ttl_seconds.is_none() && set.read_only.is_none();
    if !plain {
        let reason = "it takes no scope, ttl_seconds or read_only";
        return Err(Refusal::Special { name, reason, rule: "FINAL-7" });
    }
    let (stored, spill) = stored(sight, set, &name)?;
    if !stored.is_null()
        && let Some(child) = tree::incomplete_child(sight)
    {
        return Err(Refusal::ChildrenIncomplete { child });
    }
    let found = sight.find(&name);
    let variable = written(set, name, found.as_ref(), stored, now);
    accept(sight, set, Home::Special, found.as_ref(), variable, spill, now)
}

fn accept(
    sight: Sight<'_>,
    set: &Set,
    home: Home,
    found: Option<&Found>,
    variable: Variable,
    spill: Option<SpillFile>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let operation = if found.is_some() { Operation::Update } else { Operation::Create };
    let old_value = found.map(|found| found.variable.stored.shown());
    let warnings = advice(operation, &variable.name);
    let is_final = variable.name.is_final();
    let completes = is_final && !variable.stored.is_null();
    let mut draft = Draft::on(sight, Action::Set, now);
    draft.write(home, variable, old_value, &set.origin)?;
    if completes {
        draft.status(Status::Complete, None);
        expire::end_scope(sight, &mut draft)?;
    }
    let status = if completes { Status::Complete } else { sight.state.status };
    let status = is_final.then_some(status);
    let reply = Reply::Written(Written { operation, spilled: spill.is_some(), warnings, status });
    Ok(Accepted { event: Some(draft.finish()), spills: spill.into_iter().collect(), reply })
}

/// Returns the variable after the write. What the write does not mention stays as it was.
fn written(set: &Set, name: Name, found: Option<&Found>, stored: Stored, now: Timestamp) -> Variable {
    let before = match found {
        Some(found) => Variable::clone(&found.variable),
        None => Variable::new(name, Stored::null(), now),
    };
    Variable {
        stored,
        description: set.description.clone().or(before.description),
        source: set.origin.source.clone().or(before.source),
        updated_at: Some(now),
        read_only: before.read_only || set.read_only == Some(true),
        ..before
    }
}

fn ttl_seconds(set: &Set, name: &Name, home: Home) -> Result<Option<u64>, Refusal> {
    let Some(value) = &set.ttl_seconds else { return Ok(None) };
    let seconds = value.as_u64().ok_or_else(|| Refusal::InvalidArgument {
        what: "ttl_seconds",
        expected: "a non-negative integer below 2^64",
        found: value.to_string().chars().take(80).collect(),
    })?;
    match home {
        Home::Scope(Scope::Temporary) => Ok(Some(seconds)),
        other => {
            let scope = other.scope().unwrap_or(Scope::Session);
            Err(Refusal::TtlScope { name: name.clone(), scope })
        }
    }
}

/// Checks type and path and keeps the value, in a file of its own when it is large.
fn stored(sight: Sight<'_>, set: &Set, name: &Name) -> Result<(Stored, Option<SpillFile>), Refusal> {
    let value_type = match &set.value_type {
        Some(text) => text.parse().map_err(Refusal::InvalidType)?,
        None => ValueType::infer(&set.value),
    };
    if !value_type.admits(&set.value) {
        let (name, found) = (name.clone(), set.value.kind());
        return Err(Refusal::TypeMismatch { name, expected: value_type, found });
    }
    check_depth("value", &set.value)?;
    match &set.value {
        Value::String(text) if value_type == ValueType::FilePath => {
            Ok((Stored::Reference(StorePath::from_reference(text)?), None))
        }
        value => Ok(Stored::keep(sight.state.id, value_type, value)),
    }
}
